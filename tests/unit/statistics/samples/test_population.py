"""Intervals for the population: how often they contain it, over samples and noise."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from operator import itemgetter

import numpy as np
import pytest

from dpcli.numeric.arrays import Ints, integer_array
from dpcli.planning.plan import PlannedStatistic
from dpcli.statistics.design import NoisyAnswer, SampleDesign
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.postprocessing import FLAGS, Flag, flags
from dpcli.statistics.samples.population import share_of_population
from tests.support.surveys import (
    CONFIDENCE,
    assert_covers,
    noisy_answers,
    planned_statistic,
    row_terms,
    with_noise,
)

pytestmark = pytest.mark.usefixtures("stream")

POPULATION, SIZE = 6000, 600

SPEC = """
dpcli: 1
dataset: population
privacy: {{unit: {unit}, neighbors: {neighbors}, budget: {{epsilon: 10, delta: 1e-5}}}}
columns:
  id: {{type: id}}
  x: {{type: integer, bounds: [0, 100]{missing}}}
  f: {{type: boolean}}
  day: {{type: date, bounds: [2024-01-01, 2024-12-31]}}
  city: {{type: category}}
  w: {{type: integer, bounds: [0, 3]}}
sample: {{design: simple-random, population: {population}{size}}}
statistics: [{{name: s, {fields}}}]
"""


def planned(fields: str, *, sized: bool = True, **changes: str) -> PlannedStatistic:
    """A statistic of a declared sample, whose size is public if `sized`."""
    facts = {
        "unit": "row",
        "neighbors": "add-remove",
        "missing": "",
        "population": str(POPULATION),
        "size": f", size: {SIZE}" if sized else "",
    }
    return planned_statistic(SPEC.format(fields=fields, **{**facts, **changes}))


def draw_samples(population: Ints, runs: int, seed: int) -> Ints:
    """Simple random samples without replacement, shape (runs, SIZE)."""
    random = np.random.default_rng(seed)
    order = random.random((runs, len(population))).argpartition(SIZE, axis=1)[:, :SIZE]
    drawn: Ints = population[order]
    return drawn


NUMBERS = {
    "even": np.random.default_rng(1).integers(0, 101, POPULATION),
    "skewed": np.random.default_rng(2).exponential(12, POPULATION).clip(0, 100).astype(np.int64),
    "narrow": np.random.default_rng(3).normal(60, 4, POPULATION).clip(0, 100).astype(np.int64),
}
"""Values of populations."""

MEANS = {
    "even": "epsilon: 0.5",
    "skewed": "epsilon: 0.5",
    "narrow": "epsilon: 1",
    "even gaussian": "mechanism: gaussian, epsilon: 0.5, delta: 1e-6",
    "skewed precise": "epsilon: 9",
    "narrow noisy": "epsilon: 0.2",
}
"""The budget of a mean of one of these populations."""


SUMS = {"even": "epsilon: 0.5", "skewed": "epsilon: 1", "narrow": "epsilon: 2"}
"""The budget of a sum over one of these populations."""


COUNTS = {
    "most": (0.7, "epsilon: 0.5"),
    "some": (0.2, "epsilon: 0.1"),
    "few": (0.03, "epsilon: 1"),
    "precise": (0.2, "epsilon: 9"),
    "noisy": (0.4, "epsilon: 0.02"),
}
"""A share of the population, and the budget of its count."""


samples = pytest.mark.parametrize(
    ("runs", "least", "most"),
    [(200, 0.9, 1), pytest.param(1000, 0.93, 0.97, marks=pytest.mark.slow)],
)
"""Few or many samples, and the least and greatest share of intervals that hold."""


def surveyed(statistic: PlannedStatistic, name: str, runs: int) -> Estimates:
    """The estimates about one of the populations of numbers, from as many samples."""
    drawn = draw_samples(NUMBERS[name.partition(" ")[0]], runs, 5)
    answers = noisy_answers(statistic, {"x": drawn}, runs)
    return statistic.design.population(answers, CONFIDENCE)


@samples
@pytest.mark.parametrize("name", COUNTS)
def test_intervals_of_proportions_cover_the_population(
    name: str, runs: int, least: float, most: float
) -> None:
    """They contain the proportion of the population."""
    share, budget = COUNTS[name]
    number = round(share * POPULATION)
    statistic = planned(f"statistic: proportion, column: f, {budget}", sized=False)
    inside = np.random.default_rng(8).hypergeometric(number, POPULATION - number, SIZE, runs)
    answers = with_noise(statistic, [np.stack([SIZE - inside, inside], axis=1)])
    estimates = statistic.design.population(answers, CONFIDENCE)
    assert_covers(estimates, number / POPULATION, least, most)


@samples
@pytest.mark.parametrize("name", COUNTS)
def test_intervals_of_counts_cover_the_population(
    name: str, runs: int, least: float, most: float
) -> None:
    """They contain the number of the population."""
    share, budget = COUNTS[name]
    number = round(share * POPULATION)
    statistic = planned(f"statistic: count, column: f, {budget}")
    exact = np.random.default_rng(6).hypergeometric(number, POPULATION - number, SIZE, runs)
    estimates = statistic.design.population(with_noise(statistic, [exact]), CONFIDENCE)
    assert_covers(estimates, number, least, most)


@samples
@pytest.mark.parametrize("name", MEANS)
def test_intervals_of_means_cover_the_population(
    name: str, runs: int, least: float, most: float
) -> None:
    """They contain the mean of the population."""
    statistic = planned(f"statistic: mean, column: x, {MEANS[name]}", sized=False)
    truth = NUMBERS[name.partition(" ")[0]].mean()
    assert_covers(surveyed(statistic, name, runs), truth, least, most)


@samples
@pytest.mark.parametrize("name", SUMS)
def test_intervals_of_sums_cover_the_population(
    name: str, runs: int, least: float, most: float
) -> None:
    """They contain the total of the population; many samples more often than stated."""
    statistic = planned(f"statistic: sum, column: x, {SUMS[name]}")
    assert_covers(surveyed(statistic, name, runs), NUMBERS[name].sum(), least, 1)


def test_a_mean_over_a_public_number_of_rows_has_squares_too() -> None:
    """Under change-one, the sum gets nine tenths of epsilon and the squares one tenth."""
    fields = "statistic: mean, column: x, epsilon: 1"
    facts = {"neighbors": "change-one", "missing": ", missing: 0"}
    queries = planned(fields, sized=True, **facts).queries

    assert [query.weighted.weight for query in queries] == [Fraction(9, 10), 0, Fraction(1, 10)]
    statistic = planned(f"statistic: mean, column: x, {MEANS['even']}", sized=False, **facts)
    assert_covers(surveyed(statistic, "even", 200), NUMBERS["even"].mean(), 0.9, 1)


def test_a_sample_of_the_whole_population_has_no_error() -> None:
    """If everyone is in the sample, the interval is that of the noise, up to rounding outwards."""
    statistic = planned("statistic: count, column: f, epsilon: 1", population=str(SIZE))
    (query,) = statistic.queries
    answers = [NoisyAnswer(integer_array([100]), query.calibrated.noise)]
    file = statistic.design.estimate(answers, CONFIDENCE)
    population = statistic.design.population(answers, CONFIDENCE)

    assert int(file.lower[0] - population.lower[0] * population.step) in (0, 1)
    assert int(population.upper[0] * population.step - file.upper[0]) in (0, 1)


@pytest.mark.parametrize(
    "fields",
    [
        "statistic: count, column: f, epsilon: 1",
        "statistic: histogram, column: f, epsilon: 1",
        "statistic: mean, column: x, epsilon: 1",
        "statistic: sum, column: x, epsilon: 1",
    ],
)
def test_a_group_without_rows_has_the_widest_interval_or_a_finite_one(fields: str) -> None:
    """Any noisy answer, however extreme, gives an ordered interval within the possible."""
    statistic = planned(fields)
    size = statistic.entry.statistic.item_count(statistic.entry.inputs)
    for extreme in (0, -1, 10**30, -(10**30)):
        answers = [
            NoisyAnswer(
                integer_array([extreme] * (query.weighted.query.cells or 0)), query.calibrated.noise
            )
            for query in statistic.queries
        ]
        estimates = statistic.design.population(answers, CONFIDENCE)
        assert len(estimates) == size
        ((least, most),) = estimates.limits
        assert least is not None and most is not None
        assert (least <= estimates.lower * estimates.step).all()
        assert (estimates.lower <= estimates.upper).all()
        assert (estimates.upper * estimates.step <= most).all()
        if statistic.entry.statistic.name == "mean" and extreme < 10:
            assert estimates.covers_all.all()


def test_counts_of_private_groups_say_nothing_about_the_population() -> None:
    """Shown groups have large counts by selection: the interval is all that is possible."""
    fields = "statistic: count, by: [city], keys: private, epsilon: 1, delta: 1e-6"
    statistic = planned(fields)
    answers = [NoisyAnswer(integer_array([300]), statistic.queries[0].calibrated.noise)]
    estimates = statistic.design.population(answers, CONFIDENCE)

    assert estimates.lower[0] == 0
    assert estimates.upper[0] * estimates.step == POPULATION
    assert FLAGS[flags(estimates)[0]] is Flag.NO_INFORMATION


@pytest.mark.parametrize(
    ("fields", "sized"),
    [
        ("statistic: count, column: f, epsilon: 1", False),
        ("statistic: count, epsilon: 1", True),
        ("statistic: count, column: f, weight: w, epsilon: 1", True),
        ("statistic: mean, column: x, weight: w, epsilon: 1", True),
        ("statistic: proportion, column: f, weight: w, epsilon: 1", True),
        ("statistic: min, column: x, epsilon: 1", True),
        ("statistic: variance, column: x, epsilon: 1", True),
        ("statistic: sum, column: x, epsilon: 1", False),
        ("statistic: sum, column: x, weight: w, epsilon: 1", True),
    ],
)
def test_other_numbers_are_those_of_the_file_alone(fields: str, sized: bool) -> None:
    """Without a public size, with weights, or of other statistics, there is no second line."""
    statistic = planned(fields, sized=sized)
    assert not statistic.design.has_population


def test_a_mean_of_dates_in_the_population_is_a_date() -> None:
    """The line of the population has whole days, as that of the file."""
    statistic = planned("statistic: mean, column: day, epsilon: 1")
    (query,) = statistic.queries
    quarter = SIZE * 365**2 // 4
    answers = [NoisyAnswer(integer_array([quarter, 2 * quarter, quarter]), query.calibrated.noise)]
    file = statistic.design.estimate(answers, CONFIDENCE)
    population = statistic.design.population(answers, CONFIDENCE)

    assert population.decimals == file.decimals == (0,)
    assert population.date_range == file.date_range == 365
    assert population.value[0] * population.step == file.value[0] * file.step


def test_the_loss_and_the_noise_of_a_count_are_the_same_without_a_sample() -> None:
    """A sample does not amplify privacy: the plan of a count does not depend on it."""
    statistic = planned("statistic: count, column: f, epsilon: 1")
    inputs = replace(statistic.entry.inputs, sample=None)
    relation = statistic.queries[0].calibrated.relation
    (without_sample,) = statistic.entry.statistic.designs(inputs, relation)

    assert statistic.design.queries == without_sample.queries
    assert statistic.queries[0].calibrated.loss.epsilon == 1


def test_the_share_of_a_population_is_the_score_interval() -> None:
    """At the quantiles of the normal distribution, a share is that of Wilson's interval."""
    design = SampleDesign(10**9)
    share, rows, z = 0.3, 50.0, 1.959964
    ends = share_of_population(design, np.full(2, share), np.full(2, rows), np.array([-z, z]))
    middle = (share + z**2 / (2 * rows)) / (1 + z**2 / rows)
    half = z * np.sqrt(share * (1 - share) / rows + z**2 / (4 * rows**2)) / (1 + z**2 / rows)

    assert ends == pytest.approx([middle - half, middle + half], abs=1e-6)


