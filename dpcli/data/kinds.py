"""Every kind of column and of option, and the axes of tables that columns make."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import Final, Self

from dpcli.data.column import Column, Option, Ranges
from dpcli.data.polars_text import pl
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.registry import Classes, Registry

COLUMNS: Final[Registry[type[Column]]] = Registry(
    "dpcli.data",
    {
        "integer": "number_columns:IntegerColumn",
        "number": "number_columns:NumberColumn",
        "category": "labels:CategoryColumn",
        "boolean": "labels:BooleanColumn",
        "date": "dates:DateColumn",
        "id": "labels:IdColumn",
    },
    key="key",
    makes=False,
)
"""Every type that a column may have. To add one, write a class and add a line.

Privacy: an object of a subclass is refused where this matters."""

UNDECLARED: Final[Classes[Column]] = Classes(
    "dpcli.data", "number_columns:ListedColumn", "labels:PrivatePartitionColumn"
)
"""All other classes of columns, which types make from some of their `values`."""

OTHER_OPTIONS: Final[Classes[Option]] = Classes(
    "dpcli.data", "date_options:TimePart", "labels:UsualWords"
)
"""The options without a key, which no column takes from a spec."""


def is_option(kind: type) -> bool:
    """Whether a class is an option: one that a column takes, or one without a key."""
    columns = (*COLUMNS.classes.loaded, *UNDECLARED.loaded)
    return kind in OTHER_OPTIONS or any(kind in column.takes for column in columns)


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a table: the labels of a category, or the bins of a number.

    `starts` are the smallest values of the bins of a numeric column, in steps, increasing from its
    lower bound. A bin contains the values from its start to below the next start, and the last bin
    those up to the upper bound. So every value that is not missing is in exactly one bin. The
    labels of a column without declared values are private: the key has neither labels nor a length.

    `chosen` are the positions, increasing, of the only labels or bins that the axis has; None for
    all. A row in another one lies outside the axis. If there is a `total`, it is the last label, of
    the totals over all others: such an axis names published numbers, but no query has it.
    """

    column: Column
    starts: tuple[int, ...] | range = ()
    chosen: tuple[int, ...] | None = None
    total: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The published labels in order; `TypeError` if they are private."""
        total = (self.total,) if self.total else ()
        if self.chosen is None:
            return self.column.axis_labels(self.starts) + total
        return (*map(self.label, range(len(self.chosen))), *total)

    def label(self, index: int) -> str:
        """The published label at a position of this axis."""
        position = index if self.chosen is None else self.chosen[index]
        return self.column.axis_label(self.starts, position)

    def __len__(self) -> int:
        chosen, is_more = self.chosen, bool(self.total)
        return is_more + (self.column.axis_length(self.starts) if chosen is None else len(chosen))

    @property
    def without_total(self) -> Self:
        """The axis of the rows themselves."""
        return replace(self, total="") if self.total else self

    def index(self, value: pl.Expr) -> pl.Expr:
        """The position of a value on this axis; null or past the end if it has no label."""
        position = self.column.axis_index(value, self.starts)
        if self.chosen is None:
            return position
        own = list(range(len(self.chosen)))
        return position.replace_strict(list(self.chosen), own, default=None, return_dtype=pl.Int32)

    def within(self, ranges: Ranges) -> Self:
        """The axis with only the labels or bins of values in some of these ranges."""
        starts = self.starts
        ends = (
            [bisect_right(starts, end) - 1 for end in pair] if starts else pair for pair in ranges
        )
        chosen = sorted({at for low, high in ends for at in range(low, high + 1)})
        is_all = len(chosen) in (0, self.column.axis_length(starts))
        return self if is_all else replace(self, chosen=tuple(chosen))

    @property
    def lacks_values(self) -> bool:
        """Whether values of rows may lie outside the axis although no cell is missing."""
        derivation = self.column.derivation
        return self.chosen is not None or (derivation is not None and derivation.may_lack)

    @property
    def is_private(self) -> bool:
        """Whether the labels are not declared, so that only the data have them."""
        return self.column.is_private
