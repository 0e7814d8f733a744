"""Laws of guarantees and compositions, for both registries, against brute force."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp

import mpmath
import pytest

from dpcli.mechanisms import MECHANISMS
from dpcli.mechanisms.mechanism import Mechanism, SelectionMechanism
from dpcli.noise.discrete_gaussian import DiscreteGaussian
from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import np
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.accounting.composition import Composition, GuaranteePair, parallel_composition
from dpcli.privacy.accounting.pld import composed_epsilon
from dpcli.privacy.loss import (
    DominatingPair,
    GaussianPair,
    Guarantee,
    LaplacePair,
    Loss,
    Pair,
    RandomizedResponsePair,
    WorstPair,
    compose,
)
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.unit import Neighbors
from tests.support.compositions import Losses, composed, epsilon_at, mean_loss, outcomes, renyi
from tests.support.rules import EXTENDED

ORDERS = (1.0001, 1.01, 1.1, 1.5, 2, 3, 5, 10, 30, 100, 1000)

SENSITIVITIES = [
    Sensitivity(1, 1, 1, 1),
    Sensitivity(1, 3, 9, 3),
    Sensitivity(2, 2, 2, 1),
    Sensitivity(2, 3, 5, 2),
    Sensitivity(2, 4, 8, 2),
    Sensitivity(3, 4, 8, 2),
    Sensitivity(3, 5, 9, 2),
]

SCALES = [Fraction(1, 2), Fraction(1), Fraction(5, 2), Fraction(7)]

each_mechanism = pytest.mark.parametrize(
    "mechanism", MECHANISMS, ids=lambda member: str(member.name)
)
each_rule = pytest.mark.parametrize("rule", COMPOSITIONS, ids=lambda member: str(member.name))
each_sensitivity = pytest.mark.parametrize("moved", SENSITIVITIES, ids=str)


def small(mechanism: Mechanism, moved: Sensitivity) -> bool:
    """Whether brute force can enumerate all outputs."""
    return not isinstance(mechanism, SelectionMechanism) or moved.l0 * moved.linf == moved.l1


each_small = pytest.mark.parametrize(
    ("mechanism", "moved"),
    [
        pytest.param(
            mechanism,
            moved,
            id=f"{mechanism.name}-{moved}",
            # Convolutions of three cells take long.
            marks=[EXTENDED] if mechanism.name == "gaussian" and moved.l0 == 3 else [],
        )
        for mechanism in MECHANISMS
        for moved in SENSITIVITIES
        if small(mechanism, moved)
    ],
)


def stated(mechanism: Mechanism, scale: Fraction, moved: Sensitivity) -> tuple[Noise, Guarantee]:
    """Noise of that scale, and the guarantee that the mechanism states."""
    noise = mechanism.distribution(scale)
    loss = mechanism.loss([(noise, moved)], Fraction(1))
    return noise, mechanism.guarantee(noise, moved, loss)


@each_small
def test_rho_bounds_every_renyi_divergence(mechanism: Mechanism, moved: Sensitivity) -> None:
    """For every change and every order, the divergence is at most order times rho."""
    for scale in SCALES:
        noise, guarantee = stated(mechanism, scale, moved)
        for losses in outcomes(mechanism, noise, moved):
            for order in ORDERS:
                assert renyi(losses, order) <= order * float(guarantee.rho) * (1 + 1e-9) + 1e-6


@pytest.mark.parametrize("name", ["laplace", "geometric", "gaussian"])
def test_a_smaller_rho_is_exceeded(name: str) -> None:
    """If one cell changes, a rho that is smaller by a thousandth is exceeded."""
    (mechanism,) = (registered for registered in MECHANISMS if registered.name == name)
    for moved in SENSITIVITIES[:2]:
        for scale in SCALES:
            noise, guarantee = stated(mechanism, scale, moved)
            worst = max(mean_loss(losses) for losses in outcomes(mechanism, noise, moved))
            assert worst > float(guarantee.rho) * 0.999


def test_permute_and_flip_is_not_of_bounded_range() -> None:
    """Its rho is above that of the exponential mechanism, so the smaller rho would be wrong."""
    moved, scale = Sensitivity(1, 3, 9, 3), Fraction(1)
    by_name = {registered.name: registered for registered in MECHANISMS}
    flip, exponential = by_name["permute_and_flip"], by_name["exponential"]
    noise, guarantee = stated(exponential, scale, moved)
    worst = max(mean_loss(losses) for losses in outcomes(flip, noise, moved))
    assert worst > float(guarantee.rho)


def truth(mechanism: Mechanism, noise: Noise, moved: Sensitivity, times: int) -> list[Losses]:
    """The losses of this number of answers, for the changes that reveal most."""
    found = sorted(outcomes(mechanism, noise, moved), key=mean_loss)[-4:]
    whole = []
    for losses in found:
        total = losses
        for _ in range(times - 1):
            total = composed(total, losses)
        whole.append(total)
    return whole


@each_small
def test_no_total_is_below_the_truth(mechanism: Mechanism, moved: Sensitivity) -> None:
    """One, two and four answers lose at most what every rule states."""
    for scale, times in ((Fraction(1), 1), (Fraction(5, 2), 2), (Fraction(7), 4)):
        noise, guarantee = stated(mechanism, scale, moved)
        real = truth(mechanism, noise, moved, times)
        deltas = (Fraction(1, 100), Fraction(1, 10**4), Fraction(1, 10**7))
        for rule, delta in product(COMPOSITIONS, deltas):
            bound = rule.bound({guarantee: times}, delta)
            for losses in real:
                true_epsilon = epsilon_at(losses, float(bound.loss.delta))
                assert true_epsilon <= float(bound.loss.epsilon) + 1e-5, rule.name


def some() -> dict[Guarantee, int]:
    """Different answers; one of them selected groups."""
    found = {}
    for place, mechanism in enumerate(MECHANISMS):
        _, guarantee = stated(mechanism, Fraction(20 + place), SENSITIVITIES[place])
        found[guarantee] = place + 1
    selected = replace(guarantee, failure_delta=Fraction(1, 10**8))
    return {**found, selected: 2}


@each_mechanism
@each_rule
def test_counted_and_repeated_answers_have_the_same_total(
    rule: Composition, mechanism: Mechanism
) -> None:
    """The total is the same for answers one by one, with a count, or several at once."""
    _, one = stated(mechanism, Fraction(30), SENSITIVITIES[1])
    delta, times = Fraction(1, 10**5), 12
    counted = rule.total({one: times}, delta)
    placed = [(answered(one), None)] * times
    assert rule.total(parallel_composition(placed, Neighbors.ADD_REMOVE), delta) == counted
    if rule.name != "advanced":
        assert rule.total({compose([one] * 4): 3}, delta).epsilon == counted.epsilon


@each_rule
def test_more_answers_never_cost_less(rule: Composition) -> None:
    """One more answer does not lower the total, which never exceeds the plain sum."""
    delta, before = Fraction(1, 10**5), Fraction(0)
    answered: Counter[Guarantee] = Counter()
    for guarantee, times in some().items():
        answered[guarantee] += times
        bound = rule.bound(answered, delta)
        assert before <= bound.loss.epsilon * (1 + Fraction(1, 1000))
        plain = sum(
            (guarantee.loss.epsilon * n for guarantee, n in answered.items()), start=Fraction(0)
        )
        if (
            sum((guarantee.loss.delta * n for guarantee, n in answered.items()), start=Fraction(0))
            <= delta
        ):
            assert bound.loss.epsilon <= plain
        before = bound.loss.epsilon


@each_rule
def test_a_smaller_delta_never_costs_less(rule: Composition) -> None:
    """Epsilon does not grow with delta, from the first delta on that gives a bound."""
    deltas = [Fraction(1, 10**power) for power in (7, 6, 5, 4, 3, 2)]
    bounds = [rule.bound(some(), delta) for delta in deltas]
    found = [
        bound.loss.epsilon
        for bound, delta in zip(bounds, deltas, strict=True)
        if bound.loss.delta <= delta
    ]
    assert len(found) >= 2
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("selections", [1, 2])
@pytest.mark.parametrize("name", ["zcdp", "pld"])
def test_failure_delta_is_part_of_delta(name: str, selections: int) -> None:
    """Private keys leave less of delta; if nothing is left, only plain sums hold."""
    (rule,) = (registered for registered in COMPOSITIONS if registered.name == name)
    _, one = stated(MECHANISMS["laplace"], Fraction(2), SENSITIVITIES[0])
    failure_delta = Fraction(1, 10**6)
    pure = replace(one, loss=Loss(one.loss.epsilon))
    selected = replace(one, loss=Loss(one.loss.epsilon, failure_delta), failure_delta=failure_delta)
    answers, spent = {pure: 300, selected: selections}, selections * failure_delta
    tight = rule.bound(answers, spent)
    assert tight.name == "plain sum" and tight.loss.delta == spent
    wide = rule.bound(answers, spent + failure_delta)
    assert wide.name != "plain sum"
    assert rule.bound({pure: 300 + selections}, failure_delta).loss.epsilon == pytest.approx(
        float(wide.loss.epsilon), rel=1e-6
    )


def test_epsilons_and_deltas_of_equal_answers_add() -> None:
    """By sequential composition, three equal answers cost three times the loss of one."""
    (rule,) = (registered for registered in COMPOSITIONS if registered.name == "sequential")
    loss = Loss(Fraction(1, 10), Fraction(1, 10**7))
    one = replace(stated(MECHANISMS["laplace"], Fraction(2), SENSITIVITIES[0])[1], loss=loss)
    assert rule.total({one: 3}, Fraction(1)) == Loss(3 * loss.epsilon, 3 * loss.delta)


def answered(*guarantees: Guarantee) -> tuple[GuaranteePair, ...]:
    """Answers that one added or removed row can change as much as an exchanged one."""
    return tuple(GuaranteePair(guarantee, guarantee) for guarantee in guarantees)


def test_of_disjoint_rows_the_worst_counts() -> None:
    """Under add-remove the worst part counts, under change-one the two worst."""
    _, a = stated(MECHANISMS["laplace"], Fraction(10), SENSITIVITIES[0])
    _, b = stated(MECHANISMS["laplace"], Fraction(20), SENSITIVITIES[0])
    _, c = stated(MECHANISMS["gaussian"], Fraction(30), SENSITIVITIES[0])
    placed = [
        (answered(a, b), ("x", 0)), (answered(b), ("x", 1)), (answered(b), ("x", 2)),
        (answered(c), None),
    ]  # fmt: skip
    assert parallel_composition(placed, Neighbors.ADD_REMOVE) == {a: 1, b: 1, c: 1}
    assert parallel_composition(placed, Neighbors.CHANGE_ONE) == {a: 1, b: 2, c: 1}
    crossed = [(answered(b, b, b), ("x", 0)), (answered(a), ("x", 1))]
    ((whole, times),) = parallel_composition(crossed, Neighbors.ADD_REMOVE).items()
    assert whole.loss.epsilon == b.loss.epsilon * 3 and whole.rho == a.rho and times == 1
    delta = Fraction(1, 10**5)
    mixed = [(answered(a), ("x", 0)), (answered(c, b), ("x", 1))]
    for rule in COMPOSITIONS:
        for neighbors, parts in (
            (Neighbors.ADD_REMOVE, [Counter([a]), Counter([c, b])]),
            (Neighbors.CHANGE_ONE, [Counter([a, c, b])]),
        ):
            total = rule.total(parallel_composition(mixed, neighbors), delta).epsilon
            for part in parts:
                assert rule.total(part, delta).epsilon <= total * (1 + Fraction(1, 1000))


def test_parts_with_other_gaussian_noise_are_not_ordered() -> None:
    """Deltas of discrete Gaussian noise cross: more noise can be more distinguishable."""
    pld = COMPOSITIONS["pld"]
    one, two = (
        stated(MECHANISMS["gaussian"], scale, SENSITIVITIES[0])[1]
        for scale in (Fraction(1, 4), Fraction(27, 100))
    )
    delta = Fraction(5, 10**4)
    placed = [(answered(one), ("x", 0)), (answered(two), ("x", 1))]
    whole = pld.total(parallel_composition(placed, Neighbors.ADD_REMOVE), delta).epsilon
    for part in (one, two):
        assert pld.total({part: 1}, delta).epsilon <= whole


def test_rounded_pairs_cost_no_less_than_exact_ones() -> None:
    """Rounding of a thousand pairs does not make a total smaller than the truth."""
    wide: dict[Pair, int] = {
        LaplacePair(Fraction(10**6 + 1000 * place), 1): 1 for place in range(1001)
    }
    alone: Pair = GaussianPair(Fraction(2719, 10_000), 1)
    delta = 1.1125e-3
    one, all_of_them = (composed_epsilon(p, delta) for p in ({alone: 1}, {alone: 1, **wide}))
    assert one is not None and all_of_them is not None and one <= all_of_them * Fraction(1001, 1000)


@pytest.mark.parametrize("delta", ["1e-12", "1e-10", "1e-8", "1e-6"])
def test_a_million_answers_are_not_below_the_truth(delta: str) -> None:
    """The errors of floats grow with the number of answers, and so does the delta for them."""
    moved, sigma, times = Sensitivity(1, 1, 1, 1), 30_000, 10**6
    noise = DiscreteGaussian(Fraction(sigma))
    each = MECHANISMS["gaussian"].guarantee(noise, moved, Loss(Fraction(1), Fraction(1, 10**20)))
    stated = float(COMPOSITIONS["pld"].total({each: times}, Fraction(delta)).epsilon)
    # At such a sigma discrete noise composes as continuous noise does.
    shift = times**0.5 / sigma
    with mpmath.workdps(40):
        near = mpmath.erfc((stated / shift - shift / 2) / mpmath.sqrt(2)) / 2
        far = mpmath.erfc((stated / shift + shift / 2) / mpmath.sqrt(2)) / 2
        assert near - mpmath.exp(stated) * far <= mpmath.mpf(delta)


def test_pure_answers_add_their_epsilon_at_most() -> None:
    """After any answers, a pure answer adds at most its epsilon."""
    rule, delta = COMPOSITIONS["zcdp"], Fraction(1, 10**6)
    _, gaussian = stated(MECHANISMS["gaussian"], Fraction(6), SENSITIVITIES[0])
    gaussian = replace(gaussian, loss=Loss(Fraction(2), delta))
    answered = Counter({gaussian: 2})
    for scale in (3, 40, 2, 100, 1, 7):
        _, pure = stated(MECHANISMS["laplace"], Fraction(scale), SENSITIVITIES[0])
        before = rule.total(answered, delta).epsilon
        answered[pure] += 1
        after = rule.total(answered, delta).epsilon
        assert before <= after <= (before + pure.loss.epsilon) * (1 + Fraction(1, 10**9))


def test_nearly_equal_parts_cost_as_much_as_the_worse_one() -> None:
    """Disjoint Gaussian answers of epsilon 1 and 1.022 cost what the second costs alone."""
    one, two = (
        stated(MECHANISMS["gaussian"], scale, SENSITIVITIES[0])[1]
        for scale in (Fraction(5), Fraction(489, 100))
    )
    placed = [(answered(one), ("x", 0)), (answered(two), ("x", 1))]
    delta = Fraction(1, 10**6)
    for name in ("zcdp", "pld"):
        rule = COMPOSITIONS[name]
        total = rule.total(parallel_composition(placed, Neighbors.ADD_REMOVE), delta).epsilon
        worse = rule.total({two: 1}, delta).epsilon
        assert worse * Fraction(999, 1000) <= total <= worse * Fraction(1001, 1000)


@pytest.mark.parametrize("times", [1, 2, 100])
def test_the_worst_of_several_products_dominates_each_of_them(times: int) -> None:
    """Whatever the delta, and however often; and where one is worst, it costs no more."""
    products: list[tuple[Pair, ...]] = [
        (LaplacePair(Fraction(2), 1),),
        (GaussianPair(Fraction(7, 2), 1, 2),),
        (GaussianPair(Fraction(9), 1), LaplacePair(Fraction(3), 1)),
    ]
    greatest = WorstPair(tuple(products))
    for delta in (0.3, 0.1, 1e-2, 1e-4, 1e-6, 1e-9):
        each = [
            composed_epsilon({replace(pair, times=1): pair.times * times for pair in pairs}, delta)
            for pairs in products
        ]
        found = composed_epsilon({greatest: times}, delta)
        largest = max(epsilon for epsilon in each if epsilon is not None)
        assert found is not None and found >= largest * Fraction(999, 1000) - Fraction(1, 10**6)
        if times == 1:
            assert found <= largest * Fraction(1001, 1000) + Fraction(1, 10**6)


def test_branches_of_two_releases_may_cross() -> None:
    """A unit can be in either part of each release, also if that depends on what was published."""
    _, laplace = stated(MECHANISMS["laplace"], Fraction(2), SENSITIVITIES[0])
    _, gaussian = stated(MECHANISMS["gaussian"], Fraction(5), SENSITIVITIES[0])
    placed = [(answered(laplace), ("x", 0)), (answered(gaussian), ("x", 1))]
    account = Counter(parallel_composition(placed, Neighbors.ADD_REMOVE))
    account.update(account)
    delta = Fraction(1, 10**6)
    for rule in COMPOSITIONS:
        total = rule.total(account, delta).epsilon
        for met in product((laplace, gaussian), repeat=2):
            assert rule.total(Counter(met), delta).epsilon <= total * Fraction(1001, 1000)


@pytest.mark.parametrize("delta", [1e-2, 1e-4, 1e-7])
def test_a_branch_may_depend_on_earlier_answers(delta: float) -> None:
    """The worst pair costs what a unit loses that meets the worse part after each outcome."""
    first = RandomizedResponsePair(Fraction(2), 3)
    parts: list[DominatingPair] = [LaplacePair(Fraction(1), 1), GaussianPair(Fraction(3), 1)]
    found = composed_epsilon({first: 1, WorstPair(tuple((part,) for part in parts)): 1}, delta)
    assert found is not None
    likely = 1 / (1 + exp(-first.strength))

    def delta_at(epsilon: float) -> float:
        after = np.array([epsilon - first.strength, epsilon + first.strength])
        worst = np.maximum(*(part.profile(after) for part in parts))
        return float(likely * worst[0] + (1 - likely) * worst[1])

    assert delta_at(float(found)) <= delta < delta_at(float(found) * 0.998)


@pytest.mark.parametrize("sigma", [10, 100, 1000])
def test_gaussian_answers_in_several_cells_compose_by_their_l2(sigma: int) -> None:
    """A person with 3 + 1 + 1 rows in three groups changes sums by the root of 11, not of 27."""
    moved = Sensitivity(3, 5, 11, 3)
    noise, each = stated(MECHANISMS["gaussian"], Fraction(sigma), moved)
    assert each.dominating_pairs[0] != noise.dominating_pair(noise.scale, 3, 3)
    found = composed_epsilon({each.dominating_pairs[0]: 4}, 1e-6)
    in_one_cell = composed_epsilon({GaussianPair(Fraction(sigma) * 1000, 3317, 1): 4}, 1e-6)
    assert found is not None and in_one_cell is not None
    # The noise on the line has a variance that is smaller by one.
    assert in_one_cell * Fraction(999, 1000) <= found
    assert found <= in_one_cell * (Fraction(1001, 1000) + Fraction(1, sigma**2))


@pytest.mark.parametrize("strength", [1, 30, 36, 40, 1_000])
def test_losses_that_floats_cannot_hold_have_the_bound_of_zcdp(strength: int) -> None:
    """Whatever an account has spent in all its time, its next release can be priced."""
    mechanism, change = MECHANISMS["gaussian"], Sensitivity(1, strength, strength**2, strength)
    guarantee = mechanism.guarantee(DiscreteGaussian(Fraction(1)), change, Loss(Fraction(1)))
    delta = Fraction(1, 1_000)
    found = [
        COMPOSITIONS[name].total(Counter({guarantee: 1}), delta).epsilon for name in ("pld", "zcdp")
    ]
    assert found[0] <= found[1]
    assert found[0] == found[1] or strength < 36
