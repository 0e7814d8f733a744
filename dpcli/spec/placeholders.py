"""What `dpcli init` leaves open: each placeholder asks for one decision."""

from __future__ import annotations

import re

from dpcli.spec.findings import Findings
from dpcli.spec.nodes import Listing, Mapping, Node, Word

PLACEHOLDER = "FILL_IN"

NUMBERED = re.compile(rf"{PLACEHOLDER}(_[0-9]+)?")
"""Placeholders of names of columns are numbered, because no two columns have one name."""

DECISIONS: dict[str, tuple[str, str]] = {
    "dataset": (
        "the name of the dataset",
        "write the ledger account that pays, such as `dataset: survey-2024`",
    ),
    "unit": (
        "who is protected",
        (
            "write `unit: {column: ID, max_rows: 3}`, with the column that says whose row it is, "
            "or `unit: row` if no person has two rows"
        ),
    ),
    "min_rows": (
        "the least number of rows of a complete file",
        "write a number such as `800`, from what you expect, not looked up in the file",
    ),
    "neighbors": (
        "how neighbouring datasets differ",
        "write `add-remove`, or `change-one` if the number of rows is public",
    ),
    "epsilon": ("how much may be revealed", "write a number such as `0.5`; smaller protects more"),
    "delta": ("the chance of a failure", "write `1e-7` or so, or remove `delta`"),
    "type": (
        "what the column holds",
        (
            "write `integer`, `number`, `category`, `boolean`, `date` or `id`, "
            "or delete the line if no statistic uses the column"
        ),
    ),
    "bounds": (
        "the limits of what is possible",
        "write two values such as `[0, 100]`: public facts, never read from the data",
    ),
    "step": ("the grid that values are rounded to", "write a number such as `0.01`"),
    "values": (
        "the texts that the column may hold",
        "list them from a code book, as in `[a, b]`, not from the data",
    ),
    "missing": ("what becomes of missing cells", "write `drop`, or a constant"),
    "column": ("the column that is asked about", "write the name of a declared column"),
    "statistic": ("what is asked", "write `count`, or the name of another statistic"),
    "names": (
        "what a column is called",
        "write its name from the documentation of the file, here and under `columns`",
    ),
    "name": ("what the statistic is called", "write a short name for the output"),
    "width": ("the width of bins", "write a number such as `10`"),
}
"""For each key: the thing to decide, and how."""

ELSEWHERE = ("this value", "replace `FILL_IN` with what you decide")


def placeholder_names(count: int) -> tuple[str, ...]:
    """A placeholder for the name of each column of a file without a header line."""
    return tuple(f"{PLACEHOLDER}_{number}" for number in range(1, count + 1))


def find_placeholders(node: Node, findings: Findings, key: str = "") -> None:
    """Records every placeholder of a tree, and keeps later readers quiet about it."""
    match node:
        case Word(text, span) if NUMBERED.fullmatch(text):
            thing, how = DECISIONS.get(key, ELSEWHERE)
            findings.spoil("placeholder", span, text=text, thing=thing, how=how)
        case Listing(items):
            for item in items:
                find_placeholders(item, findings, key)
        case Mapping(pairs):
            for name, (_, value) in pairs.items():
                find_placeholders(value, findings, name)
        case _:
            pass
