"""Reads the section `columns`: each type is a model and a line in `COLUMN_TYPES`.

Declared texts and labels must be visible and different, and no spreadsheet may run them. The values
of a category may be in a file of codes, such as `districts.csv`: this file is public, it is read
once, and its digest is part of the digest of the spec. It could be a file of records by mistake, so
no message quotes a cell of it.
"""

from __future__ import annotations

import csv
import io
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import Field, create_model

from dpcli.data.column import Column
from dpcli.data.dates import DateColumn
from dpcli.data.declared_texts import (
    is_invisible,
    look,
    report_twins,
    require_distinct_texts,
    require_text,
    text_fault,
)
from dpcli.data.formats import DECIMALS
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.labels import (
    BOOLEAN_LABELS,
    DROP,
    BooleanColumn,
    CategoryColumn,
    IdColumn,
    PrivatePartitionColumn,
    UsualWords,
    with_missing,
)
from dpcli.data.number_columns import IntegerColumn, ListedColumn, NumberColumn
from dpcli.data.number_options import Decimal
from dpcli.data.steps import Step, WholeStep, bounds_in_steps, proposed_step, require_whole_steps
from dpcli.fields.section import SectionModel
from dpcli.fields.tree import MappingNode, Node, ScalarNode, Span, attempt, scalars_of
from dpcli.fields.values import (
    AlreadyReportedError,
    ByForm,
    Choice,
    Day,
    ExactNumber,
    NumberPair,
    ParsedText,
    Text,
    Texts,
    parse_day,
    parse_number,
)
from dpcli.problems.messages import quoted_list
from dpcli.specification.chosen_bounds import ChosenBoundsModel
from dpcli.specification.context import SpecContext
from dpcli.specification.declarations import Title, UnitText, stated_caption
from dpcli.specification.model import Caption
from dpcli.specification.named_files import read_named_file
from dpcli.statistics.bounds.chosen_bounds import BoundsChoice

MAX_BYTES = 1 << 24
MAX_CODES = 100_000

DELIMITERS = (",", ";", "\t", "|")
"""Delimiters of a file of codes: the one that finds most named columns is used."""

LIST_ENDINGS = (".csv", ".tsv", ".txt")
"""Endings of the names of lists of codes: no category has a label like this."""

KEYS = ({"file", "key"}, {"file", "key", "label"})
"""The keys of a mapping that names a file of codes; others map texts to labels."""


def with_code_list(node: MappingNode, context: SpecContext) -> MappingNode:
    """The declaration of a column, with values from a file of codes written out.

    The node itself if its values name no file. Else the file is added to those of the context.
    Raises `AlreadyReportedError` after the problems of the file are recorded.
    """
    values = node.mapping("values")
    named = values.scalar("file") if values and set(values.pairs) == {"file"} else None
    if named is not None and named.text.casefold().endswith(LIST_ENDINGS):
        line = "`key: NAME`: the column of the list that has the texts of cells"
        raise named.span.report("missing-field", owner="`values`", key="key", line=line)
    if values is None or set(values.pairs) not in KEYS:
        return node
    file, key, label = map(values.scalar, ("file", "key", "label"))
    if file is None or key is None or (label is None and "label" in values.pairs):
        return node
    pairs: dict[str, tuple[ScalarNode, Node]] = {}
    for code, text in _read(file, key, label or key, context):
        pairs[code] = ScalarNode(code, file.span), ScalarNode(text, file.span)
    listed = MappingNode(pairs, values.span)
    pairs = node.pairs | {"values": (node.pairs["values"][0], listed)}
    return MappingNode(pairs, node.span, node.path)


def _read(
    file: ScalarNode, key: ScalarNode, label: ScalarNode, context: SpecContext
) -> list[tuple[str, str]]:
    span = file.span
    raw, named = read_named_file(file, context, MAX_BYTES, "code-list")
    if len(raw) > MAX_BYTES:
        raise span.report("code-list.large", file=file.text, most=MAX_CODES)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise span.report("code-list", file=file.text) from None
    csv.field_size_limit(sys.maxsize)
    names = {key.text, label.text}
    every = [_lines(text, mark) for mark in DELIMITERS]
    readings = [(lines, next(lines, (1, []))[1]) for lines in every]
    lines, header = max(readings, key=lambda reading: len(names.intersection(reading[1])))
    context.files.append(replace(named, header=tuple(header)))
    for column in (key, label):
        if header.count(column.text) != 1:
            raise column.span.report("code-list.column", file=file.text, word=column.text)
    indices = header.index(key.text), header.index(label.text)
    return list(_pairs(lines, indices, file.text, span))


