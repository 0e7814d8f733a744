"""Linear regression by moments and by output perturbation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import sqrt

import numpy as np
import pytest

from dpcli.data.number_columns import IntegerColumn
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.numeric.arrays import integer_array
from dpcli.privacy.unit import Neighbors, Relation, RowUnit
from dpcli.statistics.design import Inputs, NoisyAnswer
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.means.products import JointMoments, MomentsDesign
from dpcli.statistics.regression.linear import (
    RIDGE_CONFIDENCE,
    LeastSquares,
    LinearRegression,
    ridge_query,
)
from dpcli.statistics.regression.queries import RidgeQuery
from tests.oracles.opened import cells_of
from tests.oracles.plain import evaluate

X = IntegerColumn("x", bounds=(-1, 1), missing=0)
Z = IntegerColumn("z", bounds=(2, 4), missing=3)
Y = IntegerColumn("y", bounds=(0, 4), missing=0)
NEAR_ZERO = Fraction(19, 20)
NEARLY = DiscreteLaplace(Fraction(1, 1000))


def solved(query: RidgeQuery, rows: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The coefficients for these rows, as the engine computes them."""
    names = [factor.column.name for factor in (*query.inputs, query.outcome)]
    lines = "".join(",".join(map(str, row)) + "\n" for row in rows)
    data = f"{','.join(names)}\n{lines}".encode()
    totals = [cells_of(cells)[0] for cells in evaluate(list(query.moments), data)]
    return tuple(query.answer(integer_array(totals)))


@pytest.mark.parametrize("ridge", ["0.01", "0.1", "1"])
@pytest.mark.parametrize("inputs", [1, 2])
def test_replacing_a_row_changes_coefficients_by_at_most_the_sensitivity(
    inputs: int, ridge: str
) -> None:
    """Over all files of two or three rows, L1, L2 and Linf of every replacement are bounded."""
    columns = (*(X, Z)[:inputs], Y)
    every = list(product(*(range(one.lower, one.upper + 1, 2) for one in columns)))
    rows = 3 if inputs == 1 else 2
    query = ridge_query(columns, Fraction(ridge), rows)
    claim = query.change_in_steps
    worst = 0.0
    for others in combinations_with_replacement(every, rows - 1):
        found = [solved(query, [*others, row]) for row in every]
        for one, other in product(found, found):
            change = [abs(a - b) for a, b in zip(one, other, strict=True)]
            assert sum(change) <= claim.l1
            assert sum(part**2 for part in change) <= claim.l2_squared
            assert max(change) <= claim.linf
            worst = max(worst, sqrt(sum(part**2 for part in change)))
    # With a strong ridge the bound is useful: some row reaches a thirtieth of it.
    assert worst > sqrt(claim.l2_squared) / 30 or query.ridge < 1


def test_a_file_with_fewer_rows_than_declared_changes_coefficients_no_more() -> None:
    """Averages divide by the declared number of rows at least, as the sensitivity assumes."""
    query = ridge_query((X, Y), Fraction(1), 1000)
    claim = query.change_in_steps
    found = [solved(query, [row]) for row in product((-1, 1), (0, 4))]
    for one, other in product(found, found):
        change = [abs(a - b) for a, b in zip(one, other, strict=True)]
        assert sum(change) <= claim.l1
        assert sum(part**2 for part in change) <= claim.l2_squared
        assert max(change) <= claim.linf


def test_the_bound_of_lecture_notes_without_a_ridge_is_wrong() -> None:
    """2 (N k + P M^2 sqrt(k))/n (Tu 2013, theorem 6) does not bound the change by one row.

    Nineteen rows on one point leave the slope to the twentieth. P is what the coefficients
    of both files really are at most, N = 1, and M^2 = k = 2 with the column of ones.
    """
    query = ridge_query((X, Y), Fraction(1), 20)
    query = replace(query, ridge=Fraction(1, 10**9))
    vars(query)["grid"] = Fraction(1, 1000)
    same = [(0, 2)] * 19
    found = [solved(query, [*same, row]) for row in ((1, 4), (0, 2))]
    one, other = ([part * float(query.grid) for part in each] for each in found)
    largest = max(sqrt(sum(part**2 for part in each)) for each in (one, other))
    moved = sum(abs(a - b) for a, b in zip(one, other, strict=True))
    assert moved > 2 * (1 * 2 + largest * 2 * sqrt(2)) / 20


def test_coefficients_are_those_of_an_independent_solver() -> None:
    """Up to half a step of the grid they are the ridge solution of an independent solver."""
    query = ridge_query((X, Z, Y), Fraction(1, 10), 5)
    rows = [(1, 2, 3), (0, 4, 1), (-1, 3, 4), (1, 4, 0), (0, 2, 2)]
    scaled = np.array([[1.0, (x - 0) / 1, (z - 3) / 1] for x, z, _ in rows])
    outcome = np.array([(y - 2) / 2 for *_, y in rows])
    expected = np.linalg.solve(scaled.T @ scaled / 5 + 0.1 * np.eye(3), scaled.T @ outcome / 5)
    found = np.array(solved(query, rows)) * float(query.grid)
    assert np.abs(found - expected).max() <= float(query.grid) / 2 + 1e-12
    # The declared number of rows counts if there are fewer rows, else the actual number.
    assert solved(query, rows[:2]) != solved(query, rows)
    assert max(map(abs, solved(query, rows * 50))) * query.grid <= 4


