"""Standard errors and coefficients of variation: what they say of the noise, and their digits."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist

import pytest

from dpcli.noise.distribution import Margin
from dpcli.numeric.arrays import Array, Floats, integer_array, np
from dpcli.numeric.exact import fixed_point_text
from dpcli.planning.plan import PlannedStatistic
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.columns import (
    CoefficientOfVariation,
    ColumnNumbers,
    PublishedNumbers,
    StandardError,
)
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.estimates import ANY, NO_INTERVAL, SUPPRESSED, UNBOUNDED, Estimates
from dpcli.statistics.postprocessing import Clamp, Integer, Nonnegative
from tests.support.streams import stream_named
from tests.support.surveys import CONFIDENCE, noise_alone, planned_statistic

DRAWS = 10_000

same_noise = stream_named("precision")

SPEC = """
dpcli: 1
dataset: d
privacy: {unit: UNIT, neighbors: add-remove, budget: {epsilon: 100, delta: 1e-5}}
quality: none
columns:
  who: {type: id}
  day: {type: category, values: [mo, tu, we, th, fr, sa, su]}
  sex: {type: category, values: [f, m]}
  job: {type: category, values: [p, q, r]}
  x: {type: number, bounds: [0, 100], step: 0.5}
  a: {type: boolean}
  b: {type: boolean}
  c: {type: boolean}
  d: {type: boolean}
  e: {type: boolean}
statistics:
  - {name: n, STATISTIC}
