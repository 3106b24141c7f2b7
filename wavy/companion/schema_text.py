"""Say in words what a parameter may be: from the JSON schema of a pydantic model to the end of an error line."""

from __future__ import annotations

import difflib

BOUNDS = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
SIZES = {"minItems": "at least", "maxItems": "at most"}
TYPES = {"integer": "an integer", "number": "a number", "boolean": "true or false", "string": "text", "null": "none"}


def allowed(schema: dict, field: str, text: str) -> str:
    """Return the rule of a field, such as 'one of quick, cpu, gpu (nearest: "quick")' or 'an integer >= 1'.

    Args:
        schema: ``Model.model_json_schema()``.
        field: name of the field.
        text: the refused value, for which the nearest allowed word is looked up.
    """
    rule = schema["properties"][field]
    words = _words(rule, schema)
    wrong = [item for item in map(str.strip, text.strip("[]()").split(",")) if item not in words]
    near = difflib.get_close_matches(wrong[0], words, n=1) if wrong else []
    return describe(rule, schema) + (f' (nearest: "{near[0]}")' if near else "")


def describe(rule: dict, schema: dict) -> str:
    """Return one JSON schema rule in words; ``schema`` resolves its references."""
    rule = _resolve(rule, schema)
    if "anyOf" in rule:
        return ", or ".join(describe(option, schema) for option in rule["anyOf"])
    if "enum" in rule:
        return "one of " + ", ".join(map(str, rule["enum"]))
    if "const" in rule:
        return str(rule["const"])
    bounds = " and ".join(f"{sign} {rule[key]}" for key, sign in BOUNDS.items() if key in rule)
    if rule.get("type") == "array":
        items = f", each {describe(rule['items'], schema)}" if rule.get("items") else ""
        sizes = " and ".join(f"{word} {rule[key]}" for key, word in SIZES.items() if key in rule)
        return f"a comma-separated list{items}" + (f" ({sizes} items)" if sizes else "")
    return f"{TYPES.get(rule.get('type', ''), 'a value')} {bounds}".strip()


def _resolve(rule: dict, schema: dict) -> dict:
    return schema["$defs"][rule["$ref"].rsplit("/", 1)[-1]] if "$ref" in rule else rule


def _words(rule: dict, schema: dict) -> list[str]:
    rule = _resolve(rule, schema)
    nested = [*rule.get("anyOf", []), *([rule["items"]] if rule.get("items") else [])]
    own = [*rule.get("enum", []), *([rule["const"]] if "const" in rule else [])]
    return [str(word) for word in own] + [word for option in nested for word in _words(option, schema)]
