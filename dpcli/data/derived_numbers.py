"""Derived columns that are numbers: sums, products and ratios of columns.

Values are exact. A number is the rational value of its terms, rounded to the grid of the derived
column (halves to the even number of steps), then clamped to its bounds. If none are declared, they
follow from the bounds of the terms by interval arithmetic.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import gcd, lcm, prod

from dpcli.data.column import Column, Derivation
from dpcli.data.labels import LabeledColumn
from dpcli.data.numeric import NumericColumn
from dpcli.problems.light_dataclasses import dataclass

Term = NumericColumn | Fraction
"""A column, or a constant: a number or a day."""


@dataclass(frozen=True, slots=True)
class Arithmetic(Derivation):
    """A number that is computed from numbers or dates; missing if one of its columns is.

    `step` is that of the derived column.
    """

    terms: tuple[Term, ...]
    step: Fraction

    @property
    def inputs(self) -> tuple[Column, ...]:
        return columns_of(self.terms)

    @property
    def columns(self) -> list[NumericColumn]:
        """The columns among the terms, as often as they occur."""
        return [term for term in self.terms if not isinstance(term, Fraction)]

    @property
    @abstractmethod
    def span(self) -> tuple[Fraction, Fraction]:
        """The minimum and the maximum before rounding."""

    @property
    @abstractmethod
    def magnitude(self) -> int:
        """A limit on all intermediate integers, by which the engine chooses types."""

    @property
    def limits(self) -> tuple[int, int]:
        """The minimum and the maximum in steps; rounding keeps the order."""
        low, high = (round(side / self.step) for side in self.span)
        return low, high


@dataclass(frozen=True, slots=True)
class Sum(Arithmetic):
    """The sum of all terms, or the first one minus the second.

    >>> hours = NumberColumn("hours", step=Fraction(1, 2), bounds=(0, 48))
    >>> Sum((hours, Fraction(2)), Fraction(1, 2)).limits
    (4, 52)
    """

    subtracts: bool = False

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
        """The sums of the ends, or their differences."""
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


@dataclass(frozen=True, slots=True)
class Product(Arithmetic):
    """The product of all terms.

    >>> hours = IntegerColumn("hours", bounds=(-2, 10))
    >>> Product((hours, hours), Fraction(1)).limits
    (-20, 100)
    """

    @property
    def grid(self) -> Fraction:
        """The step of which all products are whole multiples."""
        return abs(prod(map(_unit, self.terms), start=Fraction(1))) or Fraction(1)

    @property
    def scaled(self) -> tuple[int, int]:
        """The value in steps is the product of the cells and the first, divided by the second."""
        factor = prod(map(_unit, self.terms), start=1 / self.step)
        return factor.numerator, factor.denominator

    @property
    def span(self) -> tuple[Fraction, Fraction]:
        corners = [prod(ends, start=Fraction(1)) for ends in product(*map(limits_of, self.terms))]
        return min(corners), max(corners)

    @property
    def magnitude(self) -> int:
        """The largest product of cells and factor, or twice the divisor."""
        factor, divisor = self.scaled
        # A later factor may be zero, so each counts as at least one.
        cells = prod(max(_max_size(column), 1) for column in self.columns)
        return 2 * max(abs(factor) * cells, cells, divisor)

    @property
    def text(self) -> str:
        return " * ".join(texts_of(self.terms))


@dataclass(frozen=True, slots=True)
class Ratio(Arithmetic):
    """The first term divided by the second; missing where the second is zero.

    >>> cases = IntegerColumn("cases", bounds=(0, 10))
    >>> Ratio((Fraction(5), cases), Fraction(1, 2)).limits
    (1, 10)
    """

    @property
    def scaled(self) -> tuple[int, int]:
        """Factors of the numerator and of the denominator, so that their ratio is in steps."""
        above, below = map(_unit, self.terms)
        factor = above / below / self.step
        return factor.numerator, factor.denominator

    @property
    def span(self) -> tuple[Fraction, Fraction]:
        """The ratios of ends; next to zero, one step is the end of the denominator."""
        above, below = self.terms
        low, high = limits_of(below)
        ends = {low, high} | {side for side in (-_unit(below), _unit(below)) if low <= side <= high}
        corners = [side / end for side in limits_of(above) for end in ends if end]
        return min(corners), max(corners)

    @property
    def magnitude(self) -> int:
        """Twice the greater of both products."""
        pairs = zip(self.scaled, self.terms, strict=True)
        return 2 * max(
            abs(factor) if isinstance(term, Fraction) else abs(factor) * max(_max_size(term), 1)
            for factor, term in pairs
        )

    @property
    def text(self) -> str:
        return " / ".join(texts_of(self.terms))


@dataclass(frozen=True, slots=True)
class FirstNumber(Arithmetic):
    """The first number or date that is not missing; the terms are columns.

    >>> wage = IntegerColumn("wage", bounds=(0, 10))
    >>> salary = IntegerColumn("salary", bounds=(5, 20))
    >>> FirstNumber((wage, salary), Fraction(1)).limits
    (0, 20)
    """

    @property
    def parts(self) -> tuple[Product, ...]:
        """The columns in steps of the derived column."""
        return tuple(Product((term,), self.step) for term in self.terms)

    @property
    def span(self) -> tuple[Fraction, Fraction]:
        """The smallest lower and the largest upper bound."""
        ends = [limits_of(term) for term in self.terms]
        return min(low for low, _ in ends), max(high for _, high in ends)

    @property
    def magnitude(self) -> int:
        """The largest magnitude of a column."""
        return max(part.magnitude for part in self.parts)

    @property
    def text(self) -> str:
        """The columns in order."""
        return f"the first of {', '.join(texts_of(self.terms))} that is not missing"


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


def columns_of(terms: Sequence[Term | LabeledColumn]) -> tuple[Column, ...]:
    """The different columns among terms."""
    return tuple(dict.fromkeys(term for term in terms if not isinstance(term, Fraction)))


def texts_of(terms: Sequence[Term]) -> list[str]:
    """The names of the columns, and the constants: days if there is a date among the columns."""
    column = next(term for term in terms if not isinstance(term, Fraction))
    return [
        column.constant_text(term) if isinstance(term, Fraction) else term.name for term in terms
    ]


def _unit(term: Term) -> Fraction:
    return term if isinstance(term, Fraction) else term.step


def _max_size(column: NumericColumn) -> int:
    return max(map(abs, column.limits))
