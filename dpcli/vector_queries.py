"""Queries whose answer is made of several sums over all rows, as data.

As those of `dpcli.queries` they state nothing about how they are computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement

from dpcli.columns import Column
from dpcli.privacy.sensitivity import Influence, Sensitivity
from dpcli.queries import Factor, LinearQuery, Query


@dataclass(frozen=True, kw_only=True)
class ReadabilityQuery(Query):
    """How many rows there are, and for each column readable less unreadable cells.

    A cell is readable when it can be read as the column declares; `checked` are the columns
    without the constants that replace other cells. Every row adds one to the number of
    rows, and one or minus one to each column. Without `with_rows`, columns alone.
    """

    checked: tuple[Column, ...]
    with_rows: bool = True

    @property
    def operands(self) -> tuple[Column, ...]:
        """The columns that are checked."""
        return self.checked

    @cached_property
    def cells(self) -> int:
        """One number for the rows, and one for each column."""
        return len(self.checked) + int(self.with_rows)

    @cached_property
    def influence(self) -> Influence:
        """What one row can add to one number."""
        return Influence(-1 if self.checked else 1, 1)


@dataclass(frozen=True, kw_only=True)
class MinimiserQuery(Query):
    """The coefficients of a ridge regression, in whole steps of a grid.

    Every column is taken from its centre and divided by its half-width, so that it lies in
    [-1, 1]; a column of ones goes first. The coefficients minimise, over the rows,

        sum (y - <theta, x>)^2 / (2 n) + ridge |theta|^2 / 2,

    with n the greater of `rows` and the number of rows, and are rounded to `grid`.
    `sensitivity` is what replacing a row can change, in steps, for the statistic that
    asks to prove.
    """

    outcome: Factor
    inputs: tuple[Factor, ...]
    ridge: Fraction
    rows: int
    grid: Fraction
    sensitivity: Sensitivity

    @property
    def operands(self) -> tuple[Column, ...]:
        """The outcome and the inputs."""
        return tuple(factor.column for factor in (self.outcome, *self.inputs))

    @cached_property
    def cells(self) -> int:
        """How many coefficients there are."""
        return len(self.inputs) + 1

    @cached_property
    def influence(self) -> Influence:
        """The most that one coefficient changes, in either direction."""
        return Influence(-self.sensitivity.linf, self.sensitivity.linf)

    @cached_property
    def moments(self) -> tuple[LinearQuery, ...]:
        """The sums that it is made of: of products of ones, inputs and outcome, in pairs."""
        terms: list[tuple[Factor, ...]] = [(), *((one,) for one in (*self.inputs, self.outcome))]
        pairs = combinations_with_replacement(terms, 2)
        return tuple(LinearQuery(factors=first + second) for first, second in pairs)
