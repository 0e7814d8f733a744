"""The rule that chooses bounds of a grid: a pure function of noisy counts.

A grid depends on the spec alone: its kind, the step of the column, and the outermost bounds.

Privacy: the counts are noisy before the rule sees them, so that the choice is post-processing
(Dwork and Roth 2014, proposition 2.1). It reads nothing else that depends on a record.

The idea is that of the approximate bounds of Google's libraries (Wilson, Zhang, Lam, Desfontaines,
Simmons-Marengo and Gipson 2020): take the outermost bin that rises above the noise. A bin is clear
if its count exceeds a threshold that noise alone exceeds, in any bin, with a probability of at most
FALSE_ALARM. Neighboring bins can be clear by their sum. Bins beyond the outermost clear one are
accepted if their counts rise above the noise. The further out a bin lies, the more rows it needs,
because a bound that is too wide costs noise in proportion to the distance. Beyond the last of them,
`best_position` goes on as far as counts that noise hides are likely enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import comb, exp, factorial

from dpcli.data.candidate_bounds import GridKind
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.kinds import Axis
from dpcli.noise.distribution import Noise, one_sided_width
from dpcli.numeric.arrays import Floats, np
from dpcli.numeric.search import search_min
from dpcli.problems.light_dataclasses import dataclass


@dataclass(frozen=True)
class BoundsGrid:
    """Candidate bounds of a `column`, in its steps, within its outermost bounds.

    Those above zero are for the upper bound, and those below zero for the lower one. A side without
    candidates keeps its outermost bound.

    >>> from dpcli.data.candidate_bounds import GRID_KINDS
    >>> column = IntegerColumn("amount", bounds=(-10, 50))
    >>> grid = BoundsGrid(column, GRID_KINDS[0])
    >>> grid.above, grid.below
    ((1, 2, 5, 10, 20, 50), (-1, -2, -5, -10))
    >>> grid.axis.starts
    (-10, -5, -2, -1, 0, 2, 3, 6, 11, 21)
    """

    column: NumericColumn
    kind: GridKind

    @cached_property
    def above(self) -> tuple[int, ...]:
        """Candidates of the upper bound, from zero outward; empty if it is not positive."""
        low, high = self.column.limits
        return (*self._between(max(low, 0), high), high) if high > 0 else ()

    @cached_property
    def below(self) -> tuple[int, ...]:
        """Candidates of the lower bound, from zero outward; empty if it is not negative."""
        low, high = self.column.limits
        candidates = self._between(max(-high, 0), -low) if low < 0 else ()
        return (*(-candidate for candidate in candidates), low) if low < 0 else ()

    @cached_property
    def axis(self) -> Axis:
        """The bins: bin k has the values between candidates k - 1 and k of a side."""
        low = self.column.lower
        inner = (
            (max(low, 0), *(candidate + 1 for candidate in self.above[:-1])) if self.above else ()
        )
        return Axis(self.column, (*reversed(self.below), *inner))

    @property
    def bins(self) -> list[tuple[int, int]]:
        """The least and the greatest value of each bin, in steps."""
        starts = list(self.axis.starts)
        ends = [*(start - 1 for start in starts[1:]), self.column.upper]
        return list(zip(starts, ends, strict=True))

    def _between(self, low: int, high: int) -> tuple[int, ...]:
        """The positive candidates between two numbers of steps, both excluded."""
        return tuple(candidate for candidate in self._multiples(high) if low < candidate < high)

    def _multiples(self, farthest: int) -> Iterator[int]:
        """The positive candidates in whole steps, up to `farthest` or just beyond."""
        step, power = self.column.step, Fraction(1)
        while power > step:
            power /= self.kind.base
        while power <= farthest * step:
            for first in self.kind.firsts:
                steps = first * power / step
                if steps.denominator == 1:
                    yield steps.numerator
            power *= self.kind.base


FALSE_ALARM = 1e-3
"""Greatest probability that noise alone, in any bin or bins, exceeds a threshold."""

WINDOW = 4
"""The most neighboring counts that can be clear by their sum if no count is."""


def sum_width(scale: Fraction, terms: int, outside: float) -> int:
    """The least whole width that a sum of noises reaches with `outside` probability.

    The sum has `terms` independent continuous Laplace noises of this scale. The probability is
    one-sided, and at most `outside`.
    """
    return search_min(lambda width: _sum_tail(terms, width / float(scale)) <= outside, -1, 1)


def _sum_tail(terms: int, value: float) -> float:
    """P[S >= value] for the sum S of `terms` Laplace variables of scale one.

    Each is an exponential variable with a random sign. Let j of them be positive. They sum to more
    than `value` and all others if fewer than j events of a Poisson process of rate one occur in a
    time of that length. The number of events after `value` has a negative binomial distribution.
    """
    value, total = max(value, 0.0), 0.0
    for positive in range(1, terms + 1):
        negative, inside = terms - positive, 0.0
        for early in range(positive):
            before = exp(-value) * value**early / factorial(early)
            inside += before * sum(_late(negative, late) for late in range(positive - early))
        total += comb(terms, positive) / 2**terms * inside
    return total


def _late(negative: int, late: int) -> float:
    """P[N = `late`] for the Poisson events N in `negative` exponential times."""
    return comb(negative + late - 1, late) / 2 ** (negative + late) if negative else float(not late)


@dataclass(frozen=True, slots=True)
class BoundsRule:
    """The rule that chooses the bounds of one column from noisy counts of its bins.

    `scale` is the scale of the noise in each bin. A sum of n neighboring counts is clear if it
    exceeds `thresholds[n - 1]`. At least the share `coverage` of the accepted counts lies within
    the bounds. The squared clamping bias is weighed by `clamping_weight`^2, the noise variance by
    one.
    """

    grid: BoundsGrid
    scale: Fraction
    thresholds: tuple[int, ...]
    coverage: Fraction = Fraction(1)
    clamping_weight: float = 1.0

    @classmethod
    def of(
        cls, noise: Noise, grid: BoundsGrid, coverage: Fraction, clamping_weight: float
    ) -> BoundsRule:
        """The rule for the bins of a grid with this noise."""
        outside = FALSE_ALARM / len(grid.axis) / WINDOW
        more = (sum_width(noise.scale, terms, outside) for terms in range(2, WINDOW + 1))
        return cls(
            grid, noise.scale, (one_sided_width(noise, outside), *more), coverage, clamping_weight
        )

    @property
    def threshold(self) -> int:
        """The threshold for a single count."""
        return self.thresholds[0]

    def choose(
        self, below: Sequence[int], above: Sequence[int]
    ) -> tuple[int | None, int | None] | None:
        """The position of the chosen candidate on each side; None if no bin is clear.

        Noisy counts are given from zero outward. The position of a side is None if none of its bins
        is accepted; the bound of this side is then zero if the side has candidates.

        >>> from dpcli.data.number_columns import IntegerColumn
        >>> from dpcli.data.candidate_bounds import GRID_KINDS
        >>> column = IntegerColumn("amount", bounds=(0, 50))
        >>> rule = BoundsRule(BoundsGrid(column, GRID_KINDS[0]), Fraction(10), (90, 120))
        >>> rule.choose([], [400, 500, 40, 4, -8, 22]), rule.choose([], [12, -7, 3, 0, 0, 0])
        ((None, 2), None)
        """
        candidates = ([-candidate for candidate in self.grid.below], self.grid.above)
        positions = [
            self._bound_position(*side) for side in zip((below, above), candidates, strict=True)
        ]
        if positions == [None, None]:
            return None
        accepted = [
            [max(count, 0) for count in counts[: position + 1]] if position is not None else []
            for counts, position in zip((below, above), positions, strict=True)
        ]
        sides = sum(bool(counts) for counts in (below, above))
        excluded_rows = (1 - self.coverage) * sum(map(sum, accepted)) / sides
        lower, upper = (self._covering(counts, excluded_rows) for counts in accepted)
        return lower, upper

    def _bound_position(self, counts: Sequence[int], candidates: Sequence[int]) -> int | None:
        """The position of the bound among candidates of one side; None if none is clear."""
        position = max(self._clear(counts), default=None)
        if position is None:
            return None
        while True:
            beyond = range(position + 1, len(counts))
            rising = [at for at in beyond if self._rises(counts, at, position)]
            if not rising:
                break
            position = rising[-1]
        ratio = self.grid.kind.ratio
        return best_position(
            counts, candidates, position, float(self.scale), ratio, self.clamping_weight
        )

    def _clear(self, counts: Sequence[int]) -> Iterator[int]:
        """The position of each clear count, and one for each clear sum of other counts.

        For a sum, it is the outermost position whose count rises above the noise, else the last.
        """
        for terms, threshold in enumerate(self.thresholds, 1):
            for end in range(terms, len(counts) + 1):
                window = counts[end - terms : end]
                clear_alone = max(window) > self.threshold
                if sum(window) > threshold and clear_alone == (terms == 1):
                    inside = range(end - terms, end)
                    rising = (
                        position
                        for position in inside
                        if self._rises(counts, position, position - 1)
                    )
                    yield max(rising, default=end - 1)

    def _rises(self, counts: Sequence[int], at: int, last: int) -> bool:
        """Whether the count at `at` is accepted; `last` is the last accepted one.

        It must exceed `decay` scales of noise for each position beyond `last`, or else the
        threshold.
        """
        min_count = self.grid.kind.decay * self.scale * (at - last)
        return counts[at] > min(min_count, Fraction(self.threshold))

    @staticmethod
    def _covering(counts: Sequence[int], excluded_rows: Fraction) -> int | None:
        """The innermost position beyond which counts sum to at most `excluded_rows`.

        It is the last position if this is zero, and None without counts.
        """
        position, left = len(counts) - 1, excluded_rows
        while excluded_rows and position > 0 and counts[position] <= left:
            left -= counts[position]
            position -= 1
        return position if counts else None


BEFORE, BEYOND = 3, 4
"""Numbers of counts before and beyond the last accepted one that a tail must fit."""

SLOPES = tuple(third / 3 for third in range(-21, 4))
"""Slopes of tails: doublings of density per candidate at the last accepted bin."""

CURVATURES = (0.0, -1 / 8, -1 / 4, -1 / 2, -1.0, -2.0, -4.0)
"""Curvatures of tails: change of slope per candidate; zero for a power law."""

ENDING = 0.5
"""The probability, before any count is seen, that a tail ends at a bin."""

INACCURACY = 1 / 20
"""The share of an expected count by which a tail may be wrong, besides noise."""

INNER = 4 / 3
"""The mean value in a bin over the inner end of the bin, for declining tails."""

RISE = 2
"""A last accepted count above this multiple of the one before shows no decline."""

EPSILON_RATIO = 9
"""The epsilon of a sum over that of a choice, if the choice gets a tenth of both."""


def best_position(
    counts: Sequence[int],
    candidates: Sequence[int],
    last: int,
    scale: float,
    ratio: float,
    clamping_weight: float = 1.0,
) -> int:
    """The position of the candidate with the least expected error, from `last` on.

    `last` is the last accepted position. Noisy counts, and the distances of candidates from zero,
    are given from zero outward. `scale` is the scale of the noise, `ratio` the average ratio of
    neighboring candidates. `clamping_weight` is as in `BoundsRule`.

    >>> candidates = [1, 2, 4, 8, 16, 32, 64]
    >>> best_position([4000, 2000, 1000, 500, 0, 0, 0], candidates, 3, 10.0, 2.0)
    3
    >>> best_position([4000, 2000, 1000, 500, 250, 125, 63], candidates, 3, 10.0, 2.0)
    6
    """
    first, end = max(last - BEFORE, 0), min(last + BEYOND + 1, len(counts))
    if last == 0 or last + 1 == len(counts):
        return last
    at = last - first
    outer = np.array(candidates[first:end], np.float64)
    inner = np.array([0, *candidates][first:end], np.float64)
    noisy = np.array(counts[first:end], np.float64) / scale
    if noisy[at] > RISE * max(noisy[at - 1], 1):
        return last
    tails, ends = _tails(outer, np.maximum(inner, candidates[0] / ratio), noisy, at, ratio)
    inaccuracy = 1 + INACCURACY * tails
    agreement = -(np.abs(noisy - tails) / inaccuracy + np.log(inaccuracy)).sum(axis=1)
    agreement += ends * np.log(1 - ENDING)
    weights = np.exp(agreement - agreement.max())
    # By how much clamping to each candidate changes an average value of each bin.
    clamped = np.maximum(np.minimum(INNER * inner, outer) - outer[:, None], 0)
    squared_bias = weights / weights.sum() @ (tails @ clamped.T) ** 2
    noise_variance = 2 * (outer / EPSILON_RATIO) ** 2
    return last + int(np.argmin((clamping_weight**2 * squared_bias + noise_variance)[at:]))


def _tails(
    outer: Floats, inner: Floats, noisy: Floats, at: int, ratio: float
) -> tuple[Floats, Floats]:
    """The counts that each possible tail gives to the bins, and where each tail ends.

    A tail is a density of rows with one of the `SLOPES` and `CURVATURES`, which ends 0, 1, 2 or
    more bins after the bin `at`. Counts have the shape (tails, bins), in units of the noise scale.
    In the bin before `at`, every tail has the noisy count, but at least one.
    """
    width = np.log(outer / inner) / np.log(ratio)
    middle = np.log(outer * inner) / np.log(ratio) / 2
    further = len(outer) - at
    slope, curvature, ends = np.array(list(product(SLOPES, CURVATURES, range(further)))).T
    distance = middle - middle[at - 1]
    bend = distance * (distance - distance[at]) / 2
    density = 2 ** (np.outer(slope, distance) + np.outer(curvature, bend))
    tails = max(noisy[at - 1], 1.0) / width[at - 1] * width * density
    return np.where(np.arange(len(outer)) - at <= ends[:, None], tails, 0.0), ends
