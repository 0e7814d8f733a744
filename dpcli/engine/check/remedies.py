"""Which declarations would read cells that cannot be read as declared.

Confidential, as `check/cells.py` is: a remedy depends on the cells. It is for the terminal of the
operator only. A text of the file is named in it only if it is a usual mark or sign, or if at least
`FREQUENT` rows have it. Whether a remedy reads a cell is decided by the decoder itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Literal, TypeVar

import polars as pl

from dpcli.data.column import Column, ValuedColumn
from dpcli.data.options.every import Marks
from dpcli.data.options.numbers import Decimal
from dpcli.engine.cells.decode import Decoder
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.reference import usual_cells

FREQUENT = 10
"""Rows that must have a text before it is named, so that it is not about one person."""

V = TypeVar("V", bound=ValuedColumn)

Amount = Literal["all", "most", "some", "few", "none"]

MAX_FEW, MIN_MOST = Fraction(1, 10), Fraction(9, 10)
"""The shares up to which an amount is "few", and from which on it is "most"."""


def amount(part: Fraction, whole: Fraction) -> Amount:
    """How much a part is of a whole, in one word."""
    if part in (0, whole):
        return "all" if part else "none"
    share = part / whole
    return "few" if share <= MAX_FEW else "most" if share >= MIN_MOST else "some"


@dataclass(frozen=True, slots=True)
class Sample:
    """Texts of some cells of a column, without blanks around them, with the rows of each.

    `unread` are cells that cannot be read, out of `unread_rows` rows; `read` and `read_rows` are
    the same for readable cells. `decimal` is the decimal mark of columns without their own.
    """

    unread: Mapping[str, int]
    unread_rows: int
    read: Mapping[str, int]
    read_rows: int
    decimal: str

    def shown(self, rows: Mapping[str, int], usual: Container[str] = ()) -> list[str]:
        """The texts that may be named, the most frequent first."""
        ordered = Counter(rows).most_common()
        return [text for text, count in ordered if count >= FREQUENT or text in usual]

    def share_read(self, column: Column, cells: Mapping[str, int]) -> Fraction:
        """The share of the rows of `cells` that a column reads, or takes for missing by a mark."""
        if not cells:
            return Fraction(1)
        texts = pl.DataFrame({"t0": list(cells)}, {"t0": pl.String})
        swapped = texts.select(column.with_point(pl.col("t0"), self.decimal))
        value = Decoder((column,)).decode(swapped).to_series()
        is_known = value.is_not_null()
        if column.marks:
            is_known |= swapped.select(column.is_mark(pl.col("t0"), column.marks)).to_series()
        rows = pl.Series(list(cells.values()))
        return Fraction(int(rows.filter(is_known).sum()), int(rows.sum()))

    def rows_read(self, column: Column) -> Fraction:
        """About how many of all cells that are not blank a column reads."""
        unread, read = (self.share_read(column, cells) for cells in (self.unread, self.read))
        return unread * self.unread_rows + read * self.read_rows


@dataclass(frozen=True, slots=True)
class Remedy:
    """Keys of the spec that read some of the cells of a column that cannot be read now.

    `instead` is another key that reads as many, with another meaning.
    """

    keys: tuple[str, ...]
    reads: Amount
    instead: str = ""


def find_remedy(column: Column, sample: Sample) -> Remedy | None:
    """The declaration that reads most of the cells; None if none reads more cells."""
    if not sample.unread or not isinstance(column, ValuedColumn):
        return None
    marks = Marks.found(column, sample)
    marked = column.with_options(Marks.added(column, marks))
    unread = {text: rows for text, rows in sample.unread.items() if text not in marks}
    unread_sample = replace(sample, unread=unread)
    read = {
        candidate: unread_sample.rows_read(candidate)
        for candidate in (marked, *marked.proposed(unread_sample))
    }
    # Of two that read as many cells, the first is chosen: three digits are rarely decimals.
    best = max(read, key=lambda candidate: read[candidate])
    if sample.rows_read(best) <= sample.rows_read(column):
        return None
    keys = tuple(best.changed_keys(_with_decimal(column, sample)))
    share = sample.share_read(best, sample.unread)
    return (
        Remedy(keys, amount(share, Fraction(1)), _alternative_words(column, best, unread_sample))
        if keys
        else None
    )


def _with_decimal(column: V, sample: Sample) -> V:
    """The column with the decimal mark that it has without its own."""
    return column if column.option(Decimal) else column.with_options(Decimal(sample.decimal))


def _alternative_words(column: V, best: V, sample: Sample) -> str:
    """The option that reads as many cells as one of the best column, with another meaning."""
    for option in best.options:
        alternative = option.instead(column.option(type(option)))
        if alternative is not None:
            changed = best.with_options(alternative, without=[type(option)])
            if sample.rows_read(changed) >= sample.rows_read(best):
                return alternative.words
    return ""


def missing_codes(cells: Mapping[str, int]) -> tuple[str, ...]:
    """Usual codes of missing answers among numbers; at least `FREQUENT` rows have each."""
    codes = Counter(cells)
    return tuple(
        text
        for text, rows in codes.most_common()
        if rows >= FREQUENT and text in usual_cells()["codes"]
    )
