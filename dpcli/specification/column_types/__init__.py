"""The types that a column of a spec may have: one model for each.

`model.py` defines `ColumnModel`, what every type states; open it first. `numbers`, `dates` and
`labels` have those that a spec may name, and `code_list` reads the values of a category from a
file.

To add a type, write one model and add one line to `COLUMN_TYPES`.
"""

from __future__ import annotations

from dpcli.problems.registry import Registry
from dpcli.specification.column_types.model import ColumnModel

COLUMN_TYPES: Registry[type[ColumnModel]] = Registry(
    "dpcli.specification.column_types",
    {
        "integer": "numbers:IntegerColumnModel",
        "number": "numbers:NumberColumnModel",
        "category": "labels:CategoryColumnModel",
        "boolean": "labels:BooleanColumnModel",
        "date": "dates:DateColumnModel",
        "id": "labels:IdColumnModel",
    },
    key="kind",
    makes=False,
)
"""Every type that a column may have."""
