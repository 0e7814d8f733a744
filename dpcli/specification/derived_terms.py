"""Reads the terms of derived columns, and their bounds, labels and constants."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpcli.data.column import Column, Derivation
from dpcli.data.dates import DateColumn
from dpcli.data.derived_numbers import Arithmetic, Term
from dpcli.data.labels import CategoryColumn, LabeledColumn
from dpcli.data.numbers import IntegerColumn, NumberColumn
from dpcli.data.numeric import NumericColumn, require_numeric
from dpcli.fields.columns import VALUED
from dpcli.fields.numbers import DATE, NumberSyntaxError, parse_day, parse_number
from dpcli.fields.tree import ScalarNode, attempt, read_all, scalars_of
from dpcli.numeric.exact import readable_text
from dpcli.specification.column_types import DROP, with_missing
from dpcli.specification.context import SpecContext
from dpcli.specification.grid import MAX_STEPS, bounds_in_steps, read_number, read_within_bounds
from dpcli.specification.texts import require_distinct_texts

MAX_MAGNITUDE = 1 << 125
"""The integers on the way to a derived value stay below this limit, so that they fit 128 bits."""


def read_term(scalar: ScalarNode, section: Any, context: SpecContext, kinds: Sequence[str]) -> Term:
    """A column of one of the `kinds`, or a constant: a day if a date is possible."""
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
    scalars = scalars_of(section.node.get(key))
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
    """Checks that not all terms are constants."""
    if all(isinstance(term, Fraction) for term in terms):
        raise section.report_key("derived-form.constant", key)


def valued(
    scalar: ScalarNode, section: Any, context: SpecContext, kinds: Sequence[str] = VALUED
) -> Column:
    """The column of a name, of one of these kinds; its values must be declared."""
    return context.column_of_kind(scalar, section.subject, kinds, section.what)


def number_column(
    name: str, section: Any, derivation: Arithmetic, made: type[NumericColumn] | None = None
) -> NumericColumn:
    """The column, with declared bounds, or with those that follow from the terms.

    If it is not `made` of a given class, the step decides.
    """
    step, kind = derivation.step, section.kind
    made = made or (IntegerColumn if step.denominator == 1 else NumberColumn)
    column = made(name, step, derivation=derivation)
    if section.bounds is None:
        limits = derivation.limits
    else:
        scalars = scalars_of(section.node.get("bounds"))
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
    made: type[LabeledColumn] = CategoryColumn,
) -> LabeledColumn:
    """The column, with the labels that replace the usual ones if there are any."""
    replacing = scalars_of(section.node.get("labels"))
    check_texts = attempt(require_distinct_texts, [(scalar, scalar) for scalar in replacing])
    if replacing and len(replacing) != len(labels):
        facts = {"count": len(replacing), "expected": len(labels)}
        raise section.report("derived-labels", "labels", **facts)
    texts = [scalar.text for scalar in replacing] or labels
    pairs = tuple((text, text) for text in texts)
    return with_missing(made(name, pairs, derivation=derivation), section, check_texts)
