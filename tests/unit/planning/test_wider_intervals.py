"""Intervals that include what chosen bounds clamp and a chosen limit leaves out.

Coverage is that of the whole way: noisy counts choose, and bound what lies beyond the choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from dpcli.numeric.arrays import Ints, integer_array
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.planning.planner import make_plan
from dpcli.planning.results import EstimatedStatistic
from dpcli.planning.wider_intervals import WiderInterval, wider_interval
from dpcli.specification.chosen_bounds import with_chosen_bounds
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.bounds.chosen_bounds import ChosenBounds
from dpcli.statistics.design import NoisyAnswer
from tests.support.rules import mostly_extended
from tests.support.streams import Stream
from tests.support.surveys import noisy_answers

SPEC = """\
dpcli: 1
dataset: d
privacy: {unit: UNIT, neighbors: NEIGHBORS, budget: {epsilon: 20, delta: 0.1}}
quality: none
columns:
  id: {type: id}
  sex: {type: category, values: [f, m]}
  paid: {type: integer, bounds: BOUNDS}
statistics:
  - {name: total, statistic: STATISTIC, epsilon: 1}
"""

BOUNDS = "{choose: 1-2-5, from: LOW, up_to: 1000, epsilon: EPSILON, cover: COVER}"
LIMIT = "{column: id, max_rows: {choose: 1-2-5, up_to: 100, epsilon: EPSILON, cover: COVER}}"


@dataclass(frozen=True)
class Setting:
    """A spec, and the exact values whose bins are counted; of people, their numbers of rows."""

    statistic: str
    values: str
    epsilon: str = "0.5"
    cover: str = "1"
    low: str = "0"
    neighbors: str = "add-remove"
    people: bool = False

    def __str__(self) -> str:
        return f"{self.statistic} of {self.values}, {self.epsilon}, {self.cover}, {self.low}"

    @property
    def text(self) -> str:
        """The text of the spec."""
        unit, bounds = ("row", BOUNDS) if not self.people else (LIMIT, "[-5, 20]")
        text = SPEC.replace("UNIT", unit).replace("BOUNDS", bounds)
        for key in ("epsilon", "cover", "low", "neighbors", "statistic"):
            text = text.replace(key.upper(), getattr(self, key))
        return text

    @property
    def is_total(self) -> bool:
        """Whether the number is a sum or a count, and no mean."""
        return "mean" not in self.statistic and "ratio" not in self.statistic

    @property
    def exact(self) -> Ints:
        """The values of the file."""
        generator, rows = np.random.default_rng(7), 2_000
        if self.values == "ends":
            # Few values beyond the usual ones, at the far ends of their bins.
            return np.repeat([0, 50, 100, 200, 500, 1000], [500, 900, 585, 10, 4, 1])
        if self.values == "two signs":
            sizes = np.repeat([0, 50, 100, 200, 500, 1000], [500, 900, 580, 12, 6, 2])
            return sizes * np.where(np.arange(rows) % 3, 1, -1)
        if self.values == "skewed":
            return np.minimum(generator.lognormal(3, 1.2, rows), 1000).astype(np.int64)
        if self.values == "hidden":
            # Counts about as large as those that make the choice include a bin.
            return np.repeat([0, 50, 100, 200, 500, 1000], [500, 900, 585, 10, 8, 6])
        if self.values == "hardly hidden":
            return np.repeat([0, 50, 100, 1000], [500, 900, 585, 19])
        if self.values == "few":
            # About as many values as the noise is large.
            return np.repeat([5, 10, 1000], [8, 6, 3])
        if self.values == "visits":
            return np.minimum(generator.geometric(0.2, rows), 100)
        if self.values == "few visits":
            return np.repeat([1, 2, 5, 10, 20, 100], [900, 600, 480, 15, 4, 1])
        raise ValueError(self.values)


def stated_about(
    statistic: PlannedStatistic, answers: Sequence[NoisyAnswer], plan: CentralPlan
) -> WiderInterval | None:
    """What the report of these answers states."""
    estimates = statistic.entry.statistic.possible_estimate(
        statistic.design, answers, plan.spec.confidence
    )
    return wider_interval(EstimatedStatistic(statistic, tuple(answers), estimates), plan)


def releases(setting: Setting, runs: int) -> list[tuple[WiderInterval | None, Fraction]]:
    """For each run: the interval after the choice, and the number of all values."""
    spec, values = parse_central_spec(setting.text, "spec"), setting.exact
    (choice,), (histogram,) = spec.choices, make_plan(spec).bounds
    noise = histogram.queries[0].calibrated.noise
    bins = [int(((low <= values) & (values <= high)).sum()) for low, high in choice.bins]
    # Counted people have rows of the least or the greatest value that a row can have.
    each = 20 if setting.people and setting.statistic.startswith("sum") else 1
    factor = 10 if "per: 10" in setting.statistic else each
    exact = Fraction(int(values.sum()) * factor, 1 if setting.is_total else len(values))

    @cache
    def planned(chosen: ChosenBounds) -> CentralPlan:
        return make_plan(with_chosen_bounds(spec, {choice.name: chosen}))

    drawn = np.array(noise.sample(runs * len(bins))).reshape(runs, -1) + bins
    found = []
    for counts in drawn:
        chosen = choice.choose(NoisyAnswer(integer_array(counts), noise))
        plan = planned(replace(chosen, counts=()))
        own = replace(plan.spec.choices[0], chosen=chosen)
        plan = replace(plan, spec=replace(plan.spec, choices=(own,)))
        kept, (statistic,) = np.clip(values, *own.limits), plan.statistics
        if setting.people:
            noise = statistic.queries[0].calibrated.noise
            total = int(kept.sum()) * each + int(noise.sample(1)[0])
            answers = [NoisyAnswer(integer_array([total]), noise)]
        else:
            answers = noisy_answers(statistic, {"paid": kept[None]}, 1)
        found.append((stated_about(statistic, answers, plan), exact))
    return found


MEAN = "mean, column: paid"

SETTINGS = [
    Setting("sum, column: paid", "ends"),
    Setting("sum, column: paid", "ends", epsilon="3"),
    Setting("sum, column: paid", "ends", epsilon="0.1"),
    Setting("sum, column: paid", "ends", cover="0.7"),
    Setting("sum, column: paid", "skewed", cover="0.9"),
    Setting("sum, column: paid", "hidden"),
    Setting("sum, column: paid", "hardly hidden"),
    Setting("sum, column: paid", "hardly hidden", epsilon="0.6"),
    Setting("sum, column: paid", "two signs", low="-1000"),
    Setting("sum, column: paid", "two signs", low="-1000", cover="0.8", epsilon="2"),
    Setting("sum, column: paid", "ends", cover="0.7", neighbors="change-one"),
    Setting(MEAN, "hidden"),
    Setting(f"{MEAN}, mechanism: gaussian, delta: 1e-6", "few", epsilon="9", cover="0.7"),
    Setting("ratio, numerator: paid, denominator: rows, per: 10", "ends", cover="0.7"),
    Setting("count", "visits", people=True),
    Setting("count", "few visits", people=True, cover="0.9"),
    Setting("count", "few visits", people=True, epsilon="3"),
    Setting("sum, column: paid", "few visits", people=True, cover="0.9"),
]


MORE_SETTINGS = [
    Setting(MEAN, "ends", epsilon="3", cover="0.7"),
    Setting(MEAN, "skewed", cover="0.9", neighbors="change-one"),
    Setting(MEAN, "two signs", low="-1000", cover="0.8", epsilon="2"),
    Setting(MEAN, "hardly hidden", epsilon="0.6"),
    Setting(f"{MEAN}, mechanism: gaussian, delta: 1e-6", "ends", cover="0.7"),
]
"""Settings of slow tests."""

RUNS = 600


@pytest.mark.parametrize(
    "setting",
    [
        *mostly_extended(SETTINGS, SETTINGS[3], SETTINGS[5], SETTINGS[11]),
        *(pytest.param(setting, marks=pytest.mark.slow) for setting in MORE_SETTINGS),
    ],
    ids=str,
)
def test_few_releases_state_an_interval_that_does_not_hold(
    setting: Setting, stream: Stream
) -> None:
    """At most 5% do, also with values at the far ends of bins that noise just hides.

    A share of 10% is found in 97 of 100 cases.
    """
    found = releases(setting, RUNS)
    stated = [(wider.ends, exact) for wider, exact in found if wider and wider.ends]
    missed = sum(not low <= exact <= high for (low, high), exact in stated)

    assert missed <= 0.05 * RUNS + 3 * (0.05 * 0.95 * RUNS) ** 0.5
    assert len(stated) >= RUNS / 2 or "hidden" in setting.values


def stated(text: str) -> WiderInterval | None:
    """What the first of some releases states, with counts far above the noise."""
    spec = parse_central_spec(text, "spec")
    plan = make_plan(spec)
    chosen = {}
    for choice, histogram in zip(spec.choices, plan.bounds, strict=True):
        counts = [10_000] * 3 + [0] * (len(choice.bins) - 3)
        noise = histogram.queries[0].calibrated.noise
        chosen[choice.name] = choice.choose(NoisyAnswer(integer_array(counts), noise))
    plan = make_plan(with_chosen_bounds(spec, chosen))
    (statistic,) = plan.statistics
    answers = [
        NoisyAnswer(
            integer_array([50_000] * (part.weighted.query.cells or 0)), part.calibrated.noise
        )
        for part in statistic.queries
    ]
    return stated_about(statistic, answers, plan)


PLAIN = Setting("sum, column: paid", "ends")
LIMITED = Setting("count", "visits", people=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PLAIN.text, "interval about unclamped values is 4"),
        (PLAIN.text.replace("sum,", "mean,"), "interval about unclamped values is 2"),
        (LIMITED.text, "interval about all rows with an id is 4"),
        (PLAIN.text.replace("statistic: sum", "by: [sex], statistic: sum"), "farther up, if none"),
        (LIMITED.text.replace("statistic: count", "by: [sex], statistic: count"), "farther up"),
        (PLAIN.text.replace("statistic: sum", "where: {sex: f}, statistic: sum"), "is 4"),
    ],
)
def test_sentences_state_the_interval_and_its_condition(text: str, said: str) -> None:
    """Of a single number, the interval; of several, how much farther intervals reach."""
    found = stated(text)

    assert found is not None
    assert said in found.sentence
    assert found.below == 0
    assert found.above > 0
    condition = "none lies beyond the outermost bounds, 0 to 1000"
    if "max_rows" in text:
        condition = "no person has more than 100 rows, the outermost limit"
    risk = "at most 5% of releases state a wrong one"
    assert found.sentence.endswith(f", if {condition}; {risk}")


@pytest.mark.parametrize(
    "text",
    [
        # Of other rows of a person, or of other groups, nothing is counted.
        PLAIN.text.replace("unit: row", "unit: {column: id, max_rows: 3}"),
        LIMITED.text.replace("[-5, 20]", BOUNDS.replace("LOW", "0").replace("EPSILON", "1"))
        .replace("COVER", "1")
        .replace("count", "sum, column: paid"),
        LIMITED.text.replace("column: id, max_rows", "column: id, max_groups: 1, max_rows").replace(
            "statistic: count", "by: [sex], statistic: count"
        ),
        # Nothing is lost, or the number is no sum over rows, and not their mean.
        PLAIN.text.replace("sum, column: paid", "variance, column: paid"),
        PLAIN.text.replace("sum, column: paid", "mean, column: paid, by: [sex]"),
        PLAIN.text.replace("sum, column: paid", "mean, column: paid, weight: weight").replace(
            "statistics:", "  weight: {type: integer, bounds: [1, 9]}\nstatistics:"
        ),
        PLAIN.text.replace("sum, column: paid", "sum, column: paid, post: [{clamp: [0, 10]}]"),
        # The noise of the counts may exceed the number.
        replace(PLAIN, epsilon="0.001").text,
    ],
)
def test_nothing_is_stated_where_counts_do_not_bound_what_is_lost(text: str) -> None:
    """No interval is wider by a number that does not hold, or is too large to be of use."""
    assert stated(text) is None
