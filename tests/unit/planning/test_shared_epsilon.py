"""An epsilon for the whole spec, which entries share."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import make_plan
from dpcli.problems.errors import SpecError
from dpcli.specification.load import parse_central_spec

SPEC = """\
dpcli: 1
dataset: d
privacy: {unit: UNIT, neighbors: add-remove, budget: BUDGET}
quality: QUALITY
epsilon: SHARED
columns:
  who: {type: id}
  age: {type: integer, bounds: [0, 100]}
  paid: {type: number, step: 1, bounds: BOUNDS}
  sex: {type: category, values: [f, m]}
  town: {type: category}
statistics:
"""


def planned(*entries: str, shared: str = "1", **words: str) -> CentralPlan:
    """The plan of a spec with these entries."""
    filled = {
        "UNIT": "row", "BUDGET": "{epsilon: 3, delta: 1e-6}", "QUALITY": "none", "BOUNDS": "[0, 9]",
        "SHARED": shared, **words,
    }  # fmt: skip
    text = SPEC + "".join(
        f"  - {{name: n{index}, {entry}}}\n" for index, entry in enumerate(entries)
    )
    for word, value in filled.items():
        text = text.replace(word, value)
    return make_plan(parse_central_spec(text, "spec.yaml"))


def epsilons(plan: CentralPlan) -> list[Fraction]:
    """The epsilon of each entry."""
    return [statistic.target.epsilon for statistic in plan.statistics]


COUNT, MEAN = "statistic: count", "statistic: mean, column: age"


def test_entries_without_a_loss_have_equal_parts() -> None:
    """Three entries have a third each, exactly, and the release costs the whole."""
    plan = planned(COUNT, MEAN, "statistic: sum, column: paid")
    assert epsilons(plan) == [Fraction(1, 3)] * 3
    assert plan.cost.epsilon == 1


def test_shares_divide_and_one_is_meant_without_a_share() -> None:
    """A share of two, of a half, and none: 4/7, 1/7 and 2/7."""
    plan = planned(f"{COUNT}, share: 2", f"{COUNT}, share: 0.5", COUNT)
    assert epsilons(plan) == [Fraction(4, 7), Fraction(1, 7), Fraction(2, 7)]


def test_what_is_stated_comes_first() -> None:
    """Check, chosen bounds and an entry with its own epsilon take theirs; the others the rest."""
    plan = planned(
        COUNT, f"{COUNT}, epsilon: 0.3", "statistic: mean, column: paid",
        QUALITY="{epsilon: 0.1, min_rows: 10}",
        BOUNDS="{choose: 1-2-5, up_to: 1000, epsilon: 0.2}",
    )  # fmt: skip
    assert epsilons(plan) == [Fraction(1, 5), Fraction(3, 10), Fraction(1, 5)]
    assert plan.cost.epsilon == 1


def test_disjoint_entries_share_more_and_the_release_costs_the_same() -> None:
    """Women and men are other rows, so each of both counts has half, and the count of all too."""
    plan = planned(f"{COUNT}, where: {{sex: f}}", f"{COUNT}, where: {{sex: m}}", COUNT)
    assert epsilons(plan) == [Fraction(1, 2)] * 3
    assert plan.cost.epsilon == 1


@pytest.mark.parametrize("rule", ["advanced", "zcdp"])
def test_other_compositions_reach_the_epsilon(rule: str) -> None:
    """Shares are as large as the composition allows: the cost is at most the epsilon, and near."""
    budget = f"{{epsilon: 3, delta: 1e-6}}, composition: {rule}"
    plan = planned(*[COUNT] * 40, BUDGET=budget)
    assert Fraction(98, 100) < plan.cost.epsilon <= 1
    assert epsilons(plan)[0] > Fraction(1, 40)


def test_private_keys_share_the_delta() -> None:
    """An entry that selects groups needs no delta of its own."""
    plan = planned(f"{COUNT}, by: [town], keys: private", COUNT)
    assert plan.statistics[0].target.delta == Fraction(1, 10**6)
    assert epsilons(plan) == [Fraction(1, 2)] * 2


@pytest.mark.parametrize(
    ("entries", "shared", "code"),
    [
        ([f"{COUNT}, epsilon: 0.5"], "1", "epsilon-unused"),
        ([COUNT], "3.0001", "epsilon-above-budget"),
        ([COUNT, f"{COUNT}, epsilon: 1"], "1", "cannot-calibrate"),
        ([COUNT, f"{COUNT}, epsilon: 2"], "1", "cannot-calibrate"),
        ([COUNT], "0", "epsilon-out-of-range"),
    ],
)
def test_an_epsilon_that_cannot_be_shared_is_refused(
    entries: list[str], shared: str, code: str
) -> None:
    """Each fault has a code; the budget itself may be shared."""
    with pytest.raises(SpecError) as refused:
        planned(*entries, shared=shared)
    assert [problem.code for problem in refused.value.problems] == [code]
    assert planned(COUNT, shared="3").cost.epsilon == 3
