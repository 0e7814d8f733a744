"""Several quantiles by recursion: the parts of the rows, and the choices in them.

`QuantilesQuery` has the privacy argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from math import prod

from dpcli.noise.bernoulli import BLOCK
from dpcli.noise.candidate_choice import ChoiceNoise
from dpcli.noise.distribution import NO_NOISE, Noise
from dpcli.noise.entropy import random_bytes
from dpcli.noise.laplace_sums import laplace_sum_width
from dpcli.numeric.arrays import Array, Bools, Ints, largest_magnitude, np, widened
from dpcli.numeric.exact import short_up
from dpcli.privacy.sensitivity import RowContribution
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import AnswerWords
from dpcli.queries.scores import Chooser, Points, Rank, SelectionQuery

MIN_QUANTILES_FOR_RECURSION = 3
"""From this number of quantiles on, recursion needs fewer rounds than quantiles."""

MAX_SUBSTEPS = 1 << 16
"""The most sub-steps of a class: two random bytes choose one of them."""

USUAL_SUBSTEPS = 1 << 6
"""Sub-steps that a class has even if there are many groups."""

CUTS_OF_ALL_GROUPS, CUTS_OF_A_GROUP = 1 << 18, 1 << 22
"""The most cuts in all groups, to limit time, and in a group, to limit memory."""


def substeps_for(classes: int, groups: int) -> int:
    """The sub-steps of a class: a power of two, fewer for many classes or groups."""
    max_substeps = max(CUTS_OF_ALL_GROUPS // (classes * groups), USUAL_SUBSTEPS)
    max_substeps = max(1, min(max_substeps, CUTS_OF_A_GROUP // classes, MAX_SUBSTEPS))
    return 1 << (max_substeps.bit_length() - 1)


@dataclass(frozen=True, slots=True)
class PartQuantile:
    """The quantile of one choice in the recursion, within a part of the rows.

    The part lies between the quantiles at the indices `low` and `high`; None is an end of the rows.
    The fraction `relative` of the rows of the part should lie below the quantile. `index` is the
    position of the quantile in increasing order.
    """

    low: int | None
    high: int | None
    index: int
    relative: Fraction

    @property
    def largest_change(self) -> int:
        """The most that an added row changes the difference of two scores, in 1/d row."""
        part, whole = self.relative.numerator, self.relative.denominator
        return 2 * max(part, whole - part)

    def scores(self, below: Array) -> Array:
        """The score of each cut: minus its distance from the quantile, in 1/d row.

        `below` has the number of rows of the part below each cut; all rows for the last one. The
        denominator of `relative` is d.
        """
        part, whole = self.relative.numerator, self.relative.denominator
        below = widened(below, whole * int(below[-1]))
        scores: Array = -abs(whole * below - part * below[-1])
        return scores


@dataclass(frozen=True, kw_only=True)
class QuantilesQuery(SelectionQuery):
    """Counts of rows by group and class, by which several quantiles are chosen.

    A quantile near the middle is chosen from all rows of the group. Then those below it are chosen
    from the rows below, those above it from the rows above, and so on (Kaplan, Schnapp and Stemmer
    2022). A level of this recursion is one choice in each of several parts without common rows.

    So that rows with equal values can be divided, every row gets a sub-step: uniform among
    `substeps`, independent of everything, and the same in all levels. Rows are ordered by class,
    then by sub-step. A choice is among cuts between two neighbors of this order. The candidate
    that is published is a function of the chosen cuts.

    Privacy: the score of a cut is minus the distance of p n from the d times as many rows of the
    part below it, for a part of n rows and the relative quantile p/d. A row of the part that is
    added or removed changes p n by p, and the rows below by one or not at all. So scores change by
    at most max(p, d - p), and the difference of two by at most c = 2 max(p, d - p). A row that is
    replaced within the part changes a difference by at most 2 d, which is at most 2 c. A choice
    has the scale of the noise times c. So in units of c, a row that is added or removed changes a
    difference by at most 1, and one that is replaced by 2.

    Fix the sub-steps of all rows, and the cuts that were chosen in earlier levels. Then a row lies
    in at most one part of a level, which its class, its sub-step and these cuts decide. So the
    changes of all parts of a level sum to at most 1 for each row that is added or removed, and 2
    for each that is replaced. A mechanism is calibrated to this sum: choices from
    different parts use independent randomness, so their losses add up, and so do the ranges of
    their losses. Squares of sums are never below sums of squares. Levels follow one another, each
    with the same bound whatever was chosen before, so they compose as adaptive answers do. The
    bounds hold for any sub-steps, and these have the same distribution for neighbors; hence they
    hold for the answer, in which sub-steps are random.
    """

    candidate_classes: Points
    quantiles: tuple[Fraction, ...]
    substeps: int = 1

    def __post_init__(self) -> None:
        if self.substeps not in (1 << power for power in range(17)):
            raise ValueError("the number of sub-steps is a power of two, at most 2^16")
        if not all(0 < quantile < 1 for quantile in self.quantiles):
            raise ValueError("a quantile lies between 0 and 1")
        if not self.quantiles or len(set(self.quantiles)) < len(self.quantiles):
            raise ValueError("every quantile is chosen once")
        if len(self.classes) != 1 or not len(self.candidate_classes):
            raise ValueError("quantiles are chosen along one axis, among candidates")

    @property
    def candidates(self) -> int:
        """How many values can be published."""
        return len(self.candidate_classes)

    @cached_property
    def cells_per_group(self) -> int:
        return prod(map(len, self.classes))

    @cached_property
    def row_contribution(self) -> RowContribution:
        """The most that one row changes score differences, summed over a level's parts."""
        return RowContribution(-1, 1)

    @property
    def rounds(self) -> int:
        return len(self.levels)

    @cached_property
    def levels(self) -> tuple[tuple[PartQuantile, ...], ...]:
        """The choices of each level, from small quantiles to large ones."""
        ordered = sorted(self.quantiles)
        parts: list[tuple[int, int]] = [(0, len(ordered))]
        levels = []
        while parts:
            level = [_middle(ordered, first, end) for first, end in parts]
            levels.append(tuple(level))
            parts = [
                (first, end)
                for (start, stop), chosen in zip(parts, level, strict=True)
                for first, end in ((start, chosen.index), (chosen.index + 1, stop))
                if first < end
            ]
        return tuple(levels)

    @cached_property
    def indexes(self) -> tuple[int, ...]:
        """For each quantile in the order of the spec, its index in increasing order."""
        ordered = {quantile: index for index, quantile in enumerate(sorted(self.quantiles))}
        return tuple(ordered[quantile] for quantile in self.quantiles)

    def choose(self, chooser: Chooser, noise: Noise, answers: Array) -> Array:
        return choose_quantiles(noise, answers, self)

    def trial_errors(self, noisy: Array, exact: Array) -> Array:
        counts = exact.reshape(-1, self.cells_per_group)
        missed, groups = [], np.arange(len(counts))
        for item, chosen in enumerate(noisy.reshape(len(counts), -1).T):
            scores = self.rank_scores(counts, item)
            gaps = scores.max(axis=1) - scores[groups, chosen]
            missed.append(gaps.astype(np.float64) / self.quantiles[item].denominator)
        return np.concatenate(missed)

    def changes(self, differences: Array) -> Array:
        """How many rows are added or removed in each group, once for each level."""
        groups = differences.reshape(len(differences), -1, self.cells_per_group)
        return np.repeat(np.abs(groups).sum(axis=2), self.rounds, axis=1)

    def ledger_details(self) -> dict[str, object]:
        quantiles = [str(quantile) for quantile in self.quantiles]
        return super().ledger_details() | {"quantiles": quantiles, "substeps": self.substeps}

    def protection(self, words: AnswerWords) -> str:
        return (
            f"{words.role}: chosen by {words.mechanism} among {self.candidates:,} public "
            f"candidates, in {self.rounds:,} rounds, better ones with a higher probability. In a "
            f"round, one {words.unit} can change how good candidates are by at most "
            f"{words.farthest} times what a row can change. Where values lie densely and evenly, "
            f"at most {words.error} ranks lie between a quantile and the chosen value in "
            f"{words.percent}% of cases."
        )

    def rank_scores(self, counts: Array, item: int) -> Array:
        """Minus the number of rows by which each candidate misses the quantile `item`.

        The result has the shape (groups, candidates), in units of 1/d row; `counts` has the shape
        (groups, classes).
        """
        rank = Rank(self.candidate_classes, self.quantiles[item])
        rows = largest_magnitude(counts) * counts.shape[1]
        return rank.scores(widened(counts, rank.quantile.denominator * rows))

    def published(self, cuts: Ints) -> Ints:
        """The indices of the candidates that are published for chosen cuts.

        A cut within the class of a candidate gives this candidate. A cut between two candidates
        gives the nearer candidate, in sub-steps.
        """
        classes, substeps = np.divmod(cuts, self.substeps)
        return nearest_candidates(self.candidate_classes, classes, 2 * substeps <= self.substeps)

    def expected_error(self, noise: Noise, confidence: Fraction) -> Fraction:
        """The most rows by which a quantile is missed, with this confidence.

        The number is that of the quantile with the greatest variance. Values are assumed to lie
        densely and evenly around the chosen cuts. Then the error of a choice has a Laplace
        distribution with the scale of c/d rows. The error also moves the quantiles of the two parts
        that end at the chosen cut, in proportion.
        """
        worst = max(self._error_weights(), key=lambda weights: sum(weight**2 for weight in weights))
        return short_up(noise.scale * Fraction(laplace_sum_width(worst, float(1 - confidence))), 6)

    def _error_weights(self) -> Iterator[tuple[float, ...]]:
        """For each quantile, the scales in rows of the errors that add up to its error.

        The errors are independent; the scales are for a choice of scale one.
        """
        errors: dict[int | None, dict[int, float]] = {None: {}}
        for chosen in (part for level in self.levels for part in level):
            share = float(chosen.relative)
            moved = {index: (1 - share) * scale for index, scale in errors[chosen.low].items()}
            for index, scale in errors[chosen.high].items():
                moved[index] = moved.get(index, 0.0) + share * scale
            own = chosen.largest_change / chosen.relative.denominator
            errors[chosen.index] = moved | {chosen.index: own}
        for index in range(len(self.quantiles)):
            yield tuple(sorted(errors[index].values()))


