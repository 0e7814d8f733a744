"""`rows_are`: what a row of the data file is, in a word that reports use."""

from __future__ import annotations

import re

from dpcli.privacy.relation import PersonUnit, Unit
from dpcli.spec.findings import Findings
from dpcli.spec.nodes import Node, Word
from dpcli.spec.wording import shown

ROWS = "rows"
"""What rows are called if the spec has no other word."""

MOST_LETTERS = 40

PLURAL = re.compile(rf"(?=.{{1,{MOST_LETTERS}}}\Z)[^\W\d_]+(?:[ -][^\W\d_]+)*")
"""Letters of any alphabet, with single spaces and hyphens between them."""

PEOPLE = ("people", "persons")
"""Words for what is protected, where that is a person."""


def read_rows_are(node: Node | None, unit: Unit | None, findings: Findings) -> str:
    """What rows are called; problems are recorded.

    Rows of people are not people: a reader would take each row for another person.
    """
    if not isinstance(node, Word):
        return ROWS
    if not PLURAL.fullmatch(node.text):
        findings.add(
            "bad-name",
            f"`rows_are` is {shown(node.text)}, expected letters, spaces and hyphens, at most "
            f"{MOST_LETTERS}",
            "write what a row is, as a plural: `rows_are: visits`",
            node.span,
        )
    elif isinstance(unit, PersonUnit) and node.text.casefold() in PEOPLE:
        findings.add(
            "rows-are-people",
            f"`rows_are` is {shown(node.text)}, but a person may have {unit.rows:,} of them"
            if unit.rows > 1
            else f"`rows_are` is {shown(node.text)}, but a person may have several of them",
            "write what one row is, such as `rows_are: visits`; `count_distinct` counts people",
            node.span,
        )
    return node.text
