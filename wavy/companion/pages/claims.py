"""The directive ``claims-table``: every claim of a source, with the verdicts that the notebooks glue."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import ClassVar

import pandas as pd
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from wavy.companion.claim_verdicts import verdicts_on
from wavy.companion.claims import NO_NUMBER, as_printed, load_claims
from wavy.companion.pages.glued import glued_words
from wavy.companion.verdicts import NOT_TESTED

#: The notebooks that judge claims.
JUDGING = ("difformer", "deit", "bert", "gpt2", "trained", "efficiency")
#: Who has no verdict anywhere.
NOT_RUN = "not yet run"


class ClaimsTable(SphinxDirective):
    """``SOURCE`` and tasks; a table of their claims, or without a task a sentence that counts the verdicts."""

    required_arguments = 1
    optional_arguments = 9
    option_spec: ClassVar = {}

    def run(self) -> list[nodes.Node]:
        source, *tasks = self.arguments
        notebooks = Path(self.env.srcdir) / "notebooks"
        for name in JUDGING:
            self.env.note_dependency(str(notebooks / f"{name}.ipynb"))
        claims = load_claims()
        self.env.note_dependency(str(files("wavy.companion") / "claims.csv"))
        known = {*claims["source"], *claims["task"]}
        if unknown := [name for name in self.arguments if name not in known]:
            raise self.error(f"claims-table: found {', '.join(unknown)}, allowed {', '.join(sorted(known))}")
        claims = claims[claims["source"] == source]
        found = found_verdicts(claims.index, {name: glued_words(notebooks / f"{name}.ipynb") for name in JUDGING})
        if tasks:
            claims = claims[claims["task"].isin(tasks)]
            found = found[found["claim"].isin(claims.index)]
        lines = [counts_of(claims, found), "", *(table_of(claims, found) if tasks else [])]
        parsed = nodes.Element()
        self.state.nested_parse(StringList(lines, self.get_source_info()[0]), self.content_offset, parsed)
        return parsed.children


def found_verdicts(claims: pd.Index, glued: dict[str, dict[str, str]]) -> pd.DataFrame:
    """All verdicts: columns claim, notebook, model and verdict; one row a verdict.

    Args:
        claims: ids.
        glued: notebook -> what it has glued.
    """
    rows = [
        {"claim": claim, "notebook": notebook, "model": model, "verdict": verdict}
        for claim in claims
        for notebook, words in glued.items()
        for model, verdict in verdicts_on(claim, words).items()
    ]
    return pd.DataFrame(rows, columns=["claim", "notebook", "model", "verdict"])


def counts_of(claims: pd.DataFrame, found: pd.DataFrame) -> str:
    """How many verdicts of each kind some claims have, in a sentence of MyST."""
    counts = found["verdict"].value_counts()
    ordered = [*(name for name in counts.index if name != NOT_TESTED), *([NOT_TESTED] if NOT_TESTED in counts else [])]
    words = [f"{counts[name]} *{name}*" for name in ordered]
    missing = len(claims.index.difference(found["claim"]))
    words += [f"{missing} *{NOT_RUN}*"] if missing else []
    verdicts = "" if len(found) + missing == len(claims) else f", {len(found)} verdicts"
    return f"{len(claims)} claims{verdicts}: {', '.join(words)}."


def table_of(claims: pd.DataFrame, found: pd.DataFrame) -> list[str]:
    """The table of some claims as lines of MyST."""
    rows = ["{.claims-table}", "| Claim | Published | Verdict here |", "|:--|:--|:--|"]
    for name, claim in claims.iterrows():
        own = found[found["claim"] == name]
        told = "; ".join(_told(row) for _, row in own.iterrows()) or NOT_RUN
        rows.append(f"| {_words(claim)} | {_published(claim)} | {told} |")
    return rows


def _told(row: pd.Series) -> str:
    return f"{row['model'] + ': ' if row['model'] else ''}[{row['verdict']}](/notebooks/{row['notebook']}.ipynb)"


def _words(claim: pd.Series) -> str:
    return f"{claim['model']}, {claim['setting']}: {claim['metric']}, {claim['variant_name']}"


def _published(claim: pd.Series) -> str:
    printed = as_printed(claim)
    bare = printed == NO_NUMBER or pd.isna(claim["unit"]) or claim["unit"] == "1"
    return printed if bare else f"{printed} {claim['unit']}"
