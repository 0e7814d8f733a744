"""Budget requests: target errors are reached, and weights use up the budget."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import make_plan
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.zcdp_conversion import zcdp_epsilon
from dpcli.problems.errors import SpecError
from dpcli.specification.load import parse_central_spec
from tests.support.rules import mostly_extended

RULES = [rule.name for rule in COMPOSITIONS]

each_rule = pytest.mark.parametrize("rule", RULES)

COLUMNS = """
columns:
  age: {type: integer, bounds: [0, 100]}
  income: {type: number, bounds: [0, 100000], step: 100}
  sex: {type: category, values: [f, m]}
"""


def planned(
    entries: str, rule: str = "sequential", budget: str = "epsilon: 2, delta: 1e-6"
) -> CentralPlan:
    """The plan of a spec with these entries."""
    text = (
        "dpcli: 1\ndataset: d\n"
        f"privacy: {{unit: row, neighbors: add-remove, budget: {{{budget}}}, composition: {rule}}}"
        f"{COLUMNS}statistics:\n{entries}"
    )
    return make_plan(parse_central_spec(text, "spec.yaml"))


SINGLE = [
    "statistic: count",
    "statistic: sum, column: income",
    "statistic: histogram, column: age, bins: {width: 10}",
    "statistic: median, column: age",
    "statistic: mode, column: sex",
]
PAIRS = [
    (question, RULES[(at + shift) % len(RULES)])
    for at, question in enumerate(SINGLE)
    for shift in range(len(RULES))
]
"""Every question with every rule: half of these pairs have all questions and all rules."""


@pytest.mark.parametrize(
    ("question", "rule"),
    mostly_extended(PAIRS, *(pair for at, pair in enumerate(PAIRS) if at % 2 == 0), unpack=True),
)
def test_an_error_is_reached_at_nearly_the_least_loss(question: str, rule: str) -> None:
    """The half-width is within the target error; with a little less loss it is not."""
    error = Fraction(200_000) if "sum" in question else Fraction(25)
    plan = planned(f"  - {{name: a, {question}, error: {error}, mechanism: auto}}\n", rule)
    (entry,) = plan.statistics
    stated = entry.error(plan.spec.confidence)
    assert stated is not None
    assert stated <= error
    word, size = ("epsilon", entry.target.epsilon)
    if entry.target.rho is not None:
        word, size = "rho", entry.target.rho
    assert size == Fraction(str(float(size)))
    less = f"  - {{name: a, {question}, {word}: {float(size * Fraction(98, 100)):.12f}"
    cheaper = planned(f"{less}, mechanism: {entry.mechanism.name}}}\n", rule)
    stated = cheaper.statistics[0].error(plan.spec.confidence)
    assert stated is not None
    assert stated > error


@each_rule
def test_weights_use_up_the_budget(rule: str) -> None:
    """With two weights and a stated loss, nearly nothing of the budget is left."""
    plan = planned(
        "  - {name: a, statistic: count, share: 2}\n"
        "  - {name: b, statistic: mean, column: age, share: 1}\n"
        "  - {name: c, statistic: count, by: [sex], epsilon: 0.3}\n",
        rule,
    )
    assert plan.fits
    assert plan.cost.epsilon > Fraction(2) * Fraction(999, 1000)
    a, b, c = plan.statistics
    assert c.target.epsilon == Fraction(3, 10)
    if rule in ("sequential", "advanced"):
        assert a.target.epsilon == 2 * b.target.epsilon
    else:
        assert a.target.rho is not None and b.target.rho is not None
        assert a.target.rho == 2 * b.target.rho
    if rule == "sequential":
        assert plan.cost.epsilon == 2


def test_weights_divide_epsilon_exactly() -> None:
    """Thirds of a budget are thirds, and add up to all of it."""
    entries = "".join(f"  - {{name: s{i}, statistic: count, share: 1}}\n" for i in range(3))
    plan = planned(entries, budget="epsilon: 1")
    assert [entry.target.epsilon for entry in plan.statistics] == [Fraction(1, 3)] * 3
    assert plan.cost.epsilon == 1


def test_weights_divide_what_is_left_of_delta() -> None:
    """Gaussian statistics without a delta of their own divide what others leave."""
    plan = planned(
        "  - {name: a, statistic: count, mechanism: gaussian, share: 1}\n"
        "  - {name: b, statistic: count, mechanism: gaussian, share: 3}\n"
        "  - {name: c, statistic: count, mechanism: gaussian, epsilon: 0.1, delta: 2e-7}\n"
    )
    assert [entry.target.delta * 10**7 for entry in plan.statistics] == [2, 6, 2]
    assert plan.fits and plan.cost.delta == Fraction(1, 10**6)


@each_rule
def test_weights_are_refused_if_nothing_is_left(rule: str) -> None:
    """The message states that the other losses leave nothing."""
    with pytest.raises(SpecError, match="leave nothing of the budget to share"):
        planned(
            "  - {name: a, statistic: count, share: 1}\n"
            "  - {name: b, statistic: count, epsilon: 2}\n",
            rule,
        )


@pytest.mark.parametrize("statistic", ["mean", "variance", "std"])
def test_a_target_error_of_several_answers_is_refused(statistic: str) -> None:
    """The error of a mean depends on its values, so no error can be promised in advance."""
    with pytest.raises(SpecError, match="not known before it is answered"):
        planned(f"  - {{name: a, statistic: {statistic}, column: age, error: 20000}}\n")
    (entry,) = planned(
        f"  - {{name: a, statistic: {statistic}, column: age, epsilon: 1}}\n"
    ).statistics
    assert entry.error(Fraction(95, 100)) is None


def test_a_target_error_out_of_reach_is_refused() -> None:
    """Beyond the greatest epsilon of a statistic there is no answer."""
    with pytest.raises(SpecError, match="no epsilon that protects anyone"):
        planned("  - {name: a, statistic: sum, column: income, error: 1}\n")


def test_auto_takes_the_more_accurate_mechanism() -> None:
    """It takes Gaussian noise for many cells with a delta, Laplace for one, and no unused delta."""
    many = "statistic: marginals, columns: [sex, {column: age, bins: {width: 1}}], ways: 1"
    plan = planned(
        f"  - {{name: a, {many}, epsilon: 0.1, delta: 1e-7, mechanism: auto}}\n"
        "  - {name: b, statistic: count, epsilon: 0.1, delta: 1e-7, mechanism: auto}\n"
        "  - {name: c, statistic: count, epsilon: 0.1, mechanism: auto}\n"
        "  - {name: d, statistic: median, column: age, epsilon: 0.1, mechanism: auto}\n"
    )
    names = [entry.mechanism.name for entry in plan.statistics]
    assert names[1:] == ["laplace", "laplace", "permute_and_flip"]
    assert [entry.target.delta for entry in plan.statistics[1:]] == [0, 0, 0]
    for entry in plan.statistics[:2]:
        for other in ("laplace", "gaussian"):
            delta = ", delta: 1e-7" if other == "gaussian" else ""
            question = many if entry is plan.statistics[0] else "statistic: count"
            other_plan = planned(
                f"  - {{name: a, {question}, epsilon: 0.1{delta}, mechanism: {other}}}\n"
            )
            confidence = plan.spec.confidence
            mine, theirs = (
                sum(query.error(confidence) for query in statistic.queries)
                for statistic in (entry, other_plan.statistics[0])
            )
            assert mine <= theirs


def test_in_rho_auto_takes_the_cheapest_mechanism() -> None:
    """Gaussian noise and the exponential mechanism need the least rho."""
    plan = planned(
        "  - {name: a, statistic: count, error: 25, mechanism: auto}\n"
        "  - {name: b, statistic: median, column: age, error: 25, mechanism: auto}\n"
        "  - {name: c, statistic: median, column: age, rho: 0.01, mechanism: auto}\n"
        + "".join(
            f"  - {{name: d{i}, statistic: count, error: 25, mechanism: auto}}\n" for i in range(5)
        ),
        "zcdp",
    )
    names = [entry.mechanism.name for entry in plan.statistics[:3]]
    assert names == ["gaussian", "exponential", "exponential"]


def test_the_requested_rho_is_used_and_not_exceeded() -> None:
    """The cost is at most the requested rho, and hardly less."""
    for mechanism in ("laplace", "gaussian", "geometric"):
        for rho in ("0.5", "0.02", "1e-6"):
            entry = f"  - {{name: a, statistic: mean, column: age, rho: {rho}, "
            plan = planned(f"{entry}mechanism: {mechanism}}}\n", "zcdp")
            assert plan.cost.rho is not None
            requested = Fraction(rho)
            assert requested * Fraction(999_999, 1_000_000) <= plan.cost.rho <= requested


def test_a_budget_in_rho_bounds_rho() -> None:
    """Four quarters of the budget fit exactly, and a fifth does not."""
    quarter = "  - {{name: s{}, statistic: count, mechanism: gaussian, rho: 0.02}}\n"
    entries = "".join(quarter.format(i) for i in range(4))
    assert planned(entries, "zcdp", "rho: 0.08, delta: 1e-6").fits
    assert not planned(entries + quarter.format(4), "zcdp", "rho: 0.08, delta: 1e-6").fits


def test_private_keys_take_their_delta_first() -> None:
    """Partition selection spends its own delta, and rho is converted at what is left of it."""
    entry = "statistic: count, by: [place], keys: private, rho: 0.05, delta: 4e-7"
    text = (
        "dpcli: 1\ndataset: d\nprivacy: {unit: row, neighbors: add-remove, "
        "budget: {epsilon: 2, delta: 1e-6}, composition: zcdp}\n"
        "columns: {place: {type: category}}\n"
        f"statistics: [{{name: a, {entry}}}]"
    )
    plan = make_plan(parse_central_spec(text, "spec.yaml"))
    (part,) = plan.queries
    assert (
        part.calibrated.partition_selection is not None
        and part.calibrated.partition_selection.delta == Fraction("4e-7")
    )
    assert part.calibrated.guarantee.failure_delta == Fraction("4e-7")
    assert plan.fits
    many = make_plan(
        parse_central_spec(
            text.replace("}]", "}")
            + "".join(f", {{name: s{i}, statistic: count, rho: 0.002}}" for i in range(60))
            + "]\n",
            "spec.yaml",
        )
    )
    assert many.bound.name == "sum of rhos" and many.cost.delta == Fraction("1e-6")
    assert many.cost.rho is not None
    assert many.cost.epsilon == zcdp_epsilon(many.cost.rho, Fraction("6e-7"))


def test_weights_of_disjoint_rows_each_divide_the_full_budget() -> None:
    """A loss that parallel composition counts once is divided once, exactly."""
    plan = planned(
        "  - {name: a, statistic: count, where: {sex: f}, share: 1}\n"
        "  - {name: b, statistic: count, where: {sex: m}, share: 1}\n"
        "  - {name: c, statistic: count, share: 2}\n"
    )
    assert [entry.target.epsilon * 3 for entry in plan.statistics] == [2, 2, 4]
    assert plan.cost.epsilon == 2


@each_rule
def test_no_weight_gives_more_than_a_spec_could(rule: str) -> None:
    """Of a huge budget, a statistic gets at most the greatest epsilon of a spec."""
    plan = planned("  - {name: a, statistic: count, share: 1}\n", rule, "epsilon: 900, delta: 1e-6")
    (entry,) = plan.statistics
    assert entry.target.epsilon <= 21 and plan.fits


@each_rule
def test_statistics_without_a_cost_may_have_weights(rule: str) -> None:
    """Under change-one a count of all rows is public: it costs nothing, and planning ends."""
    text = (
        "dpcli: 1\ndataset: d\nprivacy: {unit: row, neighbors: change-one, "
        f"budget: {{epsilon: 1, delta: 1e-6}}, composition: {rule}}}{COLUMNS}statistics:\n"
        "  - {name: a, statistic: count, share: 1}\n"
    )
    assert make_plan(parse_central_spec(text, "spec.yaml")).cost.epsilon == 0
    with_more = text + "  - {name: b, statistic: sum, column: age, share: 3}\n"
    plan = make_plan(parse_central_spec(with_more, "spec.yaml"))
    assert Fraction("0.999") <= plan.cost.epsilon <= 1
    assert rule != "sequential" or plan.statistics[1].target.epsilon == 1


def test_weights_use_what_a_plain_sum_leaves() -> None:
    """If one large pure loss implies an immense rho, the plain sum still leaves something."""
    plan = planned(
        "  - {name: a, statistic: count, epsilon: 1.9}\n"
        "  - {name: b, statistic: count, share: 1}\n",
        "zcdp",
    )
    assert Fraction("1.99") < plan.cost.epsilon <= 2


@pytest.mark.parametrize("rule", ["zcdp", "pld"])
def test_auto_considers_the_total_loss(rule: str) -> None:
    """For a single count, Laplace noise is better than the mechanism with the least rho."""
    entry = "  - {name: a, statistic: count, mechanism: auto, "
    (shared,) = planned(f"{entry}share: 1}}\n", rule, "epsilon: 1, delta: 1e-6").statistics
    assert shared.mechanism.name == "laplace"
    assert shared.queries[0].error(Fraction(19, 20)) == 3
    (reaching,) = planned(f"{entry}error: 20}}\n", rule).statistics
    assert reaching.mechanism.name == "gaussian"
    tight = planned(f"{entry}error: 20}}\n", rule, "epsilon: 0.2, delta: 1e-6")
    assert tight.statistics[0].mechanism.name == "laplace" and tight.fits


def test_a_gaussian_weight_without_a_delta_is_refused() -> None:
    """It is refused for one query and for several, with a hint."""
    for question in ("statistic: count", "statistic: mean, column: age"):
        with pytest.raises(SpecError, match="needs a delta above zero"):
            planned(
                f"  - {{name: a, {question}, mechanism: gaussian, share: 1}}\n", budget="epsilon: 1"
            )


def test_an_error_of_two_quantiles_holds_for_both() -> None:
    """Each has the part of epsilon that a single one with this error needs."""
    entry = "  - {{name: a, statistic: quantile, column: age, quantiles: {}, error: 25}}\n"
    (two,) = planned(entry.format("[0.25, 0.75]")).statistics
    (one,) = planned(entry.format("0.25")).statistics
    published = [query for query in two.queries if not query.weighted.supports]
    assert [part.error(Fraction(19, 20)) <= 25 for part in published] == [True, True]
    assert float(two.target.epsilon) == pytest.approx(2 * float(one.target.epsilon), rel=0.01)
