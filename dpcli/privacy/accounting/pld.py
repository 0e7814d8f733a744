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
from dpcli.privacy.loss import DominatingPair, Loss

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

GRID_WIDTH = 0.03
"""Width of the grid of losses, relative to the loss of one of many answers.

It adds less than 0.1% to epsilon. For a few answers the grid is finer.
"""

POINTS = 1 << 17
"""Most points of the grid for the sum of all losses."""

SMALLEST_WIDTH = 1e-7
"""Least width of the grid: floats are not precise enough for a smaller one."""

MAX_PAIRS = 1000
"""Most different pairs composed as they are; more pairs are rounded to fewer."""

MAX_DOUBLED = 64
"""Most repetitions for which doubling is faster than `self_compose`."""

TRUNCATED_FROM, TAIL = 8, 1e-15
"""The last sums are long: a tail of this probability becomes an infinite loss."""

FLOAT_ERROR = Fraction(1, 10**13)
"""Relative error that sums of floats may have, in delta and in epsilon."""

FLOAT_ERROR_EACH = Fraction(3, 10**16)
"""Additional error per answer: that of a transform's power grows with the power."""


class PldComposition(Composition):
    """Composes the distributions of the losses themselves, on a fine grid.

    Each mechanism states pairs of distributions that dominate its answers; their losses are
    put on a grid, pessimistically (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022),
    and added by Fourier transforms, with the library dp-accounting, which the extra `pld`
    installs. The result is nearly exact, and never below the exact value except for
    errors of floating point, for which a part of delta is set aside.

    Privacy: pairs that dominate each answer dominate, as a product, all of them (Zhu, Dong
    and Wang 2022, theorem 10). The bounds of `zcdp` are used where they are smaller, or
    where losses are too small for floats.
    """

    name = "pld"
    takes_rho = True

    def bounds(self, guarantees: GuaranteeCounts, delta: Fraction) -> Iterator[Bound]:
        for bound in ZcdpComposition().bounds(guarantees, delta):
            yield Bound(Loss(bound.loss.epsilon, bound.loss.delta), bound.name)
        pairs: Counter[DominatingPair] = Counter()
        for guarantee, times in guarantees.items():
            for pair in guarantee.dominating_pairs:
                pairs[replace(pair, times=1)] += pair.times * times
        error = FLOAT_ERROR + FLOAT_ERROR_EACH * sum(pairs.values())
        left = (delta - total_failure_delta(guarantees)) * (1 - FLOAT_ERROR) - error
        if left <= 0 or not pairs:
            return
        epsilon = composed_epsilon(pairs, float(left))
        if epsilon is not None:
            yield Bound(Loss(epsilon, delta), "privacy loss distributions")


def composed_epsilon(pairs: Mapping[DominatingPair, int], delta: float) -> Fraction | None:
    """Epsilon of all pairs at `delta`; None if floats are not precise enough.

    Raises MissingDependencyError if dp-accounting is not installed.
    """
    try:
        from dp_accounting.pld.pld_pmf import DensePLDPmf
        from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
    except ImportError:
        raise MissingDependencyError(
            "`dp-accounting` (`pip install '.[pld]'` in the folder of dpcli's source)"
        ) from None
    from dpcli.privacy.loss import on_grid

    count = sum(pairs.values())
    variance = sum(times * pair.strength**2 for pair, times in pairs.items())
    relative = GRID_WIDTH if count > MAX_DOUBLED else GRID_WIDTH / 5
    width = max(relative * sqrt(variance / count), (20 * sqrt(variance) + variance) / POINTS)
    if not SMALLEST_WIDTH < width < 1:
        return None
    distributions = []
    for pair, times in (_fewer(pairs) if len(pairs) > MAX_PAIRS else pairs).items():
        lowest, probabilities, beyond = on_grid(pair, width)
        losses = DensePLDPmf(width, lowest, probabilities, beyond, True)
        distributions.append(_repeated(PrivacyLossDistribution(losses), times))
    # In a tree, so that sums stay short for as long as possible.
    while len(distributions) > 1:
        odd = [distributions.pop()] if len(distributions) % 2 else []
        # Truncation of short sums would take longer than it saves.
        cut = 0.0 if len(distributions) > TRUNCATED_FROM else TAIL
        pairwise = zip(distributions[::2], distributions[1::2], strict=True)
        distributions = [first.compose(second, cut) for first, second in pairwise] + odd
    epsilon = float(distributions[0].get_epsilon_for_delta(delta))
    if not 0 <= epsilon < 1e6:
        return None
    return short_up(Fraction(epsilon) * (1 + FLOAT_ERROR), 9)


def _repeated(single: PrivacyLossDistribution, times: int) -> PrivacyLossDistribution:
    """The distribution of `times` answers, doubled where faster than `self_compose`."""
    if times > MAX_DOUBLED:
        return single.self_compose(times)
    composed = single
    for digit in f"{times:b}"[1:]:
        composed = composed.compose(composed, 0.0)
        composed = composed.compose(single, 0.0) if digit == "1" else composed
    return composed


def _fewer(pairs: Mapping[DominatingPair, int]) -> Counter[DominatingPair]:
    """The pairs with rounded scales, so that equal ones are counted together.

    Scales of `ordered` pairs are rounded down by less than 1.6%, which never makes a loss smaller.
    """
    rounded: Counter[DominatingPair] = Counter()
    for pair, times in pairs.items():
        scale = round_down(pair.scale, 7) if pair.ordered else pair.scale
        rounded[replace(pair, scale=scale)] += times
    return rounded
