"""Estimates from responses: unbiased, and as accurate as theory and plan state."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcli.data.grid_columns import NumericColumn
from dpcli.data.labels import LabeledColumn
from dpcli.data.number_columns import IntegerColumn
from dpcli.local.estimate import on_simplex
from dpcli.mechanisms.calibrated_mechanism import respond
from dpcli.mechanisms.local import LOCAL_MECHANISMS
from dpcli.mechanisms.local.local_mechanism import (
    CalibratedRandomizer,
    LocalMechanism,
    ProbabilityTable,
    RandomizerRequest,
    ResponseCounts,
)
from dpcli.noise import entropy
from dpcli.noise.distribution import normal_quantile
from dpcli.privacy.confidential import Confidential
from tests.support.randomizers import TABLE, labels
from tests.support.streams import Stream

ONE = Fraction(1)
AGE = IntegerColumn("age", ONE, (18, 100), 18)

SYMMETRIC = ProbabilityTable(
    ("l0", "l1", "l2"),
    ("l0", "l1", "l2"),
    tuple(tuple(Fraction(3 if i == j else 1, 5) for j in range(3)) for i in range(3)),
)
"""Generalized randomized response over three labels at epsilon ln 3, as a table."""


def of_coin(shares: list[float], records: int) -> float:
    """Warner 1965, without the variance of sampling: e^eps / (n (e^eps - 1)^2)."""
    return exp(1) / (records * (exp(1) - 1) ** 2)


def of_direct_encoding(shares: list[float], records: int) -> float:
    """Wang, Blocki, Li and Jha 2017, with the frequency: the mean over all labels."""
    k = len(shares)
    each = [
        (k - 2 + exp(1)) / (exp(1) - 1) ** 2 + share * (k - 2) / (exp(1) - 1) for share in shares
    ]
    return sum(each) / k / records


def of_unary_encoding(shares: list[float], records: int) -> float:
    """The same source: 4 e^eps / (n (e^eps - 1)^2), and f/n for a frequency of f."""
    each = [4 * exp(1) / (exp(1) - 1) ** 2 + share for share in shares]
    return sum(each) / len(shares) / records


def of_laplace(shares: list[float], records: int) -> float:
    """2 scale^2 / n, up to the grid."""
    return 2 * 82**2 / records


def of_gaussian(shares: list[float], records: int) -> float:
    """sigma^2 / n, with the sigma of Balle and Wang 2018 for width 82 at (1, 1e-6)."""
    return (82 * 4.2246) ** 2 / records


def of_table(shares: list[float], records: int) -> float:
    """That of direct encoding at epsilon ln 3."""
    k = len(shares)
    each = [(k - 2 + 3) / 4 + share * (k - 2) / 2 for share in shares]
    return sum(each) / k / records


THEORY: dict[str, tuple[RandomizerRequest, list[float], Callable[[list[float], int], float]]] = {
    "randomized_response": (RandomizerRequest(labels(2), ONE), [0.3, 0.7], of_coin),
    "generalized_randomized_response": (
        RandomizerRequest(labels(6), ONE),
        [0.5, 0.2, 0.1, 0.1, 0.1, 0.0],
        of_direct_encoding,
    ),
    "unary_encoding": (
        RandomizerRequest(labels(6), ONE),
        [0.5, 0.2, 0.1, 0.1, 0.1, 0.0],
        of_unary_encoding,
    ),
    "laplace": (RandomizerRequest(AGE, ONE), [], of_laplace),
    "gaussian": (RandomizerRequest(AGE, ONE, Fraction("1e-6")), [], of_gaussian),
    "matrix": (RandomizerRequest(labels(3), matrix=SYMMETRIC), [0.6, 0.3, 0.1], of_table),
}
"""What each randomizer is asked, the true frequencies, and its variance in the literature."""

each = pytest.mark.parametrize("mechanism", LOCAL_MECHANISMS, ids=lambda one: one.name)


def truth_of(asked: RandomizerRequest, shares: list[float], records: int) -> NDArray[np.int64]:
    """Records with these frequencies, or numbers from one bound to the other."""
    if isinstance(asked.column, NumericColumn):
        return np.linspace(asked.column.lower, asked.column.upper, records).astype(np.int64)
    counts = [round(share * records) for share in shares]
    return np.repeat(np.arange(len(shares)), counts)


def collections(
    randomizer: CalibratedRandomizer, cells: NDArray[np.int64], many: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimates and standard errors from several collections of the same records."""
    found, errors = [], []
    size = len(cells)
    block = max(1, 2_000_000 // size)
    for start in range(0, many, block):
        count = min(block, many - start)
        drawn = respond(randomizer, Confidential(np.tile(cells, count), randomizer)).value
        for place in range(count):
            part = slice(place * size, (place + 1) * size)
            tally = counts_of(randomizer, [column[part] for column in drawn], size)
            values = [float(value) for value in randomizer.estimates(tally)]
            found.append(values)
            likely = [min(max(value, 0.0), 1.0) for value in values]
            errors.append([sqrt(one / size) for one in randomizer.variances(likely)])
    return np.array(found), np.array(errors)


def counts_of(
    randomizer: CalibratedRandomizer, columns: list[NDArray[np.int64]], size: int
) -> ResponseCounts:
    """The counts of some responses."""
    if randomizer.form == "number":
        step = getattr(randomizer, "column", AGE).step
        return ResponseCounts(size, (), int(columns[0].sum()) * step)
    if randomizer.form == "bits":
        return ResponseCounts(size, tuple(int(column.sum()) for column in columns))
    outputs = len(randomizer.outputs) or int(randomizer.record()["categories"])  # type: ignore[call-overload]
    return ResponseCounts(size, tuple(map(int, np.bincount(columns[0], minlength=outputs))))


def true_values(asked: RandomizerRequest, cells: NDArray[np.int64]) -> NDArray[np.float64]:
    """The values that estimates should have."""
    if isinstance(asked.column, LabeledColumn):
        return np.bincount(cells, minlength=len(asked.column.labels)) / len(cells)
    return np.array([cells.mean()])


@each
def test_errors_are_those_of_theory_and_of_the_plan(
    mechanism: LocalMechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At equal epsilon the mean squared error is the theoretical variance, within 8 percent.

    The plan predicts it, and the mean error is zero.
    """
    asked, shares, theory = THEORY[mechanism.name]
    records, many = 200, 2500
    randomizer = mechanism.calibrate_and_verify(asked)
    cells = truth_of(asked, shares, records)
    monkeypatch.setattr(entropy, "source", Stream(f"errors-{mechanism.name}"))
    found, _ = collections(randomizer, cells, many)
    misses = found - true_values(asked, cells)
    square = float((misses**2).mean())

    assert square == pytest.approx(theory(shares, records), rel=0.08)
    planned = randomizer.standard_error(len(asked.column.labels), records)
    assert planned is not None
    assert planned**2 == pytest.approx(theory(shares, records), rel=0.005)
    assert np.abs(misses.mean(axis=0)).max() < 5 * sqrt(square / many)


@pytest.mark.parametrize(
    ("records", "many"), [(1000, 800), pytest.param(100_000, 1000, marks=pytest.mark.slow)]
)
@each
def test_intervals_contain_the_truth_as_often_as_stated(
    mechanism: LocalMechanism, records: int, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 95% intervals from as many records, 93% to 97% contain the truth."""
    monkeypatch.setattr(entropy, "source", Stream(f"intervals-{mechanism.name}"))

    assert 0.93 < coverage(mechanism, records, many) < 0.97


def coverage(mechanism: LocalMechanism, records: int, many: int) -> float:
    """The share of intervals that contain the truth, over all labels."""
    asked, shares, _ = THEORY[mechanism.name]
    randomizer = mechanism.calibrate_and_verify(asked)
    cells = truth_of(asked, shares, records)
    found, errors = collections(randomizer, cells, many)
    reach = normal_quantile(0.05)
    held = np.abs(found - true_values(asked, cells)) <= reach * errors
    print(mechanism.name, records, many, held.mean(axis=0).round(4))
    return float(held.mean())


def test_a_table_is_estimated_like_its_special_case() -> None:
    """A symmetric table and generalized randomized response give the same estimates."""
    general = next(one for one in LOCAL_MECHANISMS if one.name == "matrix")
    special = next(one for one in LOCAL_MECHANISMS if one.name == "generalized_randomized_response")
    table = general.calibrate_and_verify(RandomizerRequest(labels(3), matrix=SYMMETRIC))
    direct = special.calibrate_and_verify(RandomizerRequest(labels(3), probability=Fraction(3, 5)))
    tally = ResponseCounts(1000, (500, 300, 200))

    assert [float(one) for one in table.estimates(tally)] == pytest.approx(
        [float(one) for one in direct.estimates(tally)]
    )
    assert table.variances([0.2, 0.3, 0.5]) == pytest.approx(direct.variances([0.2, 0.3, 0.5]))


def test_more_outputs_than_inputs_are_estimated_without_bias() -> None:
    """Expected counts of a table with three inputs and four outputs give the frequencies."""
    randomizer = next(one for one in LOCAL_MECHANISMS if one.name == "matrix").calibrate_and_verify(
        RandomizerRequest(labels(3), matrix=TABLE)
    )
    shares = (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6))
    counts = [
        int(72000 * sum(share * row[out] for share, row in zip(shares, TABLE.rows, strict=True)))
        for out in range(4)
    ]

    found = [float(one) for one in randomizer.estimates(ResponseCounts(72000, tuple(counts)))]
    assert found == pytest.approx([0.5, 1 / 3, 1 / 6], abs=1e-4)


def test_linearly_dependent_rows_cannot_be_estimated() -> None:
    """A table with linearly dependent rows has no inverse, and is not estimable."""
    half = Fraction(1, 2)
    table = ProbabilityTable(
        ("l0", "l1", "l2"),
        ("a", "b"),
        ((half, half), (Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))),
    )
    matrix = next(one for one in LOCAL_MECHANISMS if one.name == "matrix")
    randomizer = matrix.calibrate_and_verify(RandomizerRequest(labels(3), matrix=table))

    assert not randomizer.estimable
    assert randomizer.standard_error(3, 100) is None


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["0.5", "0.5"], ["0.5", "0.5"]),
        (["1.2", "-0.2"], ["1", "0"]),
        (["0.6", "0.6", "-0.2"], ["0.5", "0.5", "0"]),
        (["0.1", "0.1", "0.2"], ["0.3", "0.3", "0.4"]),
        (["-3", "-2", "-2"], ["0", "0.5", "0.5"]),
    ],
)
def test_frequencies_are_moved_to_the_simplex(values: list[str], expected: list[str]) -> None:
    """The result is the nearest point without negative frequencies whose sum is one."""
    assert on_simplex([*map(Fraction, values)]) == tuple(map(Fraction, expected))


