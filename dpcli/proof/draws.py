"""Outputs about two neighbors, and scores that distinguish them.

A score is the likelihood ratio of noise with a known distribution, that of frequencies in pilot
draws, or a direction in which minimizers differ. Other draws then count the event that
distinguishes neighbors best.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import cast

from dpcli.noise.bernoulli import VECTORIZE_FROM
from dpcli.numeric.arrays import Array, Floats, integer_array, np
from dpcli.planning.plan import PlannedQuery, PlannedStatistic
from dpcli.privacy.confidential import Groups
from dpcli.proof.answers import table_of
from dpcli.proof.bounds import Bound, Claim
from dpcli.proof.noise_test import ChoiceFrequencies, Frequencies, NoiseFrequencies
from dpcli.proof.weights import log_weights
from dpcli.queries.query import Query

MOST_NUMBERS, MOST_GROUPS = 48, 4
"""The most numbers of an answer, and groups of choices, that events are about."""

CHOSEN_BY, ALONE = 200_000, 10_000
"""Pilot draws by which an event is chosen, and draws that are made one by one."""

SLOW, LARGEST = 64, 1 << 21
"""Slow draws that are timed first, and the most numbers that are drawn at once."""

Answers = Sequence[Array]
"""Outputs of several queries, shape (draws, numbers) each."""


class Drawn(ABC):
    """Outputs of a query about both neighbors, and scores that distinguish them.

    `frequencies` compares draws about one neighbor, the `tested` one, with exact probabilities.
    """

    tested = 0

    size, first = 1, VECTORIZE_FROM
    """How many numbers a draw has, and draws that are timed first.

    Fewer are made one by one, which is slow.
    """

    def __init__(self, part: PlannedQuery, sides: Answers) -> None:
        self.part, self.sides, self.frequencies = part, sides, Frequencies()
        self.query, self.noise = part.calibrated.query, part.calibrated.noise

    def respond(self, exact: Array) -> Array:
        """The mechanism's response to exact numbers, one answer in each row."""
        mechanism, numbers = self.part.calibrated.mechanism, integer_array(exact.ravel())
        return mechanism.respond(self.noise, self.query, numbers).reshape(len(exact), -1)

    @abstractmethod
    def draw(self, side: int, count: int, earlier: Answers) -> Array:
        """Independent outputs about one neighbor, one in each row."""

    @abstractmethod
    def scores(self, outputs: Array, earlier: Answers) -> Floats:
        """A score of each output, greater for those about the second neighbor."""

    def learn(self, outputs: Answers) -> None:  # noqa: B027 - what is known needs none
        """Take note of pilot draws about both neighbors."""

    def count(self, side: int, outputs: Array, earlier: Answers) -> None:  # noqa: ARG002 - of ranges
        """Count what is tested of outputs about one neighbor."""
        if side == self.tested:
            self.frequencies.add(outputs)


