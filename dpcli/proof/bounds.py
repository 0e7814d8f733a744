"""What entries claim: checks by formulas, and bounds of what outputs reveal.

The formulas recompute from scales, sensitivities and thresholds alone whether noise is enough. The
bounds follow from how often an event of scores occurs about two neighbors: those from one score up,
which the second neighbor has more often, or down to another, which the first has more often, or
both. Of both, the counts are added: what holds for either holds for the means of their
probabilities, too. Two-sided bounds (Clopper and Pearson 1934) of these means then bound epsilon
from below; the number of times is at least as concentrated as if both probabilities were the same
(Hoeffding 1956). For Gaussian noise they bound mu: how far apart the means of two normal
distributions with the same trade-off of errors are (Dong, Roth and Su 2022).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from fractions import Fraction
from math import inf, sqrt

from dpcli.mechanisms.calibrated_mechanism import CalibratedMechanism
from dpcli.numeric.arrays import Floats, np
from dpcli.planning.plan import PlannedStatistic
from dpcli.proof.verify import Sens, gaussian_holds
from dpcli.proof.weights import gaussian_mu, tail_of

DOUBT = 3.0
"""By how many deviations probabilities may be off that pilot draws show."""

LEVELS = 300
"""Thresholds that are tried for an event."""

SLACK = Fraction(1, 10**6)
"""More than the relative error of floats."""


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
        one, other = scores
        likely = (other >= self.high).sum() + (one <= self.low).sum()
        return int(likely), int((one >= self.high).sum() + (other <= self.low).sum())


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
        losses = [one.loss for one in noisy]
        epsilon, delta = sum(one.epsilon for one in losses), sum(one.delta for one in losses)
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

        count, levels = len(scores[0]), np.linspace(0, 1, LEVELS)
        found = np.quantile(np.concatenate(scores), levels, method="nearest")
        tried = np.unique([-inf, *found, inf])  # An event does not have an end that is infinite.
        ordered = [np.sort(own) for own in scores]
        above = [1 - np.searchsorted(own, tried, "left") / count for own in ordered]
        below = [np.searchsorted(own, tried, "right") / count for own in ordered]
        sides = np.maximum(1, np.add.outer(1 * (tried < inf), 1 * (tried > -inf)))
        least, most = (
            np.add.outer(high, low) / sides for high, low in zip(above[::-1], below, strict=True)
        )
        # The best of many events is often one that was seen too often by chance.
        for trials, deviations in ((count, DOUBT), (draws, -float(ndtri(self.risk / 2)))):
            least = _wilson(least, trials * sides, -deviations)
            most = _wilson(most, trials * sides, deviations)
        loss = self._loss(least, most)
        high, low = divmod(int(loss.argmax()), len(tried))
        return Event(float(loss.max()), float(tried[high]), float(tried[low]))


@dataclass(frozen=True)
class Bound:
    """What draws show: a lower bound of the measure of a claim."""

    claim: Claim
    shown: float
    draws: int

    def __str__(self) -> str:
        """The bound in a word or two."""
        return f"{self.shown:.4g}" if self.shown else "no bound"

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
    return np.array((share + square / 2 + deviations * root) / (1 + square))


def claim_faults(planned: PlannedStatistic) -> Iterator[str]:
    """What of an entry reveals more than its loss says."""
    noisy = [part.calibrated for part in planned.queries if not part.is_exact]
    target = planned.target
    gaussian = [part for part in noisy if part.noise.kind == "gaussian"]
    pure = [part for part in noisy if part.noise.kind != "gaussian"]
    chances = 0.0
    for part in noisy:
        if rule := part.partition_selection:
            added = part.add_remove_sensitivity or part.sensitivity
            chance = added.l0 * tail_of(part.noise)(rule.threshold - added.linf)
            chances += chance
            if chance > float(min(rule.delta, part.loss.delta)) * (1 + SLACK):
                yield f"a group of one unit is published with probability {chance:.3g}"
    for part in pure:
        if part.sensitivity.l1 > part.loss.epsilon * part.noise.scale * (1 + SLACK):
            yield f"the noise has more epsilon than the {float(part.loss.epsilon):.6g} of its loss"
    if target.rho is None:
        left = target.epsilon - sum(part.sensitivity.l1 / part.noise.scale for part in pure)
        if left < -SLACK * target.epsilon:
            yield f"the noise has {float(-left):.6g} more epsilon than is charged"
        if gaussian and not gaussian_holds(
            [(part.noise.scale, Sens(*astuple(part.sensitivity))) for part in gaussian],
            left, target.delta - Fraction(chances),
        ):  # fmt: skip
            yield f"noise and threshold have more than delta {float(target.delta):.3g}"
    elif (rho := sum(map(mu_squared, gaussian)) / 2) > target.rho * (1 + SLACK):
        yield f"the noise has rho {float(rho):.6g}, and {float(target.rho):.6g} is charged"


def mu_squared(part: CalibratedMechanism) -> float:
    """The square of how many deviations of Gaussian noise neighbors are apart."""
    return float(part.sensitivity.l2_squared / part.noise.scale**2)
