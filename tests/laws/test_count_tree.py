"""Laws of quantiles that are read from the counts of a tree.

What is expected is computed here from dense matrices and from sorted values.
"""

from __future__ import annotations

import datetime
import re
from fractions import Fraction
from itertools import pairwise, product
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import isotonic_regression

import dpcli
from dpcli.data.kinds import Axis
from dpcli.data.number_columns import IntegerColumn
from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import NO_NOISE, Noise, normal_quantile
from dpcli.numeric.arrays import Array, Bools, Floats
from dpcli.planning.planner import make_plan
from dpcli.queries.query import LinearQuery
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.quantiles.quantile_classes import (
    ClassOfQuantile,
    _Levels,
    classes_of_quantiles,
    count_below_zero,
)
from dpcli.statistics.quantiles.rank_errors import WINDOW_PART, RankErrors, RankTests
from dpcli.statistics.quantiles.recursion import QuantilesQuery
from dpcli.statistics.quantiles.tree import CountTree
from tests.support.rules import mostly_extended
from tests.support.streams import Stream

CONFIDENCE = Fraction(19, 20)
PERCENTILES = [Fraction(part, 100) for part in range(1, 100)]
DECILES = [Fraction(part, 10) for part in range(1, 10)]


def counted(tree: CountTree, leaves: Array) -> list[Array]:
    """The exact counts of every level, shape (groups, nodes)."""
    return [
        np.add.reduceat(leaves, np.arange(0, tree.leaves, count), axis=1)
        for count in tree.node_leaves
    ]


def noises_of(tree: CountTree, epsilon: Fraction = Fraction(1)) -> list[Noise]:
    """The Laplace noise of each level for this epsilon."""
    return [DiscreteLaplace(1 / (epsilon * share)) for share in tree.shares(1)]


def found_in(
    leaves: Array,
    quantiles: list[Fraction],
    noises: list[Noise] | None = None,
    confidence: Fraction = CONFIDENCE,
) -> list[ClassOfQuantile]:
    """The classes of quantiles from new noisy counts of these leaves, shape (groups, leaves)."""
    tree = CountTree(leaves.shape[1])
    noises = noises or noises_of(tree)
    noisy = [
        exact + np.asarray(noise.sample(exact.size)).reshape(exact.shape)
        for exact, noise in zip(counted(tree, leaves), noises, strict=True)
    ]
    return classes_of_quantiles(tree, noisy, noises, quantiles, confidence)


def missed(leaves: Array, found: list[ClassOfQuantile], quantiles: list[Fraction]) -> Floats:
    """By how many ranks each quantile is missed in each group, shape (quantiles, groups)."""
    up_to, groups = np.cumsum(leaves, axis=1), np.arange(len(leaves))
    errors = []
    for one, quantile in zip(found, quantiles, strict=True):
        wanted = float(quantile) * up_to[:, -1]
        below = (up_to - leaves)[groups, one.index]
        errors.append(np.maximum(0, np.maximum(below - wanted, wanted - up_to[groups, one.index])))
    return np.array(errors)


def values(shape: str, leaves: int, rows: int) -> Array:
    """The rows of each class, for one shape of data."""
    generator = np.random.default_rng(20)
    if shape == "even":
        drawn = generator.integers(0, leaves, rows)
    elif shape == "incomes":
        drawn = np.minimum(generator.lognormal(7.5, 0.6, rows) / 10_000 * leaves, leaves - 1)
    else:
        drawn = generator.choice(generator.choice(leaves, 40), rows)
    return np.bincount(drawn.astype(np.int64), minlength=leaves)


@pytest.mark.parametrize("leaves", [1, 2, 9, 10, 40, 101, 1000, 1001, 60_000, 2_000_001])
def test_levels_reach_all_leaves_with_about_ten_children_each(leaves: int) -> None:
    """The last level has every leaf, and the first about as many nodes as others have children."""
    tree = CountTree(leaves)
    axis = Axis(IntegerColumn("x", Fraction(1), (0, leaves - 1)), range(leaves))
    sizes = [len(level) for level in tree.axes(axis)]
    assert sizes[-1] == leaves
    assert sizes[0] == tree.top_nodes <= tree.fan_out
    assert tree.fan_out <= 32 and (tree.levels == 1 or tree.fan_out >= 5)
    assert all(more <= tree.fan_out * few for few, more in pairwise(sizes))
    assert sum(tree.shares(1)) == sum(tree.shares(2)) == 1


