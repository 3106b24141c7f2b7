"""Check the parameters of a run before it starts.

papermill runs the defaults when a name is misspelt (one log line, exit status 0) and injects ``-p flag true`` as the
string "true". Here every name and value is checked against the experiment's model (``wavy.experiments.EXPERIMENTS``)
or, for a notebook without one, against the names and types of its own parameters cell, and refused in one line.
"""

from __future__ import annotations

import ast
from typing import Any

from nbformat import NotebookNode
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from wavy.companion.messages import one_line, reason
from wavy.companion.paths import CompanionError, suggest
from wavy.companion.schema_text import allowed

WORDS = {"true": True, "false": False, "none": None, "null": None}


def read_parameters(nb: NotebookNode) -> dict[str, Any]:
    """Return the names and default values that the cell tagged ``parameters`` assigns; empty if there is no such cell.

    Raises:
        CompanionError: the cell holds something else than assignments of plain values.
    """
    cells = [cell for cell in nb.cells if cell.cell_type == "code" and "parameters" in cell.metadata.get("tags", [])]
    if not cells:
        return {}
    if len(cells) > 1:
        raise CompanionError(f"{len(cells)} cells carry the tag parameters; exactly one may")
    try:
        statements = ast.parse(cells[0].source).body
    except SyntaxError as error:  # an IPython magic, for instance
        raise _not_plain(error.text or cells[0].source) from None
    return dict(map(_assignment, statements))


def _assignment(statement: ast.stmt) -> tuple[str, Any]:
    try:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                return name, ast.literal_eval(statement.value)
    except (TypeError, ValueError):
        pass
    raise _not_plain(ast.unparse(statement))


def _not_plain(found: str) -> CompanionError:
    line = found.strip().partition("\n")[0]
    return CompanionError(f"the parameters cell may hold only lines like name = 1, found: {line}")


def find_model(name: str, defaults: dict[str, Any]) -> type[BaseModel]:
    """Return the model that checks the parameters of notebook ``name``.

    It is the experiment's, or else one made from the types of ``defaults``, the values of its parameters cell.
    """
    from wavy.experiments import EXPERIMENTS  # noqa: PLC0415 (imports torch)

    if name in EXPERIMENTS:
        return EXPERIMENTS[name]
    fields = {key: (_type_of(value), value) for key, value in defaults.items()}
    return create_model(name, __config__=ConfigDict(extra="forbid", frozen=True), **fields)


def _type_of(value: Any) -> Any:
    if value is None:
        return bool | int | float | str | list | None
    if isinstance(value, list | tuple):
        return list[_type_of(value[0])] if value else list
    return type(value)


def check_parameters(name: str, defaults: dict[str, Any], given: list[str]) -> dict[str, Any]:
    """Return the checked values of the ``given`` settings, ready to be injected by papermill.

    Args:
        name: stem of the notebook.
        defaults: what its parameters cell assigns.
        given: settings as typed, each "name=value".

    Raises:
        CompanionError: a setting without "=", an unknown or repeated name, a value of the wrong type or out of range.
    """
    model = find_model(name, defaults)
    values: dict[str, Any] = {}
    for setting in given:
        key, equals, text = setting.partition("=")
        if not equals:
            raise CompanionError(f'{name}: expected name=value, found "{setting}"')
        if key not in defaults:
            raise CompanionError(f'{name}: no parameter "{key}"{suggest(key, list(defaults))}')
        if key in values:
            raise CompanionError(f'{name}: parameter "{key}" is given twice')
        values[key] = _parse(name, model, defaults, key, text)
    try:
        checked = model.model_validate({**defaults, **values}).model_dump(mode="json")
    except ValidationError as error:  # what depends on more than one parameter
        raise CompanionError(f"{name}: {one_line(error)}") from None
    return {key: checked[key] for key in values}


def _parse(name: str, model: type[BaseModel], defaults: dict[str, Any], key: str, text: str) -> Any:
    """Return the first reading of ``text`` that the field ``key`` takes."""
    refused = []
    for value, strict in _readings(text.strip()):
        errors = _errors(model, {**defaults, key: value}, key, strict)
        if not errors:
            return value
        refused += errors
    custom = next((f" ({reason(error)})" for error in refused if error["type"] == "value_error"), "")
    rule = allowed(model.model_json_schema(), key, text)
    raise CompanionError(f"{name}: {key}={text} is not allowed; {key} must be {rule}{custom}")


def _errors(model: type[BaseModel], values: dict[str, Any], key: str, strict: bool) -> list:
    try:
        model.model_validate(values, strict=strict)
    except ValidationError as error:
        return [item for item in error.errors() if item["loc"][:1] == (key,)]
    return []


def _readings(text: str) -> list[tuple[Any, bool]]:
    """Return the values that ``text`` may stand for, with whether the field must take it without conversion.

    A literal must fit exactly (so that true is no integer); text and lists of text are converted by pydantic.
    """
    items = text[1:-1] if text[:1] + text[-1:] in ("[]", "()") else text
    as_list = [item.strip().strip("'\"") for item in items.split(",") if item.strip()]
    lists = [(as_list, False)] if text else []
    if text.lower() in WORDS:
        literal = [(WORDS[text.lower()], True)]
    else:
        try:
            value = ast.literal_eval(text)
            literal = [(value, True), *([(list(value), True)] if isinstance(value, tuple) else [])]
        except (SyntaxError, ValueError):
            literal = []
    return [*literal, (text, False), *lists]
