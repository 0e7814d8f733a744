"""What all columns of a spec have in common.

Every cell of a file becomes a whole number, or is missing. A numeric cell becomes a number of
steps, a category cell the position of its label. All later arithmetic is on these integers.
Everything here is public: it comes from the spec, never from the data.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, replace
from itertools import chain, product
from typing import Any, ClassVar, Final, Generic, NamedTuple, Self, TypeVar

from dpcli.data.characters import DASHES
from dpcli.data.declared_texts import flow_text
from dpcli.data.polars_text import NOT_UNIFIED, pl, strip_blanks
from dpcli.fields.section import SectionModel
from dpcli.fields.tree import Node, ScalarNode
from dpcli.fields.values import AlreadyReportedError, Fields
from dpcli.problems.light_dataclasses import dataclass

Source = str | int | None
"""Name or position (from 1) of a column's cells in a file; None: its own name.

Several columns may read the same cells."""

Ranges = tuple[tuple[int, int], ...]
"""Inclusive ranges of values, none of which overlap, in increasing order."""

RangesOf = Callable[["ValuedColumn"], Ranges]
"""The ranges in which all values of a column lie."""

Names = Mapping["Column", str]
"""The names that decoded columns have in a table."""

C = TypeVar("C", bound="Column")
Kind = TypeVar("Kind", bound="Option")

Rule = Callable[["pl.Expr"], "pl.Expr"]
"""Gives the values of texts as far as it can read them, and null for all others."""


READABLE: Final = 0
OUTSIDE: Final = 1
UNREADABLE: Final = 2
BLANK: Final = 3
STATES: Final = ("readable", "outside", "unreadable", "blank")
"""The states of a cell: readable, or outside its bounds, unreadable, or blank."""


class Derivation(ABC):
    """How the cells of a derived column follow from other cells of the same row."""

    __slots__ = ()

    of_person: ClassVar[bool] = False
    """Whether the value follows from all rows of a person, not from one row."""

    replaces_blanks: ClassVar[bool] = False
    """Whether inputs may be blank, because others replace them."""

    in_calendar: ClassVar[bool] = False
    """Whether the labels follow each other in the calendar."""

    @property
    @abstractmethod
    def inputs(self) -> tuple[Column, ...]:
        """The columns from which the value is computed; they may be derived themselves."""

    @property
    @abstractmethod
    def text(self) -> str:
        """How the value is computed, in words or as a formula, such as `wage + bonus`."""

    @property
    def unit(self) -> str:
        """The unit of the values, if it follows from how they are computed."""
        return ""

    @property
    def may_lack(self) -> bool:
        """Whether the value may be missing although no input is."""
        return False

    @property
    def misled_by_clamped(self) -> bool:
        """Whether values may differ because inputs outside their bounds are clamped."""
        return True

    @abstractmethod
    def value(self, names: Names) -> pl.Expr:
        """The value in its steps, or the position of its label; null if it is missing.

        `names` has the decoded inputs.
        """

    @property
    def cell_of(self) -> Column | None:
        """The column of a file whose blank cells decide the value too; None without."""
        return None

    def value_of_cell(self, names: Names, is_blank: pl.Expr) -> pl.Expr:
        """The value if a cell decides it; `is_blank` is about a cell without a value."""
        return self.value(names)

    def possible(self, ranges_of: RangesOf) -> Ranges | None:
        """Ranges of all values that follow from those of the inputs; None if not known."""
        return None

    def implied(self, ranges: Ranges) -> Mapping[ValuedColumn, Ranges] | None:
        """Ranges of inputs if a value is in `ranges`; None if it never is."""
        return {}


FREQUENT = 10
"""The fewest rows with a text that may be named, so it is not about one person."""


@dataclass(frozen=True)
class SampledTexts:
    """Texts of some cells of a column, without blanks around them, by number of rows.

    `unread` are texts of cells that cannot be read, of which the column has `unread_rows`; `read`
    are those of `read_rows` readable cells. Columns without their own decimal mark have `decimal`.
    """

    unread: Mapping[str, int]
    unread_rows: int
    read: Mapping[str, int]
    read_rows: int
    decimal: str

    def shown(self, rows: Mapping[str, int], usual: Container[str] = ()) -> list[str]:
        """The texts that may be named, most frequent first: frequent and `usual` ones."""
        ordered = Counter(rows).most_common()
        return [text for text, count in ordered if count >= FREQUENT or text in usual]


P_co = TypeVar("P_co", covariant=True)


class Proposal(NamedTuple, Generic[P_co]):
    """An option or a column that may read more cells, and its `doubts`."""

    value: P_co
    doubts: tuple[str, ...] = ()

    def doubt_if(self, condition: object, doubt: str) -> Self:
        """The proposal, with one more doubt if the condition is true."""
        more = (f"{doubt}: look at the file",) if condition else ()
        return self._replace(doubts=(*self.doubts, *more))


class Option(ABC):
    """What a column may declare about its cells, as the value of one key.

    Everything about the option stands in its class: the key, the type of its value, the rules that
    it has with the rest of the column, how it changes the texts of cells, and what `check --cells`
    reports about it. A column lists the options that it takes. The docstring is its page in
    `explain` if the reference has none.

    Privacy: a query is made of the listed classes of options alone, as of columns.
    """

    __slots__ = ()

    # Each kind is a data class.
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    key: ClassVar[str]
    """The key in a spec."""

    field: ClassVar[str] = ""
    """The name of the field that has the value, if it is not the key."""

    value_type: ClassVar[Any]
    """The type of the value in a spec."""

    only: ClassVar[str] = ""
    """The only value of an option without a field."""

    for_texts: ClassVar[bool] = False
    """Whether the option has no effect on numbers and days whose type a file states."""

    for_unread: ClassVar[bool] = False
    """Whether a cell that is a declared text is read without the option."""

    # How it is declared.

    @classmethod
    def stated(cls, value: Any) -> Option:
        """The option with the value of its key."""
        make: Callable[..., Option] = cls
        if not cls.__dataclass_fields__:
            return make()
        return make(tuple(value) if isinstance(value, list) else value)

    def applied(self, column: C) -> C:
        """The column with this option in place of a declared one."""
        return column.with_options(self)

    def require_fit(self, column: Column, section: SectionModel) -> None:  # noqa: B027 - none
        """Record and raise a problem if the option does not fit the rest of the column."""

    # How cells are decoded.

    @property
    def marks(self) -> tuple[str, ...]:
        """The texts that mark missing cells."""
        return ()

    @property
    def declared_texts(self) -> tuple[str, ...]:
        """The texts to which the option gives a meaning, except marks of missing cells."""
        return ()

    # What `check --cells` reports.

    @property
    def value(self) -> Any:
        """The value of its field."""
        return next((getattr(self, name) for name in self.__dataclass_fields__), self.only)

    @property
    def value_text(self) -> str:
        """The value as in YAML."""
        return flow_text(self.value)

    @property
    def words(self) -> str:
        """The key and the value as in YAML."""
        return f"{self.key}: {self.value_text}"

    def parts(self, cell: pl.Expr) -> Iterator[tuple[str, pl.Expr]]:
        """The parts of texts that have a meaning, each with whether a cell has it."""
        yield from ()

    @classmethod
    def proposed(cls, column: Column, cells: SampledTexts) -> Iterator[Proposal[Option | None]]:  # noqa: ARG003
        """Options that may read more cells, the most likely first; None is none.

        They depend on the texts in `cells` and on their counts alone.
        """
        yield Proposal(column.option(cls))


class TextOption(Option):
    """An option that changes the text of a cell before it is read."""

    __slots__ = ()

    joins: ClassVar[str] = ""
    """In what the ids differ that the option makes one person's, in words."""

    @abstractmethod
    def changed(self, text: pl.Expr) -> pl.Expr:
        """The text of a cell as it is read, or null; `text` has no blanks around it."""

    def spellings(self, texts: Sequence[str]) -> Iterator[str]:
        """Usual texts of cells that are changed to some of the declared `texts`."""
        yield from ()


