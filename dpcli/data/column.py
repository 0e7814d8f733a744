"""What all columns of a spec have in common.

Every cell of a file becomes a whole number, or is missing. A numeric cell becomes a number of
steps, a category cell the position of its label. All later arithmetic is on these integers.
Everything here is public: it comes from the spec, never from the data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, replace
from typing import Any, ClassVar, Self

from dpcli.data.key_texts import list_text
from dpcli.data.lazy_polars import pl
from dpcli.data.text_cells import strip_blanks

Source = str | int | None
"""Where a file has the cells of a column: under a name, at a position from 1 on, or under the
column's own name. Several columns may read the same cells."""

Ranges = tuple[tuple[int, int], ...]
"""Inclusive ranges of values, none of which overlap, in increasing order."""

Rule = Callable[["pl.Expr"], "pl.Expr"]
"""Gives the values of texts as far as it can read them, and null for all others."""


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


class Column(ABC):
    """A column of a file, or one that is derived from others.

    Privacy: a query is made of the registered classes of columns alone, never of subclasses.
    """

    __slots__ = ()

    name: str
    missing: int | None
    source: Source
    derivation: Derivation | None
    na: tuple[str, ...]

    # Each kind is a data class, so that `replace` takes any column.
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    wrong_type: ClassVar[str] = "wrong-column-type"
    """The problem of a statistic that needs another kind of column."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """The word for this kind of column in a spec."""

    @property
    def file_key(self) -> str | int:
        """The name, or the position, under which a file has the cells of the column."""
        return self.source or self.name

    @property
    def labels(self) -> tuple[str, ...]:
        """The declared labels, in order; none if the column is no category."""
        return ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The declared texts of cells, each with a label; none if the column is no category."""
        return ()

    @property
    def compared_texts(self) -> Sequence[str]:
        """The same texts, as cells are compared with them."""
        return self.texts

    def without_missing_constant(self) -> Self:
        """The column without the constant for missing cells, and with bounds in any case."""
        return self

    def without_limits(self) -> Self:
        """The column without a constant, whose bounds are a step wider, so that clamping shows."""
        return self.without_missing_constant()

    # How cells are decoded.

    @abstractmethod
    def rules(self, decided: Mapping[str, int | None], *, is_integer: bool) -> Sequence[Rule]:
        """Rules that give a value or null: the first reads cells, the others bare texts.

        `decided` are the values of texts that `decide` gave. Cells may be integers already.
        """

    def undecided(self, left: pl.Expr, decided: Mapping[str, int | None]) -> pl.Expr | None:
        """Whether a text is a value, but no rule gave it; None if the rules decide all texts."""
        return None

    def decide(self, text: str) -> int | None:
        """The value of a text that no rule decides; None if it is missing."""
        return None

    @property
    def needs_plain_text(self) -> bool:
        """Whether cells must become plain texts before rules read them."""
        return bool(self.na)

    @property
    def has_form(self) -> bool:
        """Whether the column declares how its cells are written."""
        return self.needs_plain_text

    def plain_text(self, cell: pl.Expr) -> pl.Expr:
        """The cell as a plain text; null if it is blank, marked as missing, or of another form."""
        plain = self.unmarked_text(cell)
        return pl.when(~self.is_marked(cell)).then(plain) if self.na else plain

    def unmarked_text(self, cell: pl.Expr) -> pl.Expr:
        """The plain text of a cell that is no mark of a missing one."""
        return strip_blanks(cell)

    def is_marked(self, cell: pl.Expr) -> pl.Expr:
        """Whether a cell is one of the declared marks of missing cells."""
        return strip_blanks(cell).is_in(list(self.na))

    def with_point(self, text: pl.Expr, decimal: str) -> pl.Expr:
        """The text of a cell with a point as decimal mark, if `decimal` is that of the file."""
        return text

    def typed_text(self, plain: pl.Expr) -> pl.Expr | None:
        """A number or time of the file as this column writes it; None to leave all cells alone."""
        return None

    def whole_cells(self, cell: pl.Expr, dtype: pl.DataType) -> pl.Expr | None:
        """The cells of a column with a type as Int64; None if they must be read as texts."""
        return None

    def possible(self, value: pl.Expr) -> pl.Expr:
        """A derived value as the column can have it; null if it cannot."""
        return value

    # What `check --cells` shows.

    def cell_facts(self, cell: pl.Expr, value: pl.Expr) -> Iterator[tuple[str, pl.Expr]]:
        """What is counted of the cells, by name; `value` is from the column without limits."""
        yield from ()

    def outside(self, value: pl.Expr) -> pl.Expr | None:
        """Whether a value is outside the bounds of the column; None if that says nothing."""
        return None

    def declared_parts(self, cell: pl.Expr) -> Iterator[tuple[str, pl.Expr]]:
        """The declared marks and parts of texts, each with the cells that have it."""
        for mark in self.na:
            yield mark, replace(self, na=(mark,)).is_marked(cell)

    @abstractmethod
    def expected(self, decimal: str) -> tuple[str, dict[str, object]]:
        """The message on how a cell is written, and its facts, such as an example.

        `decimal` is the decimal mark of columns without their own.
        """

    def changed_keys(self, old: Self, decimal: str) -> Iterator[str]:
        """What this column declares differently from an old one, each key as in YAML."""
        if self.na != old.na:
            yield f"na: {list_text(self.na)}"

    # Axes of tables.

    def axis_labels(self, starts: Sequence[int]) -> tuple[str, ...]:
        """The labels of an axis, whose bins begin at `starts`; `TypeError` if they are private."""
        raise TypeError("a column with private partitions has no public labels")

    def axis_label(self, starts: Sequence[int], place: int) -> str:
        """The label at a position of an axis."""
        return self.axis_labels(starts)[place]

    def axis_length(self, starts: Sequence[int]) -> int:
        """The number of labels of an axis."""
        return len(self.axis_labels(starts))

    def axis_place(self, value: pl.Expr, starts: Sequence[int]) -> pl.Expr:
        """The position of a value on an axis; null or one too large if it has none."""
        return value


class ValuedColumn(Column):
    """A column whose possible values are declared: whole numbers between two limits."""

    __slots__ = ()

    @property
    @abstractmethod
    def limits(self) -> tuple[int, int]:
        """The least and the greatest value; `ValueError` when none are declared."""

    @abstractmethod
    def text(self, value: int) -> str:
        """The text of a value in published tables."""

    @abstractmethod
    def range_texts(self, ranges: Ranges) -> list[str]:
        """The values in ranges, in words, one of which a cell must have."""

    def condition_text(self, ranges: Ranges) -> str:
        """The condition that a cell lies in one of some ranges, in words."""
        return f"{self.name} {' or '.join(self.range_texts(ranges))}"


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
    keys = (column.file_key for column in file_columns(columns))
    return tuple(dict.fromkeys(key for key in keys if isinstance(key, str)))