def _lines(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    return ((reader.line_num, row) for row in reader if any(row))


def _pairs(
    lines: Iterator[tuple[int, list[str]]], indices: tuple[int, int], file: str, span: Span
) -> Iterator[tuple[str, str]]:
    """The code and the label in each line, by `indices`; a wrong one is a problem."""
    known: dict[str, int] = {}
    seen: dict[tuple[str, int], tuple[str, int]] = {}
    for line, row in lines:
        if len(known) == MAX_CODES:
            raise span.report("code-list.large", file=file, most=MAX_CODES)
        cells = [row[index].strip() if index < len(row) else "" for index in indices]
        code, label = cells
        if text_fault(code) or text_fault(label, published=True):
            raise span.report("code-list.text", file=file, line=line)
        if code in known:
            raise span.report("code-list.twice", file=file, line=line, first=known[code])
        for kind, text in enumerate((code, label)):
            meaning, first = seen.setdefault((look(text), kind), (label, line))
            if meaning != label:
                raise span.report("code-list.twins", file=file, line=line, first=first)
        known[code] = line
        yield code, label
    if not known:
        raise span.report("code-list.empty", file=file)


def _parse_number_or_drop(text: str) -> Fraction | None:
    return None if text == DROP else parse_number(text)


def _parse_day_or_drop(text: str) -> Fraction | None:
    return None if text == DROP else Fraction(parse_day(text))


TEXT_SCHEMA = {"type": ["string", "number", "boolean"]}
NUMBER_SCHEMA = ExactNumber().schema
MissingNumber = Annotated[Fraction | None, ParsedText(_parse_number_or_drop, TEXT_SCHEMA)]
MissingDay = Annotated[Fraction | None, ParsedText(_parse_day_or_drop, TEXT_SCHEMA)]
BoundsField = Annotated[NumberPair | ChosenBoundsModel, ByForm]
MissingId = Annotated[str, Choice("unknown-choice.missing-id", (DROP, "each"))]


class ColumnModel(SectionModel):
    """The declaration of a column; each type is a subclass, listed in `COLUMN_TYPES`.

    `column_class` is the class of the column, which lists its options; `taking_options` adds a
    field for each of them.
    """

    kind: ClassVar[str]
    column_class: ClassVar[type[Column]]
    title: Title | None = None

    @property
    def what(self) -> str:
        return f"{'an' if self.kind.startswith('i') else 'a'} `{self.kind}` column"

    def column(self, name: str) -> Column:
        """The declared column without options; `AlreadyReportedError` if it has problems."""
        raise NotImplementedError

    def with_options(self, column: Column, decimal: str) -> Column:
        """The column with the declared options, which may have problems with each other.

        `decimal` is the decimal mark of columns without their own.
        """
        values = {kind: getattr(self, kind.field or kind.key) for kind in self.column_class.takes}
        options = [kind.stated(value) for kind, value in values.items() if value is not None]
        for option in options:
            column = option.applied(column)
        # Cells are compared with marks and texts before decimal marks are exchanged.
        if decimal != DECIMALS[0] and Decimal in values and column.options:
            column = column.with_options(column.option(Decimal) or Decimal(decimal))
        for option in options:
            option.require_fit(column, self)
        return column


M = TypeVar("M", bound=ColumnModel)


def taking_options(model: type[M]) -> type[M]:
    """The model with a field for each option that its column takes."""
    fields: Any = {
        option.field or option.key: (
            option.value_type | None,
            Field(
                None,
                alias=option.key if option.field else None,
                description=" ".join((option.__doc__ or "").split()),
            ),
        )
        for option in model.column_class.takes
    }
    bases: Any = model, create_model("Options", __base__=model.__base__, **fields)
    extended: type[M] = create_model(model.__name__, __base__=bases, __doc__=model.__doc__)
    return extended


class NumericColumnModel(ColumnModel):
    """A type of numbers or days, which become whole numbers of steps.

    A type that makes no `NumericColumn` overrides `column`.
    """

    column_class: ClassVar[type[NumericColumn]]

    unit: UnitText | None = None

    def missing_line(self, key: str) -> str:
        step = f"`step: {proposed_step(self.node)}`: values are rounded to multiples of it"
        return step * (key == "step")

    def column(self, name: str) -> Column:
        """The column, with bounds and `missing` in whole steps. `missing` needs bounds."""
        fields: Any = self
        step, column_class = getattr(fields, "step", Fraction(1)), self.column_class
        limits, (low, high) = None, (self.text("bounds", side) for side in (0, 1))
        listed = getattr(fields, "values", None)
        if isinstance(listed, list) and column_class is IntegerColumn:
            # Whether the list fits the other keys is checked with the options.
            column_class = ListedColumn
            limits = listed[0], listed[-1]
        if isinstance(fields.bounds, ChosenBoundsModel):
            limits, (low, high) = fields.bounds.outermost(step)
        elif fields.bounds is not None:
            lower, upper = map(Fraction, fields.bounds)
            if lower >= upper:
                code = "bounds-order.equal" if lower == upper else "bounds-order"
                raise self.report(code, "bounds", low=low, high=high)
            limits = bounds_in_steps(self, (lower, upper), step)
        scalar = self.node.scalar("missing")
        if fields.missing is None or scalar is None:
            return column_class(name, step, limits)
        constant = require_whole_steps(fields.missing / step, step, scalar, "`missing`")
        if limits is None:
            raise self.report_key(
                "missing-bounds",
                "missing",
                column=name,
                subject="`missing`",
                example=column_class.bounds_example,
            )
        if not limits[0] <= constant <= limits[1]:
            raise self.report("out-of-bounds", "missing", low=low, high=high)
        return column_class(name, step, limits, constant)


@taking_options
class IntegerColumnModel(NumericColumnModel):
    """Whole numbers within bounds."""

    kind = "integer"
    column_class = IntegerColumn
    type: Literal["integer"]
    bounds: BoundsField | None = None
    step: WholeStep = Fraction(1)
    missing: MissingNumber = None


@taking_options
class NumberColumnModel(NumericColumnModel):
    """Numbers within bounds, rounded to multiples of the step."""

    kind = "number"
    column_class = NumberColumn
    type: Literal["number"]
    bounds: BoundsField | None = None
    step: Step
    missing: MissingNumber = None


@taking_options
class DateColumnModel(NumericColumnModel):
    """Days within bounds."""

    kind = "date"
    column_class = DateColumn
    type: Literal["date"]
    bounds: Annotated[list[Day], Field(min_length=2, max_length=2)] | None = None
    missing: MissingDay = None


class LabeledColumnModel(ColumnModel):
    """A type of texts with labels."""

    other: Text | None = None


@taking_options
class CategoryColumnModel(LabeledColumnModel):
    """Declared texts, each published as a label."""

    kind = "category"
    column_class = CategoryColumn
    type: Literal["category"]
    values: Annotated[Texts | Annotated[dict[str, Text], Field(min_length=1)], ByForm] | None = None
    missing: Text = DROP

    def column(self, name: str) -> Column:
        """The column. Without `values`, it is a column with private partitions."""
        if self.values is None:
            if self.missing != DROP:
                raise self.report("unknown-label.open", "missing")
            self.require()
            if wrong := next((key for key in ("case", "other") if self.has(key)), None):
                raise self.report_key("values-needed", wrong, column=name)
            return PrivatePartitionColumn(name)
        values = self.node.value("values")
        pairs = [(scalar, scalar) for scalar in scalars_of(values)]
        if isinstance(values, MappingNode):
            entries = values.pairs.values()
            pairs = [(text, label) for text, label in entries if isinstance(label, ScalarNode)]
        check_texts = attempt(require_distinct_texts, pairs)
        other = self.node.scalar("other")
        if other is not None:
            require_text(other, "label", published=True)
        published = [label for _, label in pairs] + ([other] if other else [])
        report_twins("label", [(label, label.text) for label in published])
        report_twins("value", [(text, label.text) for text, label in pairs if text is not label])
        labels = tuple((text.text, label.text) for text, label in pairs)
        column = CategoryColumn(name, labels)
        return with_missing(column, self, check_texts)


@taking_options
class BooleanColumnModel(LabeledColumnModel):
    """Two texts: the first means false, the second true; or the usual words."""

    kind = "boolean"
    column_class = BooleanColumn
    type: Literal["boolean"]
    values: (
        Annotated[list[Text], Field(min_length=2, max_length=2, examples=[["no", "yes"]])] | None
    ) = None
    missing: Text = DROP

    def column(self, name: str) -> Column:
        """The column, whose labels are `false` and `true`."""
        pairs = tuple(zip(self.values or BOOLEAN_LABELS, BOOLEAN_LABELS, strict=True))
        texts = scalars_of(self.node.value("values"))
        check_texts = attempt(require_distinct_texts, [(text, None) for text in texts])
        report_twins("value", [*zip(texts, BOOLEAN_LABELS, strict=False)])
        if self.other is not None and self.other not in BOOLEAN_LABELS:
            raise self.report("unknown-choice", "other", choices=BOOLEAN_LABELS)
        options = () if self.values else (UsualWords(),)
        return with_missing(BooleanColumn(name, pairs, options=options), self, check_texts)


@taking_options
class IdColumnModel(ColumnModel):
    """The id of the person of a row. It is never published."""

    kind = "id"
    column_class = IdColumn
    type: Literal["id"]
    missing: MissingId = DROP

    def column(self, name: str) -> Column:
        """The column; `missing: each` makes a person of each row without an id."""
        return IdColumn(name, singletons_without_id=self.missing == "each")


COLUMN_TYPES: tuple[type[ColumnModel], ...] = (
    IntegerColumnModel,
    NumberColumnModel,
    CategoryColumnModel,
    BooleanColumnModel,
    DateColumnModel,
    IdColumnModel,
)
"""Every type that a column may have."""


MAX_COLUMNS = 10_000
MAX_NAME_LENGTH = 1000

TYPE_SYNONYMS = {
    "int": "integer",
    "float": "number",
    "decimal": "number",
    "bool": "boolean",
    "string": "category",
    "str": "category",
    "text": "category",
    "enum": "category",
    "datetime": "date",
}
"""The names of types in other tools."""


def declare_columns(section: MappingNode | None, context: SpecContext) -> None:
    """Adds every declared column to the context; a column with problems is None."""
    context.declared = section is not None
    pairs = section.pairs if section else {}
    if section and len(pairs) > MAX_COLUMNS:
        section.span.report("too-many-columns", count=len(pairs), most=MAX_COLUMNS)
    normalized_names: dict[str, ScalarNode] = {}
    for name, (key, value) in pairs.items():
        context.spans[name], context.columns[name] = key.span, None
        check_name = attempt(require_name, key)
        first = normalized_names.setdefault(unicodedata.normalize("NFC", name), key)
        if first is not key:
            key.span.report("twin-names", column=name, line=first.span.line)
        column = attempt(_read_column, key, value, context)
        with suppress(AlreadyReportedError):
            check_name()
            context.columns[name] = column()


def require_name(key: ScalarNode) -> None:
    """Checks that a key can be the name of a column."""
    code, name = "", key.text
    if not name:
        code = "empty-text.column"
    elif len(name) > MAX_NAME_LENGTH:
        code = "name-too-long"
    elif is_invisible(name):
        code = "control-character"
    if code:
        arguments = {"what": "column name", "text": name, "count": len(name)}
        raise key.span.report(code, column=name, most=MAX_NAME_LENGTH, **arguments)


def _read_column(key: ScalarNode, node: Node, context: SpecContext) -> Column:
    types = {model.kind: model for model in COLUMN_TYPES}
    if not isinstance(node, MappingNode):
        line = f"`{{type: {node.text if node.text in types else '...'}}}`"
        arguments = {"found": node.shown, "form": "a mapping", "line": line}
        raise node.span.report("wrong-shape", name=f"the column {key.shown}", **arguments)
    kind = node.value("type")
    if kind is None:
        line = f"`type: ...`: {quoted_list(types, 'or')}"
        owner = f"the column {key.shown}"
        raise key.span.report("missing-field", owner=owner, key="type", line=line)
    text = kind.text
    if text not in types:
        arguments = {"name": "`type`", "found": kind.shown}
        word = TYPE_SYNONYMS.get(text.casefold(), text)
        raise kind.span.report("unknown-choice", word=word, choices=types, **arguments)
    if text == CategoryColumnModel.kind:
        node = with_code_list(node, context)
    section = types[text].read(node)
    column = section.column(key.text)
    section.require()
    caption = stated_caption(section)
    if caption != Caption():
        context.captions[key.text] = caption
    column = section.with_options(column, context.decimal)
    bounds, stated = getattr(section, "bounds", None), section.node.value("bounds")
    if isinstance(bounds, ChosenBoundsModel) and isinstance(column, NumericColumn) and stated:
        bounds.add_choice(BoundsChoice, column, stated.span, context)
    return column