def test_a_report_keeps_the_numbers_of_the_population() -> None:
    """A stored report has the lines of the population, and reads them back."""
    import polars as pl

    from dpcli.report.numbers import NumberTable
    from dpcli.report.release import ReleaseReport
    from dpcli.report.report import Report
    from dpcli.report.statistic import CELLS

    def numbers(name: str, value: str) -> NumberTable:
        texts = {"key0": "north", "item": "", "value": value, "lower": "", "upper": "", "flag": ""}
        return NumberTable(name, ("region",), pl.DataFrame([texts]))

    named = tuple(
        numbers(f"n{end}", value) for end, value in (("", "1"), (".raw", "2"), (".population", "3"))
    )
    statistic = {"name": "n", "by": ["region"], "raw": True, "population": True, "cells": CELLS}
    statistic["layout"] = {"chosen": False}
    report = Report.compose(ReleaseReport.load({"statistics": [statistic]}), [named])
    again = Report.parse(report.content)

    assert [part.name for part in again.numbers[0]] == ["n", "n.raw", "n.population"]
    assert [part.frame["value"][0] for part in again.numbers[0]] == ["1", "2", "3"]
    assert json.loads(report.content)["statistics"][0]["cells"][2]["population"] is True


VALUES = {
    "skewed": np.random.default_rng(2).exponential(12, POPULATION).clip(0, 100).astype(np.int64),
    "even": np.random.default_rng(1).integers(0, 101, POPULATION),
    "halves": np.random.default_rng(9).choice([10, 11, 12, 80, 82, 83], POPULATION),
}
"""Values with few neighbors, and halves with a gap at the median."""


