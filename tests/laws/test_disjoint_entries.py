"""Laws of entries about disjoint rows: no neighbor loses more than stated, and some lose that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import pytest

from dpcli.ledger.chain import to_events_json
from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.numeric.arrays import Array, np
from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import make_plan
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.accounting.pld import composed_epsilon
from dpcli.privacy.loss import Guarantee, Pair, WorstPair
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.queries.scores import SelectionQuery
from dpcli.specification.load import parse_central_spec
from tests.oracles.opened import cells_of, queries_of
from tests.oracles.plain import evaluate
from tests.support.guarantees import plain_guarantees
from tests.support.norms import total_change
from tests.support.rules import mostly_extended

SPEC = """\
dpcli: 1
dataset: d
privacy: {{unit: {unit}, neighbors: {neighbors}, composition: {rule}, budget: {budget}}}
columns:
  id: {{type: id}}
  sex: {{type: category, values: [f, m, x]}}
  place: {{type: category, values: [a, b]}}
  age: {{type: integer, bounds: [-2, 3]}}
  kids: {{type: integer, bounds: [0, 2]}}
statistics:
"""

HEADER = "id,sex,place,age,kids\n"

ROWS = [
    f"1,{sex},{place},{age},{kids}\n"
    for sex, place, age, kids in product("fmx?", "ab", ["-2", "3"], ["0", "2"])
]

PURE = [
    "statistic: count, by: [place]",
    "statistic: sum, column: age, by: [place]",
    "statistic: count",
    "statistic: sum, column: age",
    "statistic: histogram, column: age, bins: {width: 3}",
    "statistic: mode, column: place",
]

UNITS = ["row", "{column: id, max_rows: 1}"]


def planned(
    entries: list[str], neighbors: str, rule: str, losses: list[str], unit: str = "row"
) -> CentralPlan:
    """The plan of entries about women, men and others, in turn."""
    budget = "{epsilon: 100}" if rule == "sequential" else "{epsilon: 100, delta: 1e-4}"
    text = SPEC.format(unit=unit, neighbors=neighbors, rule=rule, budget=budget)
    for place, entry in enumerate(entries):
        where = "fmx"[place % 3]
        text += f"  - {{name: e{place}, {entry}, where: {{sex: {where}}}, {losses[place]}}}\n"
    return make_plan(parse_central_spec(text, "spec.yaml"))


def changes(plan: CentralPlan, neighbors: str) -> Iterator[list[Array]]:
    """How far the answers of each query are apart, for every pair of neighbors of few rows."""
    files = [HEADER, *(HEADER + row for row in ROWS)]
    answers = [
        [cells_of(exact) for exact in evaluate(queries_of(plan), file.encode())] for file in files
    ]
    pairs = (
        ((answers[0], answer) for answer in answers)
        if neighbors == "add-remove"
        else product(answers[1:], repeat=2)
    )
    for before, after in pairs:
        yield [np.subtract(a, b) for a, b in zip(before, after, strict=True)]


def pure_loss(plan: CentralPlan, change: list[Array]) -> Fraction:
    """The sum of the changes over the scales: of scores, the largest difference of two."""
    total = Fraction(0)
    for query, moved in zip(plan.queries, change, strict=True):
        steps = [int(cell) for cell in moved]
        nothing = [0] * len(steps)
        size = total_change(query.weighted.query, [*map(abs, steps)], steps, nothing)
        if isinstance(query.weighted.query, SelectionQuery):
            size = max(map(int, moved)) - min(map(int, moved))
        total += size / query.calibrated.noise.scale
    return total


def total_rho(counts: dict[Guarantee, int]) -> Fraction:
    """The sum of the rhos of guarantees."""
    return sum((one.rho * times for one, times in counts.items()), start=Fraction(0))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("seed", mostly_extended(range(8), *range(4)))
def test_no_neighbor_loses_more_epsilon_than_planned(seed: int, neighbors: str, unit: str) -> None:
    """For random entries, the changes over the scales sum to at most the cost, as charged."""
    random = Random(seed)
    count = random.randint(2, 6)
    entries = [random.choice(PURE) for _ in range(count)]
    losses = [f"epsilon: {random.choice(['0.5', '1', '2'])}" for _ in range(count)]
    plan = planned(entries, neighbors, "sequential", losses, unit)
    worst = max(pure_loss(plan, change) for change in changes(plan, neighbors))
    assert worst <= plan.cost.epsilon
    charged = plain_guarantees(to_events_json(plan.charged_events), neighbors)
    assert sum(one.loss.epsilon * n for one, n in charged.items()) == plan.cost.epsilon


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("seed", mostly_extended(range(12), *range(4)))
def test_no_person_with_two_rows_loses_more_than_planned(seed: int, neighbors: str) -> None:
    """Whatever the limits of each entry are, and whichever row of the person comes first.

    The rows may be in different branches; only entries that use one row each are in any.
    """
    random = Random(seed)
    limits = ["", ", max_rows: 1", ", max_rows: 1", ", max_rows: 2, max_groups: 1"]
    chosen = [*limits[1:3], *(random.choice(limits) for _ in range(random.randint(0, 3)))]
    entries = [random.choice(PURE) + own for own in chosen]
    losses = [f"epsilon: {random.choice(['0.5', '1', '2'])}" for _ in entries]
    unit = f"{{column: id, max_rows: {1 + seed % 2}}}"
    plan = planned(entries, neighbors, "sequential", losses, unit)
    assert plan.statistics[0].branch and plan.statistics[1].branch
    queries, units = queries_of(plan), [asked.unit for asked in plan.engine_queries]
    persons = [HEADER, *(HEADER + "".join(random.choices(ROWS, k=2)) for _ in range(60))]
    answers = [
        [cells_of(exact) for exact in evaluate(queries, text.encode(), units, lambda _, at: at)]
        for text in persons
    ]
    before = answers if neighbors == "change-one" else answers[:1]
    worst = max(
        pure_loss(plan, [np.subtract(a, b) for a, b in zip(one, other, strict=True)])
        for one, other in product(before, answers)
    )
    assert 0 < worst <= plan.cost.epsilon


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("entry", PURE[:3])
def test_equal_entries_cost_what_the_worst_neighbor_loses(entry: str, neighbors: str) -> None:
    """Three tables of disjoint rows cost as much as one; single counts, as two if rows change."""
    plan = planned([entry] * 3, neighbors, "sequential", ["epsilon: 1"] * 3)
    worst = max(pure_loss(plan, change) for change in changes(plan, neighbors))
    assert plan.cost.epsilon == worst
    assert worst == (2 if neighbors == "change-one" and "by" not in entry else 1)


@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
@pytest.mark.parametrize("second", ["0.5", "0.2"])
def test_gaussian_entries_cost_the_rho_of_the_worst_neighbor(second: str, neighbors: str) -> None:
    """Of tables, one alone is the worst case; of single counts, two are if rows change."""
    for entry in ("statistic: count, by: [place]", "statistic: count"):
        gaussian = [f"{entry}, mechanism: gaussian"] * 3
        losses = ["rho: 0.5", f"rho: {second}", "rho: 0.1"]
        plan = planned(gaussian, neighbors, "zcdp", losses)
        scales = [query.calibrated.noise.scale for query in plan.queries]
        worst = max(
            sum(
                (int(cell) ** 2 / (2 * scale**2)
                 for moved, scale in zip(change, scales, strict=True) for cell in moved),
                start=Fraction(0),
            )
            for change in changes(plan, neighbors)
        )  # fmt: skip
        stated = total_rho(plan.guarantee_counts)
        assert worst <= stated <= worst * (1 + Fraction(1, 10**6))


@pytest.mark.parametrize(
    ("mechanism", "neighbors"),
    [
        ("laplace", "add-remove"),
        ("laplace", "change-one"),
        ("gaussian", "add-remove"),
        pytest.param("gaussian", "change-one", marks=pytest.mark.extended),
    ],
)
def test_loss_distributions_are_those_of_the_worst_neighbor(mechanism: str, neighbors: str) -> None:
    """Under `pld`, tables of disjoint rows cost what the noise in the changed cells reveals."""
    loss = "epsilon: 1" if mechanism == "laplace" else "rho: 0.1"
    entries = [f"{PURE[0]}, mechanism: {mechanism}"] * 6
    plan = planned(entries, neighbors, "pld", [loss] * 6)
    delta, worst = 1e-4, Fraction(0)
    for change in changes(plan, neighbors):
        pairs: Counter[Pair] = Counter()
        for query, moved in zip(plan.queries, change, strict=True):
            for cell in moved:
                if cell:
                    scale = query.calibrated.noise.scale
                    pairs[query.calibrated.noise.dominating_pair(scale, abs(int(cell)), 1)] += 1
        if pairs:
            epsilon = composed_epsilon(pairs, delta * (1 - 1e-9))
            assert epsilon is not None
            worst = max(worst, epsilon)
    # The grid of losses adds a few parts in a thousand.
    assert worst * Fraction(199, 200) <= plan.cost.epsilon <= worst * Fraction(201, 200)


@pytest.mark.parametrize("rule", COMPOSITIONS, ids=lambda rule: str(rule.name))
@pytest.mark.parametrize("seed", mostly_extended(range(4), 0, 1))
def test_events_without_single_sensitivities_cost_no_less(rule: object, seed: int) -> None:
    """Under every rule, what older events cost is an upper bound, and tables cost half of it."""
    random, name = Random(seed), str(getattr(rule, "name", ""))
    mechanisms = ["laplace", "geometric"] if name == "sequential" else ["laplace", "gaussian"]
    chosen = [random.choice([*PURE[:2], PURE[4]]) for _ in range(3)]
    entries = [f"{entry}, mechanism: {random.choice(mechanisms)}" for entry in chosen]
    budget = "epsilon: 0.5" if name == "sequential" else "epsilon: 0.5, delta: 1e-8"
    losses = [budget if "gaussian" in entry else "epsilon: 0.5" for entry in entries]
    plan = planned(entries, "change-one", name, losses)
    events, delta = plan.charged_events, Fraction(1, 10**4)
    older = [replace(event, add_remove_sensitivity=None) for event in events]
    now, before = (
        plain_guarantees(to_events_json(texts), "change-one") for texts in (events, older)
    )
    composition = next(one for one in COMPOSITIONS if one.name == name)
    cost, bound = composition.total(now, delta), composition.total(before, delta)
    assert cost == plan.cost
    assert cost.epsilon <= bound.epsilon and cost.delta <= bound.delta
    if name == "sequential":
        assert cost.epsilon == bound.epsilon / 2


def test_the_law_notices_a_sensitivity_that_is_too_small() -> None:
    """If single rows changed sums by half of what they do, a neighbor would lose more."""
    plan = planned(
        ["statistic: sum, column: kids"] * 3, "change-one", "sequential", ["epsilon: 1"] * 3
    )
    worst = max(pure_loss(plan, change) for change in changes(plan, "change-one"))
    assert plan.cost.epsilon == worst == 2
    events = [
        replace(event, add_remove_sensitivity=Sensitivity(1, 1, 1, 1))
        for event in plan.charged_events
    ]
    counts = plain_guarantees(to_events_json(events), "change-one")
    assert sum(one.loss.epsilon * n for one, n in counts.items()) < worst


def test_noise_of_other_kinds_is_matched_kind_by_kind() -> None:
    """Entries with Laplace and with Gaussian noise cost no more than both together."""
    entries = [f"{PURE[0]}, mechanism: {one}" for one in ("laplace", "gaussian", "laplace")]
    losses = ["epsilon: 1", "epsilon: 1, delta: 1e-6", "epsilon: 0.5"]
    plan = planned(entries, "change-one", "pld", losses)
    assert isinstance(plan.queries[1].calibrated.noise, DiscreteGaussian)
    (worst,) = (pair for one in plan.guarantee_counts for pair in one.dominating_pairs)
    assert isinstance(worst, WorstPair)
    kinds = {type(pair) for product in worst.products for pair in product}
    assert len(kinds) == 2
    assert plan.cost.epsilon <= 2