def choose_quantiles(noise: Noise, counts: Array, query: QuantilesQuery) -> Array:
    """A candidate's index for each quantile, group by group, as one array of int64.

    `counts` has the shape (groups, classes). With `NO_NOISE`, each quantile is the first of
    its best candidates, from all rows of the group. Raises TypeError for additive noise.
    """
    if isinstance(noise, ChoiceNoise):
        chosen = [_chosen_cuts(noise, ordered_rows(row, query), query) for row in counts]
        return query.published(np.array(chosen, np.int64).ravel())
    if noise == NO_NOISE:
        scores = (query.rank_scores(counts, item) for item in range(len(query.quantiles)))
        return np.stack([candidates.argmax(axis=1) for candidates in scores], axis=1).ravel()
    raise TypeError("a choice needs the noise of choices")


def ordered_rows(counts: Array, query: QuantilesQuery) -> Array:
    """How many rows of a group lie below each cut, by classes, then sub-steps.

    The sub-step of each row is random, uniform and independent of all others. The array has one
    element for each sub-step of each class, and one for the cut above all rows.
    """
    cells = _divided(counts.astype(np.int64), query.substeps)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(cells)])


def _divided(counts: Ints, substeps: int) -> Ints:
    """The number of rows in each sub-step of each class, class by class."""
    if substeps == 1:
        return counts
    cells = np.zeros(len(counts) * substeps, np.int64)
    ends = np.cumsum(counts)
    rows = int(ends[-1])
    for start in range(0, rows, BLOCK):
        numbers = np.arange(start, min(start + BLOCK, rows))
        classes = np.searchsorted(ends, numbers, side="right")
        # The number of sub-steps is a power of two up to 2^16, which 16 bits cannot hold.
        drawn = np.frombuffer(random_bytes(2 * len(numbers)), np.uint16) & np.uint16(substeps - 1)
        np.add.at(cells, classes * substeps + drawn, 1)
    return cells


