"""The columns of a spec, and the axes of groups (`Axis`) that are made of them.

Every cell of a file becomes a whole number, or is missing. A numeric cell becomes a number of
steps, a category cell the position of its label. All later arithmetic is on these integers.
Everything here is public: it comes from the spec, never from the data.
"""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Literal

from dpcli.cell_formats import DateFormat, NumberFormat
from dpcli.light_dataclasses import dataclass
from dpcli.numeric.exact import decimal_places, decimal_text

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "'")
"""First characters of cells that a spreadsheet evaluates, or hides.

Declared labels do not begin with them, except for numbers. So a label is the same text in every
format. A private key from the data that begins with one of them gets an apostrophe in CSV.
"""

EPOCH = datetime.date(1970, 1, 1)
"""Day zero of the grid of dates."""


NumericKind = Literal["integer", "number", "date"]

Source = str | int | None
"""Where a file has the cells of a column: under a name, at a position from 1 on, or under the
column's own name. Several columns may read the same cells."""


class Derivation(ABC):
    """How the cells of a derived column follow from other cells of the same row."""

    __slots__ = ()

    @property
    @abstractmethod
    def inputs(self) -> tuple[Column, ...]:
        """The columns from which it is computed; they may be derived themselves."""

    @property
    @abstractmethod
    def text(self) -> str:
        """How it is computed, in words or as a formula, such as `wage + bonus`."""


@dataclass(frozen=True, slots=True)
class NumericColumn:
    """Integers, numbers or dates: whole multiples of `step` between two bounds.

    `bounds` and `missing` are numbers of steps. A date is a number of days since 1970-01-01. A
    column without bounds can be declared, but no statistic can use it. A column with a `derivation`
    is computed from other columns instead of being read. `na` are texts that mark missing cells;
    for numbers, they mark equal numbers too. `format` is how cells are written, if not plainly.
    """

    name: str
    kind: NumericKind
    step: Fraction = Fraction(1)
    bounds: tuple[int, int] | None = None
    missing: int | None = None
    source: Source = None
    derivation: Derivation | None = None
    na: tuple[str, ...] = ()
    format: NumberFormat | DateFormat | None = None

    def __post_init__(self) -> None:
        if self.bounds is not None and self.bounds[0] > self.bounds[1]:
            raise ValueError(f"the lower bound of column {self.name} is above the upper one")
        low, high = self.bounds or (self.missing, self.missing)
        # The constant is not clamped, and sensitivities follow from the bounds.
        if self.missing is not None and not (low or 0) <= self.missing <= (high or 0):
            raise ValueError(f"the constant of column {self.name} is not within its bounds")

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
        """Whether all values are whole numbers or days."""
        return self.step.denominator == 1

    def text(self, steps: int) -> str:
        """The text of a number of steps in published tables: a plain decimal or a date."""
        if self.kind == "date":
            return (EPOCH + datetime.timedelta(days=steps)).isoformat()
        return decimal_text(steps * self.step, decimal_places(self.step))