def separate_sums(inputs: Inputs) -> MomentsDesign:
    """The design with noise for each moment."""
    designs = LinearRegression().designs(inputs, Relation(RowUnit(), Neighbors.ADD_REMOVE))
    (design,) = (one for one in designs if not isinstance(one, JointMoments))
    assert isinstance(design, MomentsDesign)
    return design


def lines(inputs: Inputs, rows: Sequence[tuple[int, ...]], *, jointly: bool = False) -> Estimates:
    """The coefficients for these rows, almost without noise."""
    statistic = LinearRegression()
    designs = statistic.designs(inputs, Relation(RowUnit(), Neighbors.ADD_REMOVE))
    (design,) = (one for one in designs if isinstance(one, JointMoments) == jointly)
    names = [column.name for column in inputs.columns]
    body = "".join(",".join(map(str, row)) + "\n" for row in rows)
    data = f"{','.join(names)}\n{body}".encode()
    exact = evaluate([weighted.query for weighted in design.queries], data)
    answers = [NoisyAnswer(integer_array(cells_of(cells)), NEARLY) for cells in exact]
    return design.estimate(answers, NEAR_ZERO)


@pytest.mark.parametrize("jointly", [False, True])
def test_moments_give_least_squares_in_the_units_of_the_columns(*, jointly: bool) -> None:
    """Intercept and slopes are those of an independent solver, for any centers."""
    rows = [(1, 2, 3), (0, 4, 1), (-1, 3, 4), (1, 4, 0), (0, 2, 2), (-1, 2, 4)]
    inputs = Inputs("line", Y, columns=(X, Z, Y), method="moments")
    design = np.array([[1.0, x, z] for x, z, _ in rows])
    expected, *_ = np.linalg.lstsq(design, np.array([y for *_, y in rows]), rcond=None)
    for estimate, value in zip(lines(inputs, rows, jointly=jointly), expected, strict=True):
        assert estimate.value is not None
        assert float(estimate.value) == pytest.approx(value, abs=1e-3)


def test_a_constant_column_gets_a_ridge_and_no_interval() -> None:
    """If all inputs are equal, coefficients are finite and have no interval."""
    inputs = Inputs("line", Y, columns=(X, Y), method="moments")
    for estimate in lines(inputs, [(1, 2)] * 20):
        assert estimate.value is not None
        assert abs(estimate.value) <= 4
        assert estimate.lower is estimate.upper is None


def test_the_rows_for_an_interval_are_about_right() -> None:
    """With a third of the stated rows few releases have an interval, and with thrice most."""
    wide = IntegerColumn("x", bounds=(-100, 100))
    inputs = Inputs("plane", wide, columns=(wide, wide, wide), method="moments")
    scales = [4, *([400] * 3), *([40_000] * 6)]
    noises = [DiscreteLaplace(Fraction(scale)) for scale in scales]
    design = separate_sums(inputs)
    stated = design.rows_for_interval(noises)
    widths = design.half_widths(noises, RIDGE_CONFIDENCE)
    # Inputs of variance 0.1 squared half-widths, which are not correlated.
    shares = []
    for rows in (stated // 3, 3 * stated):
        sums = [rows, 0, 0, 0, *(rows * part for part in (-4000, 0, 0, -4000, 0, -4000))]
        answers = [
            NoisyAnswer(integer_array([exact + draw for draw in noise.sample(200)]), noise)
            for exact, noise in zip(sums, noises, strict=True)
        ]
        values = np.array([answer.values for answer in answers], dtype=np.float64)
        _, none = LeastSquares(inputs.columns).solve_stably(values, widths)
        shares.append(none.mean())
    assert shares[0] > 0.95 and shares[1] < 0.05, shares


def test_a_declared_ridge_leaves_an_interval_for_any_number_of_rows() -> None:
    """Then no number of rows is stated."""
    noises = [DiscreteLaplace(Fraction(10))] * 6
    inputs = Inputs("line", Y, columns=(X, Y), method="moments", ridge=Fraction(1, 10))
    assert separate_sums(inputs).rows_for_interval(noises) == 0
    without = separate_sums(replace(inputs, ridge=None))
    assert without.rows_for_interval(noises)


def test_coefficients_are_finite_if_noise_dominates() -> None:
    """Huge noisy answers about few rows give an intercept near the bounds."""
    inputs = Inputs("line", Y, columns=(X, Z, Y), method="moments")
    design = separate_sums(inputs)
    for count in (-50, 0, 3, 10**6):
        for size in (10**3, 10**9, -(10**9)):
            values = [count, *([size] * (len(design.queries) - 1))]
            noise = DiscreteLaplace(Fraction(10**6))
            given = [NoisyAnswer(integer_array([value]), noise) for value in values]
            for estimate in design.estimate(given, NEAR_ZERO):
                assert estimate.value is not None
                assert abs(estimate.value) < 100
