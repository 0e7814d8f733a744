"""Without noise, each statistic publishes its definition, recomputed from the rows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from dpcli.data.filters import InRanges
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.kinds import Axis
from dpcli.data.labels import LabeledColumn
from dpcli.noise.candidate_choice import ExponentialChoice
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import NO_NOISE
from dpcli.numeric.arrays import Array, integer_array
from dpcli.queries.query import Query
from dpcli.queries.scores import ScoreQuery, SelectionQuery
from dpcli.statistics import STATISTICS
from dpcli.statistics.design import Inputs, NoisyAnswer
from dpcli.statistics.estimates import Estimate
from dpcli.statistics.quantiles.recursion import QuantilesQuery, choose_quantiles
from dpcli.statistics.statistic import Statistic
from tests.laws.test_statistics import ADDED, answers, requests
from tests.oracles.plain import value

ROWS = ["1,f,1,0\n", "0,m,1,1\n", "2,f,1,1\n", "1,m,1,0\n", "0,f,1,1\n", "2,m,0,1\n",
        "1,f,0,0\n", "2,m,1,1\n", "2,f,1,0\n", ",m,1,1\n"]  # fmt: skip
"""A file with several rows in each group, and a missing cell."""

NOISELESS = DiscreteLaplace(Fraction(1, 10**6))
"""Noise whose interval is a millionth of a row wide."""

Row = dict[str, str]


def groups(inputs: Inputs) -> Iterator[list[Row]]:
    """The rows that count, in each group."""
    every = [dict(zip(["x", "sex", "open", "y"], row[:-1].split(","), strict=True)) for row in ROWS]
    kept = [
        row
        for row in every
        if all(
            present(condition.column, row)
            and any(low <= number(condition.column, row) <= high for low, high in condition.ranges)
            for condition in inputs.where
            if isinstance(condition, InRanges)
        )
    ]
    keys = [key.column for key in inputs.by]
    for place in product(*(range(len(key)) for key in inputs.by)):
        yield [row for row in kept if place == tuple(number(key, row) for key in keys)]


def present(column: object, row: Row) -> bool:
    """Whether a row has a value in a column."""
    assert isinstance(column, NumericColumn | LabeledColumn)
    return value(column, row[column.name]) is not None


def number(column: object, row: Row) -> int:
    """The whole number of a cell that is not missing."""
    assert isinstance(column, NumericColumn | LabeledColumn)
    found = value(column, row[column.name])
    assert isinstance(found, int)
    return found


def numbers(column: object, rows: Sequence[Row]) -> list[int]:
    """The values of a column that are not missing."""
    return [number(column, row) for row in rows if present(column, row)]


def cell_counts(axes: Sequence[Axis], rows: Sequence[Row]) -> list[float]:
    """The number of rows in each cell of a table, the last axis fastest."""
    cell_counts = [0.0] * int(np.prod([len(axis) for axis in axes]))
    for row in rows:
        place = 0
        for axis in axes:
            here = number(axis.column, row)
            place = place * len(axis) + (
                bisect_right(axis.starts, here) - 1 if axis.starts else here
            )
        cell_counts[place] += 1
    return cell_counts


def moments(inputs: Inputs, rows: Sequence[Row]) -> tuple[np.ndarray, np.ndarray]:
    """Means and covariances of several columns, over the n rows without missing values."""
    kept = [row for row in rows if all(present(column, row) for column in inputs.columns)]
    table = np.array(
        [[number(column, row) for column in inputs.columns] for row in kept], dtype=float
    )
    return table.mean(axis=0), np.cov(table.T, bias=True)


def covariances(inputs: Inputs, rows: Sequence[Row]) -> list[float]:
    """The upper triangle of the matrix of covariances."""
    matrix = moments(inputs, rows)[1]
    return [float(matrix[a, b]) for a in range(len(matrix)) for b in range(a, len(matrix))]


def correlations(inputs: Inputs, rows: Sequence[Row]) -> list[float]:
    """The correlations of all pairs; zero if a variance is zero."""
    matrix = moments(inputs, rows)[1]
    return [
        float(matrix[a, b] / np.sqrt(matrix[a, a] * matrix[b, b]))
        if matrix[a, a] * matrix[b, b]
        else 0.0
        for a, b in combinations(range(len(matrix)), 2)
    ]


def coefficients(inputs: Inputs, rows: Sequence[Row]) -> list[float]:
    """Intercept and slope of the last column on the first, with a ridge if there is one."""
    means, matrix = moments(inputs, rows)
    column = inputs.columns[0]
    half = (column.upper - column.lower) / 2
    slope = matrix[0, 1] / (matrix[0, 0] + float(inputs.ridge or 0) * half**2)
    return [float(means[1] - slope * means[0]), float(slope)]


def tables(inputs: Inputs, rows: Sequence[Row]) -> list[float]:
    """The cells of all tables, over rows without missing values."""
    kept = [row for row in rows if all(present(axis.column, row) for axis in inputs.margins)]
    return [
        cell
        for ways in inputs.ways
        for axes in combinations(inputs.margins, ways)
        for cell in cell_counts(axes, kept)
    ]


def weights(inputs: Inputs, rows: Sequence[Row]) -> list[int]:
    """The weight of each row that has a value; one without weights."""
    kept = [row for row in rows if inputs.column is None or present(inputs.column, row)]
    return numbers(inputs.weight, kept) if inputs.weight else [1] * len(kept)


def weighted_sum(inputs: Inputs, rows: Sequence[Row]) -> int:
    """The sum of values, each times the weight of its row."""
    pairs = zip(numbers(inputs.column, rows), weights(inputs, rows), strict=True)
    return sum(value * weight for value, weight in pairs)


def selected(inputs: Inputs, rows: Sequence[Row]) -> list[float]:
    """How many rows have each flag, among the first ones up to the limit."""
    counts = [0.0] * len(inputs.checked)
    for row in rows:
        flags = [present(column, row) and number(column, row) for column in inputs.checked]
        chosen = [place for place, flag in enumerate(flags) if flag]
        for place in chosen[: inputs.option("max_selected")]:
            counts[place] += 1
    return counts


def missing(inputs: Inputs, rows: Sequence[Row]) -> list[float]:
    """How many cells of each column are missing."""
    return [sum(not present(column, row) for row in rows) for column in inputs.checked]


def share(inputs: Inputs, rows: Sequence[Row]) -> list[float]:
    """The share of rows with certain labels, or whose boolean is true."""
    found, options = numbers(inputs.column, rows), dict(inputs.options)
    ranges, amounts = options["values"] or ((1, 1),), weights(inputs, rows)
    inside = sum(
        amount
        for place, amount in zip(found, amounts, strict=True)
        if any(low <= place <= high for low, high in ranges)
    )
    return [inside / sum(amounts) * (options["per"] or 1)]


def quotient(inputs: Inputs, rows: Sequence[Row]) -> list[float]:
    """The sum or number of true of one column over that of another; without one, of all rows."""
    parts = [inputs.option(key) for key in ("numerator", "denominator")]
    kept = [row for row in rows if all(part is None or present(part, row) for part in parts)]
    above, below = (
        len(kept) if part is None else sum(number(part, row) for row in kept) for part in parts
    )
    return [above / below * (inputs.option("per") or 1)]


def compared(inputs: Inputs, rows: Sequence[Row]) -> list[float]:
    """The number of each label, and the differences and ratios of pairs.

    Labels are compared with the first, or with the one before. Two counts or sums have one ratio,
    in percent.
    """
    of, column = inputs.option("of") or "count", inputs.column
    options = {"values": None, "per": 1, **dict(inputs.options)}
    own = of_labels(inputs, rows)
    is_total = of in ("count", "sum")
    if of == "count":
        found = [float(len(some)) for some in own]
    else:
        of = "proportion" if isinstance(column, LabeledColumn) else of
        asked = replace(inputs, options=(*options.items(),))
        found = [PLAIN[of](asked, some)[0] for some in own]
    bases = found[:-1] if options.get("reference") else found[:1] * (len(found) - 1)
    pairs = [*zip(found[1:], bases, strict=True)]
    least = float(inputs.numeric.step) if of == "median" else 1 if is_total else 1e-6
    unit = 100 if is_total and len(pairs) == 1 else 1
    summed = (column, options.get("numerator"))
    is_signed = any(isinstance(part, NumericColumn) and part.lower < 0 for part in summed)
    ratios = [unit * other / max(base, least) for other, base in pairs]
    differences = [other - base for other, base in pairs]
    return [*found, *differences, *([] if is_signed and not is_total else ratios)]


def of_labels(inputs: Inputs, rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of each compared label that have a value."""
    tests, column = inputs.option("between").column.derivation.tests, inputs.column
    kept = [row for row in rows if not column or present(column, row)]
    return [
        [row for row in kept if present(test.column, row) and passes(test, row)] for test in tests
    ]