@dataclass(frozen=True)
class CategoryColumn:
    """Declared texts and their labels; several texts may have the same label.

    `values` are pairs of a text in the file and its label. `missing` is the position of the label
    of all other cells; if it is None, they are missing. `na` are texts that mark missing cells, and
    `other` is the label of every other text that is not blank. Properties are computed once,
    because a column may have very many values and be used by many statistics.
    """

    name: str
    kind: Literal["category", "boolean"]
    values: tuple[tuple[str, str], ...]
    missing: int | None = None
    source: Source = None
    derivation: Derivation | None = None
    na: tuple[str, ...] = ()
    ignores_case: bool = False
    other: str | None = None

    def __post_init__(self) -> None:
        # What is counted must be what is compared, so all of it is plain data.
        texts = {*map(type, chain.from_iterable(self.values)), *map(type, self.na)}
        lists = {type(self.values), type(self.na), *map(type, self.values)}
        if texts - {str} or lists - {tuple} or type(self.other) not in (str, type(None)):
            raise TypeError("categories are plain texts")
        if self.missing is not None:
            if type(self.missing) is not int:
                raise TypeError("the constant of a category is the position of a label")
            if not 0 <= self.missing < len(self.labels):
                raise ValueError(f"the constant of column {self.name} is no label")

    def __hash__(self) -> int:
        return hash((self.name, self.kind, len(self.values), self.missing, self.source))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The different labels in the declared order. A cell is a position in them."""
        others = () if self.other is None else (self.other,)
        return tuple(dict.fromkeys((*(label for _, label in self.values), *others)))

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
    """A column whose texts are not declared, so that they are as private as the rows.

    It can only be a key of groups that partition selection chooses (`keys: private`).
    """

    name: str
    kind: Literal["category"] = "category"
    missing: None = None
    source: Source = None
    derivation: None = None
    na: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IdColumn:
    """The id of the person of a row. Ids are counted, but never published.

    A row with an empty id, or with one of the marks `na`, belongs to no person. With
    `singletons_without_id`, it belongs to a person with no other row.
    """

    name: str
    singletons_without_id: bool = False
    kind: Literal["id"] = "id"
    missing: None = None
    source: Source = None
    derivation: None = None
    na: tuple[str, ...] = ()


Column = NumericColumn | CategoryColumn | PrivatePartitionColumn | IdColumn


def file_columns(columns: Iterable[Column]) -> tuple[Column, ...]:
    """The columns that a file must have for these, without repetition: not the derived ones."""
    return tuple(dict.fromkeys(part for column in columns for part in _file_columns(column)))


def _file_columns(column: Column) -> Iterator[Column]:
    if column.derivation is None:
        yield column
        return
    for part in column.derivation.inputs:
        yield from _file_columns(part)


def column_names(columns: Iterable[Column]) -> tuple[str, ...]:
    """The names that these columns have in files, without repetition; positions are no names."""
    keys = (column.source or column.name for column in file_columns(columns))
    return tuple(dict.fromkeys(key for key in keys if isinstance(key, str)))


def without_missing_constant(column: Column) -> Column:
    """The column without the constant for missing cells, and with bounds in any case."""
    if isinstance(column, NumericColumn):
        return replace(column, bounds=column.bounds or (0, 0), missing=None)
    if isinstance(column, CategoryColumn):
        return replace(column, missing=None)
    return column


def bin_label(column: NumericColumn, starts: Sequence[int], place: int) -> str:
    """The label of one bin, with the values from its start to below the next start.

    The last bin includes the upper bound of the column. Labels of whole numbers and days are closed
    ranges; labels of finer numbers are intervals:

    =====================================  ==================================
    column                                 labels
    =====================================  ==================================
    whole numbers, none below zero         ``0-9``, ``10-19``, ``20``
    whole numbers, some below zero         ``[-10,-1]``, ``[0,9]``, ``10``
    dates                                  ``2024-03-01..2024-03-31``
    numbers whose step is not whole        ``[0.0,0.5)``, ``[0.5,1.0]``
    =====================================  ==================================

    No label begins with a character that starts a formula in a spreadsheet. The exception is the
    minus of a negative number, which a spreadsheet reads as a number too. So a label is the same
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
class Axis:
    """One axis of a table: the labels of a category, or the bins of a number.

    `starts` are the smallest values of the bins of a numeric column, in steps, increasing from its
    lower bound. A bin contains the values from its start to below the next start, and the last bin
    those up to the upper bound. So every value that is not missing is in exactly one bin. The
    labels of a `PrivatePartitionColumn` are private: the key has neither labels nor a length.
    """

    column: CategoryColumn | NumericColumn | PrivatePartitionColumn
    starts: tuple[int, ...] | range = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The published labels in order; `TypeError` if they are private."""
        if isinstance(self.column, NumericColumn):
            return tuple(self.label(place) for place in range(len(self)))
        if isinstance(self.column, PrivatePartitionColumn):
            raise TypeError("a column with private partitions has no public labels")
        return self.column.labels

    def label(self, place: int) -> str:
        """The published label at a position of this axis."""
        if isinstance(self.column, NumericColumn):
            return bin_label(self.column, self.starts, place)
        return self.labels[place]

    def __len__(self) -> int:
        return len(self.starts if isinstance(self.column, NumericColumn) else self.labels)

    @property
    def is_private(self) -> bool:
        """Whether the labels are not declared, so that only the data have them."""
        return isinstance(self.column, PrivatePartitionColumn)
