"""Known answers of other people's code and papers, each with its source.

No total is below the true value, and none is more than a thousandth above it.

CKS: the code published with Canonne, Kamath and Steinke 2020 (github.com/IBM/
discrete-gaussian-differential-privacy, cdp2adp.py), run for these parameters. DPA: the tests
of Google's dp_accounting (pld/accountant_test.py). DPL: the tests of IBM's diffprivlib
(test_BudgetAccountant.py), whose value has fifty digits. BW: the formula of Balle and Wang 2018,
theorem 8. KOV: the formula of Kairouz, Oh and Viswanath 2015, theorem 3.3, in exact rationals.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import comb

import mpmath
import pytest

from dpcli.mechanisms.gaussian import Gaussian
from dpcli.mechanisms.pure import Laplace
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.privacy.accounting.advanced import (
    AdvancedComposition,
    optimal_composition,
    strong_composition,
)
from dpcli.privacy.accounting.pld import PldComposition
from dpcli.privacy.deltas import cells_delta
from dpcli.privacy.loss import Guarantee, Loss
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.privacy.zcdp_conversion import zcdp_delta, zcdp_epsilon, zcdp_rho_within
from tests.support.mechanisms import fitted

ABOVE = 1.001

EPSILONS = [  # rho, delta, epsilon: CKS, cdp_eps
    ("0.001", "1e-6", 0.18289537719007626),
    ("0.025", "1e-6", 1.014074254726128),
    ("0.1", "1e-6", 2.141938928385474),
    ("0.5", "1e-6", 5.221534444530169),
    ("0.5", "1e-10", 6.839329413120849),
    ("2", "1e-5", 10.724824112939174),
    ("10", "1e-9", 37.63745357791327),
    ("50", "1e-6", 100.68990516105825),
]

DELTAS = [  # rho, epsilon, delta: CKS, cdp_delta
    ("0.025", "1", 1.3361319064032213e-06),
    ("0.1", "1", 0.008933245771818366),
    ("0.1", "2", 4.325210869092554e-06),
    ("0.5", "5", 2.8961228093847966e-06),
    ("2", "12", 4.528480686953682e-07),
    ("0.001", "0.2", 1.8018877584461605e-07),
]

RHOS = [  # epsilon, delta, rho: CKS, cdp_rho
    ("0.1", "1e-6", 0.0003210476903457401),
    ("1", "1e-6", 0.024355970359538372),
    ("1", "1e-10", 0.013242583765704015),
    ("3", "1e-9", 0.12058242891101999),
    ("8", "1e-5", 1.229714525761431),
]

FLOATS = 1e-12
"""How far the oracles themselves may be off."""


@pytest.mark.parametrize(("rho", "delta", "known"), EPSILONS)
def test_concentrated_epsilons(rho: str, delta: str, known: float) -> None:
    """Epsilon of rho at delta."""
    found = float(zcdp_epsilon(Fraction(rho), Fraction(delta)))
    assert known * (1 - FLOATS) <= found <= known * ABOVE


@pytest.mark.parametrize(("rho", "epsilon", "known"), DELTAS)
def test_concentrated_deltas(rho: str, epsilon: str, known: float) -> None:
    """Delta of rho at epsilon."""
    found = float(zcdp_delta(Fraction(rho), Fraction(epsilon)))
    assert known * (1 - FLOATS) <= found <= known * ABOVE


@pytest.mark.parametrize(("epsilon", "delta", "known"), RHOS)
def test_concentrated_rhos(epsilon: str, delta: str, known: float) -> None:
    """The rho that epsilon and delta allow is rounded down."""
    found = float(zcdp_rho_within(Fraction(epsilon), Fraction(delta)))
    assert known / ABOVE <= found <= known * (1 + FLOATS)


def test_the_infimum_over_orders_is_found() -> None:
    """No order gives a smaller epsilon than the one that is stated (CKS, proposition 12)."""
    for rho in (1e-8, 1e-3, 0.3, 5.0, 400.0):
        for delta in (1e-15, 1e-6, 1e-2, 0.9):
            stated = float(zcdp_epsilon(Fraction(rho), Fraction(delta)))

            def bound(power: float, rho: float = rho, delta: float = delta) -> mpmath.mpf:
                alpha = 1 + mpmath.mpf(2) ** power
                order = mpmath.log(1 - 1 / alpha) - mpmath.log(delta * alpha) / (alpha - 1)
                return alpha * rho + order

            least = min(bound(power / 16) for power in range(-320, 640, 4))
            assert stated >= 0
            assert stated <= max(float(least), 0) * (1 + 1e-9) + 1e-15
            finest = min(bound(power / 512) for power in range(-10_240, 20_480, 41))
            assert stated >= float(finest) * (1 - 1e-3) - 1e-12


@pytest.mark.parametrize(
    ("rho", "delta"),
    [("5e-30", "1e-16"), ("5e-30", "1e-20"), ("1e-40", "1e-25"), ("1e-25", "1e-30")],
)
def test_orders_of_any_size_are_found(rho: str, delta: str) -> None:
    """Delta at the epsilon of a delta is that delta again, also for a tiny rho."""
    epsilon = zcdp_epsilon(Fraction(rho), Fraction(delta))
    again = zcdp_delta(Fraction(rho), epsilon) / Fraction(delta)
    assert 1 - Fraction(1, 10**6) <= again <= 1


def answers(epsilon: Fraction, delta: Fraction, times: int) -> dict[Guarantee, int]:
    """`times` answers with the same loss."""
    return {Guarantee(Loss(epsilon, delta), epsilon**2 / 2, ()): times}


def test_strong_composition_of_many_small_losses() -> None:
    """700 answers of 2^-9 at an additional delta of 2^-25 (DPL)."""
    known = 0.27832280615743646366122002955588987576913442137093
    found = float(strong_composition(Counter({Fraction(1, 512): 700}), Fraction(1, 2**25)))
    assert known * (1 - FLOATS) <= found <= known * ABOVE


def test_the_optimal_bound_has_known_points() -> None:
    """Thirty answers of (1, 0.001) at 0.06 and 0.1 cost at most 22 and 20 (DPA)."""
    for delta, known in (("0.06", 22), ("0.1", 20)):
        bound = AdvancedComposition().bound(
            answers(Fraction(1), Fraction("0.001"), 30), Fraction(delta)
        )
        assert bound.name == "optimal for equal losses"
        assert known - 2 < bound.loss.epsilon <= known
    fifty = optimal_composition(Fraction(1, 4), 50, Fraction("0.01"))
    assert 5 * 0.95 < fifty <= 5
    for delta, times in (("0.1", 1), ("0.26", 30)):
        each = Fraction("0.2") if times == 1 else Fraction("0.01")
        refused = AdvancedComposition().bound(answers(Fraction(1), each, times), Fraction(delta))
        assert refused.name == "plain sum" and refused.loss.delta == times * each


def test_deltas_are_multiplied_where_their_sum_is_too_large() -> None:
    """Losses (1, 0.1) and (2, 0.2) are (3, 0.28) together, and no less."""
    both = answers(Fraction(1), Fraction("0.1"), 1) | answers(Fraction(2), Fraction("0.2"), 1)
    bound = AdvancedComposition().bound(both, Fraction("0.28"))
    assert bound.loss == Loss(Fraction(3), Fraction("0.28"))
    assert AdvancedComposition().bound(both, Fraction("0.2799")).loss.delta == Fraction("0.3")
    many = answers(Fraction(1, 8), Fraction("0.001"), 200)
    assert AdvancedComposition().bound(many, Fraction("0.1814")).loss.delta == Fraction("0.1814")
    assert AdvancedComposition().bound(many, Fraction("0.1813")).loss.delta == Fraction("0.2")


EQUAL = [
    ("0.1", 100, "1e-6"),
    ("1", 10, "1e-6"),
    ("0.5", 30, "1e-3"),
    ("2", 1, "1e-6"),
    ("0.1", 3, "0.5"),
    ("0.01", 2000, "1e-9"),
    ("20", 2, "1e-12"),
    ("1e-9", 7, "1e-12"),
    ("3", 5, "0.999"),
]


@pytest.mark.parametrize(("epsilon", "times", "delta"), EQUAL)
def test_the_optimal_bound_is_optimal(epsilon: str, times: int, delta: str) -> None:
    """The stated epsilon has the allowed delta, and a slightly smaller one does not (KOV)."""
    with mpmath.workdps(60):
        e, allowed = mpmath.mpf(epsilon), mpmath.mpf(delta)

        def delta_at(total: mpmath.mpf) -> mpmath.mpf:
            whole = (1 + mpmath.exp(e)) ** times
            terms = (
                comb(times, at) * (mpmath.exp((times - at) * e) - mpmath.exp(total + at * e))
                for at in range(times + 1)
                if (times - 2 * at) * e > total
            )
            return mpmath.fsum(terms) / whole

        found = optimal_composition(Fraction(epsilon), times, Fraction(delta))
        stated = mpmath.mpf(found.numerator) / found.denominator
        assert delta_at(stated) <= allowed
        if stated > 0:
            assert delta_at(stated * (1 - mpmath.mpf("1e-9"))) > allowed * (1 - mpmath.mpf("1e-6"))
            assert delta_at(stated / ABOVE) > allowed


FINE = 3_000_000
"""Steps to a change of one: a grid so fine that discrete noise is like continuous noise."""

CONTINUOUS = [  # epsilon, delta, sigma over L2: DPA for the first, BW for the others
    ("1", "0.78760074", 1 / 3),
    ("1", "1e-6", 4.2246788),
    ("10", "1e-6", 0.5410868),
    ("0.1", "1e-9", 50.2098183),
]


@pytest.mark.parametrize(("epsilon", "delta", "known"), CONTINUOUS)
def test_gaussian_calibration(epsilon: str, delta: str, known: float) -> None:
    """On a fine grid, the least sigma is that of continuous noise."""
    moved = Sensitivity(1, FINE, FINE**2, FINE)
    noise, _ = fitted(Gaussian(), moved, Loss(Fraction(epsilon), Fraction(delta)))
    assert known * (1 - 1e-6) <= float(noise.scale) / FINE <= known * ABOVE


DISCRETE = [  # sigma, epsilon: delta of discrete noise for a change of one, from its definition
    ("4.2246788", "1"),
    ("2.2304763", "2"),
    ("0.6", "8"),
    ("30", "0.1"),
]


@pytest.mark.parametrize(("sigma", "epsilon"), DISCRETE)
def test_discrete_gaussian_delta(sigma: str, epsilon: str) -> None:
    """Delta is the sum over all outputs of what exceeds exp(epsilon) (CKS, theorem 7)."""
    with mpmath.workdps(50):
        s, e = mpmath.mpf(sigma), mpmath.mpf(epsilon)
        places = range(-int(30 * s) - 30, int(30 * s) + 30)
        weight = {k: mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * s * s)) for k in places}
        total = mpmath.fsum(weight.values())
        known = (
            mpmath.fsum(
                max(weight[k] - mpmath.exp(e) * weight.get(k - 1, 0), 0)
                for k in places
                if k > min(places)
            )
            / total
        )
        found = cells_delta(Fraction(sigma), 1, 1, Fraction(epsilon))
        assert known <= mpmath.mpf(found.numerator) / found.denominator <= known * ABOVE


COMPOSED = [  # mechanism, scale over change, times, delta, epsilon: DPA
    ("gaussian", 10 / 6, 25, "0.78760074", 1.0, 0.001),
    ("laplace", 13.6, 20, "0.0001", 1.0, 0.01),
    ("laplace", 71.0, 500, "0.0001", 1.0, 0.01),
]


@pytest.mark.parametrize(("kind", "scale", "times", "delta", "known", "within"), COMPOSED)
def test_composed_losses(
    kind: str, scale: float, times: int, delta: str, known: float, within: float
) -> None:
    """Noise that the library calibrates to an epsilon has that epsilon in composition."""
    moved = Sensitivity(1, FINE, FINE**2, FINE)
    mechanism = Gaussian() if kind == "gaussian" else Laplace()
    noise = mechanism.distribution(Fraction(scale) * FINE)
    each = mechanism.guarantee(noise, moved, Loss(Fraction(20), Fraction(0)))
    found = float(PldComposition().bound({each: times}, Fraction(delta)).loss.epsilon)
    assert known * (1 - within) <= found <= known * (1 + max(within, 0.001))


def test_discrete_laplace_composed() -> None:
    """Twenty counts with noise exp(-0.073 |k|) are together (1, 0.0001)-private (DPA)."""
    moved = Sensitivity(1, 1, 1, 1)
    each = Laplace().guarantee(DiscreteLaplace(1 / Fraction("0.073")), moved, Loss(Fraction(20)))
    found = float(PldComposition().bound({each: 20}, Fraction("0.0001")).loss.epsilon)
    assert 0.98 <= found <= 1.02


def test_zcdp_is_close_to_pld_for_many_answers() -> None:
    """For 100 Laplace and 100 Gaussian answers of epsilon 0.1, zcdp is within 15% of pld."""
    from dpcli.privacy.accounting.zcdp import ZcdpComposition

    moved, each = Sensitivity(1, 1, 1, 1), {}
    for mechanism, delta in ((Laplace(), Fraction(0)), (Gaussian(), Fraction("1e-9"))):
        loss = Loss(Fraction("0.1"), delta)
        noise, _ = fitted(mechanism, moved, loss)
        each[mechanism.guarantee(noise, moved, loss)] = 100
    zcdp, pld = (
        rule.total(each, Fraction("1e-6")).epsilon for rule in (ZcdpComposition(), PldComposition())
    )
    assert pld <= zcdp <= pld * Fraction("1.15")