class FormOption(Option):
    """An option that changes the form in which numbers or dates are read."""

    __slots__ = ()

    for_texts = True

    def in_form(self, form: Any) -> Any:
        """The form of numbers or dates, changed by this option, usually at its key."""
        return replace(form, **{self.key: self.value})


class Column(ABC):
    """A column of a file, or one that is derived from others.

    Privacy: a query is made of the registered classes of columns alone, never of subclasses.
    """

    __slots__ = ()

    name: str
    missing: int | None
    source: Source
    derivation: Derivation | None
    options: tuple[Option, ...]

    takes: ClassVar[tuple[type[Option], ...]] = ()
    """Options the column may have, in the order in which `check --cells` names them."""

    # Each kind is a data class, so that `replace` takes any column.
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    # How a spec declares it, if it can.

    key: ClassVar[str]
    """The word for its type in a spec."""

    kind: ClassVar[str]
    """The type for statistics, plans and reports: its own, or one with equal values."""

    fields: ClassVar[Fields] = {}
    """The types of its own fields, besides its options."""

    section: ClassVar[type[SectionModel]]
    """The other fields of the declaration."""

    has_codes: ClassVar[bool] = False
    """Whether a file of codes may have the `values` of the declaration."""

    @classmethod
    @abstractmethod
    def declared(cls, name: str, section: Any) -> Column:
        """The declared column without options; `AlreadyReportedError` if it has problems."""

    # Whose values it has.

    @property
    def is_of_people(self) -> bool:
        """Whether it has one value for each person, not for each row."""
        derivation = self.derivation
        if derivation is None or derivation.of_person:
            return derivation is not None
        inputs = derivation.inputs
        return bool(inputs) and all(column.is_of_people for column in inputs)

    @property
    def may_be_missing(self) -> bool:
        """Whether a row may have no value in it."""
        derivation = self.derivation
        if self.missing is not None or derivation is None or derivation.may_lack:
            return self.missing is None
        parts = () if derivation.replaces_blanks else derivation.inputs
        return any(column.may_be_missing for column in parts)

    @property
    def uses_people(self) -> bool:
        """Whether its values follow from values of people."""
        derivation = self.derivation
        return derivation is not None and (
            derivation.of_person or any(column.uses_people for column in derivation.inputs)
        )

    @property
    def in_calendar(self) -> bool:
        """Whether its bins or labels follow each other in the calendar."""
        return self.is_date or (self.derivation is not None and self.derivation.in_calendar)

    # What statistics and readers of specs ask of a kind.

    has_values: ClassVar[bool] = False
    """Whether its possible values are declared; if not, cells stay texts."""

    is_private: ClassVar[bool] = False
    """Whether its texts are public only where partition selection chooses them."""

    is_date: ClassVar[bool] = False
    """Whether its values are days."""

    is_id: ClassVar[bool] = False
    """Whether its values are ids of people, which are never published."""

    is_truth: ClassVar[bool] = False
    """Whether its labels are `false` and `true`."""

    bounds_example: ClassVar[str] = ""
    """Bounds that a message proposes."""

    checks_texts: ClassVar[bool] = False
    """Whether an object checks that its own texts are plain data."""

    has_outside: ClassVar[bool] = False
    """Whether values may lie outside declared bounds, where they are clamped."""

    reads_all: ClassVar[bool] = False
    """Whether every cell that is not blank can be read."""

    max_outside: ClassVar[float] = 0.05
    """The share of values outside bounds that a certain proposal may have."""

    wrong_type: ClassVar[str] = "wrong-column-type"
    """The code of the problem if a statistic needs another kind of column."""

    @property
    def file_key(self) -> str | int:
        """The name, or the position, under which a file has the cells of the column."""
        return self.source or self.name

    @property
    def labels(self) -> tuple[str, ...]:
        """The declared labels, in order; none if the column is no category."""
        return ()

    @property
    def max_distinct(self) -> int | None:
        """The most different values that it can have; None if they are not declared."""
        return None

    @property
    def declared_ranges(self) -> Ranges:
        """The ranges in which all values lie, by what is declared of the column alone."""
        return ()

    @property
    def bound_texts(self) -> tuple[str, str] | None:
        """The declared bounds, as published tables write them."""
        return None

    @property
    def unusable(self) -> str:
        """The code of the problem if a statistic uses the column; empty without."""
        return ""

    @property
    def texts(self) -> tuple[str, ...]:
        """Declared texts of cells, each with a label; none if the column is no category."""
        return ()

    @property
    def compared_texts(self) -> Sequence[str]:
        """The declared texts of cells, in the form in which cells are compared with them."""
        return self.texts

    @property
    def has_days(self) -> bool:
        """Whether each cell of the file is a day, perhaps with a time."""
        return False

    def without_missing_constant(self) -> Self:
        """The column whose missing cells stay missing, because no constant replaces them.

        A numeric column without bounds gets bounds: only whether a cell is missing matters then.
        """
        return self

    def without_limits(self) -> Self:
        """The column without a constant, with bounds one step wider.

        So a value outside the declared bounds stays outside them, and is not clamped to them.
        """
        return self.without_missing_constant()

    # What is declared about cells.

    def option(self, kind: type[Kind]) -> Kind | None:
        """The option of a kind, if it is declared."""
        return next((option for option in self.options if isinstance(option, kind)), None)

    def with_options(self, *options: Option | None, without: Sequence[type[Option]] = ()) -> Self:
        """The column with these options, all in their usual order.

        Each replaces the declared option of its kind. Declared options of the kinds in `without`
        are dropped.
        """
        kept = {type(option): option for option in self.options if type(option) not in without}
        kept |= {type(option): option for option in options if option is not None}
        ranks = {kind: rank for rank, kind in enumerate(self.takes)}
        ordered = sorted(kept.values(), key=lambda option: ranks.get(type(option), len(ranks)))
        return replace(self, options=tuple(ordered))

    def with_decimal(self, decimal: str) -> Self:
        """The column with a decimal mark unless it has its own, if its cells have one."""
        return self

    @property
    def marks(self) -> tuple[str, ...]:
        """The texts that mark missing cells."""
        return tuple(mark for option in self.options for mark in option.marks)

    @property
    def text_options(self) -> list[TextOption]:
        """The options that change texts before they are read."""
        return [option for option in self.options if isinstance(option, TextOption)]

    # How cells are decoded.

    @abstractmethod
    def rules(self, decided: Mapping[str, int | None]) -> Sequence[Rule]:
        """Rules for values, in the order in which they are tried; null if none reads one.

        The first rule reads cells, the others `bare_text`. `decided` has the results of `decide` by
        text.
        """

    def undecided(self, left: pl.Expr, decided: Mapping[str, int | None]) -> pl.Expr | None:
        """Whether a text is a value that no rule read; None if rules decide all texts."""
        return None

    def decide(self, text: str) -> int | None:
        """The value of a text that no rule decides; None if it is missing."""
        return None

    @property
    def needs_plain_text(self) -> bool:
        """Whether cells must become plain texts before rules read them."""
        return bool(self.options)

    @property
    def reads_types(self) -> bool:
        """Whether numbers and days whose type a file states can be read as they are."""
        return all(option.for_texts for option in self.options)

    @property
    def has_form(self) -> bool:
        """Whether the column declares how its cells are written."""
        return bool(self.options)

    def plain_text(self, cell: pl.Expr) -> pl.Expr:
        """The cell as plain text; null if blank, marked as missing, or of another form."""
        plain, marks = self.unmarked_text(cell), self.marks
        return pl.when(~self.is_mark(cell, marks)).then(plain) if marks else plain

    def unmarked_text(self, cell: pl.Expr) -> pl.Expr:
        """The plain text of a cell, without the test for marks of missing cells."""
        return self.compared_text(cell)

    def bare_text(self, cell: pl.Expr) -> pl.Expr:
        """The text of a cell without blanks around it; null if nothing is left."""
        return strip_blanks(cell)

    def compared_text(self, cell: pl.Expr) -> pl.Expr:
        """The text of a cell, in the form in which it is compared with declared texts."""
        text = self.bare_text(cell)
        for option in self.text_options:
            text = option.changed(text)
        return text

    def compared(self, texts: Sequence[str]) -> list[str]:
        """Declared texts, in the form in which cells are compared with them."""
        # Polars loads slowly, and most commands read no cell.
        if not self.text_options and not any(re.search(NOT_UNIFIED, text) for text in texts):
            return list(texts)
        cells = pl.DataFrame({"text": texts}, {"text": pl.String})
        return cells.select(self.compared_text(pl.first()).fill_null("")).to_series().to_list()

    def is_mark(self, cell: pl.Expr, marks: Sequence[str]) -> pl.Expr:
        """Whether a cell is one of these marks of missing cells."""
        # Where dashes are still different, all of them are a mark if one of them is.
        texts = self.compared(marks)
        dashes = DASHES if any(text and text in DASHES for text in texts) else ""
        return self.compared_text(cell).is_in([*texts, *dashes])

    def is_blank(self, cell: pl.Expr) -> pl.Expr:
        """Whether a cell has nothing but blanks, or marks a missing cell."""
        blank = strip_blanks(cell).is_null()
        marks = self.marks
        return blank | self.is_mark(cell, marks) if marks else blank

    def with_point(self, text: pl.Expr, decimal: str) -> pl.Expr:
        """The text of a cell with points and `decimal`, the decimal mark, exchanged.

        The text stays as it is if the column has a form with its own decimal mark.
        """
        return text

    def typed_text(self, plain: pl.Expr) -> pl.Expr | None:
        """A typed number or time as the column writes it; None if cells stay unchanged."""
        return None

    def whole_cells(self, cell: pl.Expr, dtype: pl.DataType) -> pl.Expr | None:
        """Cells of the type `dtype` as Int64; None if they must be read as texts."""
        return None

    def strict_cells(self, cell: pl.Expr, dtype: pl.DataType) -> pl.Expr | None:
        """Cells of a typed file in whole steps, or an error if one is odd.

        The values are those of the rules. None if no cell of the type `dtype` may be read without
        its text.
        """
        return None

    def native_type(self, decimal: str, quote: str | None) -> pl.DataType | None:
        """The type as which a native reader parses cells like the rules, or refuses them.

        None if no type does this for every cell. `decimal` and `quote` are the marks of the file.
        """
        return None

    @property
    def rules_are_native(self) -> bool:
        """Whether `native_type` is about the column's own `rules`, not those of a base.

        A subclass with other rules has neither native type nor strict cells until it states one.
        """
        owners = [
            kind for kind in type(self).__mro__ if {"rules", "native_type"} & vars(kind).keys()
        ]
        return "native_type" in vars(owners[0])

    def native_steps(self, cell: pl.Expr) -> pl.Expr:
        """Cells of the native type as whole steps, of an integer type."""
        return cell

    def possible(self, value: pl.Expr) -> pl.Expr:
        """A value in whole steps, clamped if it is a number; null if it is another label."""
        return value

    # What `check --cells` shows.

    def cell_aggregates(self, cell: pl.Expr, value: pl.Expr) -> Iterator[tuple[str, pl.Expr]]:
        """Aggregates of cells for `check --cells`; `value` is from `without_limits`."""
        yield from ()

    def outside(self, value: pl.Expr) -> pl.Expr | None:
        """Whether a value is outside the declared bounds; None without declared bounds."""
        return None

    def declared_parts(self, cell: pl.Expr) -> Iterator[tuple[str, pl.Expr]]:
        """The declared marks and parts of texts, each with whether a cell has it."""
        for mark in self.marks:
            yield mark, self.is_mark(cell, [mark])
        for option in self.options:
            yield from option.parts(cell)

    def cautions(self, decimal: str) -> Iterator[str]:
        """Warnings that follow from the declaration alone.

        `decimal` is the decimal mark of columns without their own.
        """
        yield from ()

    @abstractmethod
    def expected(self, decimal: str) -> str:
        """How a cell is written, such as with an example.

        `decimal` is the decimal mark of columns without their own.
        """

    @property
    def has_doubts(self) -> bool:
        """Whether readable cells may mean something else."""
        return False

    def doubts(self, cells: SampledTexts) -> Iterator[str]:
        """Why cells that are read may mean something else."""
        yield from ()

    def changed_keys(self, old: Self) -> Iterator[str]:
        """What this column declares differently from an old one, each key as in YAML."""
        yield from (option.words for option in self.options if option not in old.options)

    def proposed(self, cells: SampledTexts) -> Iterator[Proposal[Self]]:
        """The columns with other options that may read more cells, the most likely first."""
        for chosen in product(*(kind.proposed(self, cells) for kind in self.takes)):
            options, doubts = zip(*chosen, strict=True)
            column = self.with_options(*options, without=self.takes)
            yield Proposal(column, tuple(chain.from_iterable(doubts)))

    # Axes of tables.

    def read_candidates(self, node: Node | None) -> tuple[int, ...] | range:
        """Candidates from their declaration; a column without numbers has been reported."""
        raise AlreadyReportedError

    def read_starts(self, bins: Node | None, scalar: ScalarNode) -> tuple[int, ...]:
        """The starts of declared `bins`; none for labels. `scalar` names the column."""
        if bins is not None:
            raise bins.span.report("bins-not-taken", column=self.name, kind=self.kind)
        return ()

    def axis_labels(self, starts: Sequence[int]) -> tuple[str, ...]:
        """Labels of an axis whose bins begin at `starts`; `TypeError` if private."""
        raise TypeError("a column with private partitions has no public labels")

    def axis_label(self, starts: Sequence[int], index: int) -> str:
        """The label at a position of an axis."""
        return self.axis_labels(starts)[index]

    def axis_length(self, starts: Sequence[int]) -> int:
        """The number of labels of an axis."""
        return len(self.axis_labels(starts))

    def axis_index(self, value: pl.Expr, starts: Sequence[int]) -> pl.Expr:
        """The position of a value on an axis; null or past the end if it has no label."""
        return value


