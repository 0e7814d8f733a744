"""Outputs about two neighbors, drawn many times, and what distinguishes them.

The event that does so best is chosen by pilot draws, by the likelihood ratio of noise with a known
distribution, the frequency of choices, or a direction in which minimizers differ. Other draws count
it. Two-sided bounds of its probabilities (Clopper and Pearson 1934) then bound epsilon from below,
or, for Gaussian noise, mu: how far apart the means of two normal distributions with the same
trade-off of errors are (Dong, Roth and Su 2022).
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt

from dpcli.numeric.arrays import Array, Bools, Floats, integer_array, np
from dpcli.planning.plan import PlannedQuery, PlannedStatistic
from dpcli.privacy.confidential import Groups
from dpcli.proof.answers import names_of
from dpcli.proof.noise_test import ChoiceSample, NoiseSample
from dpcli.proof.weights import gaussian_mu, log_weights

MOST_NUMBERS, MOST_GROUPS = 48, 4
"""The most numbers of an answer, and groups of choices, that events are about."""

PILOT, CHOSEN_BY = 4_000, 20_000
"""Draws by which a pair is chosen, and by which an event is."""

CHUNK = 1 << 21
"""Numbers that are drawn at once."""

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
    def is_above(self) -> bool:
        """Whether more was shown than is claimed."""
        return self.bound > self.claimed * (1 + 1e-9)

    @property
    def share(self) -> float:
        """The bound as a share of the claim."""
        return self.bound / self.claimed if self.claimed else 0.0


class Drawn(ABC):
    """Outputs of a query about both neighbors, and scores that distinguish them."""

    size = 1
    """How many numbers a draw has."""

    first = 1 << 13
    """Draws that are timed first; fewer would be drawn one by one, which is slow."""

    sample: NoiseSample | ChoiceSample | None = None
    """Compares the draws about the first neighbor with exact probabilities."""

    def __init__(self, part: PlannedQuery, sides: Sequence[Array]) -> None:
        self.part, self.sides = part, sides
        self.query, self.noise = part.calibrated.query, part.calibrated.noise

    def respond(self, values: Array) -> Array:
        """The mechanism's response to exact numbers."""
        return self.part.calibrated.mechanism.respond(self.noise, self.query, integer_array(values))

    @abstractmethod
    def draw(self, side: int, count: int, _earlier: Sequence[Array]) -> Array:
        """Independent outputs about one neighbor, one in each row."""

    @abstractmethod
    def scores(self, outputs: Array, _earlier: Sequence[Array]) -> Floats:
        """A score of each output, greater for those about the second neighbor."""

    def restart(self) -> None:  # noqa: B027 - most have no sample
        """Forget the draws that were compared with probabilities."""

    def learn(self, outputs: Sequence[Array]) -> None:  # noqa: B027 - what is known needs none
        """Take note of pilot draws about both neighbors."""


