"""What a column may hold, as whole numbers, and how it is cut into cells.

Every cell becomes a whole number or is missing: a numeric cell a number of steps
of the column's grid, a category cell the position of its label. All later
arithmetic is on these integers. Everything here is public: it comes from the
spec, never from the data.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Literal

from dpcli.numeric.exact import decimal_places, decimal_text

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "'")
"""First characters that make a spreadsheet evaluate a cell, or hide that it would.

What is declared does not begin so, unless it is a number: then a label is the same in every
format. A key that is found in the data gets an apostrophe before it in CSV.
"""

EPOCH = datetime.date(1970, 1, 1)
"""Day zero of the grid of dates."""


NumericKind = Literal["integer", "number", "date"]


@dataclass(frozen=True, slots=True)
class NumericColumn:
    """Integers, numbers or dates: whole multiples of `step` between two bounds.

    `bounds` and `missing` are counted in steps. A date counts days since
    1970-01-01. A column without bounds can be declared, but not asked about.
    """

    name: str
    kind: NumericKind
    step: Fraction = Fraction(1)
    bounds: tuple[int, int] | None = None
    missing: int | None = None

    def __post_init__(self) -> None:
        if self.bounds is not None and self.bounds[0] > self.bounds[1]:
            raise ValueError(f"the lower bound of column {self.name} is above the upper one")

    @property
    def lower(self) -> int:
        """The least value in steps; the column must have bounds."""
        return self.limits[0]

    @property
    def upper(self) -> int:
        """The greatest value in steps; the column must have bounds."""
        return self.limits[1]

    @property
    def limits(self) -> tuple[int, int]:
        """The bounds in steps; `ValueError` when none are declared."""
        if self.bounds is None:
            raise ValueError(f"column {self.name} has no bounds")
        return self.bounds

    @property
    def whole(self) -> bool:
        """Whether every value is a whole number or a day."""
        return self.step.denominator == 1

    def text(self, steps: int) -> str:
        """A whole number of steps as it is published: a plain decimal or a date."""
        if self.kind == "date":
            return (EPOCH + datetime.timedelta(days=steps)).isoformat()
        return decimal_text(steps * self.step, decimal_places(self.step))


@dataclass(frozen=True)
class CategoryColumn:
    """Declared texts, each published under a label; several may share a label.

    `values` pairs the text in the file with its label. `missing`, when given, is
    the position of the label that stands for every other cell. What follows from the
    values is computed once: there may be very many, and many statistics that use them.
    """

    name: str
    kind: Literal["category", "boolean"]
    values: tuple[tuple[str, str], ...]
    missing: int | None = None

    def __post_init__(self) -> None:
        # What is counted must be what is compared, so labels are plain texts.
        if {*map(type, chain.from_iterable(self.values))} - {str}:
            raise TypeError("categories are plain texts")

    def __hash__(self) -> int:
        return hash((self.name, self.kind, len(self.values), self.missing))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The distinct labels in the declared order; a cell is a position here."""
        return tuple(dict.fromkeys(label for _, label in self.values))

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """The position of each label."""
        return {label: position for position, label in enumerate(self.labels)}

    @cached_property
    def label_of(self) -> Mapping[str, str]:
        """The label of each text in the file."""
        return dict(self.values)


@dataclass(frozen=True, slots=True)
class PrivatePartitionColumn:
    """Texts that are not declared: which there are is as private as the rows.

    Only groups with private keys may be made of them.
    """

    name: str
    kind: Literal["category"] = "category"
    missing: None = None


@dataclass(frozen=True, slots=True)
class IdColumn:
    """The id of the person that a row belongs to. Ids are counted, but never published.

    A row with an empty id belongs to no person. With `singletons_without_id`, it belongs to a
    person with no other row.
    """

    name: str
    singletons_without_id: bool = False
    kind: Literal["id"] = "id"
    missing: None = None


Column = NumericColumn | CategoryColumn | PrivatePartitionColumn | IdColumn


def without_missing_constant(column: Column) -> Column:
    """The column whose unreadable cells stay missing, with bounds if it has none."""
    if isinstance(column, NumericColumn):
        return replace(column, bounds=column.bounds or (0, 0), missing=None)
    if isinstance(column, CategoryColumn):
        return replace(column, missing=None)
    return column


def bin_label(column: NumericColumn, starts: Sequence[int], place: int) -> str:
    """The label of one bin, which holds the values from its start to below the next start.

    The last bin ends with the upper bound of the column. Whole numbers and days are
    closed ranges of the values that a bin holds, finer numbers are intervals:

    =====================================  ==================================
    column                                 labels
    =====================================  ==================================
    whole numbers, none below zero         ``0-9``, ``10-19``, ``20``
    whole numbers, some below zero         ``[-10,-1]``, ``[0,9]``, ``10``
    dates                                  ``2024-03-01..2024-03-31``
    numbers whose step is not whole        ``[0.0,0.5)``, ``[0.5,1.0]``
    =====================================  ==================================

    No label begins with a character that starts a formula in a spreadsheet, except the
    minus of a plain negative number, which is a number there too. So a label is the same
    text in CSV, Parquet, JSON and HTML.
    """
    low, last = starts[place], place == len(starts) - 1
    high = column.upper if last else starts[place + 1] - int(column.whole)
    first, end = column.text(low), column.text(high)
    if not column.whole:
        return f"[{first},{end}{']' if last else ')'}"
    if low == high:
        return first
    if column.kind == "date":
        return f"{first}..{end}"
    return f"[{first},{end}]" if column.lower < 0 else f"{first}-{end}"


@dataclass(frozen=True, slots=True)
class Key:
    """One axis of a table: the labels of a category, or the bins of a number.

    `starts`, in steps, are the least values of the bins of a numeric column, rising from
    its lower bound. A bin holds the values from its start to below the next start, the
    last one up to the upper bound, so every value that is present lies in exactly one
    bin. The labels of an open column are in the data, and private: it has neither labels
    nor length here.
    """

    column: CategoryColumn | NumericColumn | PrivatePartitionColumn
    starts: tuple[int, ...] | range = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The published names along this axis, in order."""
        if isinstance(self.column, NumericColumn):
            return tuple(self.label(place) for place in range(len(self)))
        if isinstance(self.column, PrivatePartitionColumn):
            raise TypeError("an open column has no public labels")
        return self.column.labels

    def label(self, place: int) -> str:
        """The published name at a place along this axis."""
        if isinstance(self.column, NumericColumn):
            return bin_label(self.column, self.starts, place)
        return self.labels[place]

    def __len__(self) -> int:
        """How many cells lie along this axis."""
        return len(self.starts if isinstance(self.column, NumericColumn) else self.labels)

    @property
    def is_private(self) -> bool:
        """Whether its labels are known from the data alone."""
        return isinstance(self.column, PrivatePartitionColumn)