class ValuedColumn(Column):
    """A column whose possible values are declared: whole numbers between two limits."""

    __slots__ = ()

    has_values = True

    @property
    @abstractmethod
    def limits(self) -> tuple[int, int]:
        """The minimum and the maximum; `ValueError` when none are declared."""

    @property
    def max_distinct(self) -> int:
        low, high = self.limits
        return high - low + 1

    @property
    def declared_ranges(self) -> Ranges:
        return (self.limits,)

    @abstractmethod
    def text(self, value: int) -> str:
        """The text of a value in published tables."""

    @abstractmethod
    def range_texts(self, ranges: Ranges) -> list[str]:
        """The ranges in words; a cell must have a value in one of them."""

    def condition_text(self, ranges: Ranges) -> str:
        """The condition that a cell lies in one of some ranges, in words."""
        return f"{self.name} {' or '.join(self.range_texts(ranges))}"


def require_valued(column: object) -> ValuedColumn:
    """A column that is known to declare its values; `TypeError` for any other."""
    if not isinstance(column, ValuedColumn):
        raise TypeError("this needs a column with declared values")
    return column


def file_columns(columns: Iterable[Column]) -> tuple[Column, ...]:
    """The columns of a file from which `columns` are read or computed, each once."""
    parts = (
        (column,) if column.derivation is None else file_columns(column.derivation.inputs)
        for column in columns
    )
    return tuple(dict.fromkeys(chain.from_iterable(parts)))