@pytest.mark.parametrize("quantile", [0.5, 0.1, 0.93])
@pytest.mark.parametrize("leaves", [8, 40, 64, 125])
def test_the_stated_variance_is_that_of_least_squares(leaves: int, quantile: float) -> None:
    """For regular trees it is that of a dense matrix, and an upper bound for others.

    The usual error is between the least and the greatest one.
    """
    tree = CountTree(leaves)
    noises = [DiscreteLaplace(Fraction(2 + level)) for level in range(tree.levels)]
    variances = [noise.discrete_variance for noise in noises]
    matrix, weights = [], []
    for level, count in enumerate(tree.node_leaves):
        for start in range(0, leaves, count):
            matrix.append((np.arange(leaves) >= start) & (np.arange(leaves) < start + count))
            weights.append(1 / variances[level])
    dense = np.array(matrix, float)
    covariance = np.linalg.inv(dense.T @ (np.array(weights)[:, None] * dense))
    ends = (np.arange(leaves)[None, :] < np.arange(leaves + 1)[:, None]) - quantile
    exact = np.einsum("ij,jk,ik->i", ends, covariance, ends)
    stated = RankErrors(tree, tuple(noises)).rank_variances(quantile)
    if tree.fan_out**tree.levels == leaves:
        assert stated == pytest.approx(exact, rel=1e-9)
    assert (exact <= stated * (1 + 1e-9)).all()
    usual = tree.usual_error(quantile, [sqrt(one) for one in variances]) ** 2
    assert exact.min() <= usual * (1 + 1e-9) <= stated.max() * (1 + 2e-9)