def counts_about(statistic: PlannedStatistic, values: Sequence[Ints]) -> list[NoisyAnswer]:
    """Noisy answers about the values of groups; a choice is near the quantile."""
    answers: list[NoisyAnswer] = []
    for part, noise in zip(statistic.queries, statistic.noises, strict=True):
        query = part.weighted.query
        if query.chooses:
            chosen = [int(np.median(one)) for one in values]
            answers.append(NoisyAnswer(integer_array(chosen), noise))
            continue
        (axis,) = query.inner_axes
        places = [np.searchsorted(axis.starts, one, "right") - 1 for one in values]
        exact = np.concatenate([np.bincount(one, minlength=len(axis)) for one in places])
        rows = query.narrowed(exact, [answer.values for answer in answers])
        noisy = rows + np.asarray(noise.sample(len(rows), many=True))
        answers.append(NoisyAnswer(integer_array(noisy), noise))
    return answers


FEW_MEDIANS = pytest.mark.parametrize(
    ("runs", "least"), [(60, 0.86), pytest.param(1000, 0.94, marks=pytest.mark.slow)]
)


@FEW_MEDIANS
@pytest.mark.parametrize("mechanism", ["laplace", "permute_and_flip"])
@pytest.mark.parametrize(("name", "epsilon"), [("skewed", 1), ("even", 5), ("halves", 5)])
def test_intervals_of_medians_cover_the_population(
    name: str, epsilon: int, mechanism: str, runs: int, least: float
) -> None:
    """They are those of Woodruff (1952), inverted on noisy ranks."""
    fields = f"statistic: median, column: x, mechanism: {mechanism}, epsilon: {epsilon}"
    statistic, population = planned(fields), VALUES[name]
    truth, held = np.sort(population)[POPULATION // 2 - 1], 0
    for drawn in draw_samples(population, runs, 6):
        found = statistic.design.population(counts_about(statistic, [drawn]), CONFIDENCE)
        held += bool(found.lower[0] <= truth <= found.upper[0])

    assert held >= least * runs


@FEW_MEDIANS
@pytest.mark.parametrize("name", ["even", "two values"])
def test_intervals_of_differences_of_medians_cover_the_population(
    name: str, runs: int, least: float
) -> None:
    """Numbers, differences and ratios of two groups hold together with the error of a sample."""
    entry = "statistic: comparison, of: median, column: x, between: {f: [true, false]}"
    statistic, population = planned(f"{entry}, epsilon: 3"), VALUES["even"] // (1 + GROUPS)
    if name == "two values":
        # One median is the last of the lower values, the other the first of the higher ones.
        sizes = (GROUPS.sum() + 1) // 2, (np.sum(~GROUPS) - 1) // 2
        ranks = np.where(GROUPS, np.cumsum(GROUPS), np.cumsum(~GROUPS))
        population = np.where(ranks <= np.where(GROUPS, *sizes), 10, 80)
    medians = [np.sort(part)[(len(part) + 1) // 2 - 1] for part in halves(population, GROUPS)]
    truth = np.array([*medians, medians[1] - medians[0], medians[1] / medians[0]])
    held = np.zeros(len(truth))
    for drawn in draw_samples(np.arange(POPULATION), runs, 6):
        answers = counts_about(statistic, halves(population[drawn], GROUPS[drawn]))
        found = statistic.design.population(answers, CONFIDENCE)
        lower, upper = (ends * float(found.step) for ends in (found.lower, found.upper))
        held += (lower <= truth + 1e-4) & (truth - 1e-4 <= upper)

    assert held.min() >= least * runs


def halves(values: Ints, is_first: Ints) -> list[Ints]:
    """The values of the first group, and of the second."""
    return [values[is_first], values[~is_first]]


GROUPS = np.arange(POPULATION) % 3 == 0
"""Which units of the population are in the first of two compared groups."""


@samples
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian, delta: 1e-6"])
def test_intervals_of_differences_cover_the_population(
    mechanism: str, runs: int, least: float, most: float
) -> None:
    """They contain the differences and ratios of the means of a population's groups."""
    entry = f"statistic: comparison, of: mean, column: x, mechanism: {mechanism}"
    statistic = planned(f"{entry}, between: {{f: [true, false]}}, epsilon: 1")
    numbers = NUMBERS["even"] // (1 + GROUPS)
    drawn = draw_samples(np.stack([numbers, GROUPS]).T.copy().view(np.int64), runs, 5)
    answers = with_noise(statistic, exact_by_group(statistic, drawn[..., 0], drawn[..., 1]))
    first, other = numbers[GROUPS].mean(), numbers[~GROUPS].mean()
    found = statistic.design.population(answers, CONFIDENCE)

    assert_covers_items(found, [first, other, other - first, other / first], least, most)


@samples
@pytest.mark.parametrize("labels", ["[true, false]", "[false, true]"])
def test_intervals_of_compared_counts_cover_the_population(
    labels: str, runs: int, least: float, most: float
) -> None:
    """The errors of two counts of one sample depend on each other."""
    statistic = planned(f"statistic: comparison, between: {{f: {labels}}}, epsilon: 1")
    number = int(GROUPS.sum())
    inside = np.random.default_rng(8).hypergeometric(number, POPULATION - number, SIZE, runs)
    pairs, exact = [inside, SIZE - inside], [number, POPULATION - number]
    if labels == "[false, true]":
        pairs, exact = pairs[::-1], exact[::-1]
    answers = with_noise(statistic, [np.stack(pairs, axis=1)])
    first, other = exact
    found = statistic.design.population(answers, CONFIDENCE)

    assert_covers_items(found, [first, other, other - first, 100 * other / first], least, most)


def assert_covers_items(
    found: Estimates, exact: Sequence[float], least: float, most: float
) -> None:
    """Of the intervals of each item, which have limits of their own, enough hold."""
    for item, number in enumerate(exact):
        own = found.map_numbers(itemgetter(slice(item, None, len(exact))))
        status = found.status[item :: len(exact)]
        assert_covers(replace(own, status=status), number, least, most)


def exact_by_group(statistic: PlannedStatistic, x: Ints, groups: Ints) -> list[Ints]:
    """The exact answers about each run, for rows of the first group and of the second."""
    exact = []
    for part in statistic.queries:
        terms = row_terms(part.weighted.query, {"x": x})
        sums = [(term * own).sum(axis=1) for own in (groups, 1 - groups) for term in terms]
        exact.append(np.stack(sums, axis=1))
    return exact
