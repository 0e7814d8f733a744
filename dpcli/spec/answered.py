"""A spec made of answers to questions, and what the loader says against them.

Answers are public choices of a person. Whatever they say is written so that the loader
reads it back to the letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, log10

from dpcli.errors import Problem, SpecError
from dpcli.privacy.decimals import decimal_places, decimal_text
from dpcli.spec.draft import SCHEMA_LINES, as_word, declaration
from dpcli.spec.load import load_spec
from dpcli.values import MOST_EPSILON

PLAIN_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}")

DIGITS = 3
"""Of an epsilon that is a part of the budget; it is rounded down to them."""


@dataclass(slots=True)
class Answers:
    """What was answered so far, as the spec would say it; changed as answers come.

    Declarations and entries are YAML mappings in braces, entries without a price.
    """

    dataset: str = "probe"
    csv: str = ""
    unit: str = "row"
    neighbors: str = "add-remove"
    epsilon: str = "1"
    columns: dict[str, str] = field(default_factory=dict)
    entries: list[str] = field(default_factory=list)
    min_rows: str = ""

    def text(self, price: str, check: str = "1e-6") -> str:
        """The spec, with these epsilons for each entry and for the quality check."""
        least = f", min_rows: {self.min_rows}" if self.min_rows else ""
        readable = ", min_readable: 0.8" if self.reads_cells else ""
        columns = [
            line for name, text in self.columns.items() for line in declaration(as_word(name), text)
        ]
        return "".join(
            f"{line}\n"
            for line in (
                *SCHEMA_LINES,
                "dpcli: 1",
                f"dataset: {as_word(self.dataset)}  # the ledger account that pays for releases",
                *([self.csv] if self.csv else []),
                "",
                "privacy:",
                f"  unit: {self.unit}",
                f"  neighbors: {self.neighbors}",
                f"  budget: {{epsilon: {self.epsilon}}}  # for all releases together",
                *(
                    [
                        "",
                        "# Stops a release if the file is incomplete or cannot be read.",
                        f"quality: {{epsilon: {check}{least}{readable}}}",
                    ]
                    if least or readable
                    else []
                ),
                "",
                "# What may be in a column: public facts, never read from the data.",
                *(["columns:", *columns] if columns else ["columns: {}"]),
                "",
                "statistics:",
                *(f"  - {{{entry}, epsilon: {price}}}" for entry in self.entries),
            )
        )

    @property
    def reads_cells(self) -> bool:
        """Whether there are columns besides ids."""
        return any(declared != "{type: id}" for declared in self.columns.values())

    @property
    def checked(self) -> bool:
        """Whether the spec has a quality check."""
        return bool(self.min_rows) or self.reads_cells

    def problems(self) -> tuple[Problem, ...]:
        """What the loader says against the answers so far; a count stands for no entries."""
        entries = self.entries or ["name: rows, statistic: count"]
        probe = Answers(
            self.dataset,
            self.csv,
            self.unit,
            self.neighbors,
            self.epsilon,
            self.columns,
            entries,
            self.min_rows,
        )
        try:
            load_spec(probe.text("1e-6"), "answers")
        except SpecError as refused:
            return refused.problems
        return ()


CHECK = Fraction(1, 20)
"""Part of the budget of a release that the quality check gets."""


def shares(budget: Fraction, entries: int, releases: int, *, checked: bool) -> tuple[str, str]:
    """The epsilons of an entry and of the quality check of each release, if there is one."""
    each = budget / releases
    rest = (1 - CHECK) * each if checked else each
    return _rounded(rest / entries), _rounded(CHECK * each)


def _rounded(part: Fraction) -> str:
    """An epsilon, rounded down to few digits."""
    part = min(part, MOST_EPSILON)
    places = max(0, DIGITS - 1 - floor(log10(part)))
    unit = Fraction(1, 10**places)
    rounded = part // unit * unit
    return decimal_text(rounded, decimal_places(rounded))


def in_list(words: Iterable[str]) -> str:
    """Words as a list in YAML."""
    return f"[{', '.join(words)}]"


def as_number(text: str) -> str:
    """A number or a day without quotes; anything else as a text, for the loader to refuse."""
    return text if PLAIN_NUMBER.fullmatch(text) else as_word(text)
