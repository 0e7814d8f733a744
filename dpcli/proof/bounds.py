"""Lower bounds of a loss, from how often an event occurs about two neighbors.

The event is of scores: from some score up, which the second neighbor has more often, or down to
another, which the first one has more often, or both. Of both, the counts are added: what holds for
either holds for the means of their probabilities, too. Two-sided bounds (Clopper and Pearson 1934)
of these means then bound epsilon from below; the number of times is at least as concentrated as if
both probabilities were the same (Hoeffding 1956). For Gaussian noise they bound mu: how far apart
the means of two normal distributions with the same trade-off of errors are (Dong, Roth and Su
2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

from dpcli.numeric.arrays import Floats, np
from dpcli.planning.plan import PlannedStatistic
from dpcli.proof.weights import gaussian_mu

DOUBT = 3.0
"""By how many deviations probabilities may be off that pilot draws show."""

LEVELS = 300
"""Thresholds that are tried for an event."""


@dataclass(frozen=True)
class Bound:
    """What draws show: a lower bound of `measure`, next to what is claimed.

    `claimed` allows for whole numbers, which distinguish neighbors slightly more than a mu says.
    """

    measure: str
    claimed: float
    delta: float
    bound: float
    draws: int

    @property
    def faults(self) -> list[str]:
        """What was shown that is more than is claimed."""
        if self.bound <= self.claimed * (1 + 1e-9):
            return []
        least, claimed = f"{self.bound:.4g}", f"{self.claimed:.4g}"
        return [f"outputs show that {self.measure} is {least} or more, not {claimed}"]

    @property
    def share(self) -> float:
        """The bound as a share of the claim."""
        return self.bound / self.claimed if self.claimed else 0.0


@dataclass(frozen=True)
class Event:
    """Scores from `high` up, and down to `low`; the bound that is expected of it."""

    expected: float = 0.0
    high: float = inf
    low: float = -inf

    @property
    def sides(self) -> int:
        """Whether it has one end or both."""
        return int(self.high < inf) + int(self.low > -inf)

    def counts(self, scores: Sequence[Floats]) -> tuple[int, int]:
        """How often either end occurs about the neighbor that has it more often, and less."""
        # A score that differs by rounding is the same.
        high, low = (end - sign * 1e-9 * max(1.0, abs(end)) if abs(end) < inf else end
                     for end, sign in ((self.high, 1), (self.low, -1)))  # fmt: skip
        one, other = scores
        likely = (other >= high).sum() + (one <= low).sum()
        return int(likely), int((one >= high).sum() + (other <= low).sum())


@dataclass(frozen=True)
class Claim:
    """What an entry claims, and how a bound of it follows from two probabilities."""

    measure: str
    value: float
    delta: float
    risk: float

    @classmethod
    def of(cls, planned: PlannedStatistic, risk: float) -> Claim:
        """A mu if all noise is Gaussian and no group is selected, else epsilon and delta."""
        noisy = [part.calibrated for part in planned.queries if not part.is_exact]
        selects = any(one.partition_selection for one in noisy)
        if noisy and not selects and all(one.noise.kind == "gaussian" for one in noisy):
            squares = sum(one.sensitivity.l2_squared / one.noise.scale**2 for one in noisy)
            finer = max(gaussian_mu(one.noise) for one in noisy)
            return cls("mu", sqrt(squares) * finer, 0.0, risk)
        epsilon, delta = (float(sum(losses)) for losses in (
            [one.loss.epsilon for one in noisy], [one.loss.delta for one in noisy]))  # fmt: skip
        return cls("epsilon", epsilon, delta, risk)

    def bound(self, likely: int, rare: int, draws: int) -> float:
        """The bound from how often an event occurred about either neighbor."""
        from scipy.special import betaincinv  # noqa: PLC0415 - slow to load

        least = betaincinv(likely, draws - likely + 1, self.risk / 2) if likely else 0.0
        most = betaincinv(rare + 1, draws - rare, 1 - self.risk / 2) if rare < draws else 1.0
        return float(self._loss(np.array([least]), np.array([most]))[0])

    def _loss(self, least: Floats, most: Floats) -> Floats:
        """The least loss with which an event has at least one probability, and at most another."""
        from scipy.special import ndtri  # noqa: PLC0415 - slow to load

        with np.errstate(divide="ignore", invalid="ignore"):
            if self.measure == "mu":
                loss = ndtri(np.clip(least, 0, 1)) - ndtri(np.clip(most, 0, 1))
            else:
                loss = np.log(np.maximum(least - self.delta, 0) / most)
        return np.where(np.isfinite(loss), np.maximum(loss, 0), 0.0)

    def best_event(self, scores: Sequence[Floats], draws: int) -> Event:
        """The event of scores from which the greatest bound is to expect of these draws.

        Expected bounds are those of Wilson 1927, which are close and fast.
        """
        every, count = np.concatenate(scores), len(scores[0])
        tried = np.unique(np.quantile(every, np.linspace(0, 1, LEVELS), method="nearest"))
        ordered = [np.sort(own) for own in scores]
        above = [1 - np.searchsorted(own, tried, "left") / count for own in ordered]
        below = [np.searchsorted(own, tried, "right") / count for own in ordered]
        likely, rare = (
            (high[:, None] + low) / 2 for high, low in zip(above[::-1], below, strict=True)
        )
        both, at = self._best(likely.ravel(), rare.ravel(), 2 * count, 2 * draws)
        high, high_at = self._best(above[1], above[0], count, draws)
        low, low_at = self._best(below[0], below[1], count, draws)
        ends = [float(tried[index]) for index in (*divmod(at, len(tried)), high_at, low_at)]
        events = Event(both, *ends[:2]), Event(high, ends[2]), Event(low, low=ends[3])
        return max(events, key=lambda event: event.expected)

    def _best(self, likely: Floats, rare: Floats, count: int, draws: int) -> tuple[float, int]:
        """The greatest bound to expect of events with these shares of some pilot draws."""
        from scipy.special import ndtri  # noqa: PLC0415 - slow to load

        # The best of many events is often one that was seen too often by chance.
        doubted = _wilson(likely, count, -DOUBT), _wilson(rare, count, DOUBT)
        deviations = -float(ndtri(self.risk / 2))
        least, most = (_wilson(share, draws, sign * deviations)
                       for share, sign in zip(doubted, (-1, 1), strict=True))  # fmt: skip
        loss = self._loss(least, most)
        at = int(loss.argmax())
        return float(loss[at]), at


def _wilson(share: Floats, draws: int, deviations: float) -> Floats:
    """The end of an interval of a probability, as many deviations from a share."""
    square = deviations**2 / draws
    root = np.sqrt(np.maximum(share * (1 - share), 0) / draws + square / (4 * draws))
    end: Floats = (share + square / 2 + deviations * root) / (1 + square)
    return end
