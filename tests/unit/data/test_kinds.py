"""The kinds of columns: a class each, which no other object can stand for."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from dpcli.data.column import Column, ValuedColumn
from dpcli.data.dates import DateColumn
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.kinds import COLUMNS, UNDECLARED
from dpcli.data.labels import (
    BooleanColumn,
    CategoryColumn,
    IdColumn,
    LabeledColumn,
    PrivatePartitionColumn,
    TextColumn,
    UnifiedColumn,
)
from dpcli.data.number_columns import IntegerColumn, ListedColumn, NumberColumn

PAIRS = (("no", "no"), ("yes", "yes"))

ALIKE = (
    ListedColumn("x", bounds=(0, 1)), IntegerColumn("x", bounds=(0, 1)),
    NumberColumn("x", bounds=(0, 1)),
    DateColumn("x", bounds=(0, 1)), CategoryColumn("x", PAIRS), BooleanColumn("x", PAIRS),
    PrivatePartitionColumn("x"), IdColumn("x"),
)  # fmt: skip
"""One column of each kind, with equal fields as far as kinds have the same."""


def descendants(kind: Any) -> Iterator[type]:
    """The classes of the package that extend a class."""
    children: list[type] = kind.__subclasses__()
    for child in children:
        yield from descendants(child)
        # A class with slots replaces the one that was written, which may still exist.
        if vars(sys.modules[child.__module__]).get(child.__name__) is child:
            yield child


def test_the_registry_has_every_class_of_columns() -> None:
    """A class of which there are objects is registered; those that they extend are abstract."""
    package = (kind for kind in descendants(Column) if kind.__module__.startswith("dpcli."))
    abstract = {Column, ValuedColumn, NumericColumn, UnifiedColumn, LabeledColumn, TextColumn}

    assert set(package) == {*COLUMNS, *UNDECLARED} | abstract - {Column}
    assert set(map(type, ALIKE)) == {*COLUMNS, *UNDECLARED}
    assert all(map(inspect.isabstract, abstract))


def test_columns_of_different_kinds_are_different() -> None:
    """Equal fields do not make a date a number, nor a boolean a category."""
    assert len(set(ALIKE)) == len(ALIKE)
    assert all((one == other) == (one is other) for one in ALIKE for other in ALIKE)


def test_the_word_of_a_kind_leads_to_its_class() -> None:
    """The words of a spec for numbers and dates are those that the columns state."""
    assert {column.kind: type(column) for column in ALIKE if isinstance(column, NumericColumn)} == {
        kind.key: kind for kind in (IntegerColumn, NumberColumn, DateColumn)
    }
    assert all(column.checks_texts == bool(column.labels) for column in ALIKE)


@pytest.mark.parametrize("column", ALIKE, ids=lambda column: type(column).__name__)
def test_a_column_cannot_be_changed(column: Column) -> None:
    """A column is a value: its fields are set once."""
    with pytest.raises(AttributeError):
        setattr(column, "name", "y")  # noqa: B010 - refused by types too
