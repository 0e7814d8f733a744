"""Every kind of column and of option, and the axes of tables that columns make."""

from __future__ import annotations

from typing import Final, cast

from dpcli.data.column import Column, ValuedColumn
from dpcli.data.date_options import Hours
from dpcli.data.dates import DateColumn
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.labels import BooleanColumn, CategoryColumn, IdColumn, PrivatePartitionColumn
from dpcli.data.number_columns import IntegerColumn, NumberColumn
from dpcli.problems.light_dataclasses import dataclass

NUMERIC_COLUMNS: Final[dict[str, type[NumericColumn]]] = {
    "integer": IntegerColumn, "number": NumberColumn, "date": DateColumn,
}  # fmt: skip
"""Columns of numbers and dates, by the words of a spec."""

LABELED_COLUMNS: Final[frozenset[type]] = frozenset({CategoryColumn, BooleanColumn})
"""Columns of labels, which check their own texts."""

COLUMNS: Final[frozenset[type]] = (
    frozenset(NUMERIC_COLUMNS.values()) | LABELED_COLUMNS | {PrivatePartitionColumn, IdColumn}
)
"""All classes of columns.

Privacy: an object of a subclass is refused where this matters."""


def option_kinds() -> frozenset[type]:
    """All classes of options: those that columns take, and that of a derived column."""
    taken = (option for kind in COLUMNS for option in cast("type[Column]", kind).takes)
    return frozenset({*taken, Hours})


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a table: the labels of a category, or the bins of a number.

    `starts` are the smallest values of the bins of a numeric column, in steps, increasing from its
    lower bound. A bin contains the values from its start to below the next start, and the last bin
    those up to the upper bound. So every value that is not missing is in exactly one bin. The
    labels of a `PrivatePartitionColumn` are private: the key has neither labels nor a length.
    """

    column: ValuedColumn | PrivatePartitionColumn
    starts: tuple[int, ...] | range = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The published labels in order; `TypeError` if they are private."""
        return self.column.axis_labels(self.starts)

    def label(self, index: int) -> str:
        """The published label at a position of this axis."""
        return self.column.axis_label(self.starts, index)

    def __len__(self) -> int:
        return self.column.axis_length(self.starts)

    @property
    def is_private(self) -> bool:
        """Whether the labels are not declared, so that only the data have them."""
        return isinstance(self.column, PrivatePartitionColumn)
