"""Reads the section `derive`: columns that are computed from other columns.

Each kind is one model and one line of `DERIVED`. A column can use declared columns, and those that
are derived before it, so there are no cycles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar, cast, get_args

from pydantic import Field

from dpcli.data.column import Column, Derivation
from dpcli.data.dates import DateColumn
from dpcli.data.declared_texts import report_twins, require_distinct_texts
from dpcli.data.derivations import (
    TIME_PARTS,
    Age,
    Arithmetic,
    Bands,
    DatePart,
    FirstLabel,
    FirstNumber,
    PartName,
    Product,
    Ratio,
    Satisfies,
    Sum,
    Term,
    common_step,
)
from dpcli.data.filters import AllOf
from dpcli.data.grid_columns import NumericColumn, numeric_columns, require_numeric
from dpcli.data.kinds import Axis
from dpcli.data.labels import BooleanColumn, CategoryColumn, LabeledColumn, labeled_columns
from dpcli.data.number_columns import IntegerColumn, NumberColumn
from dpcli.fields.section import SectionModel, extended_model, name_of
from dpcli.fields.statistic_fields import NUMERIC, ORDERED, VALUED
from dpcli.fields.tree import MappingNode, Node, ScalarNode, attempt, read_all, scalars_of
from dpcli.fields.values import (
    DATE,
    AlreadyReportedError,
    Choice,
    GridNumber,
    NumberSyntaxError,
    Text,
    Texts,
    parse_day,
    parse_number,
)
from dpcli.numeric.exact import readable_text
from dpcli.problems.messages import quote
from dpcli.specification.bins import MAX_BINS, read_bin_starts
from dpcli.specification.columns import (
    BOOLEAN_LABELS,
    DROP,
    MAX_COLUMNS,
    Step,
    require_name,
    with_missing,
)
from dpcli.specification.context import (
    MAX_STEPS,
    SpecContext,
    bounds_in_steps,
    read_number,
    read_within_bounds,
)
from dpcli.specification.filters import read_where

MAX_MAGNITUDE = 1 << 125
"""Intermediate integers of derived values stay below this, to fit 128 bits."""


def read_term(scalar: ScalarNode, section: Any, context: SpecContext, kinds: Sequence[str]) -> Term:
    """A column of one of the `kinds`, or a constant: a day where dates are allowed."""
    if scalar.text not in context.columns:
        with suppress(NumberSyntaxError):
            if "date" in kinds:
                return Fraction(parse_day(scalar.text))
        with suppress(NumberSyntaxError):
            if kinds != ("date",):
                return parse_number(scalar.text)
    return require_numeric(valued(scalar, section, context, kinds))


def read_terms(section: Any, context: SpecContext, kinds: Sequence[str]) -> tuple[Term, ...]:
    """The terms of a list, which are all numbers or all dates."""
    key = section.kind
    scalars = scalars_of(section.node.value(key))
    terms = tuple(read_all(lambda scalar: read_term(scalar, section, context, kinds), scalars))
    require_column(terms, section, key)
    dated = {
        bool(DATE.fullmatch(scalar.text))
        if isinstance(term, Fraction)
        else isinstance(term, DateColumn)
        for term, scalar in zip(terms, scalars, strict=True)
    }
    if len(dated) > 1:
        raise section.report_key("derived-form.mixed", key)
    return terms


def require_column(terms: Sequence[Term], section: Any, key: str) -> None:
    """Reports the problem of a derived column whose terms are all constants."""
    if all(isinstance(term, Fraction) for term in terms):
        raise section.report_key("derived-form.constant", key)


def valued(
    scalar: ScalarNode, section: Any, context: SpecContext, kinds: Sequence[str] = VALUED
) -> Column:
    """The column that a scalar names, with declared values and of one of the `kinds`."""
    return context.column_of_kind(scalar, section.subject, kinds, section.what)


def number_column(
    name: str, section: Any, derivation: Arithmetic, column_class: type[NumericColumn] | None = None
) -> NumericColumn:
    """The derived numeric column; bounds follow from the terms unless declared.

    Without a `column_class`, it is an integer column if its step is whole, else a number column.
    """
    step, kind = derivation.step, section.kind
    column_class = column_class or (IntegerColumn if step.denominator == 1 else NumberColumn)
    column = column_class(name, step, derivation=derivation)
    if section.bounds is None:
        limits = derivation.limits
    else:
        scalars = scalars_of(section.node.value("bounds"))
        low, high = (read_number(scalar, "the bound", column.parse) for scalar in scalars)
        if low >= high:
            code = "bounds-order.equal" if low == high else "bounds-order"
            raise section.report(code, "bounds", low=scalars[0].text, high=scalars[1].text)
        limits = bounds_in_steps(section, (low, high), step)
    if limits[0] == limits[1]:
        raise section.report_key("derived-bounds.equal", kind)
    if max(map(abs, limits)) >= MAX_STEPS or derivation.magnitude >= MAX_MAGNITUDE:
        raise section.report_key("derived-bounds", kind, step=readable_text(step))
    column = replace(column, bounds=limits)
    missing = section.node.scalar("missing")
    if missing is None or missing.text == DROP:
        return column
    return replace(column, missing=read_within_bounds(column, missing, "`missing`"))


def category_column(
    name: str,
    section: Any,
    derivation: Derivation,
    labels: Sequence[str],
    column_class: type[LabeledColumn] = CategoryColumn,
) -> LabeledColumn:
    """The derived column; declared `labels`, if any, replace the given ones."""
    replacing = scalars_of(section.node.value("labels"))
    check_texts = attempt(require_distinct_texts, [(scalar, scalar) for scalar in replacing])
    report_twins("label", [(scalar, scalar.text) for scalar in replacing])
    if replacing and len(replacing) != len(labels):
        arguments = {"count": len(replacing), "expected": len(labels)}
        raise section.report("derived-labels", "labels", **arguments)
    texts = [scalar.text for scalar in replacing] or labels
    pairs = tuple((text, text) for text in texts)
    return with_missing(column_class(name, pairs, derivation=derivation), section, check_texts)


MAX_TERMS = 100

Pair = Annotated[Texts, Field(min_length=2, max_length=2)]
Several = Annotated[Texts, Field(min_length=2, max_length=MAX_TERMS)]


class DerivedModel(SectionModel):
    """The declaration of a derived column; each kind is a subclass in `DERIVED`."""

    kind: ClassVar[str]

    @property
    def what(self) -> str:
        return quote(self.kind)

    @property
    def subject(self) -> str:
        return name_of(self.path)

    def column(self, name: str, context: SpecContext) -> Column:
        """The derived column; raises `AlreadyReportedError` if it has problems."""
        raise NotImplementedError


class DerivedNumberModel(DerivedModel):
    """A derived number; its bounds and step follow from the terms unless declared."""

    bounds: Annotated[list[GridNumber], Field(min_length=2, max_length=2)] | None = None
    step: Step | None = None
    missing: Text = DROP

    def column(self, name: str, context: SpecContext) -> Column:
        return number_column(name, self, self.derivation(context))

    def derivation(self, context: SpecContext) -> Arithmetic:
        """How the value of the column is computed from the terms."""
        raise NotImplementedError


class SumModel(DerivedNumberModel):
    """The sum of columns and constants."""

    kind = "sum"
    sum: Several

    def derivation(self, context: SpecContext) -> Arithmetic:
        terms = read_terms(self, context, NUMERIC)
        return Sum(terms, self.step or common_step(terms))


class DifferenceModel(DerivedNumberModel):
    """The first number or date minus the second; between dates, whole days."""

    kind = "difference"
    difference: Pair

    def derivation(self, context: SpecContext) -> Arithmetic:
        terms = read_terms(self, context, ORDERED)
        return Sum(terms, self.step or common_step(terms), subtracts=True)


class ProductModel(DerivedNumberModel):
    """The product of columns and constants."""

    kind = "product"
    product: Several

    def derivation(self, context: SpecContext) -> Arithmetic:
        terms = read_terms(self, context, NUMERIC)
        step = Product(terms, Fraction(1)).grid
        return Product(terms, self.step or step)


class RatioModel(DerivedNumberModel):
    """The first column or constant divided by the second; missing where that is zero."""

    kind = "ratio"
    missing_lines: ClassVar[Mapping[str, str]] = {
        "step": "`step: 0.001`: ratios are rounded to multiples of it"
    }
    ratio: Pair
    step: Step

    def derivation(self, context: SpecContext) -> Arithmetic:
        terms = read_terms(self, context, NUMERIC)
        if terms[1] == 0:
            raise self.report("derived-form.zero", "ratio", 1)
        return Ratio(terms, self.step)


class CoalesceModel(DerivedNumberModel):
    """The first of several columns that is not missing: numbers, dates, or labels."""

    kind = "coalesce"
    coalesce: Several

    def column(self, name: str, context: SpecContext) -> Column:
        """The column: numbers, dates, or a category with the labels of all columns."""
        scalars = scalars_of(self.node.value("coalesce"))
        columns = read_all(lambda scalar: valued(scalar, self, context), scalars)
        labeled, numbers = labeled_columns(columns), numeric_columns(columns)
        if (labeled and numbers) or any(not numbers[0].is_like(column) for column in numbers):
            raise self.report_key("derived-form.coalesce", "coalesce")
        if labeled:
            for key in ("bounds", "step"):
                if self.has(key):
                    raise self.report_key("derived-form.unneeded", key, key=key, kind="labels")
            first = FirstLabel(labeled)
            kinds = set(map(type, labeled))
            column_class = BooleanColumn if kinds == {BooleanColumn} else CategoryColumn
            return category_column(name, self, first, first.labels, column_class)
        dates = DateColumn if isinstance(numbers[0], DateColumn) else None
        if dates and self.has("step"):
            raise self.report_key("derived-form.unneeded", "step", key="step", kind="dates")
        derivation = FirstNumber(numbers, self.step or common_step(numbers))
        return number_column(name, self, derivation, dates)


class AgeModel(DerivedModel):
    """Full years from one date to another."""

    kind = "age"
    age: Text
    at: Text
    bounds: Annotated[list[GridNumber], Field(min_length=2, max_length=2)] | None = None
    missing: Text = DROP

    def column(self, name: str, context: SpecContext) -> Column:
        """The column of ages, an integer column."""
        scalars = (scalar for key in ("age", "at") for scalar in scalars_of(self.node.value(key)))
        terms = tuple(read_all(lambda scalar: read_term(scalar, self, context, ("date",)), scalars))
        require_column(terms, self, "age")
        return number_column(name, self, Age(terms, Fraction(1)))


class DerivedLabelModel(DerivedModel):
    """A derived category. Its labels can be renamed."""

    labels: Texts | None = None
    missing: Text = DROP


class PartModel(DerivedLabelModel):
    """A part of a date, such as its month. Weeks are those of ISO 8601."""

    kind = "part"
    part: Annotated[str, Choice("unknown-choice", get_args(PartName))]
    of: Text

    def column(self, name: str, context: SpecContext) -> Column:
        """The column, a category whose labels are in calendar order."""
        scalar = self.node.scalar("of")
        assert scalar is not None
        if self.part in TIME_PARTS and isinstance(date := context.column(scalar), DateColumn):
            if date.derivation is not None or (date.format and not date.format.has_time):
                raise scalar.span.report("derived-form.hour", column=date.name, part=self.part)
            column: NumericColumn = date
        else:
            column = require_numeric(valued(scalar, self, context, ("date",)))
        derivation = DatePart(column, self.part)  # type: ignore[arg-type]
        if derivation.first and derivation.count > MAX_BINS:
            arguments = {"count": derivation.count, "most": MAX_BINS, "column": column.name}
            raise self.report("too-many-bins.part", "part", **arguments)
        return category_column(name, self, derivation, derivation.labels)


class BandsModel(DerivedLabelModel):
    """Bands of a numeric column or a date: a category that many statistics can use."""

    kind = "bands"
    bands: Text
    width: GridNumber | None = None
    edges: Annotated[list[Text], Field(min_length=2)] | None = None

    def column(self, name: str, context: SpecContext) -> Column:
        """The column, a category whose labels are those of the bins unless declared."""
        scalar = self.node.scalar("bands")
        assert scalar is not None
        column = require_numeric(valued(scalar, self, context, ORDERED))
        if self.has("width") == self.has("edges"):
            found = "both" if self.has("width") else "neither"
            raise self.report_key("bins-form", "bands", key="bands", found=found)
        starts = read_bin_starts(column, self.node)
        return category_column(name, self, Bands(column, starts), Axis(column, starts).labels)


class TruthModel(DerivedModel):
    """A boolean: whether conditions hold. It is missing where they are unknown."""

    kind = "is"
    missing: Text = DROP

    def column(self, name: str, context: SpecContext) -> Column:
        tests = read_where(self, context, "is")
        test = tests[0] if len(tests) == 1 else AllOf(tests)
        return category_column(name, self, Satisfies(test), BOOLEAN_LABELS, BooleanColumn)


IS_MODEL = cast(
    "type[DerivedModel]",
    extended_model({"is": Annotated[dict[str, Any], Field(min_length=1)]}, TruthModel),
)
"""The model with the key `is`, which cannot be an attribute in Python."""

DERIVED: tuple[type[DerivedModel], ...] = (
    SumModel,
    DifferenceModel,
    ProductModel,
    RatioModel,
    PartModel,
    AgeModel,
    BandsModel,
    CoalesceModel,
    IS_MODEL,
)
"""Every kind of derived column."""


def choose_derived(key: ScalarNode | None, node: Node) -> type[DerivedModel]:
    """The model of a derived column, by the key that says how it is computed."""
    models, name = {model.kind: model for model in DERIVED}, key.text if key else ""
    if not isinstance(node, MappingNode):
        raise node.span.report("derived-form", column=name, found=node.shown, choices=models)
    kinds = [kind for kind in models if kind in node.pairs]
    if len(kinds) != 1:
        code = "derived-form.several" if kinds else "derived-form"
        raise node.span.report(code, column=name, found=node.shown, choices=models, kinds=kinds)
    return models[kinds[0]]


def declare_derived(
    section: MappingNode, models: Mapping[str, DerivedModel | None], context: SpecContext
) -> None:
    """Adds every derived column to the context; a column with problems is None."""
    pairs = section.pairs
    if len(pairs) > MAX_COLUMNS:
        section.span.report("too-many-columns", count=len(pairs), most=MAX_COLUMNS)
    context.later |= pairs.keys() - context.columns.keys()
    for name, model in models.items():
        key = pairs[name][0]
        if name in context.columns:
            line = context.spans[name].line
            key.span.report("twin-names.derived", column=name, line=line)
            continue
        check_name = attempt(require_name, key)
        column = attempt(_derived_column, model, context)
        context.later.discard(name)
        context.spans[name], context.columns[name] = key.span, None
        with suppress(AlreadyReportedError):
            check_name()
            context.columns[name] = column()


def _derived_column(model: DerivedModel | None, context: SpecContext) -> Column:
    if model is None:
        raise AlreadyReportedError
    model.require()
    return model.column(str(model.path[-1]), context)
