"""Privacy loss distributions: numerically tight, by Google's `dp-accounting`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial, reduce
from math import exp, expm1, sqrt
from typing import TYPE_CHECKING

from dpcli.numeric.arrays import np
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
from dpcli.privacy.loss import MAX_DEVIATIONS, DominatingPair, Loss, Pair, WorstPair, on_grid

if TYPE_CHECKING:
    from dp_accounting.pld.pld_pmf import DensePLDPmf

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

LARGEST_LOSS = 700.0
"""Floats have exp of losses up to this one."""

WORST_ERROR = 1e-10
"""Relative error that sums along the grid may have."""


class PldComposition(Composition):
    """Composes the distributions of the losses themselves, on a fine grid.

    Each mechanism states pairs of distributions that dominate its answers; their losses are
    put on a grid, pessimistically (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022),
    and added by Fourier transforms, with the library dp-accounting, which the extra `pld`
    installs. The result is nearly exact, and never below the exact value except for
    errors of floating point, for which a part of delta is set aside.

    Privacy: pairs that dominate each answer dominate, as a product, all of them (Zhu, Dong
    and Wang 2022, theorem 10). For answers about disjoint parts, the pair has the greatest
    delta of all parts at each epsilon. The bounds of `zcdp` are used where they are smaller,
    or where losses are too small or too large for floats.
    """

    name = "pld"
    takes_rho = True

    def bounds(self, guarantees: GuaranteeCounts, delta: Fraction) -> Iterator[Bound]:
        for bound in ZcdpComposition().bounds(guarantees, delta):
            yield Bound(Loss(bound.loss.epsilon, bound.loss.delta), bound.name)
        pairs = pair_counts(
            replace(pair, times=pair.times * times)
            for guarantee, times in guarantees.items()
            for pair in guarantee.dominating_pairs
        )
        answers = sum(times * pair.answers for pair, times in pairs.items())
        error = FLOAT_ERROR + FLOAT_ERROR_EACH * answers
        left = (delta - total_failure_delta(guarantees)) * (1 - FLOAT_ERROR) - error
        if left <= 0 or not pairs:
            return
        epsilon = composed_epsilon(pairs, float(left))
        if epsilon is not None:
            yield Bound(Loss(epsilon, delta), "privacy loss distributions")


def composed_epsilon(pairs: Mapping[Pair, int], delta: float) -> Fraction | None:
    """Epsilon of all pairs at `delta`; None if floats are not precise enough.

    Raises MissingDependencyError if dp-accounting is not installed.
    """
    try:
        import dp_accounting.pld.pld_pmf  # noqa: F401 - imported here to refuse early
    except ImportError:
        raise MissingDependencyError(
            "`dp-accounting` (`pip install '.[pld]'` in the folder of dpcli's source)"
        ) from None
    count = sum(times * pair.answers for pair, times in pairs.items())
    variance = sum(times * pair.strength**2 for pair, times in pairs.items())
    relative = GRID_WIDTH if count > MAX_DOUBLED else GRID_WIDTH / 5
    width = max(relative * sqrt(variance / count), (20 * sqrt(variance) + variance) / POINTS)
    largest = variance / 2 + MAX_DEVIATIONS * sqrt(variance)
    if not SMALLEST_WIDTH < width < 1 or largest > LARGEST_LOSS:
        return None
    composed = _composed(_fewer(pairs) if len(pairs) > MAX_PAIRS else pairs, width)
    epsilon = float(composed.get_epsilon_for_delta(delta))
    if not 0 <= epsilon < 1e6:
        return None
    return short_up(Fraction(epsilon) * (1 + FLOAT_ERROR), 9)


def _composed(pairs: Mapping[Pair, int], width: float) -> DensePLDPmf:
    """The distribution of the loss of all pairs together."""
    distributions = [_repeated(_distribution(pair, width), times) for pair, times in pairs.items()]
    # In a tree, so that sums stay short for as long as possible.
    while len(distributions) > 1:
        odd = [distributions.pop()] if len(distributions) % 2 else []
        # Truncation of short sums would take longer than it saves.
        cut = 0.0 if len(distributions) > TRUNCATED_FROM else TAIL
        pairwise = zip(distributions[::2], distributions[1::2], strict=True)
        distributions = [first.compose(second, cut) for first, second in pairwise] + odd
    return distributions[0]


def _distribution(pair: Pair, width: float) -> DensePLDPmf:
    """The distribution of the loss of one pair."""
    from dp_accounting.pld.pld_pmf import DensePLDPmf

    if isinstance(pair, WorstPair):
        products = (_composed(pair_counts(product), width) for product in pair.products)
        return reduce(partial(_worse, width), products)
    return DensePLDPmf(width, *on_grid(pair, width), True)


def _worse(width: float, first: DensePLDPmf, second: DensePLDPmf) -> DensePLDPmf:
    """The distribution with the greater delta of two at each point of the grid.

    Delta of a distribution is linear in exp(epsilon) between two points, and its slope is the
    probability of greater losses under the other dataset. Between two points where different
    distributions have the greater delta, the slope is between theirs. Probabilities are
    differences of slopes. From the greatest loss on down, all sums have positive terms.
    """
    from scipy.signal import lfilter

    parts = [(part._lower_loss, part._probs, part._infinity_mass) for part in (first, second)]  # noqa: SLF001 - have no public name
    low = min(lowest for lowest, _, _ in parts)
    high = max(lowest + len(probabilities) for lowest, probabilities, _ in parts)
    falling = exp(-width)
    # At each point from the greatest loss to one below the least.
    deltas, slopes = np.zeros((2, 2, high - low + 1))
    for delta, slope, (lowest, probabilities, beyond) in zip(deltas, slopes, parts, strict=True):
        falls = np.zeros(high - low)
        start = high - lowest - len(probabilities)
        falls[start : high - lowest] = np.maximum(probabilities[::-1], 0.0)
        # Slopes are multiplied by exp(epsilon) of the lower point.
        slope[1:] = lfilter([falling], [1.0, -falling], falls)
        delta[:] = beyond
        delta[1:] += lfilter([-expm1(-width)], [1.0, -falling], np.cumsum(falls))
    of_second, greater = deltas[1] > deltas[0], np.maximum(*deltas)
    changes = of_second[1:] != of_second[:-1]
    slope = np.where(of_second, slopes[1], slopes[0])[1:]
    between = np.clip(np.diff(greater) / expm1(width), *np.sort(slopes[:, 1:], axis=0))
    slope = np.where(changes, between, slope)
    steps = slope * exp(width) - np.concatenate([[0.0], slope[:-1]])
    probabilities = np.maximum(steps, 0.0)[::-1] * (1 + WORST_ERROR)
    return type(first)(width, low, probabilities, float(greater[0]), True)


def _repeated(single: DensePLDPmf, times: int) -> DensePLDPmf:
    """The distribution of `times` answers, doubled where faster than `self_compose`."""
    if times > MAX_DOUBLED:
        return single.self_compose(times)
    composed = single
    for digit in f"{times:b}"[1:]:
        composed = composed.compose(composed, 0.0)
        composed = composed.compose(single, 0.0) if digit == "1" else composed
    return composed


def pair_counts(pairs: Iterable[Pair]) -> Counter[Pair]:
    """How often each pair occurs."""
    counts: Counter[Pair] = Counter()
    for pair in pairs:
        counts[replace(pair, times=1)] += pair.times
    return counts


def _fewer(pairs: Mapping[Pair, int]) -> Counter[Pair]:
    """The pairs with rounded scales, so that equal ones are counted together.

    Scales of `ordered` pairs are rounded down by less than 1.6%, which never makes a loss smaller.
    """
    rounded: Counter[Pair] = Counter()
    for pair, times in pairs.items():
        if isinstance(pair, DominatingPair) and pair.ordered:
            rounded[replace(pair, scale=round_down(pair.scale, 7))] += times
        else:
            rounded[pair] += times
    return rounded
