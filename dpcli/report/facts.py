"""What a report states: one model, from which every format is rendered.

`Facts` of a release, of a local collection or of a simulation hold the same statements for
programs (`data`, with stable keys) and for people (sections of sentences, tables and numbers).
Formats decide on form alone, so they state the same under the same headings.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from dpcli.messages import note
from dpcli.plan.numbers import Fact, exact_or_up
from dpcli.plan.risks import Finding, Verdict
from dpcli.queries import Key
from dpcli.report.table import Cell
from dpcli.statistics.flags import UNRELIABLE, Flag

if TYPE_CHECKING:
    from dpcli.local.randomize import Randomized
    from dpcli.release import Release

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Table:
    """Texts in rows under a header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Numbers:
    """The published numbers of a statistic, and what a chart of them needs to know.

    `headings` name the labels of a line. With an `axis`, cells lie in the order of its bins.
    `shared` says whether all numbers have one scale, which reaches `over` these numbers too.
    """

    name: str
    headings: tuple[str, ...]
    cells: tuple[Cell, ...]
    percent: str
    drawn: Literal["bars", "points", "nothing"]
    axis: Key | None
    shared: bool
    over: tuple[Fraction, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what is under it, in this order."""

    title: str
    text: tuple[str, ...] = ()
    numbers: Numbers | None = None
    pairs: tuple[Pair, ...] = ()
    points: tuple[str, ...] = ()
    table: Table | None = None
    risks: tuple[Finding, ...] = ()
    code: str = ""
    parts: tuple[Section, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that a report states.

    The summary comes first: what was `published` about whom; the `stewards` who answer for it,
    and how to declare those who are `undeclared`; the loss before and after, with its meaning in
    one sentence; the `risks` that are warned of or open. A simulation publishes nothing and has no
    loss.
    """

    title: str
    data: dict[str, Fact]
    published: tuple[str, ...]
    sections: tuple[Section, ...]
    stewards: tuple[Pair, ...] = ()
    undeclared: str = ""
    headline: str = ""
    loss: Table | None = None
    risks: tuple[Finding, ...] = ()
    source: Release | Randomized | None = None

    @property
    def warned(self) -> tuple[Finding, ...]:
        """The risks that are warned of."""
        return tuple(one for one in self.risks if one.verdict is Verdict.WARNED)

    @property
    def open(self) -> tuple[Finding, ...]:
        """The questions that only the data owner can answer, and has not."""
        return tuple(one for one in self.risks if one.verdict is Verdict.OPEN)


def meaning_of(flag: Flag, confidence: Fraction) -> str:
    """What a flag means, in a sentence that begins with it."""
    percent = exact_or_up(confidence * 100)
    return note(f"flag.{flag}", percent=percent, share=exact_or_up(UNRELIABLE))


def flags_of(cells: Iterable[Cell]) -> list[Flag]:
    """The flags that some of these numbers have."""
    found = {cell.flag for cell in cells}
    return [flag for flag in Flag if flag and flag in found]


def flag_facts(confidence: Fraction) -> dict[str, Fact]:
    """What every flag means, and the share of the value from which numbers are unreliable."""
    meanings = {flag.value: meaning_of(flag, confidence) for flag in Flag if flag}
    return {"unreliable_above": UNRELIABLE, **meanings}
