"""Numbers that are computed from numbers or dates, exactly, and rounded."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import product
from math import gcd, lcm, prod
from operator import mul
from typing import Any, ClassVar

from dpcli.data.column import Column, Names, Ranges, RangesOf
from dpcli.data.dates import DateColumn
from dpcli.data.declared_columns import DeclaredColumns
from dpcli.data.declared_texts import DROP
from dpcli.data.derived.declared import (
    DeclaredDerivation,
    DerivedSection,
    Pair,
    Several,
    SteppedSection,
    Term,
    read_terms,
    valued,
)
from dpcli.data.derived.labels import FirstLabel
from dpcli.data.grid_columns import NumericColumn, numeric_columns
from dpcli.data.labels import labeled_columns
from dpcli.data.number_columns import IntegerColumn, NumberColumn
from dpcli.data.polars_text import pl
from dpcli.data.steps import MAX_STEPS, Step, bounds_in_steps, read_number
from dpcli.fields.statistic_fields import NUMERIC, ORDERED
from dpcli.fields.tree import read_all, scalars_of
from dpcli.fields.values import Fields
from dpcli.numeric.exact import readable_text
from dpcli.problems.light_dataclasses import dataclass

MAX_MAGNITUDE = 1 << 125
"""Intermediate integers of derived values stay below this, to fit 128 bits."""


@dataclass(frozen=True, slots=True)
class Arithmetic(DeclaredDerivation):
    """A number computed from numbers or dates; missing if one of its columns is.

    `step` is that of the derived column.
    """

    terms: tuple[Term, ...]
    step: Fraction

    section: ClassVar[type[DerivedSection]] = SteppedSection
    kinds: ClassVar[tuple[str, ...]] = NUMERIC
    """The kinds of columns among the terms."""

    @classmethod
    def declared(cls, name: str, section: Any, context: DeclaredColumns) -> Column:
        terms = read_terms(section, context, cls.kinds)
        return cls(terms, section.step or cls.usual_step(terms)).named(name, section)

    @classmethod
    def usual_step(cls, terms: Sequence[Term]) -> Fraction:
        """The step of the value if the spec declares none."""
        return common_step(terms)

    def named(
        self, name: str, section: Any, column_class: type[NumericColumn] | None = None
    ) -> NumericColumn:
        """The derived column; its bounds follow from the terms unless declared.

        Without a `column_class`, it is an integer column if its step is whole, else a number
        column.
        """
        column_class = column_class or (
            IntegerColumn if self.step.denominator == 1 else NumberColumn
        )
        column = column_class(name, self.step, derivation=self)
        limits = self.limits if section.bounds is None else _declared_limits(column, section)
        if limits[0] == limits[1]:
            raise section.report_key("derived-bounds.equal", section.derivation.key)
        if max(map(abs, limits)) >= MAX_STEPS or self.magnitude >= MAX_MAGNITUDE:
            step = readable_text(self.step)
            raise section.report_key("derived-bounds", section.derivation.key, step=step)
        column = replace(column, bounds=limits)
        missing = section.node.scalar("missing")
        if missing is None or missing.text == DROP:
            return column
        return replace(column, missing=column.read_within_bounds(missing, "`missing`"))

    @property
    def inputs(self) -> tuple[Column, ...]:
        return tuple(dict.fromkeys(self.columns))

    @property
    def columns(self) -> list[NumericColumn]:
        """The columns among the terms, as often as they occur."""
        return [term for term in self.terms if not isinstance(term, Fraction)]

    @property
    @abstractmethod
    def span(self) -> tuple[Fraction, Fraction]:
        """The minimum and the maximum of the value, before it is rounded to steps."""

    @property
    @abstractmethod
    def magnitude(self) -> int:
        """An upper bound of all intermediate integers, by which the engine chooses types."""

    @property
    def limits(self) -> tuple[int, int]:
        """The minimum and the maximum in steps; rounding keeps the order."""
        low, high = (round(side / self.step) for side in self.span)
        return low, high

    def possible(self, ranges_of: RangesOf) -> Ranges:
        """The limits that follow from those of the columns."""
        narrowed = {}
        for column in self.columns:
            ranges = ranges_of(column) or (column.limits,)
            bounds = ranges[0][0], ranges[-1][1]
            narrowed[column] = replace(column, bounds=bounds, missing=None)
        terms = (term if isinstance(term, Fraction) else narrowed[term] for term in self.terms)
        return (replace(self, terms=tuple(terms)).limits,)

    @property
    def dtype(self) -> pl.DataType:
        """An integer type that fits all intermediate values, and two bits for rounding."""
        return pl.Int64() if self.magnitude < 1 << 61 else pl.Int128()

    def cells(self, names: Names) -> list[pl.Expr]:
        """The values of the columns among the terms, in a type that fits all."""
        return [pl.col(names[column]).cast(self.dtype) for column in self.columns]


def _times(cell: pl.Expr, factor: int, dtype: pl.DataType) -> pl.Expr:
    return cell if factor == 1 else cell * pl.lit(factor, dtype=dtype)


def _divided(value: pl.Expr, divisor: int, dtype: pl.DataType) -> pl.Expr:
    return value if divisor == 1 else rounded_ratio(value, pl.lit(divisor, dtype=dtype))


def rounded_ratio(above: pl.Expr, below: pl.Expr) -> pl.Expr:
    """The nearest integer of a ratio with a positive denominator, halves to even."""
    # The floor of the ratio and a half; a tie has no rest, and is one too many if odd.
    shifted, twice = above * 2 + below, below * 2
    # Division and remainder are those of floors, also below zero.
    return shifted // twice - (shifted % (twice * 2) == twice).cast(pl.Int8)


def _declared_limits(column: NumericColumn, section: Any) -> tuple[int, int]:
    scalars = scalars_of(section.node.value("bounds"))
    low, high = (read_number(scalar, "the bound", column.parse) for scalar in scalars)
    if low >= high:
        code = "bounds-order.equal" if low == high else "bounds-order"
        raise section.report(code, "bounds", low=scalars[0].text, high=scalars[1].text)
    return bounds_in_steps(section, (low, high), column.step)


@dataclass(frozen=True, slots=True)
class Sum(Arithmetic):
    """The sum of columns and constants.

    >>> hours = NumberColumn("hours", step=Fraction(1, 2), bounds=(0, 48))
    >>> Sum((hours, Fraction(2)), Fraction(1, 2)).limits
    (4, 52)
    """

    key = "sum"
    fields: ClassVar[Fields] = {"sum": Several}
    subtracts: ClassVar[bool] = False

    @property
    def scaled(self) -> tuple[tuple[int, ...], int, int]:
        """The integers by which the cells are multiplied, the constant, and the divisor.

        The value in steps is the sum of these products and of the constant, divided by the divisor.
        """
        signs = [-1 if self.subtracts and index else 1 for index in range(len(self.terms))]
        pairs = list(zip(signs, self.terms, strict=True))
        units = [
            sign * term.step / self.step for sign, term in pairs if not isinstance(term, Fraction)
        ]
        constants = [sign * term / self.step for sign, term in pairs if isinstance(term, Fraction)]
        constant = sum(constants, Fraction(0))
        divisor = lcm(*(unit.denominator for unit in (*units, constant)))
        return tuple(int(unit * divisor) for unit in units), int(constant * divisor), divisor

    @property
    def span(self) -> tuple[Fraction, Fraction]:
        ends = [limits_of(term) for term in self.terms]
        if self.subtracts:
            (low, high), (min_term, max_term) = ends
            return low - max_term, high - min_term
        return sum((low for low, _ in ends), Fraction(0)), sum((hi for _, hi in ends), Fraction(0))

    @property
    def magnitude(self) -> int:
        """The sum of the largest products, or twice the divisor."""
        factors, constant, divisor = self.scaled
        products = (
            abs(factor) * _max_size(column)
            for factor, column in zip(factors, self.columns, strict=True)
        )
        return max(sum(products) + abs(constant) + 1, *map(abs, factors), 2 * divisor)

    @property
    def text(self) -> str:
        return (" - " if self.subtracts else " + ").join(texts_of(self.terms))

    def value(self, names: Names) -> pl.Expr:
        factors, constant, divisor = self.scaled
        total = pl.lit(constant, dtype=self.dtype)
        for cell, factor in zip(self.cells(names), factors, strict=True):
            total = total + _times(cell, factor, self.dtype)
        return _divided(total, divisor, self.dtype)


class Difference(Sum):
    """The first number or date minus the second; between dates, whole days."""

    __slots__ = ()

    key = "difference"
    fields: ClassVar[Fields] = {"difference": Pair}
    kinds: ClassVar[tuple[str, ...]] = ORDERED
    subtracts: ClassVar[bool] = True

    @property
    def unit(self) -> str:
        return "days" if any(column.is_date for column in self.columns) else ""


@dataclass(frozen=True, slots=True)
class Product(Arithmetic):
    """The product of columns and constants.

    >>> hours = IntegerColumn("hours", bounds=(-2, 10))
    >>> Product((hours, hours), Fraction(1)).limits
    (-20, 100)
    """

    key = "product"
    fields: ClassVar[Fields] = {"product": Several}

    @classmethod
    def usual_step(cls, terms: Sequence[Term]) -> Fraction:
        return cls(tuple(terms), Fraction(1)).grid

    @property
    def grid(self) -> Fraction:
        """The step of which all products are whole multiples."""
        return abs(prod(map(_unit, self.terms), start=Fraction(1))) or Fraction(1)

    @property
    def scaled(self) -> tuple[int, int]:
        """Factor and divisor: the value in steps is the product times factor / divisor."""
        factor = prod(map(_unit, self.terms), start=1 / self.step)
        return factor.numerator, factor.denominator

    @property
    def span(self) -> tuple[Fraction, Fraction]:
        corners = [prod(ends, start=Fraction(1)) for ends in product(*map(limits_of, self.terms))]
        return min(corners), max(corners)

    @property
    def magnitude(self) -> int:
        factor, divisor = self.scaled
        # A later factor may be zero, so each counts as at least one.
        cells = prod(max(_max_size(column), 1) for column in self.columns)
        return 2 * max(abs(factor) * cells, cells, divisor)

    @property
    def text(self) -> str:
        return " * ".join(texts_of(self.terms))

    def value(self, names: Names) -> pl.Expr:
        factor, divisor = self.scaled
        product = reduce(mul, self.cells(names))
        return _divided(_times(product, factor, self.dtype), divisor, self.dtype)


@dataclass(frozen=True, slots=True)
class Ratio(Arithmetic):
    """The first column or constant divided by the second; missing where that is zero.

    >>> cases = IntegerColumn("cases", bounds=(0, 10))
    >>> Ratio((Fraction(5), cases), Fraction(1, 2)).limits
    (1, 10)
    """

    key = "ratio"
    fields: ClassVar[Fields] = {"ratio": Pair, "step": Step}
    may_lack = True

    @classmethod
    def declared(cls, name: str, section: Any, context: DeclaredColumns) -> Column:
        terms = read_terms(section, context, cls.kinds)
        if terms[1] == 0:
            raise section.report("derived-form.zero", "ratio", 1)
        return cls(terms, section.step).named(name, section)

    @property
    def scaled(self) -> tuple[int, int]:
        """The factors of numerator and denominator with which their ratio is in steps."""
        above, below = map(_unit, self.terms)
        factor = above / below / self.step
        return factor.numerator, factor.denominator

    @property
    def span(self) -> tuple[Fraction, Fraction]:
        """The minimum and the maximum of the ratios, from the ends of both terms.

        If the denominator can be near zero, its ends include one step above and below zero.
        """
        above, below = self.terms
        low, high = limits_of(below)
        ends = {low, high} | {side for side in (-_unit(below), _unit(below)) if low <= side <= high}
        corners = [side / end for side in limits_of(above) for end in ends if end]
        return min(corners, default=Fraction(0)), max(corners, default=Fraction(0))

    @property
    def magnitude(self) -> int:
        pairs = zip(self.scaled, self.terms, strict=True)
        return 2 * max(
            abs(factor) if isinstance(term, Fraction) else abs(factor) * max(_max_size(term), 1)
            for factor, term in pairs
        )

    @property
    def text(self) -> str:
        return " / ".join(texts_of(self.terms))

    def value(self, names: Names) -> pl.Expr:
        above, below = (
            pl.lit(factor, dtype=self.dtype)
            if isinstance(term, Fraction)
            else _times(pl.col(names[term]).cast(self.dtype), factor, self.dtype)
            for factor, term in zip(self.scaled, self.terms, strict=True)
        )
        sign = pl.when(below < 0).then(-1).otherwise(1).cast(self.dtype)
        return pl.when(below != 0).then(rounded_ratio(above * sign, below * sign))


@dataclass(frozen=True, slots=True)
class FirstNumber(Arithmetic):
    """The first of several columns that is not missing: numbers, dates, or labels.

    Of labels, it is a `FirstLabel`.

    >>> wage = IntegerColumn("wage", bounds=(0, 10))
    >>> salary = IntegerColumn("salary", bounds=(5, 20))
    >>> FirstNumber((wage, salary), Fraction(1)).limits
    (0, 20)
    """

    key = "coalesce"
    replaces_blanks = may_lack = True
    fields: ClassVar[Fields] = {"coalesce": Several}

    @classmethod
    def declared(cls, name: str, section: Any, context: DeclaredColumns) -> Column:
        """The column: numbers, dates, or a category with the labels of all columns."""
        scalars = scalars_of(section.node.value(cls.key))
        columns = read_all(lambda scalar: valued(scalar, section, context), scalars)
        labeled, numbers = labeled_columns(columns), numeric_columns(columns)
        if (labeled and numbers) or any(not numbers[0].is_like(column) for column in numbers):
            raise section.report_key("derived-form.coalesce", cls.key)
        if labeled:
            return FirstLabel(labeled).named(name, section)
        dates = DateColumn if numbers[0].is_date else None
        if dates and section.has("step"):
            raise section.report_key("derived-form.unneeded", "step", key="step", kind="dates")
        return cls(numbers, section.step or common_step(numbers)).named(name, section, dates)

    @property
    def parts(self) -> tuple[Product, ...]:
        """The columns in steps of the derived column."""
        return tuple(Product((term,), self.step) for term in self.terms)

    @property
    def span(self) -> tuple[Fraction, Fraction]:
        ends = [limits_of(term) for term in self.terms]
        return min(low for low, _ in ends), max(high for _, high in ends)

    @property
    def magnitude(self) -> int:
        return max(part.magnitude for part in self.parts)

    @property
    def text(self) -> str:
        return f"the first of {', '.join(texts_of(self.terms))} that is not missing"

    def value(self, names: Names) -> pl.Expr:
        return pl.coalesce(part.value(names).cast(self.dtype) for part in self.parts)


def common_step(terms: Sequence[Term]) -> Fraction:
    """The largest number of which all values of all terms are whole multiples."""
    units = list(map(_unit, terms))
    units = [unit for unit in units if unit] or [Fraction(1)]
    divisor = lcm(*(unit.denominator for unit in units))
    return Fraction(gcd(*(int(unit * divisor) for unit in units)), divisor)


def limits_of(term: Term) -> tuple[Fraction, Fraction]:
    """The minimum and the maximum of a term."""
    if isinstance(term, Fraction):
        return term, term
    return term.lower * term.step, term.upper * term.step


def texts_of(terms: Sequence[Term]) -> list[str]:
    """Names of the columns, and constants: days if there is a date among the columns."""
    column = next(term for term in terms if not isinstance(term, Fraction))
    return [
        column.constant_text(term) if isinstance(term, Fraction) else term.name for term in terms
    ]


def _unit(term: Term) -> Fraction:
    return term if isinstance(term, Fraction) else term.step


def _max_size(column: NumericColumn) -> int:
    return max(map(abs, column.limits))
