"""How a spec declares derived columns: their sections, terms, bounds and labels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, ClassVar

from pydantic import Field

from dpcli.data.column import Column, Derivation
from dpcli.data.declared_columns import DeclaredColumns
from dpcli.data.declared_texts import DROP, report_twins, require_distinct_texts
from dpcli.data.grid_columns import NumericColumn, require_numeric
from dpcli.data.labels import CategoryColumn, LabeledColumn
from dpcli.data.steps import Step
from dpcli.fields.section import SectionModel, extended_model, name_of
from dpcli.fields.statistic_fields import VALUED
from dpcli.fields.tree import ScalarNode, attempt, read_all, scalars_of
from dpcli.fields.values import (
    DATE,
    Fields,
    GridNumber,
    NumberSyntaxError,
    Text,
    Texts,
    parse_day,
    parse_number,
)
from dpcli.problems.messages import quote

Term = NumericColumn | Fraction
"""A column, or a constant: a number or a day."""

MAX_TERMS = 100

Pair = Annotated[Texts, Field(min_length=2, max_length=2)]
Several = Annotated[Texts, Field(min_length=2, max_length=MAX_TERMS)]


class DerivedSection(SectionModel):
    """The declaration of a derived column."""

    derivation: ClassVar[type[DeclaredDerivation]]

    @property
    def what(self) -> str:
        return quote(self.derivation.key)

    @property
    def subject(self) -> str:
        return name_of(self.path)


class NumberSection(DerivedSection):
    """A derived number; its bounds follow from the terms unless declared."""

    bounds: Annotated[list[GridNumber], Field(min_length=2, max_length=2)] | None = None
    missing: Text = DROP


class SteppedSection(DerivedSection):
    """A derived number on a grid; its step follows from the terms unless declared."""

    missing_lines = {"step": "`step: 0.001`: ratios are rounded to multiples of it"}  # noqa: RUF012
    bounds: Annotated[list[GridNumber], Field(min_length=2, max_length=2)] | None = None
    step: Step | None = None
    missing: Text = DROP


class LabelSection(DerivedSection):
    """A derived category. Its labels can be renamed."""

    labels: Texts | None = None
    missing: Text = DROP


class TruthSection(DerivedSection):
    """A derived boolean."""

    missing: Text = DROP


class DeclaredDerivation(Derivation):
    """A derivation that a spec can declare.

    Everything about it stands in its class: the key, the types of its own fields, how they are
    read, the bounds or labels that follow, the expression of its value, and its words. The
    docstring explains the key.
    """

    __slots__ = ()

    key: ClassVar[str]
    fields: ClassVar[Fields]
    section: ClassVar[type[DerivedSection]]
    """The other fields of the declaration."""

    @classmethod
    @abstractmethod
    def declared(cls, name: str, section: Any, context: DeclaredColumns) -> Column:
        """The declared column; raises `AlreadyReportedError` if it has problems."""


@cache
def derived_section(kind: type[DeclaredDerivation]) -> type[DerivedSection]:
    """The model of the declaration of a kind."""
    model = extended_model(kind.fields, kind.section)
    model.__doc__, model.derivation = kind.__doc__, kind
    return model


def read_term(
    scalar: ScalarNode, section: Any, context: DeclaredColumns, kinds: Sequence[str]
) -> Term:
    """A column of one of the `kinds`, or a constant: a day where dates are allowed."""
    if scalar.text not in context.columns:
        with suppress(NumberSyntaxError):
            if "date" in kinds:
                return Fraction(parse_day(scalar.text))
        with suppress(NumberSyntaxError):
            if kinds != ("date",):
                return parse_number(scalar.text)
    return require_numeric(valued(scalar, section, context, kinds))


def read_terms(section: Any, context: DeclaredColumns, kinds: Sequence[str]) -> tuple[Term, ...]:
    """The terms of a list, which are all numbers or all dates."""
    key = section.derivation.key
    scalars = scalars_of(section.node.value(key))
    terms = tuple(read_all(lambda scalar: read_term(scalar, section, context, kinds), scalars))
    require_column(terms, section)
    dated = {
        bool(DATE.fullmatch(scalar.text)) if isinstance(term, Fraction) else term.is_date
        for term, scalar in zip(terms, scalars, strict=True)
    }
    if len(dated) > 1:
        raise section.report_key("derived-form.mixed", key)
    return terms


def require_column(terms: Sequence[Term], section: Any) -> None:
    """Reports the problem of a derived column whose terms are all constants."""
    if all(isinstance(term, Fraction) for term in terms):
        raise section.report_key("derived-form.constant", section.derivation.key)


def valued(
    scalar: ScalarNode, section: Any, context: DeclaredColumns, kinds: Sequence[str] = VALUED
) -> Column:
    """The column that a scalar names, with declared values and of one of the `kinds`."""
    return context.column_of_kind(scalar, section.subject, kinds, section.what)


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
    column = column_class(name, pairs, derivation=derivation)
    return column.with_missing(section, check_texts)