class DrawnNumbers(Drawn):
    """Numbers with noise, of which the likelihood ratio is known."""

    def __init__(self, part: PlannedQuery, sides: Sequence[Array]) -> None:
        super().__init__(part, sides)
        block = self.query.vectors[0] if self.query.vectors else 1
        change = np.abs(sides[1] - sides[0]).reshape(-1, block).max(axis=1)
        order = np.argsort(-change, kind="stable")[: max(1, MOST_NUMBERS // block)]
        # A number that does not change shows the noise, too.
        blocks = np.sort(order[: max(2, int((change > 0).sum()))])
        kept = (blocks[:, None] * block + np.arange(block)).ravel()
        self.kept = [side[kept] for side in sides]
        self.size = len(kept)
        self.first = 1 << (8 if self.query.vectors else 13)
        self.restart()

    def restart(self) -> None:
        self.sample = NoiseSample(self.noise)

    def draw(self, side: int, count: int, _earlier: Sequence[Array]) -> Array:
        outputs = self.respond(np.tile(self.kept[side], count)).reshape(count, -1)
        if side == 0 and self.sample is not None:
            self.sample.add(outputs - self.kept[0])
        return outputs

    def scores(self, outputs: Array, _earlier: Sequence[Array]) -> Floats:
        one, other = (log_weights(self.noise, outputs - side) for side in self.kept)
        return other - one


class DrawnRanges(Drawn):
    """Numbers that depend on choices before them."""

    def __init__(self, part: PlannedQuery, sides: Sequence[Array]) -> None:
        super().__init__(part, sides)
        self.size = max(1, self.query.cells or 1)

    def _exact(self, side: int, earlier: Sequence[Array]) -> Array:
        """The exact numbers of each draw."""
        joined = np.concatenate(earlier, axis=1)
        unique, back = np.unique(joined, axis=0, return_inverse=True)
        ends = np.cumsum([one.shape[1] for one in earlier])[:-1]
        rows = [self.query.narrowed(self.sides[side], np.split(one, ends)) for one in unique]
        return np.stack(rows)[back.ravel()]

    def draw(self, side: int, count: int, earlier: Sequence[Array]) -> Array:
        return self.respond(self._exact(side, earlier).ravel()).reshape(count, -1)

    def scores(self, outputs: Array, earlier: Sequence[Array]) -> Floats:
        one, other = (
            log_weights(self.noise, outputs - self._exact(side, earlier)) for side in (0, 1)
        )
        return other - one


class DrawnGroups(DrawnNumbers):
    """Counts of private groups: one below the threshold is not published."""

    def draw(self, side: int, count: int, _earlier: Sequence[Array]) -> Array:
        rule = self.part.calibrated.partition_selection
        assert rule is not None
        return np.maximum(super().draw(side, count, _earlier), rule.threshold - 1)

    def learn(self, outputs: Sequence[Array]) -> None:
        rule = self.part.calibrated.partition_selection
        assert rule is not None
        hidden = [((one < rule.threshold).sum(axis=0) + 1) / (len(one) + 2) for one in outputs]
        self._hidden = np.log(hidden[1]) - np.log(hidden[0])

    def scores(self, outputs: Array, _earlier: Sequence[Array]) -> Floats:
        rule = self.part.calibrated.partition_selection
        assert rule is not None
        total = np.zeros(len(outputs))
        for at in range(outputs.shape[1]):
            own = outputs[:, at : at + 1]
            one, other = (log_weights(self.noise, own - side[at]) for side in self.kept)
            total += np.where(own[:, 0] < rule.threshold, self._hidden[at], other - one)
        return total


class DrawnChoices(Drawn):
    """Chosen candidates, whose frequencies pilot draws show."""

    def __init__(self, part: PlannedQuery, sides: Sequence[Array]) -> None:
        super().__init__(part, sides)
        width = self.query.cells_per_group
        groups = [side.reshape(-1, width) for side in sides]
        moving = np.flatnonzero((groups[0] != groups[1]).any(axis=1))
        # Later answers may be about the choices in all groups.
        kept = moving[:MOST_GROUPS] if len(groups[0]) > 1 else np.array([0])
        self.kept = [one[kept].ravel() for one in groups]
        self.groups, self.size = len(kept), max(1, len(kept) * width)
        self._tables: list[tuple[Array, Floats]] = []
        # The first scores show whether candidates are chosen as often as they should be.
        self.first = 1 << (13 if self.query.chooses_by_score else 4)
        self._scores = groups[0][kept[:1]].ravel()
        self.restart()

    def restart(self) -> None:
        self.sample = ChoiceSample.of(self.query, self.noise, self._scores)

    def draw(self, side: int, count: int, _earlier: Sequence[Array]) -> Array:
        if not self.groups:
            return np.zeros((count, 1), np.int64)
        outputs = self.respond(np.tile(self.kept[side], count)).reshape(count, -1)
        if side == 0 and self.sample is not None:
            self.sample.add(outputs)
        return outputs

    def _codes(self, outputs: Array) -> list[Array]:
        """A number for the choices of each group."""
        codes = []
        for own in np.split(outputs, max(1, self.groups), axis=1):
            code = np.zeros(len(own), np.uint64)
            for column in own.T:
                code = code * np.uint64(self.query.cells_per_group + 1) + column.astype(np.uint64)
            codes.append(code)
        return codes

    def learn(self, outputs: Sequence[Array]) -> None:
        self._tables = []
        for one, other in zip(*map(self._codes, outputs), strict=True):
            known, back = np.unique(np.concatenate([one, other]), return_inverse=True)
            counts = [
                np.bincount(half, minlength=len(known)) + 0.5
                for half in np.split(back.ravel(), [len(one)])
            ]
            self._tables.append((known, np.log(counts[1]) - np.log(counts[0])))

    def scores(self, outputs: Array, _earlier: Sequence[Array]) -> Floats:
        total = np.zeros(len(outputs))
        for code, (known, values) in zip(self._codes(outputs), self._tables, strict=True):
            at = np.minimum(np.searchsorted(known, code), len(known) - 1)
            total += np.where(known[at] == code, values[at], 0.0)
        return total


class DrawnMinimizers(Drawn):
    """Minimizers, of which pilot draws show the direction that differs most."""

    first = 1 << 4

    _direction: Floats | None = None

    def draw(self, side: int, count: int, _earlier: Sequence[Array]) -> Array:
        exact = self.sides[side]
        return np.stack(
            [
                self.part.calibrated.mechanism.respond(self.noise, self.query, exact)
                for _ in range(count)
            ]
        )

    def learn(self, outputs: Sequence[Array]) -> None:
        one, other = (one.astype(np.float64) for one in outputs)
        spread = np.cov(np.concatenate([one, other]).T) + 1e-9
        difference = np.median(other, axis=0) - np.median(one, axis=0)
        direction, *_ = np.linalg.lstsq(np.atleast_2d(spread), difference, rcond=None)
        self._direction = direction.astype(np.float64)

    def scores(self, outputs: Array, _earlier: Sequence[Array]) -> Floats:
        assert self._direction is not None
        scores: Floats = outputs.astype(np.float64) @ self._direction
        return scores


class EntryDraws:
    """Draws of all answers of an entry, and events that distinguish neighbors."""

    def __init__(
        self,
        planned: PlannedStatistic,
        one: Sequence[Array | Groups],
        other: Sequence[Array | Groups],
    ) -> None:
        self.drawn: list[Drawn] = []
        for part, *sides in zip(planned.queries, one, other, strict=True):
            if not part.is_exact:
                groups = [side for side in sides if isinstance(side, Groups)]
                names = names_of(groups)
                exact = [side.cells(names) if isinstance(side, Groups) else side for side in sides]
                if all(map(len, exact)):
                    self.drawn.append(_drawn(part, exact))

    def outputs(self, side: int, count: int) -> list[Array]:
        """Draws of each answer about one neighbor."""
        found: list[Array] = []
        for drawn in self.drawn:
            found.append(drawn.draw(side, count, found))
        return found

    def scores(self, outputs: Sequence[Array]) -> Floats:
        """The score of each draw, over all answers."""
        parts = (drawn.scores(own, outputs[:at]) for at, (drawn, own) in
                 enumerate(zip(self.drawn, outputs, strict=True)))  # fmt: skip
        return np.array(sum(parts))

    def learned(self, count: int) -> list[Floats]:
        """Learn from half of some pilot draws; the scores of the other half, about both."""
        sides = [self.outputs(side, count) for side in (0, 1)]
        for at, drawn in enumerate(self.drawn):
            drawn.learn([side[at] for side in sides])
        return [self.scores(self.outputs(side, count)) for side in (0, 1)]

    def restart(self) -> None:
        """Forget the draws that were compared with probabilities."""
        for drawn in self.drawn:
            drawn.restart()

    def affordable(self, draws: int, seconds: float) -> int:
        """As many of the draws as are made in about this time, at least a few."""
        start, tried = time.monotonic(), min(drawn.first for drawn in self.drawn)
        while tried < draws:
            begun = time.monotonic()
            self.outputs(1, tried)
            if time.monotonic() - start > seconds / 4:
                rate = tried / (time.monotonic() - begun)
                # Four times: two sides, to learn and to choose.
                return max(50, min(draws, int(rate * seconds / 4)))
            tried *= 4
        return max(50, draws)

    @property
    def size(self) -> int:
        """How many numbers a draw has."""
        return max(1, sum(drawn.size for drawn in self.drawn))


def _drawn(part: PlannedQuery, sides: Sequence[Array]) -> Drawn:
    query = part.calibrated.query
    if part.calibrated.partition_selection is not None:
        return DrawnGroups(part, sides)
    if query.minimizes:
        return DrawnMinimizers(part, sides)
    if query.chooses:
        return DrawnChoices(part, sides)
    is_plain = query.block is not None or query.keeps_sums
    return DrawnNumbers(part, sides) if is_plain else DrawnRanges(part, sides)


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
        noisy = [part for part in planned.queries if not part.is_exact]
        selects = any(part.calibrated.partition_selection for part in noisy)
        if (
            noisy
            and not selects
            and all(part.calibrated.noise.kind == "gaussian" for part in noisy)
        ):
            squares = sum(part.calibrated.sensitivity.l2_squared / part.calibrated.noise.scale**2
                          for part in noisy)  # fmt: skip
            finer = max(gaussian_mu(part.calibrated.noise) for part in noisy)
            return cls("mu", sqrt(squares) * finer, 0.0, risk)
        losses = [part.calibrated.loss for part in noisy]
        return cls("epsilon", float(sum(loss.epsilon for loss in losses)),
                   float(sum(loss.delta for loss in losses)), risk)  # fmt: skip

    def bound(self, likely: int, rare: int, draws: int) -> float:
        """The bound from how often an event occurred about either neighbor."""
        from scipy.special import betaincinv, ndtri  # noqa: PLC0415 - slow to load

        least = betaincinv(likely, draws - likely + 1, self.risk / 2) if likely else 0.0
        most = betaincinv(rare + 1, draws - rare, 1 - self.risk / 2) if rare < draws else 1.0
        if self.measure == "mu":
            return max(0.0, float(ndtri(least) - ndtri(most))) if least > 0 and most < 1 else 0.0
        return max(0.0, log((least - self.delta) / most)) if least > self.delta else 0.0

    def best_event(self, scores: Sequence[Floats], draws: int) -> tuple[float, float, bool]:
        """The bound to expect, a threshold, and whether scores above it make the event.

        Expected bounds are those of Wilson 1927, which are close and fast.
        """
        from scipy.special import ndtri  # noqa: PLC0415 - slow to load

        every, count = np.concatenate(scores), len(scores[0])
        tried = np.unique(np.quantile(every, np.linspace(0, 1, LEVELS), method="nearest"))
        ordered = [np.sort(own) for own in scores]
        low = [np.searchsorted(own, tried, "left") for own in ordered]
        high = [np.searchsorted(own, tried, "right") for own in ordered]
        best = (0.0, float(tried[0]), True)
        for above in (True, False):
            rare, likely = (count - low[0], count - low[1]) if above else (high[1], high[0])
            # The best of many events is often one that was seen too often by chance.
            shares = (_wilson(likely / count, count, -DOUBT), _wilson(rare / count, count, DOUBT))
            least, most = (_wilson(share, draws, sign * -ndtri(self.risk / 2))
                           for share, sign in zip(shares, (-1, 1), strict=True))  # fmt: skip
            if self.measure == "mu":
                found = ndtri(np.clip(least, 0, 1)) - ndtri(np.clip(most, 0, 1))
            else:
                found = np.log(np.maximum(least - self.delta, 1e-300) / most)
            found = np.where(np.isfinite(found), found, 0.0)
            at = int(found.argmax())
            best = max(best, (float(found[at]), float(tried[at]), above))
        return best

    def of_draws(self, entry: EntryDraws, draws: int, seconds: float) -> Bound:
        """The bound that many draws of an entry show."""
        pilot = entry.affordable(CHOSEN_BY, seconds / 8)
        _, threshold, above = self.best_event(entry.learned(pilot), draws)
        entry.restart()
        end = time.monotonic() + seconds * 3 / 4
        counts, done, chunk = [0, 0], 0, entry.affordable(CHUNK // entry.size, seconds / 8)
        while done < draws and (time.monotonic() < end or not done):
            count = min(draws - done, chunk)
            for side in (0, 1):
                scores = entry.scores(entry.outputs(side, count))
                counts[side] += int(_inside(scores, threshold, above).sum())
            done += count
        likely, rare = (counts[1], counts[0]) if above else counts
        return Bound(self.measure, self.value, self.delta, self.bound(likely, rare, done), done)


def _wilson(share: Floats, draws: int, deviations: float) -> Floats:
    """The end of an interval of a probability, as many deviations from a share."""
    square = deviations**2 / draws
    root = np.sqrt(np.maximum(share * (1 - share), 0) / draws + square / (4 * draws))
    end: Floats = (share + square / 2 + deviations * root) / (1 + square)
    return end


def _inside(scores: Floats, threshold: float, above: bool) -> Bools:
    """Which scores make an event; a score that differs by rounding is the same."""
    slack = 1e-9 * max(1.0, abs(threshold))
    return scores >= threshold - slack if above else scores <= threshold + slack
