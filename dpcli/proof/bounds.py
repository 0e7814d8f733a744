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
from dpcli.proof.claims import mu_squared
from dpcli.proof.weights import gaussian_mu

DOUBT = 3.0
"""By how many deviations probabilities may be off that pilot draws show."""

LEVELS = 300
"""Thresholds that are tried for an event."""


@dataclass(frozen=True)
class Event:
    """Scores from `high` up, and down to `low`; the bound that is expected of it."""

    expected: float = -inf
    high: float = inf
    low: float = -inf

    @property
    def sides(self) -> int:
        """Whether it has one end or both."""
        return int(self.high < inf) + int(self.low > -inf)

    def counts(self, scores: Sequence[Floats]) -> tuple[int, int]:
        """How often its ends occur where they are more likely, and where less."""
        # A score that differs by rounding is the same.
        high, low = (end - sign * 1e-9 * max(1.0, abs(end)) if abs(end) < inf else end
                     for end, sign in ((self.high, 1), (self.low, -1)))  # fmt: skip
        one, other = scores
        likely = (other >= high).sum() + (one <= low).sum()
        return int(likely), int((one >= high).sum() + (other <= low).sum())


@dataclass(frozen=True)
class Claim:
    """What an entry claims, and how a bound of it follows from two probabilities.

    `value` allows for whole numbers, which distinguish neighbors slightly more than a mu says.
    """

    measure: str
    value: float
    delta: float
    risk: float

    def __str__(self) -> str:
        """The claim in a few words."""
        delta = f", delta {self.delta:.3g}" if self.delta else ""
        return f"{self.measure} {self.value:.4g}{delta}"

    @classmethod
    def of(cls, planned: PlannedStatistic, risk: float) -> Claim:
        """A mu if all noise is Gaussian and no group is selected, else epsilon and delta."""
        noisy = [part.calibrated for part in planned.queries if not part.is_exact]
        selects = any(one.partition_selection for one in noisy)
        if noisy and not selects and all(one.noise.kind == "gaussian" for one in noisy):
            squares = sum(map(mu_squared, noisy))
            finer = max(gaussian_mu(one.noise) for one in noisy)
            return cls("mu", sqrt(squares) * finer, 0.0, risk)
        epsilon, delta = (
            sum(one.loss.epsilon for one in noisy),
            sum(one.loss.delta for one in noisy),
        )
        return cls("epsilon", float(epsilon), float(delta), risk)

    def bound(self, event: Event, likely: int, rare: int, draws: int) -> Bound:
        """The bound from how often an event occurred in draws about each neighbor."""
        from scipy.special import betaincinv  # noqa: PLC0415 - slow to load

        trials, risk = draws * event.sides, self.risk / 2
        least = betaincinv(likely, trials - likely + 1, risk) if likely else 0.0
        most = betaincinv(rare + 1, trials - rare, 1 - risk) if rare < trials else 1.0
        return Bound(self, max(0.0, float(self._loss(np.array(least), np.array(most)))), draws)

    def _loss(self, least: Floats, most: Floats) -> Floats:
        """The loss if an event has `least` about one neighbor, `most` about the other."""
        from scipy.special import ndtri  # noqa: PLC0415 - slow to load

        with np.errstate(divide="ignore", invalid="ignore"):
            if self.measure == "mu":
                loss = ndtri(np.clip(least, 0, 1)) - ndtri(np.clip(most, 0, 1))
            else:
                loss = np.log(np.maximum(least - self.delta, 0) / most)
        return np.where(np.isnan(loss), -inf, loss)

    def best_event(self, scores: Sequence[Floats], draws: int) -> Event:
        """The event of scores from which the greatest bound is to expect of these draws.

        Expected bounds are those of Wilson 1927, which are close and fast.
        """
        from scipy.special import ndtri  # noqa: PLC0415 - slow to load

        every, count = np.concatenate(scores), len(scores[0])
        tried = np.unique(np.quantile(every, np.linspace(0, 1, LEVELS), method="nearest"))
        ordered = [np.sort(own) for own in scores]
        # The last one of each is the end that an event does not have.
        above = [
            1 - np.append(np.searchsorted(own, tried, "left"), count) / count for own in ordered
        ]
        below = [np.append(np.searchsorted(own, tried, "right"), 0) / count for own in ordered]
        has = np.append(np.ones(len(tried)), 0)
        sides = np.maximum(1, has[:, None] + has)
        least, most = (
            (high[:, None] + low) / sides for high, low in zip(above[::-1], below, strict=True)
        )
        # The best of many events is often one that was seen too often by chance.
        for trials, deviations in ((count, DOUBT), (draws, -float(ndtri(self.risk / 2)))):
            least = _wilson(least, trials * sides, -deviations)
            most = _wilson(most, trials * sides, deviations)
        loss = self._loss(least, most)
        high, low = divmod(int(loss.argmax()), len(has))
        ends = np.append(tried, inf)[high], np.append(tried, -inf)[low]
        return Event(float(loss.max()), *map(float, ends))


@dataclass(frozen=True)
class Bound:
    """What draws show: a lower bound of the measure of a claim."""

    claim: Claim
    shown: float
    draws: int

    @property
    def share(self) -> float:
        """The bound as a share of the claim."""
        return self.shown / self.claim.value if self.claim.value else 0.0

    @property
    def faults(self) -> list[str]:
        """What was shown that is more than is claimed."""
        if self.shown <= self.claim.value * (1 + 1e-9):
            return []
        least, claimed = f"{self.shown:.4g}", f"{self.claim.value:.4g}"
        return [f"outputs show that {self.claim.measure} is {least} or more, not {claimed}"]


def _wilson(share: Floats, draws: Floats, deviations: float) -> Floats:
    """The end of an interval of a probability, as many deviations from a share."""
    square = deviations**2 / draws
    root = np.sqrt(np.maximum(share * (1 - share), 0) / draws + square / (4 * draws))
    end: Floats = (share + square / 2 + deviations * root) / (1 + square)
    return end