class DrawnNumbers(Drawn):
    """Numbers with noise, of which the likelihood ratio is known."""

    def __init__(self, part: PlannedQuery, sides: Answers) -> None:
        super().__init__(part, self._kept(part.calibrated.query, sides))
        self.size, self.frequencies = len(self.sides[0]), NoiseFrequencies(self.noise)
        self.first = SLOW if self.query.vectors else VECTORIZE_FROM // self.size + 1

    def _kept(self, query: Query, sides: Answers) -> Answers:
        """The numbers that change most, and one that does not: it shows the noise, too."""
        block = query.vectors[0] if query.vectors else 1
        change = np.abs(sides[1] - sides[0]).reshape(-1, block).max(axis=1)
        order = np.argsort(-change, kind="stable")[: max(1, MOST_NUMBERS // block)]
        blocks = np.sort(order[: max(2, int((change > 0).sum()))])
        kept = (blocks[:, None] * block + np.arange(block)).ravel()
        return [side[kept] for side in sides]

    def exact(self, side: int, count: int, earlier: Answers) -> Array:  # noqa: ARG002 - of ranges
        """The exact numbers of each draw."""
        return np.tile(self.sides[side], (count, 1))

    def draw(self, side: int, count: int, earlier: Answers) -> Array:
        return self.respond(self.exact(side, count, earlier))

    def count(self, side: int, outputs: Array, earlier: Answers) -> None:
        self.frequencies.add(outputs - self.exact(side, len(outputs), earlier))

    def scores(self, outputs: Array, earlier: Answers) -> Floats:
        exact = (self.exact(side, len(outputs), earlier) for side in (0, 1))
        one, other = (log_weights(self.noise, outputs - numbers) for numbers in exact)
        return other - one


class DrawnRanges(DrawnNumbers):
    """Numbers that depend on choices before them."""

    def _kept(self, query: Query, sides: Answers) -> Answers:  # noqa: ARG002 - all of them
        return sides

    def exact(self, side: int, count: int, earlier: Answers) -> Array:  # noqa: ARG002 - of these
        unique, back = np.unique(np.concatenate(earlier, axis=1), axis=0, return_inverse=True)
        ends = np.cumsum([one.shape[1] for one in earlier])[:-1]
        rows = [self.query.narrowed(self.sides[side], np.split(one, ends)) for one in unique]
        return np.stack(rows)[back.ravel()]


class DrawnGroups(DrawnNumbers):
    """Counts of private groups: one below the threshold is not published."""

    def __init__(self, part: PlannedQuery, sides: Answers) -> None:
        super().__init__(part, sides)
        rule = part.calibrated.partition_selection
        self._threshold = rule.threshold if rule else 0

    def learn(self, outputs: Answers) -> None:
        hidden = [((one < self._threshold).sum(axis=0) + 1) / (len(one) + 2) for one in outputs]
        self._hidden = np.log(hidden[1]) - np.log(hidden[0])

    def scores(self, outputs: Array, earlier: Answers) -> Floats:  # noqa: ARG002 - of ranges
        total = np.zeros(len(outputs))
        for at, own in enumerate(outputs.T):
            one, other = (log_weights(self.noise, (own - side[at])[:, None]) for side in self.sides)
            total += np.where(own < self._threshold, self._hidden[at], other - one)
        return total


class DrawnChoices(Drawn):
    """Chosen candidates, whose frequencies pilot draws show."""

    def __init__(self, part: PlannedQuery, sides: Answers) -> None:
        super().__init__(part, sides)
        width = self.query.cells_per_group
        groups = [side.reshape(-1, width) for side in sides]
        moving = np.flatnonzero((groups[0] != groups[1]).any(axis=1))
        # Later answers may be about the choices in all groups.
        kept = moving[:MOST_GROUPS] if len(groups[0]) > 1 else np.array([0])
        self.sides = [one[kept].ravel() for one in groups]
        self._groups, self.size = len(kept), max(1, len(kept) * width)
        self.first = VECTORIZE_FROM // self.size + 1
        self._learned: list[tuple[Array, Floats]] = []
        # The first scores show whether candidates are chosen as often as they should be.
        first = [one[kept[:1]].ravel() for one in groups]
        self.tested = int(np.argmax([np.ptp(scores) if len(scores) else 0 for scores in first]))
        self.frequencies = ChoiceFrequencies(self.query, self.noise, first[self.tested])

    def draw(self, side: int, count: int, earlier: Answers) -> Array:  # noqa: ARG002 - of ranges
        if not self._groups:
            return np.zeros((count, 1), np.int64)
        return self.respond(np.tile(self.sides[side], (count, 1)))

    def _codes(self, outputs: Array) -> Iterator[Array]:
        """A number for the choices of each group."""
        for own in np.split(outputs, max(1, self._groups), axis=1):
            code = np.zeros(len(own), np.uint64)
            for column in own.T:
                code = code * np.uint64(self.query.cells_per_group + 1) + column.astype(np.uint64)
            yield code

    def learn(self, outputs: Answers) -> None:
        self._learned = []
        for one, other in zip(*map(self._codes, outputs), strict=True):
            known, back = np.unique(np.concatenate([one, other]), return_inverse=True)
            counts = [np.bincount(half, minlength=len(known)) + 0.5
                      for half in np.split(back.ravel(), [len(one)])]  # fmt: skip
            self._learned.append((known, np.log(counts[1]) - np.log(counts[0])))

    def scores(self, outputs: Array, earlier: Answers) -> Floats:  # noqa: ARG002 - of ranges
        total = np.zeros(len(outputs))
        for code, (known, ratios) in zip(self._codes(outputs), self._learned, strict=True):
            at = np.minimum(np.searchsorted(known, code), len(known) - 1)
            total += np.where(known[at] == code, ratios[at], 0.0)
        return total


class DrawnMinimizers(Drawn):
    """Minimizers, of which pilot draws show the direction that differs most."""

    first = 8

    def draw(self, side: int, count: int, earlier: Answers) -> Array:  # noqa: ARG002 - of ranges
        respond, exact = self.part.calibrated.mechanism.respond, self.sides[side]
        return np.stack([respond(self.noise, self.query, exact) for _ in range(count)])

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
        self,
        planned: PlannedStatistic,
        one: Sequence[Array | Groups],
        other: Sequence[Array | Groups],
    ) -> None:
        self.drawn: list[Drawn] = []
        for part, *sides in zip(planned.queries, one, other, strict=True):
            own = cast("list[Array]", sides)
            exact = own if part.calibrated.query.minimizes else [*table_of(sides)]
            if not part.is_exact and all(map(len, exact)):
                self.drawn.append(_drawn(part, exact))
        self._tested = max((drawn.tested for drawn in self.drawn), default=0)

    def outputs(self, side: int, count: int) -> list[Array]:
        """Draws of each answer about one neighbor."""
        found: list[Array] = []
        for drawn in self.drawn:
            found.append(drawn.draw(side, count, found))
        return found

    def _count(self, side: int, outputs: Answers) -> None:
        """Count what is tested of outputs about one neighbor."""
        for at, drawn in enumerate(self.drawn):
            drawn.count(side, outputs[at], outputs[:at])

    def scores(self, outputs: Answers) -> Floats:
        """The score of each draw, over all answers."""
        parts = (drawn.scores(own, outputs[:at]) for at, (drawn, own) in
                 enumerate(zip(self.drawn, outputs, strict=True)))  # fmt: skip
        return np.array(sum(parts))

    def batches(self, most: int, seconds: float) -> Iterator[list[list[Array]]]:
        """Draws about both neighbors: `most`, or as many as there is time for."""
        start, done = time.monotonic(), 0
        largest = LARGEST // max(1, sum(drawn.size for drawn in self.drawn))
        count = min(most, *(drawn.first for drawn in self.drawn))
        while count > 0:
            begun = time.monotonic()
            yield (sides := [self.outputs(side, count) for side in (0, 1)])
            self._count(self._tested, sides[self._tested])
            done, now = done + count, time.monotonic()
            affordable = int(count * max(0.0, start + seconds - now) / (now - begun))
            count = min(done, largest, most - done, affordable)

    def learned(self, most: int, seconds: float) -> list[Floats]:
        """Learn from half of some pilot draws; the scores of the other half, about both."""
        batches = zip(*self.batches(2 * most, seconds), strict=True)
        sides = [[*map(np.concatenate, zip(*side, strict=True))] for side in batches]
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
        side, end = self._tested, time.monotonic() + seconds
        alone = [self.outputs(side, 1)]
        while len(alone) < ALONE and time.monotonic() < end:
            alone.append(self.outputs(side, 1))
        self._count(side, [*map(np.concatenate, zip(*alone, strict=True))])
        yield from self._counted("one by one, ")

    def _counted(self, how: str) -> Iterator[str]:
        """The faults of what was counted, which is forgotten."""
        for drawn in self.drawn:
            for fault in drawn.frequencies.faults():
                yield f"`{drawn.part.weighted.role}`: {how}{fault}"


def _drawn(part: PlannedQuery, sides: Answers) -> Drawn:
    query = part.calibrated.query
    if part.calibrated.partition_selection is not None:
        return DrawnGroups(part, sides)
    if query.minimizes:
        return DrawnMinimizers(part, sides)
    if query.chooses:
        return DrawnChoices(part, sides)
    is_plain = query.block is not None or query.keeps_sums
    return DrawnNumbers(part, sides) if is_plain else DrawnRanges(part, sides)