def row_columns(columns: Iterable[Column]) -> tuple[Column, ...]:
    """The columns of rows from which `columns` follow, each once."""
    parts = (
        row_columns(column.derivation.inputs)
        if column.uses_people and column.derivation is not None
        else (column,)
        for column in columns
    )
    return tuple(dict.fromkeys(chain.from_iterable(parts)))


def people_columns(columns: Iterable[Column]) -> tuple[Column, ...]:
    """The columns of people among `columns` and those that they follow from."""
    parts = (
        (*(people_columns(column.derivation.inputs)), *([column] * column.is_of_people))
        for column in columns
        if column.derivation is not None
    )
    return tuple(dict.fromkeys(chain.from_iterable(parts)))


def column_names(columns: Iterable[Column]) -> tuple[str, ...]:
    """The names of these columns in files, each once; positions are left out."""
    keys = (column.file_key for column in file_columns(columns))
    return tuple(dict.fromkeys(key for key in keys if isinstance(key, str)))


def common_ranges(first: Ranges, second: Ranges) -> Ranges:
    """The values that lie in ranges of both."""
    found, left, right = [], list(merged_ranges(first)), list(merged_ranges(second))
    while left and right:
        low, high = max(left[-1][0], right[-1][0]), min(left[-1][1], right[-1][1])
        if low <= high:
            found.append((low, high))
        # The one that begins last has no value in common with ranges before the other.
        (left if left[-1][0] == low else right).pop()
    return tuple(reversed(found))


def as_ranges(values: Iterable[int]) -> Ranges:
    """These values as the fewest ranges, in order."""
    return merged_ranges((value, value) for value in values)


def merged_ranges(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The values in any of these ranges, as the fewest ranges, in order."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)
