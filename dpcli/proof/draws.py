"""Outputs about two neighbors, and scores that distinguish them.

A score is the likelihood ratio of noise with a known distribution, that of frequencies in pilot
draws, or a direction in which minimizers differ. Other draws then count the event that
distinguishes neighbors best.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from dpcli.noise.bernoulli import VECTORIZE_FROM
from dpcli.noise.k_norm import KNormVector
from dpcli.numeric.arrays import Array, Floats, integer_array, np
from dpcli.planning.plan import PlannedQuery, PlannedStatistic
from dpcli.privacy.confidential import Groups
from dpcli.proof.bounds import Bound, Claim
from dpcli.proof.noise_test import MOST_TESTS, SHARES, Frequencies, NoiseFrequencies
from dpcli.proof.weights import choice_probabilities, log_weights, tail_of
from dpcli.queries.query import Query

MOST_NUMBERS, MOST_GROUPS = 48, 4
"""The most numbers of an answer, and groups of choices, that events are about."""

CHOSEN_BY, ALONE, SLOPES = 200_000, 10_000, 8
"""Draws that choose an event, those one by one, and slopes for a minimizer."""

SLOW, LARGEST = 16, 1 << 21
"""Slow draws that are timed first, and the most numbers that are drawn at once."""

Answers = Sequence[Array]
"""Outputs of several queries, shape (draws, numbers) each."""


class Drawn(ABC):
    """Outputs of a query about both neighbors, and scores that distinguish them.

    `frequencies` compares them with exact probabilities.
    """

    size = 1
    """How many numbers a draw has."""

    def __init__(self, part: PlannedQuery, sides: Answers) -> None:
        self.part, self.sides, self.frequencies = part, sides, Frequencies()
        self.query, self.noise = part.calibrated.query, part.calibrated.noise

    def exact(self, side: int, count: int, earlier: Answers) -> Array:  # noqa: ARG002 - of ranges
        """The exact numbers of each draw about one neighbor."""
        return np.tile(self.sides[side], (count, 1))

    def draw(self, side: int, count: int, earlier: Answers) -> Array:
        """Independent outputs about one neighbor, one in each row."""
        mechanism, exact = self.part.calibrated.mechanism, self.exact(side, count, earlier)
        numbers = mechanism.respond(self.noise, self.query, integer_array(exact.ravel()))
        return numbers.reshape(count, -1)

    @abstractmethod
    def scores(self, outputs: Array, earlier: Answers) -> Floats:
        """A score of each output, greater for those about the second neighbor."""

    def learn(self, outputs: Answers) -> None:  # noqa: B027 - what is known needs none
        """Take note of pilot draws about both neighbors."""

    @abstractmethod
    def count(self, side: int, outputs: Array, earlier: Answers) -> None:
        """Count what is tested of outputs about one neighbor."""


class DrawnNumbers(Drawn):
    """Numbers with noise, of which the likelihood ratio is known.

    Ranges depend on choices before them. A count of a private group is published from a threshold
    up, and all that is known of another one is that it is below.
    """

    def __init__(self, part: PlannedQuery, sides: Answers) -> None:
        query = part.calibrated.query
        self._depends = query.block is None and not query.keeps_sums
        super().__init__(part, sides if self._depends else _changing(query, sides))
        self.frequencies = self._noises = NoiseFrequencies(self.noise)
        self.size = len(self.sides[0])

    def exact(self, side: int, count: int, earlier: Answers) -> Array:
        if not self._depends:
            return super().exact(side, count, earlier)
        unique, back = np.unique(np.concatenate(earlier, axis=1), axis=0, return_inverse=True)
        ends = np.cumsum([one.shape[1] for one in earlier])[:-1]
        rows = [self.query.narrowed(self.sides[side], np.split(one, ends)) for one in unique]
        return np.stack(rows)[back.ravel()]

    def count(self, side: int, outputs: Array, earlier: Answers) -> None:
        if not side:
            self._noises.add(outputs - self.exact(side, len(outputs), earlier))

    def scores(self, outputs: Array, earlier: Answers) -> Floats:
        exact = (self.exact(side, len(outputs), earlier) for side in (0, 1))
        one, other = (log_weights(self.noise, outputs - numbers) for numbers in exact)
        ratios = other - one
        if rule := self.part.calibrated.partition_selection:
            tail = tail_of(self.noise)
            below = [[tail(count - rule.threshold + 1) for count in side] for side in self.sides]
            hidden = np.diff(np.log(np.maximum(below, 1e-300)), axis=0)
            ratios = np.where(outputs < rule.threshold, hidden, ratios)
        return np.array(ratios.sum(axis=1))


class DrawnChoices(Drawn):
    """Chosen candidates, whose frequencies pilot draws show.

    Choices in the first group are compared with their probabilities, unless there are too many
    candidates, or they are chosen by recursion.
    """

    def __init__(self, part: PlannedQuery, sides: Answers) -> None:
        super().__init__(part, sides)
        width = self.query.cells_per_group
        groups = [side.reshape(-1, width) for side in sides]
        moving = np.flatnonzero((groups[0] != groups[1]).any(axis=1))
        kept = moving[:MOST_GROUPS] if len(moving) else np.array([0])
        self.sides = [one[kept].ravel() for one in groups]
        self.size = len(kept) * width
        self._is_tested = self.query.chooses_by_score and 2 * width <= MOST_TESTS

    def count(self, side: int, outputs: Array, earlier: Answers) -> None:  # noqa: ARG002 - of ranges
        if not self._is_tested:
            return
        width, noise = self.query.cells_per_group, self.noise
        scores = self.sides[side][:width].astype(np.float64)
        chances = choice_probabilities(noise.kind, noise.scale, scores).tolist()
        counts = np.bincount(outputs[:, 0], minlength=width).tolist()
        for number, (count, chance) in enumerate(zip(counts, chances, strict=True), 1):
            what = f"candidate {number} is chosen about neighbor {side + 1}"
            self.frequencies.count(what, count, len(outputs), chance)

    def learn(self, outputs: Answers) -> None:
        size = 1 + max(int(own.max()) for own in outputs)
        one, other = ([np.bincount(column, minlength=size) + 0.5 for column in own.T]
                      for own in outputs)  # fmt: skip
        self._ratios = np.log(other) - np.log(one)

    def scores(self, outputs: Array, earlier: Answers) -> Floats:  # noqa: ARG002 - of ranges
        # Candidates that pilot draws never chose count as the last one that they did.
        known = np.minimum(outputs, self._ratios.shape[1] - 1)
        return np.array(self._ratios[np.arange(outputs.shape[1]), known].sum(axis=1))


class DrawnMinimizers(Drawn):
    """Minimizers, of which pilot draws show the direction that differs most."""

    def draw(self, side: int, count: int, earlier: Answers) -> Array:  # noqa: ARG002 - of ranges
        respond, exact = self.part.calibrated.mechanism.respond, self.sides[side]
        return np.stack([respond(self.noise, self.query, exact) for _ in range(count)])

    def count(self, side: int, outputs: Array, earlier: Answers) -> None:  # noqa: ARG002 - of ranges
        """Count norms of slopes of scale one: gamma of shape k, for k coefficients."""
        from scipy.special import gammainccinv  # noqa: PLC0415 - slow to load

        size = outputs.shape[1]
        drawn = (KNormVector(size).enclosure() for _ in range(SLOPES * len(outputs)))
        norms = np.array([max(abs(float(one.low)) for one in slope) for slope in drawn])
        for share in (*SHARES, 0.75, 0.95):
            what = f"a slope of norm {(cut := float(gammainccinv(size, share))):.3g} or more occurs"
            self.frequencies.count(what, (norms >= cut).sum(), len(norms), share)

    def learn(self, outputs: Answers) -> None:
        one, other = (own.astype(np.float64) for own in outputs)
        spread = np.atleast_2d(np.cov(np.concatenate([one, other]).T) + 1e-9)
        difference = np.median(other, axis=0) - np.median(one, axis=0)
        self._direction = np.linalg.lstsq(spread, difference, rcond=None)[0].astype(np.float64)

    def scores(self, outputs: Array, earlier: Answers) -> Floats:  # noqa: ARG002 - of ranges
        return np.array(outputs.astype(np.float64) @ self._direction)


class EntryDraws:
    """Draws of all answers of an entry, and events that distinguish neighbors."""

    def __init__(
        self, planned: PlannedStatistic, answers: Sequence[Sequence[Array | Groups]]
    ) -> None:
        self.drawn: list[Drawn] = []
        for part, sides in zip(planned.queries, answers, strict=True):
            query = part.calibrated.query
            exact = cast("Answers", sides) if query.minimizes else [*table_of(sides)]
            kind = DrawnChoices if query.chooses else DrawnNumbers
            if not part.is_exact and (query.minimizes or all(map(len, exact))):
                self.drawn.append((DrawnMinimizers if query.minimizes else kind)(part, exact))

    def outputs(self, side: int, count: int) -> list[Array]:
        """Draws of each answer about one neighbor."""
        found: list[Array] = []
        for drawn in self.drawn:
            found.append(drawn.draw(side, count, found))
        return found

    def _count(self, sides: Iterable[Answers]) -> None:
        """Count what is tested of outputs about both neighbors."""
        for side, outputs in enumerate(sides):
            for at, drawn in enumerate(self.drawn):
                drawn.count(side, outputs[at], outputs[:at])

    def scores(self, outputs: Answers) -> Floats:
        """The score of each draw, over all answers."""
        parts = [drawn.scores(outputs[at], outputs[:at]) for at, drawn in enumerate(self.drawn)]
        # Scores that differ by rounding are the same.
        return np.round(sum(parts), 9)

    def batches(self, most: int, seconds: float) -> Iterator[list[list[Array]]]:
        """Draws about both neighbors: `most`, or as many as there is time for."""
        start, done, size = time.monotonic(), 0, sum(drawn.size for drawn in self.drawn)
        # Fewer numbers are made one by one, which is slow.
        slow = any(drawn.query.vectors or drawn.query.minimizes for drawn in self.drawn)
        count = min(most, SLOW if slow else VECTORIZE_FROM // size + 1)
        while count > 0:
            begun = time.monotonic()
            yield (sides := [self.outputs(side, count) for side in (0, 1)])
            self._count(sides)
            done, now = done + count, time.monotonic()
            affordable = int(count * max(0.0, start + seconds - now) / (now - begun))
            count = min(done, LARGEST // size, most - done, affordable)

    def learned(self, most: int, seconds: float) -> list[Floats]:
        """Learn from half of some pilot draws; the scores of the other half, about both."""
        sides = _joined(self.batches(2 * most, seconds))
        half = len(sides[0][0]) // 2
        for at, drawn in enumerate(self.drawn):
            drawn.learn([side[at][:half] for side in sides])
        return [self.scores([own[half:] for own in side]) for side in sides]

    def bound(self, claim: Claim, draws: int, seconds: float) -> Bound:
        """The bound of a claim that many draws show."""
        event = claim.best_event(self.learned(CHOSEN_BY, seconds / 8), draws)
        counts = np.zeros(3, np.int64)
        for sides in self.batches(draws, seconds * 7 / 8):
            scores = [self.scores(outputs) for outputs in sides]
            counts += [*event.counts(scores), len(scores[0])]
        return claim.bound(event, *counts.tolist())

    def faults(self, seconds: float) -> Iterator[str]:
        """What happened more or less often than exact probabilities say.

        Also of answers that are made one by one, as by releases: other code draws few numbers.
        """
        yield from self._counted("")
        end = time.monotonic() + seconds
        alone = [[self.outputs(side, 1) for side in (0, 1)]]
        while len(alone) < ALONE and time.monotonic() < end:
            alone.append([self.outputs(side, 1) for side in (0, 1)])
        self._count(_joined(alone))
        yield from self._counted("one by one, ")

    def _counted(self, how: str) -> Iterator[str]:
        """The faults of what was counted, which is forgotten."""
        for drawn in self.drawn:
            for fault in drawn.frequencies.faults():
                yield f"`{drawn.part.weighted.role}`: {how}{fault}"


def table_of(answers: Sequence[Array | Groups]) -> Array:
    """The numbers of several answers, one in each row, in all their groups."""
    groups = [one for one in answers if isinstance(one, Groups)]
    names = sorted({name for one in groups for name in one.names})
    return np.stack([one.cells(names) if isinstance(one, Groups) else one for one in answers])


def _changing(query: Query, sides: Answers) -> Answers:
    """The numbers that change most, and one that does not: it shows the noise, too."""
    block = query.vectors[0] if query.vectors else 1
    change = np.abs(sides[1] - sides[0]).reshape(-1, block).max(axis=1)
    order = np.argsort(-change, kind="stable")[: max(1, MOST_NUMBERS // block)]
    blocks = np.sort(order[: max(2, int((change > 0).sum()))])
    kept = (blocks[:, None] * block + np.arange(block)).ravel()
    return [side[kept] for side in sides]


def _joined(batches: Iterable[Sequence[Answers]]) -> list[list[Array]]:
    """All draws of some batches, for each neighbor an array for each answer."""
    return [[*map(np.concatenate, zip(*side, strict=True))] for side in zip(*batches, strict=True)]
