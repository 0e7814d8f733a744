"""Every kind of column, and of option."""

from __future__ import annotations

from typing import Final, cast

from dpcli.data.column import Column
from dpcli.data.dates import DateColumn
from dpcli.data.ids import IdColumn, PrivatePartitionColumn
from dpcli.data.labels import BooleanColumn, CategoryColumn
from dpcli.data.numbers import IntegerColumn, NumberColumn
from dpcli.data.numeric import NumericColumn
from dpcli.data.options.dates import Hours

NUMERIC_COLUMNS: Final[dict[str, type[NumericColumn]]] = {
    "integer": IntegerColumn, "number": NumberColumn, "date": DateColumn,
}  # fmt: skip
"""Columns of numbers and dates, by the words of a spec."""

LABELED_COLUMNS: Final[frozenset[type]] = frozenset({CategoryColumn, BooleanColumn})
"""Columns of labels, which check their own texts."""

COLUMNS: Final[frozenset[type]] = (
    frozenset(NUMERIC_COLUMNS.values()) | LABELED_COLUMNS | {PrivatePartitionColumn, IdColumn}
)
"""All classes of columns. Privacy: an object of a subclass is refused where this matters."""


def option_kinds() -> frozenset[type]:
    """All classes of options: those that columns take, and that of a derived column."""
    taken = (option for kind in COLUMNS for option in cast("type[Column]", kind).takes)
    return frozenset({*taken, Hours})
