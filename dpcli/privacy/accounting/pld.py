"""Privacy loss distributions: numerically tight, by Google's `dp-accounting`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING

from dpcli.numeric.exact import short_up
from dpcli.numeric.interval_arithmetic import round_down
from dpcli.privacy.accounting.composition import (
    Bound,
    Composition,
    GuaranteeCounts,
    MissingDependencyError,
    total_failure_delta,
)
from dpcli.privacy.accounting.zcdp import ZcdpComposition
from dpcli.privacy.dominating_pairs import DominatingPair
from dpcli.privacy.loss import Loss

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

FINE = 0.03
"""Width of the grid of losses, in typical losses of one of many: costs under 0.1 %.

Of a few answers the grid is finer still.
"""

POINTS = 1 << 17
"""Points of the grid that the sum of all losses may take."""

SMALLEST_WIDTH = 1e-7
"""Below it, floats cannot distinguish neighboring losses well enough."""

MOST_PAIRS = 1000
"""Different pairs that are composed as they are; more are rounded to fewer."""

FEW = 64
"""Repetitions up to which doubling is fast."""

SMALL, TAIL = 8, 1e-15
"""So few sums are long: they lose tails of that probability to an infinite loss."""

FLOAT_ERROR = Fraction(1, 10**13)
"""Of delta, what sums of floats may get wrong, and of epsilon."""

FLOAT_ERROR_EACH = Fraction(3, 10**16)
"""More of it for each answer: the errors of powers of transforms grow with the power."""


class PldComposition(Composition):
    """Composes the distributions of the losses themselves, on a fine grid.

    Each mechanism states pairs of distributions that dominate its answers; their losses are
    put on a grid, pessimistically (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022),
    and added by Fourier transforms, with the library dp-accounting: `pip install
    'dpcli[pld]'`. The result is nearly exact, and never below the exact value except for
    errors of floating point, for which a part of delta is set aside.

    Privacy: pairs that dominate each answer dominate, as a product, all of them (Zhu, Dong
    and Wang 2022, theorem 10). The bounds of `zcdp` are used where they are smaller, or
    where losses are too small for floats.
    """

    name = "pld"
    takes_rho = True

    def bounds(self, answers: GuaranteeCounts, delta: Fraction) -> Iterator[Bound]:
        """Those of concentrated privacy without their rho, and the numeric one."""
        for bound in ZcdpComposition().bounds(answers, delta):
            yield Bound(Loss(bound.loss.epsilon, bound.loss.delta), bound.name)
        pairs: Counter[DominatingPair] = Counter()
        for guarantee, times in answers.items():
            for pair in guarantee.dominating_pairs:
                pairs[replace(pair, times=1)] += pair.times * times
        wrong = FLOAT_ERROR + FLOAT_ERROR_EACH * sum(pairs.values())
        left = (delta - total_failure_delta(answers)) * (1 - FLOAT_ERROR) - wrong
        if left <= 0 or not pairs:
            return
        epsilon = composed_epsilon(pairs, float(left))
        if epsilon is not None:
            yield Bound(Loss(epsilon, delta), "privacy loss distributions")


def composed_epsilon(pairs: Mapping[DominatingPair, int], delta: float) -> Fraction | None:
    """Epsilon of all pairs at `delta`; None where floats are not precise enough.

    `MissingDependencyError` without the library.
    """
    try:
        from dp_accounting.pld.pld_pmf import DensePLDPmf
        from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
    except ImportError:
        raise MissingDependencyError("`dp-accounting`: pip install 'dpcli[pld]'") from None
    from dpcli.privacy.dominating_pairs import on_grid

    count = sum(pairs.values())
    variance = sum(times * pair.strength**2 for pair, times in pairs.items())
    fine = FINE if count > FEW else FINE / 5
    width = max(fine * sqrt(variance / count), (20 * sqrt(variance) + variance) / POINTS)
    if not SMALLEST_WIDTH < width < 1:
        return None
    found = []
    for pair, times in (_fewer(pairs) if len(pairs) > MOST_PAIRS else pairs).items():
        lowest, probabilities, beyond = on_grid(pair, width)
        losses = DensePLDPmf(width, lowest, probabilities, beyond, True)
        found.append(_repeated(PrivacyLossDistribution(losses), times))
    # In pairs, so that sums stay short for as long as possible.
    while len(found) > 1:
        odd = [found.pop()] if len(found) % 2 else []
        # To look for tails that could be cut off takes longer than to carry small ones along.
        cut = 0.0 if len(found) > SMALL else TAIL
        pairwise = zip(found[::2], found[1::2], strict=True)
        found = [one.compose(two, cut) for one, two in pairwise] + odd
    epsilon = float(found[0].get_epsilon_for_delta(delta))
    if not 0 <= epsilon < 1e6:
        return None
    return short_up(Fraction(epsilon) * (1 + FLOAT_ERROR), 9)


def _repeated(one: PrivacyLossDistribution, times: int) -> PrivacyLossDistribution:
    """The same answered `times` times; doubling is faster than its own method for a few."""
    if times > FEW:
        return one.self_compose(times)
    whole = one
    for digit in f"{times:b}"[1:]:
        whole = whole.compose(whole, 0.0)
        whole = whole.compose(one, 0.0) if digit == "1" else whole
    return whole


def _fewer(pairs: Mapping[DominatingPair, int]) -> Counter[DominatingPair]:
    """Pairs with less noise, by under 1.6 %, where that is at least as distinguishable."""
    rounded: Counter[DominatingPair] = Counter()
    for pair, times in pairs.items():
        scale = round_down(pair.scale, 7) if pair.ordered else pair.scale
        rounded[replace(pair, scale=scale)] += times
    return rounded