def _chosen_cuts(noise: ChoiceNoise, below: Array, query: QuantilesQuery) -> list[int]:
    """The chosen cut of one group for each quantile, as an index; in query order."""
    cuts: dict[int | None, int] = {}
    for part in (part for level in query.levels for part in level):
        low = 0 if part.low is None else cuts[part.low]
        high = len(below) - 1 if part.high is None else cuts[part.high]
        scores = part.scores(below[low : high + 1] - below[low])
        scaled = replace(noise, scale=noise.scale * part.largest_change)
        cuts[part.index] = low + int(scaled.pick((scores.max() - scores)[None, :])[0])
    return [cuts[index] for index in query.indexes]


def nearest_candidates(candidate_classes: Points, classes: Ints, in_first_half: Bools) -> Ints:
    """The index of the nearest candidate to a position in each of these classes.

    `in_first_half` tells in which half of its class a position lies. In the class of a candidate,
    it is this candidate; between two candidates, the lower one for positions in the first half.
    """
    known = np.asarray(candidate_classes)
    before = np.searchsorted(known, classes, side="right") - 1
    through = known[np.maximum(before, 0)] == classes
    return np.clip(np.where(through | in_first_half, before, before + 1), 0, len(known) - 1)


def _middle(ordered: list[Fraction], first: int, end: int) -> PartQuantile:
    """The choice that divides a part most evenly, with the fewest levels.

    The part has the quantiles from `first` to before `end`. A quantile is eligible if no more
    quantiles remain on each side than the remaining levels can choose.
    """
    low, high = (first - 1 if first else None), (end if end < len(ordered) else None)
    start = Fraction(0) if low is None else ordered[low]
    stop = Fraction(1) if high is None else ordered[high]
    distance = (1 << ((end - first).bit_length() - 1)) - 1
    indexes = range(max(first, end - 1 - distance), min(end, first + distance + 1))
    relative = {index: (ordered[index] - start) / (stop - start) for index in indexes}
    index = min(indexes, key=lambda index: abs(relative[index] - Fraction(1, 2)))
    return PartQuantile(low, high, index, relative[index])