"""


def texts(printed: ColumnNumbers) -> list[str]:
    """The texts of a column; blank where it is not known."""
    items = len(printed.units)
    return [
        fixed_point_text(int(printed.units[at % items][at // items]), printed.decimals[at % items])
        if known
        else ""
        for at, known in enumerate(printed.known)
    ]


def columns_of(estimates: Estimates, confidence: Fraction = CONFIDENCE) -> tuple[list[str], ...]:
    """The texts of both columns."""
    numbers = PublishedNumbers(estimates, confidence)
    columns = StandardError(), CoefficientOfVariation()
    return tuple(texts(column.printed(numbers)) for column in columns)


def around(values: list[int], width: int, variance: float | None = None) -> Estimates:
    """Whole numbers with intervals of one half-width."""
    return Estimates.around(integer_array(values), Margin(width, variance), Fraction(1))


PEOPLE = "{column: who, max_rows: 7, max_groups: 7}"

PURE = [
    ("count, epsilon: 0.2", "row", 1),
    ("sum, column: x, epsilon: 1", "row", 1),
    ("count, by: [day], epsilon: 0.5, mechanism: laplace", PEOPLE, 1),
    ("selections, columns: [a, b, c], epsilon: 0.5, mechanism: laplace", "row", 1),
    ("selections, columns: [a, b, c, d, e], epsilon: 0.5, mechanism: laplace", "row", 1),
    ("comparison, of: sum, column: x, between: {sex: [f, m]}, epsilon: 1", "row", 1),
    ("marginals, columns: [day, sex], ways: 2, epsilon: 0.3", "row", 1),
    ("marginals, columns: [day, sex], ways: 1, epsilon: 0.3", "row", 1),
]
"""Statistics with Laplace noise, their unit, and how many queries answer them."""

GAUSSIAN = [
    ("count, epsilon: 0.2, GAUSS", "row", 1),
    ("count, by: [day], epsilon: 0.5, GAUSS", PEOPLE, 1),
    (
        "count, by: [day], epsilon: 0.5, GAUSS",
        "{column: who, max_rows: 7, max_groups: 7, max_rows_per_group: 1}",
        2,
    ),
    ("selections, columns: [a, b, c, d, e], epsilon: 0.5, GAUSS", "row", 2),
    ("marginals, columns: [day, sex], ways: 2, epsilon: 0.3, GAUSS", "row", 1),
    ("marginals, columns: [day, sex], ways: [1, 2], epsilon: 0.3, GAUSS", "row", 3),
    ("marginals, columns: [day, sex, job], ways: 2, epsilon: 0.3, GAUSS", "row", 7),
]
"""The same with Gaussian noise: alone, shared, or of counts that were made to agree."""


def drawn(statistic: str, unit: str, queries: int) -> tuple[Estimates, int]:
    """The estimates from many draws of noise alone, and how many numbers each draw has."""
    statistic = statistic.replace("GAUSS", "mechanism: gaussian, delta: 1e-6")
    text = SPEC.replace("STATISTIC", f"statistic: {statistic}").replace("UNIT", unit)
    planned = planned_statistic(text)
    inputs, used = planned.entry.inputs, planned.entry.statistic
    assert len(planned.queries) == queries
    tables = "marginals" in statistic
    estimates = estimated(planned, DRAWS // 4 if tables else DRAWS, consistent=tables)
    return estimates, used.item_count(inputs) * max(len(inputs.by) * 7, 1)


def estimated(planned: PlannedStatistic, draws: int, *, consistent: bool) -> Estimates:
    """The estimates from many draws of noise alone, each as many as a file has."""
    answers = noise_alone(planned, draws)
    estimates = planned.design.estimate(answers, CONFIDENCE)
    if consistent:
        estimates = planned.design.make_consistent(answers, estimates, CONFIDENCE)
    return estimates


def floats(estimates: Estimates, numbers: Array) -> Floats:
    """Whole numbers of steps as floats."""
    return np.array([float(number * estimates.step) for number in numbers.tolist()])


@pytest.mark.extended
@pytest.mark.parametrize(("statistic", "unit", "queries"), PURE + GAUSSIAN)
def test_the_error_of_counts_and_sums_is_the_deviation_of_their_noise(
    statistic: str, unit: str, queries: int
) -> None:
    """Of many draws of the noise, also where numbers share noise or are made to agree."""
    estimates, items = drawn(statistic, unit, queries)
    errors, _ = columns_of(estimates)
    values = floats(estimates, estimates.value)
    # The last number of a comparison is a ratio.
    exact = range(3) if "comparison" in statistic else range(items)
    parts = [float(errors[at]) / values[at::items].std() for at in exact]

    assert None not in estimates.variances[: len(exact)]
    assert all(len(set(errors[at::items])) == 1 for at in exact)
    assert parts == pytest.approx([1] * len(parts), abs=0.08 if "marginals" in statistic else 0.03)
    assert np.mean(parts) == pytest.approx(1, abs=0.015)


@pytest.mark.parametrize(("statistic", "unit", "queries"), GAUSSIAN[1:])
def test_the_sum_of_gaussian_half_widths_holds_for_the_sum_of_numbers(
    statistic: str, unit: str, queries: int
) -> None:
    """Of all numbers, and of the last ones, whatever noise they share; `dpcli sum` relies on it."""
    estimates, items = drawn(statistic, unit, queries)
    values, widths = (
        floats(estimates, numbers).reshape(-1, items)
        for numbers in (estimates.value, estimates.upper - estimates.value)
    )
    for last in (2, items // 2, items):
        errors, bounds = (numbers[:, -last:].sum(axis=1) for numbers in (values, widths))
        assert (abs(errors) <= bounds).mean() >= 0.945


def test_the_error_of_a_mean_is_near_that_of_its_noise() -> None:
    """It is an estimate from the interval of each mean, and not below the deviation by much."""
    text = SPEC.replace("STATISTIC", "statistic: mean, column: x, epsilon: 1")
    planned = planned_statistic(text.replace("UNIT", "row"))
    (part,) = planned.queries
    noise, sums = planned.noises[0], part.weighted.query.cells
    assert sums == 2
    # 500 rows, each at the middle of the bounds, have equal distances from both bounds.
    answer = np.asarray(noise.sample(2000 * sums, many=True)) + 500 * 100
    estimates = planned.entry.statistic.possible_estimate(
        planned.design, [NoisyAnswer(answer, noise)], CONFIDENCE
    )
    errors, _ = columns_of(estimates)
    values = np.array([float(value * estimates.step) for value in estimates.value.tolist()])

    assert values.mean() == pytest.approx(50, abs=0.2)
    assert np.median(list(map(float, errors))) == pytest.approx(values.std(), rel=0.1)


def test_an_estimate_is_the_farther_distance_over_the_normal_quantile() -> None:
    """A reader of the table finds it from printed digits; it is rounded up."""
    estimates = replace(around([10, 20], 5), lower=integer_array([8, 15]))
    normal = NormalDist().inv_cdf(0.975)
    errors, shares = columns_of(estimates)

    assert errors == ["2.552", "2.552"]
    assert 0 <= float(errors[0]) - 5 / normal < 0.001
    assert shares == ["0.2552", "0.1276"]


def test_deviations_are_rounded_up_and_short_ones_stay() -> None:
    """A deviation that is a decimal of three more digits than the number is printed exactly."""
    assert columns_of(around([7], 5, 2.0)) == (["1.415"], ["0.2022"])
    for deviation in (0.001, 0.1, 0.3, 2.5, 14.142, 123456.789):
        ((error,), _) = columns_of(around([7], 5, deviation**2))
        assert error == f"{deviation:.3f}"
    assert columns_of(around([7], 0, 0.0)) == (["0.000"], ["0.0000"])
    ((huge,), _) = columns_of(around([7], 5, 10.0**60))
    assert float(huge) == pytest.approx(1e30)


def test_numbers_without_an_interval_have_neither() -> None:
    """Choices, suppressed numbers, and numbers about which the noise proves nothing."""
    statuses = np.array([NO_INTERVAL, UNBOUNDED, SUPPRESSED], np.int8)
    for variance in (None, 4.0):
        estimates = replace(around([5, 6, 7], 5, variance), status=statuses)
        assert columns_of(estimates) == ([""] * 3, [""] * 3)


def test_ranks_have_neither() -> None:
    """A rank with an interval is no measured number; the count behind it has the error of noise."""
    counts = around([50, 40], 20, 4.0)
    ranks = replace(around([1, 2], 1), before=counts, are_ranks=True)
    assert columns_of(ranks) == ([""] * 2, [""] * 2)
    assert columns_of(ranks.before_postprocessing)[0] == ["2.000"] * 2


def test_an_interval_of_everything_possible_gives_no_estimate() -> None:
    """It was cut, and says nothing of the noise; nor does an interval of a single number."""
    limits = (Fraction(0), Fraction(12))
    assert columns_of(around([5], 50).within([limits])) == ([""], [""])
    assert columns_of(around([5], 50, 4.0).within([limits])) == (["2.000"], ["0.4000"])
    assert columns_of(around([5], 0)) == ([""], [""])


def test_a_number_at_a_limit_gives_no_estimate() -> None:
    """It may have been moved there, with an interval of which a part is left."""
    moved = Nonnegative().apply(around([-2, 1], 4), lambda same, _: same)
    assert moved.upper.tolist() == [2, 5]
    assert columns_of(moved) == (["", "2.041"], ["", "2.0410"])
    limits = (Fraction(0), Fraction(12))
    assert columns_of(around([12, 11], 4).within([limits]))[0] == ["", "2.041"]
    half = Clamp(Fraction(1, 2), None).apply(around([-2, 3], 4), lambda same, _: same)
    whole = Integer().apply(half, lambda same, _: same)
    assert columns_of(whole)[0] == ["", "2.041"]


def test_postprocessing_leaves_the_deviation_of_the_noise() -> None:
    """A count of zero that was negative has the noise of the others, and no share."""
    estimates = Nonnegative().apply(around([-5, 50], 20, 100.0), lambda same, _: same)
    assert columns_of(estimates) == (["10.000", "10.000"], ["", "0.2000"])


def test_a_date_has_an_error_in_days_and_no_share() -> None:
    """Days since 1970 are no size."""
    dated = replace(around([18_000], 49), date_range=400, limits=(ANY,))
    assert columns_of(dated) == (["25.001"], [""])


def test_items_have_their_own_decimals_and_variances() -> None:
    """The numbers of a group alternate; each item is printed in its own decimals."""
    plain, fine = around([10, 20], 5, 4.0), around([30, 40], 5)
    step = Fraction(1, 10)
    both = Estimates.interleaved(
        [plain.refined(step), replace(fine.refined(step), decimals=(1,), variances=(None,))]
    )
    errors, shares = columns_of(both)

    assert errors == ["2.000", "2.5511", "2.000", "2.5511"]
    assert shares == ["0.2000", "0.0851", "0.1000", "0.0638"]


def test_many_groups_are_printed_as_a_few() -> None:
    """Arrays of machine words and of Python integers have the same digits."""
    small = around([1, 10, 1000], 7)
    large: Array = small.value.astype(object)
    wide = replace(small, value=large, lower=large - 7, upper=large + 7)

    assert columns_of(small) == columns_of(wide)


def test_columns_are_in_the_order_of_the_table() -> None:
    """Whatever the order in which a spec names them."""
    text = SPEC.replace("STATISTIC", "statistic: count, epsilon: 1").replace("UNIT", "row")
    for output, names in (("output: {columns: [cv, se]}\n", ["se", "cv"]), ("", [])):
        spec = parse_central_spec(text + output, "s")
        assert [column.name for column in spec.output_columns] == names
