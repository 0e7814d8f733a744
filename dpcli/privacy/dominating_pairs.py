"""Dominating pairs of distributions, which are the hardest to distinguish."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, expm1, sqrt

from dpcli.numeric.arrays import Floats, np

SUMMED = 1000.0
"""Sigmas up to this are summed term by term, larger ones enclosed by integrals."""

FAR = 10.0
"""Standard deviations of the loss beyond which delta is below 1e-22."""


@dataclass(frozen=True, slots=True)
class DominatingPair(ABC):
    """Two distributions that are at least as distinguishable as any answers on neighbors.

    A dominating pair (Zhu, Dong and Wang 2022), `times` independent ones of it, for noise of this
    scale where an answer changes by `shift`. If it is `ordered`, less noise is easier to
    distinguish, at every epsilon.
    """

    scale: Fraction
    shift: int
    times: int = 1

    ordered = True

    def __hash__(self) -> int:
        """From whole numbers, as that of a guarantee."""
        return hash((type(self), self.scale.numerator, self.scale.denominator, self.shift))

    @property
    def strength(self) -> float:
        """The shift, counted in scales."""
        return float(self.shift / self.scale)

    @property
    def reach(self) -> float:
        """The greatest loss that matters."""
        return self.strength

    def profile(self, epsilons: Floats) -> Floats:
        """Delta at each epsilon, P[S] - exp(epsilon) Q[S] for the best set S."""
        size = np.abs(epsilons)
        delta = np.clip(self._deltas(size), 0.0, 1.0)
        # Pairs are symmetric: delta(-e) = 1 - exp(-e) (1 - delta(e)).
        found: Floats = np.where(epsilons >= 0, delta, 1 - np.exp(-size) * (1 - delta))
        return found

    @abstractmethod
    def _deltas(self, epsilons: Floats) -> Floats:
        """The same for epsilons that are not negative, rounding errors included."""


class RandomizedResponsePair(DominatingPair):
    """Randomized response, the worst of all with epsilon = shift/scale."""

    def _deltas(self, epsilons: Floats) -> Floats:
        """(exp(n) - exp(e)) / (exp(n) + 1) for the strength n."""
        falling = exp(-self.strength)
        found: Floats = -np.expm1(np.minimum(epsilons - self.strength, 0)) / (1 + falling)
        return found


class BoundedRangePair(DominatingPair):
    """The worst whose loss varies by shift/scale at most (Dong, Durfee and Rogers 2020)."""

    def _deltas(self, epsilons: Floats) -> Floats:
        """(exp(n/2) - exp(e/2))^2 / (exp(n) - 1): the worst place of the range at each epsilon.

        A loss of t or t - n has delta (e^n - e^t)(1 - e^(e-t))/(e^n - 1), most at t = (n + e)/2.
        """
        half = -np.expm1(np.minimum(epsilons - self.strength, 0) / 2)
        found: Floats = half**2 / -np.expm1(-self.strength)
        return found


class LaplacePair(DominatingPair):
    """Discrete Laplace noise, and the same shifted.

    It is ordered: noise of a greater scale is that of a smaller one and more, added.
    """

    def _deltas(self, epsilons: Floats) -> Floats:
        """P[Y <= k] - exp(e) P[Y <= k - v], with k the last place of a loss above e."""
        shift, scale = float(self.shift), float(self.scale)
        last = np.ceil((shift - epsilons * scale) / 2) - 1
        found = _laplace_below(last, scale) - np.exp(epsilons) * _laplace_below(last - shift, scale)
        return np.array(np.where(epsilons < shift / scale, found, 0.0))


class GaussianPair(DominatingPair):
    """Discrete Gaussian noise, and the same shifted.

    Of little scale it has deltas that cross: a threshold between two whole numbers can do better
    with a little more noise.
    """

    ordered = False

    @property
    def reach(self) -> float:
        """The greatest loss that matters, of all that there are."""
        return self.strength**2 / 2 + FAR * self.strength

    def _deltas(self, epsilons: Floats) -> Floats:
        """P[Y > e s^2/v - v/2] - exp(e) P[Y > e s^2/v + v/2] (Canonne, Kamath and Steinke 2020)."""
        shift, sigma = float(self.shift), float(self.scale)
        first = np.floor(epsilons * sigma**2 / shift - shift / 2) + 1
        tail = _summed_tail if sigma <= SUMMED else _wide_tail
        found: Floats = tail(first, sigma) - np.exp(epsilons) * tail(first + shift, sigma)
        return found


def on_grid(pair: DominatingPair, width: float) -> tuple[int, Floats, float]:
    """The losses of a pair on a grid: the lowest, their probabilities, and that of infinity.

    A pessimistic distribution with the same delta at every point of the grid, connected by
    straight lines in exp(epsilon) between (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022,
    algorithm 1).
    """
    most = ceil(pair.reach / width)
    points: Floats = np.arange(-most, most + 1).astype(np.float64) * width
    deltas = pair.profile(points)
    steps = np.diff(np.minimum.accumulate(deltas))
    found = np.empty_like(deltas)
    found[0] = 1 - deltas[0] + steps[0] / expm1(width)
    found[1:-1] = (steps[1:] - steps[:-1] * exp(width)) / expm1(width)
    found[-1] = steps[-1] / expm1(-width)
    return -most, np.maximum(found, 0.0), float(deltas[-1])


def _laplace_below(place: Floats, scale: float) -> Floats:
    ratio = exp(-1 / scale)
    tail = np.exp(-np.abs(np.where(place < 0, place, place + 1)) / scale) / (1 + ratio)
    return np.where(place < 0, tail, 1 - tail)


def _summed_tail(first: Floats, sigma: float) -> Floats:
    """P[Y >= first], the smallest terms summed first."""
    most = int(40 * sigma) + 2
    places = np.arange(-most, most + 1)
    sums = np.cumsum(np.exp(-(places[::-1] ** 2) / (2 * sigma**2)))[::-1]
    where = np.clip(first, -most, most).astype(np.int64) + most
    return np.where(first > most, 0.0, sums[where] / sums[0])


def _wide_tail(first: Floats, sigma: float) -> Floats:
    """P[Y >= first], by Euler and Maclaurin: the next term is below sigma^-4."""
    from scipy.special import erfc

    place = (first - 0.5) / sigma
    density = np.exp(-(place**2) / 2) / sqrt(2 * np.pi)
    found: Floats = erfc(place / sqrt(2)) / 2 - density * place / (24 * sigma**2)
    return found
