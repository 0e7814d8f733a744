"""The axes of tables, which are made of columns."""

from __future__ import annotations

from dpcli.data.column import ValuedColumn
from dpcli.data.ids import PrivatePartitionColumn
from dpcli.problems.light_dataclasses import dataclass


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
