"""Every kind of column."""

from __future__ import annotations

from typing import Final

from dpcli.data.dates import DateColumn
from dpcli.data.ids import IdColumn, PrivatePartitionColumn
from dpcli.data.labels import BooleanColumn, CategoryColumn
from dpcli.data.numbers import IntegerColumn, NumberColumn
from dpcli.data.numeric import NumericColumn

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