@pytest.mark.parametrize("gap", ["1e-1", "1e-6", "1e-9"])
def test_nearly_equal_rows_are_estimated_as_well_as_floats_can(gap: str) -> None:
    """Two labels have their closed form, however little a response reveals."""
    half, little = Fraction(1, 2), Fraction(gap)
    rows = ((half + little, half - little), (half - little, half + little))
    randomizer = next(one for one in LOCAL_MECHANISMS if one.name == "matrix").calibrate_and_verify(
        RandomizerRequest(labels(2), matrix=ProbabilityTable(("l0", "l1"), ("a", "b"), rows))
    )
    tally = ResponseCounts(1000, (600, 400))
    expected = [float(half + Fraction(1, 10) * way / (2 * little)) for way in (1, -1)]

    assert randomizer.estimable
    assert [float(one) for one in randomizer.estimates(tally)] == pytest.approx(expected, rel=1e-5)
    assert min(randomizer.variances([0.5, 0.5])) > 0


def test_rows_that_are_equal_to_float_precision_have_no_estimate() -> None:
    """Such rows count as equal, and plan and estimate say so."""
    half, little = Fraction(1, 2), Fraction("1e-14")
    rows = ((half + little, half - little), (half - little, half + little))
    randomizer = next(one for one in LOCAL_MECHANISMS if one.name == "matrix").calibrate_and_verify(
        RandomizerRequest(labels(2), matrix=ProbabilityTable(("l0", "l1"), ("a", "b"), rows))
    )

    assert not randomizer.estimable