@pytest.mark.parametrize(
    ("leaves", "quantile"),
    # Variances are quadratic in the quantile, so three decide them.
    [
        *product([1, 2, 8, 40, 50, 101, 125], [0.01, 0.1, 0.5, 0.93, 0.99]),
        *product([200, 312, 400], [0.01, 0.5, 0.93]),
    ],
)
def test_ranks_that_are_tested_vary_as_stated(leaves: int, quantile: float) -> None:
    """The numbers that ranges are made of are linear: their moments follow from unit counts.

    Nodes without leaves have no noise, so what is stated for irregular trees is an upper bound.
    """
    tree = CountTree(leaves)
    noises = [DiscreteLaplace(Fraction(4 + level)) for level in range(tree.levels)]
    errors = RankErrors(tree, tuple(noises))
    levels = _Levels.of(tree, errors.variances)
    sizes = [-(-leaves // count) for count in tree.node_leaves]
    units = np.split(np.eye(sum(sizes)), np.cumsum(sizes)[:-1], axis=1)
    below, rows = levels.unbiased(levels.from_below(units))
    weights = below - quantile * rows
    exact = np.repeat([noise.discrete_variance for noise in noises], sizes) @ weights**2
    stated = errors.rank_variances(quantile)
    heavy = np.repeat([noise.fourth_cumulant(1) for noise in noises], sizes) @ weights**4
    tails = errors.fourth_cumulants(np.arange(leaves), quantile)
    if tree.fan_out**tree.levels == leaves:
        assert stated == pytest.approx(exact, rel=1e-9)
        assert tails == pytest.approx(heavy[:-1], rel=1e-9)
    assert (exact <= stated * (1 + 1e-9)).all()
    assert (heavy[:-1] <= tails * (1 + 1e-9)).all()
    variances = np.repeat([noise.discrete_variance for noise in noises], sizes)
    sums = np.cumsum(np.pad(weights, ((0, 0), (1, 0))), axis=1)
    for window in errors.windows:
        runs = slice(0, leaves + window.size)
        some = np.arange(0, runs.stop, runs.stop // 16 + 1)
        spans = zip(*(ends[some] for ends in window.ends(runs)), strict=True)
        means = np.stack([weights[:, start:stop].mean(axis=1) for start, stop in spans], axis=1)
        assert window.means(sums, runs)[:, some] == pytest.approx(means, abs=1e-9)
        averaged = errors.rank_variances(quantile, window, runs)[some]
        if tree.fan_out**tree.levels == leaves:
            assert averaged == pytest.approx(variances @ means**2, rel=1e-9)
        assert (variances @ means**2 <= averaged * (1 + 1e-9)).all()
    varied = np.repeat([noise.discrete_variance for noise in noises], sizes) @ rows[:, 0] ** 2
    assert errors.rows_margin(CONFIDENCE) >= normal_quantile(0.1) * sqrt(varied) * (1 - 1e-9)


@pytest.mark.parametrize("is_above", [True, False])
@pytest.mark.parametrize("rows", [0, 5, 150])
def test_each_end_takes_the_window_of_the_least_margin_and_rise(rows: int, is_above: bool) -> None:
    """For two quantiles of three groups, compared with loops over windows, groups and ends."""
    tree, shares, sign = CountTree(300), [0.2, 0.6], 1 if is_above else -1
    errors = RankErrors(tree, tuple(noises_of(tree)))
    generator = np.random.default_rng(8)
    drawn = np.cumsum(generator.dirichlet(np.full(300, 0.2), 3), axis=1) * rows
    likely = np.pad(drawn, ((0, 0), (1, 0)))
    noisy, totals = likely + generator.normal(0, 15, likely.shape), likely[:, -1:]
    margins = [errors.margins(share, CONFIDENCE) for share in shares]
    tests = RankTests(errors, CONFIDENCE, shares, margins, noisy, totals, likely)
    used = set()
    for share, single, found in zip(shares, margins, tests.ranks(is_above=is_above), strict=True):
        ranks = noisy - share * totals
        clear = (ranks < -2 * single).all(axis=0) | (ranks > 2 * single).all(axis=0)
        first, *_, last = np.flatnonzero(~clear)
        expected, least = ranks + sign * single, np.tile(single, (3, 1))
        for window in errors.windows:
            shift = window.size - 1 if is_above else 0
            variances = errors.rank_variances(share, window, slice(shift, shift + 301))
            margin = errors.width(share, CONFIDENCE, WINDOW_PART) * np.sqrt(variances)
            helped = False
            for group, end in product(range(3), range(first, last + 1)):
                start = end if is_above else max(end + 1 - window.size, 0)
                run = slice(start, end + window.size if is_above else end + 1)
                rise = abs(likely[group, run].mean() - likely[group, end])
                if margin[end] + rise < least[group, end] - 1e-9:
                    least[group, end] = margin[end] + rise
                    expected[group, end] = ranks[group, run].mean() + sign * margin[end]
                    helped = True
                    used.add(window.size)
            if not helped:
                break
        assert found == pytest.approx(expected, abs=1e-6)
    assert len(used) > 1


@pytest.mark.parametrize("leaves", [1, 7, 40, 101, 1000, 2345])
def test_without_noise_a_class_holds_the_quantile(leaves: int) -> None:
    """No rank is missed, and the range has one class, or the empty ones around a boundary."""
    counts = np.random.default_rng(1).integers(0, 3, (5, leaves))
    tree = CountTree(leaves)
    found = classes_of_quantiles(
        tree, counted(tree, counts), [NO_NOISE] * tree.levels, PERCENTILES, CONFIDENCE
    )
    assert missed(counts, found, PERCENTILES).max() < 1e-6
    assert all(((one.lowest <= one.index) & (one.index <= one.highest)).all() for one in found)


SIZES = ((40, 30), (101, 3_000), (1001, 300), (1001, 3_000), (20, 0))
"""Numbers of leaves and of rows."""

SHAPES = ("even", "incomes", "tied", "one value")

CASES = [
    (shape, *size, kind)
    for shape, size, kind in product(SHAPES, SIZES, (DiscreteLaplace, DiscreteGaussian))
]


@pytest.mark.parametrize(
    ("shape", "leaves", "rows", "kind"),
    # A third, with every shape and every size.
    mostly_extended(CASES, *CASES[::3], unpack=True),
)
def test_ranges_have_the_class_of_the_exact_quantile(
    shape: str, leaves: int, rows: int, kind: type[Noise], stream: Stream
) -> None:
    """In at least 93% of runs for every quantile, wherever the rows lie (binomial test)."""
    runs = 200
    counts = values(shape, leaves, rows)
    if shape == "one value":
        counts = np.bincount([leaves - 1] * rows, minlength=leaves)
    levels = CountTree(leaves).levels
    noises: list[Noise] = [kind(Fraction(3 + level)) for level in range(levels)]
    quantiles = [Fraction(1, 100), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)]
    held = []
    for one, quantile in zip(
        found_in(np.tile(counts, (runs, 1)), quantiles, noises), quantiles, strict=True
    ):
        up_to = np.cumsum(counts)
        exact = min(int(np.searchsorted(up_to, float(quantile * int(up_to[-1])))), leaves - 1)
        held.append(int(((one.lowest <= exact) & (exact <= one.highest)).sum()))
    # Fewer than 168 of 200 have a probability below 1e-5 at 93%.
    assert min(held) >= 168


@pytest.mark.parametrize("percent", [50, 95])
def test_groups_without_rows_have_all_classes_in_95_percent(percent: int, stream: Stream) -> None:
    """At any confidence, and hardly more often: that would hide groups of few rows."""
    empty = np.zeros((2_000, 101), np.int64)
    (found,) = found_in(empty, [Fraction(1, 2)], confidence=Fraction(percent, 100))
    assert 0.935 <= ((found.lowest == 0) & (found.highest == 100)).mean() <= 0.975


def test_ranges_end_where_an_isotonic_regression_reaches_zero() -> None:
    """For random numbers and weights, compared with the regression of scipy."""
    generator = np.random.default_rng(4)
    for _ in range(500):
        rows, columns = generator.integers(1, 5), generator.integers(1, 30)
        trend = generator.normal() * np.linspace(-2, 2, columns)
        numbers = generator.normal(size=(rows, columns)) + trend
        weights = generator.uniform(0.1, 2, (rows, columns))
        fitted = [
            isotonic_regression(row, weights=weight).x
            for row, weight in zip(numbers, weights, strict=True)
        ]
        below = [int((row < 0).sum()) for row in fitted]
        assert count_below_zero(numbers, weights).tolist() == below


def test_quantiles_are_in_order(stream: Stream) -> None:
    """Noisy counts of hardly any rows give increasing classes, and all are classes."""
    counts = np.zeros((50, 300), np.int64)
    counts[:, 7] = 3
    found = found_in(counts, DECILES)
    places = np.array([one.index for one in found])
    assert (np.diff(places, axis=0) >= 0).all()
    assert places.min() >= 0 and places.max() < 300


def mean_missed(shape: str, leaves: int, quantiles: list[Fraction], runs: int) -> float:
    """The mean of the missed ranks of 3,000 rows, at epsilon 1."""
    counts = np.tile(values(shape, leaves, 3_000), (runs, 1))
    return float(missed(counts, found_in(counts, quantiles), quantiles).mean())


@pytest.mark.parametrize("shape", ["even", "incomes", "tied"])
def test_percentiles_miss_by_a_few_ranks(shape: str, stream: Stream) -> None:
    """Of 3,000 rows and 1,000 candidates: by less than 5 on average, at epsilon 1."""
    assert mean_missed(shape, 1000, PERCENTILES, 60) < 5


def test_counts_that_are_not_negative_have_less_than_the_stated_error(stream: Stream) -> None:
    """95% of the ranks of dense values are missed by less than the error that plans state."""
    leaves, runs = 1000, 200
    tree, counts = CountTree(leaves), np.full((runs, leaves), 3)
    errors = missed(counts, found_in(counts, [Fraction(1, 2)]), [Fraction(1, 2)])
    widths = [float(noise.half_width(CONFIDENCE)) for noise in noises_of(tree)]
    within: Bools = errors <= tree.usual_error(0.5, widths)
    assert within.mean() > 0.95
    # Independent noise in every class alone would miss by far more.
    flat = sqrt(leaves) / 2 * DiscreteLaplace(Fraction(1)).half_width(CONFIDENCE)
    assert tree.usual_error(0.5, widths) < flat / 2


SPEC = """
dpcli: 1
dataset: town
privacy: {{unit: {unit}, neighbors: add-remove, budget: {{epsilon: 9, delta: 1e-6}}}}
columns:
  pid: {{type: id}}
  sex: {{type: category, values: [f, m]}}
  x: {{type: integer, bounds: [0, {upper}]}}
statistics:
  - {{name: q, statistic: quantile, column: x, quantiles: [{quantiles}], {rest}}}
"""
PEOPLE = "{column: pid, max_rows: 3}"
LIMITED = "{column: pid, max_rows: 3, max_groups: 1, max_rows_per_group: 3}"
NINE = ", ".join(f"0.{part}" for part in range(1, 10))
SIX = "0.1, 0.2, 0.4, 0.5, 0.7, 0.9"
MANY = ", ".join(f"{part / 100}" for part in range(1, 100))


@pytest.mark.parametrize(
    ("upper", "quantiles", "rest", "unit", "counts"),
    [
        (100, NINE, "epsilon: 1", "row", True),
        (1000, NINE, "epsilon: 1", "row", True),
        (10_000, NINE, "epsilon: 1", "row", True),
        (100_000, NINE, "epsilon: 1", "row", False),
        (10_000, MANY, "epsilon: 1", "row", True),
        (10_000, MANY, "epsilon: 1, by: [sex]", PEOPLE, True),
        (10_000, MANY, "epsilon: 1, by: [sex]", LIMITED, False),
        (10_000, MANY, "epsilon: 1, mechanism: permute_and_flip", "row", False),
        (999_999, NINE, "epsilon: 1, mechanism: laplace", "row", True),
        (999_999, NINE, "epsilon: 1, delta: 1e-6, mechanism: gaussian", "row", True),
        (100, NINE, "error: 5", "row", False),
        (10, "0.25, 0.5", "epsilon: 1", "row", True),
        (1000, "0.25, 0.5", "epsilon: 1", "row", False),
        (1000, "0.25, 0.5", "epsilon: 1, by: [sex]", "row", True),
        (100_000, "0.5", "epsilon: 1, by: [sex]", "row", False),
        (100_000, NINE, "epsilon: 1, by: [sex]", "row", True),
        (100_000, NINE, "epsilon: 1, by: []", "row", False),
        (1000, "0.5", "epsilon: 1, by: [sex], mechanism: auto", PEOPLE, False),
        (1000, "0.5", "epsilon: 1, delta: 1e-6, by: [sex], mechanism: gaussian", "row", True),
        (1000, "0.5", "epsilon: 1, by: [sex], mechanism: exponential", "row", False),
        (1000, "0.5", "epsilon: 1, by: [sex]", LIMITED, False),
        (1000, "0.5", "error: 5, by: [sex]", "row", False),
        (1000, "0.5", "epsilon: 1, mechanism: laplace", "row", True),
    ],
    ids=lambda value: str(value)[:40],
)
def test_the_plan_takes_counts_or_choices_by_public_facts(
    upper: int, quantiles: str, rest: str, unit: str, counts: bool
) -> None:
    """By groups, the numbers of quantiles and candidates, the mechanism, and limits on people."""
    text = SPEC.format(unit=unit, upper=upper, quantiles=quantiles, rest=rest)
    (planned,) = make_plan(parse_central_spec(text, "town")).statistics
    kinds = {type(one.weighted.query) for one in planned.queries if not one.weighted.supports}
    assert kinds == {LinearQuery} if counts else LinearQuery not in kinds
    if rest == "epsilon: 1" and not counts and quantiles == NINE:
        assert kinds == {QuantilesQuery}


@pytest.mark.parametrize(
    ("quantiles", "rest", "unit", "offers_counts"),
    [
        (SIX, "epsilon: 1, mechanism: permute_and_flip", "row", True),
        (SIX, "epsilon: 1, by: [sex], mechanism: exponential", "row", True),
        ("0.5", "epsilon: 1, by: [sex]", LIMITED, False),
        (NINE, "epsilon: 1, by: [sex]", LIMITED, False),
    ],
    ids=lambda value: str(value)[:40],
)
def test_plans_say_that_choices_have_no_interval(
    quantiles: str, rest: str, unit: str, offers_counts: bool
) -> None:
    """They name the mechanism that asks for counts, where counts are possible."""
    text = SPEC.format(unit=unit, upper=1000, quantiles=quantiles, rest=rest)
    (planned,) = make_plan(parse_central_spec(text, "town")).statistics
    reason, *_ = planned.design.sentences(planned.noises, CONFIDENCE)
    assert planned.design.chooses and "no interval can be given for what is chosen" in reason
    assert ("`mechanism: laplace` asks for counts" in reason) == offers_counts


@pytest.mark.parametrize("epsilon", ["3.6", "3.7", "5", "20"])
@pytest.mark.parametrize("most", [3, 99, 5_000])
def test_plans_know_the_error_however_little_noise_counts_have(epsilon: str, most: int) -> None:
    """The half-width of a count may be zero in some levels, or in all."""
    text = f"""\
dpcli: 1
dataset: d
privacy: {{unit: row, neighbors: add-remove, budget: {{epsilon: 20}}}}
columns: {{x: {{type: integer, bounds: [0, {most}]}}}}
statistics:
  - {{name: q, statistic: quantile, column: x, quantiles: [0.25, 0.5, 0.75], epsilon: {epsilon},
     mechanism: laplace}}
"""
    (planned,) = make_plan(parse_central_spec(text, "d")).statistics
    (note,) = planned.design.sentences(planned.noises, Fraction(19, 20))
    assert "ranges" in note


GROUPED = """
dpcli: 1
dataset: town
privacy: {{unit: row, neighbors: add-remove, budget: {{epsilon: 9, delta: 1e-6}}}}
columns:
  g: {{type: category, values: [many, none]}}
  x: {{type: {kind}, bounds: {bounds}}}
statistics:
  - {{name: asked, by: [g], column: x, epsilon: 3, {rest}}}
"""


@pytest.mark.parametrize(
    "rest",
    [
        "statistic: median",
        "statistic: min",
        "statistic: max",
        "statistic: quantile, quantiles: 0.25",
        "statistic: quantile, quantiles: [0.25, 0.75]",
        "statistic: median, mechanism: auto",
        "statistic: median, mechanism: gaussian, delta: 1e-6",
        "statistic: median, candidates: {step: 50}",
    ],
)
@pytest.mark.parametrize("kind", mostly_extended(["integer", "date"], "date"))
def test_an_empty_group_has_an_interval_of_all_candidates(
    kind: str, rest: str, stream: Stream, tmp_path: Path
) -> None:
    """It is flagged `no-information`; the interval of a group of many rows has the quantile."""
    first: Any = 0 if kind == "integer" else datetime.date(2020, 1, 1)
    bounds = [0, 400] if kind == "integer" else ["2020-01-01", "2021-02-04"]
    text = GROUPED.format(kind=kind, bounds=f"[{bounds[0]}, {bounds[1]}]", rest=rest)
    (tmp_path / "spec.yaml").write_text(text, encoding="utf-8")
    cell = "200" if kind == "integer" else "2020-07-19"
    rows = pl.DataFrame({"g": ["many"] * 4_000, "x": [cell] * 4_000})
    plan = dpcli.plan(dpcli.load_spec(tmp_path / "spec.yaml"))
    with dpcli.Ledger.create(tmp_path / "ledger.sqlite") as ledger:
        table = dpcli.release(plan, rows, ledger=ledger, release_id="r").table
    for row in table.iter_rows(named=True):
        found = [row[name] - first for name in ("lower", "value", "upper")]
        lower, value, upper = (getattr(each, "days", each) for each in found)
        if row["g"] == "none":
            assert [lower, upper] == [0, 400]
            assert row["flag"] == "no-information"
        else:
            assert {lower, value, upper} == {200}
            assert not row["flag"]


@pytest.mark.parametrize("quantile", ["0.5", "0.1", "0.99"])
def test_plans_say_how_many_rows_a_group_needs(quantile: str, stream: Stream) -> None:
    """Most intervals reach an end with a tenth of these rows, and hardly any with twice as many."""
    rest = "epsilon: 1, by: [sex], mechanism: laplace"
    spec = SPEC.format(unit="row", upper=400, quantiles=quantile, rest=rest)
    (planned,) = make_plan(parse_central_spec(spec, "town")).statistics
    notes = planned.design.sentences(planned.noises, Fraction(19, 20))
    (stated,) = re.findall(r"fewer than about ([\d,]+) rows", " ".join(notes))
    needed = int(stated.replace(",", ""))
    shares = []
    for rows in (needed // 10, needed // 2, needed * 2):
        drawn = np.random.default_rng(3).integers(100, 301, (200, rows))
        leaves = np.stack([np.bincount(one, minlength=401) for one in drawn])
        (found,) = found_in(leaves, [Fraction(quantile)], planned.noises)
        shares.append(((found.lowest == 0) | (found.highest == 400)).mean())
    assert shares[0] > 0.8 and shares[2] < 0.05
    assert shares[0] > shares[1] > shares[2]