def with_true_sizes(inputs: Inputs) -> Inputs:
    """The inputs with the numbers of rows of each group as their public sizes, if they have any."""
    if inputs.sizes is None:
        return inputs
    is_compared = "between" in dict(inputs.options)
    parts = [
        part
        for rows in groups(inputs)
        for part in (of_labels(inputs, rows) if is_compared else [rows])
    ]
    sizes = [Fraction(sum(weights(inputs, part))) for part in parts]
    labels = [labels for labels, _ in inputs.sizes.numbers]
    return replace(inputs, sizes=replace(inputs.sizes, numbers=(*zip(labels, sizes, strict=True),)))


def passes(test: InRanges, row: Row) -> bool:
    """Whether a row has the value of a test of one value."""
    return number(test.column, row) == test.ranges[0][0]


def inequality(inputs: Inputs, rows: Sequence[Row]) -> list[float]:
    """The mean difference of two rows over twice the mean, and the part of the top tenth."""
    found = sorted(numbers(inputs.column, rows), reverse=True)
    apart = sum(abs(one - other) for one in found for other in found)
    return [apart / (2 * len(found) * sum(found)), found[0] * len(found) / 10 / sum(found)]


PLAIN: dict[str, Callable[[Inputs, Sequence[Row]], list[float]]] = {
    "count": lambda inputs, rows: [sum(weights(inputs, rows))],
    "sum": lambda inputs, rows: [weighted_sum(inputs, rows)],
    "mean": lambda inputs, rows: [weighted_sum(inputs, rows) / sum(weights(inputs, rows))],
    "median": lambda inputs, rows: [
        sorted(numbers(inputs.column, rows))[(len(rows) - 1) // 2] * float(inputs.numeric.step)
    ],
    "proportion": share,
    "ratio": quotient,
    "comparison": compared,
    "variance": lambda inputs, rows: [float(np.var(numbers(inputs.column, rows)))],
    "std": lambda inputs, rows: [float(np.std(numbers(inputs.column, rows)))],
    "inequality": inequality,
    "describe": lambda inputs, rows: [
        float(function(numbers(inputs.column, rows))) for function in (len, np.mean, np.std)
    ],
    "histogram": lambda inputs, rows: cell_counts(
        [inputs.bins] if inputs.bins else [], [row for row in rows if present(inputs.column, row)]
    ),
    "marginals": tables,
    "count_distinct": lambda inputs, rows: [len(set(numbers(inputs.column, rows)))],
    "selections": selected,
    "count_missing": missing,
    "covariance": covariances,
    "correlation": correlations,
    "linear_regression": coefficients,
}
"""For each statistic that is not a selection, the definition of its numbers in one group."""

COUNTING = [one for one in STATISTICS if not (one.chooses or "slope" in one.families)]
CHOOSING = [statistic for statistic in STATISTICS if statistic.chooses]


@pytest.mark.parametrize("statistic", COUNTING, ids=lambda statistic: statistic.name)
def test_without_noise_the_estimate_is_the_definition(statistic: Statistic) -> None:
    """Every estimate equals its definition, and its interval contains it."""
    all_requests = [*map(with_true_sizes, requests(statistic))]
    designs = [(one, design) for one in all_requests for design in statistic.designs(one, ADDED)]
    for inputs, design in designs:
        queries = [weighted.query for weighted in design.queries]
        noiseless = [
            NoisyAnswer(integer_array(cells), NOISELESS) for cells in answers(queries, ROWS)
        ]
        estimates = design.estimate(noiseless, Fraction(19, 20))
        definition = PLAIN[statistic.name]
        plain = [value for rows in groups(inputs) for value in definition(inputs, rows)]

        # Of numbers in one bin, only an interval is known.
        if dict(inputs.options).get("bins") != 1:
            assert [float(estimate.value or 0) for estimate in estimates] == pytest.approx(
                plain, abs=1e-4
            )
        for estimate, expected in zip(estimates, plain, strict=True):
            if estimate.lower is not None and estimate.upper is not None:
                assert float(estimate.lower) - 1e-4 <= expected <= float(estimate.upper) + 1e-4
    assert all_requests


def rank_error(quantile: Fraction, chosen: Fraction, values: Sequence[int]) -> Fraction:
    """The number of rows by which the rank of a candidate misses a quantile."""
    below = sum(value < chosen for value in values)
    up_to = sum(value <= chosen for value in values)
    wanted = quantile * len(values)
    return max(below - wanted, wanted - up_to, Fraction(0))


def utility_of(inputs: Inputs, chosen: Fraction, rows: Sequence[Row]) -> Fraction:
    """The utility of a candidate of `choose`."""
    kept = [row for row in rows if present(inputs.column, row)]
    if inputs.utility == "revenue":
        return chosen * sum(number(inputs.column, row) >= chosen for row in kept)
    return Fraction(
        sum(
            (number(inputs.column, row) >= chosen) == bool(number(inputs.label, row))
            for row in kept
            if present(inputs.label, row)
        )
    )


def score_of(
    statistic: Statistic, inputs: Inputs, item: int, rows: Sequence[Row]
) -> Callable[[Fraction | str], Fraction]:
    """The score of each choice, for a statistic and the index of an item."""
    if statistic.name in ("mode", "top_k"):
        assert isinstance(inputs.column, LabeledColumn)
        labels = inputs.column.labels
        return lambda label: Fraction(
            sum(labels[one] == label for one in numbers(inputs.column, rows))
        )
    if statistic.name == "choose":
        return lambda chosen: utility_of(inputs, Fraction(chosen), rows)
    fixed = {"median": Fraction(1, 2), "min": Fraction(1, 100), "max": Fraction(99, 100)}
    wanted = fixed[statistic.name] if statistic.name in fixed else inputs.quantiles[item]
    values = numbers(inputs.column, rows)
    return lambda chosen: -rank_error(wanted, Fraction(chosen), values)


def best_answer(query: Query, cells: Sequence[int]) -> NoisyAnswer:
    """The best candidates by their scores, or counts without noise."""
    if not isinstance(query, SelectionQuery):
        return NoisyAnswer(integer_array(cells), NO_NOISE)
    return NoisyAnswer(best_choices(query, cells), ExponentialChoice(Fraction(1)))


def best_choices(query: Query, cells: Sequence[int]) -> Array:
    """The candidates with the greatest scores in each group, the best first."""
    found: list[int] = []
    if isinstance(query, QuantilesQuery):
        counts = integer_array(cells).reshape(-1, query.cells_per_group)
        return choose_quantiles(NO_NOISE, counts, query)
    assert isinstance(query, ScoreQuery)
    for at in range(0, len(cells), query.cells_per_group):
        places = sorted(range(query.cells_per_group), key=lambda place: -cells[at + place])
        found += places[: query.k]
    return integer_array(found)


@pytest.mark.parametrize("statistic", CHOOSING, ids=lambda statistic: statistic.name)
def test_without_noise_the_best_candidate_is_chosen(statistic: Statistic) -> None:
    """No candidate has a better score than the chosen one, computed from the rows."""
    all_requests = list(requests(statistic))
    designs = [(one, design) for one in all_requests for design in statistic.designs(one, ADDED)]
    for inputs, design in designs:
        queries = [weighted.query for weighted in design.queries]
        noiseless: list[NoisyAnswer] = []
        for query, cells in zip(queries, answers(queries, ROWS), strict=True):
            earlier = [answer.values for answer in noiseless]
            narrowed = query.narrowed(integer_array(cells), earlier)
            noiseless.append(best_answer(query, narrowed.tolist()))
        estimates = list(design.estimate(noiseless, Fraction(19, 20)))
        size = statistic.item_count(inputs)
        for place, rows in enumerate(groups(inputs)):
            for item, estimate in enumerate(estimates[place * size : (place + 1) * size]):
                score = score_of(statistic, inputs, item, rows)
                every = sorted((score(candidate) for candidate in candidates(inputs)), reverse=True)
                assert score(chosen(estimate)) == every[item if statistic.name == "top_k" else 0]
    assert all_requests


def candidates(inputs: Inputs) -> list[Fraction | str]:
    """The candidates: labels or numbers."""
    if isinstance(inputs.column, LabeledColumn):
        return list(inputs.column.labels)
    assert isinstance(inputs.column, NumericColumn)
    return [Fraction(candidate) for candidate in inputs.candidates]


def chosen(estimate: Estimate) -> Fraction | str:
    """The chosen candidate."""
    if estimate.item is not None:
        return estimate.item
    assert estimate.value is not None
    return estimate.value
