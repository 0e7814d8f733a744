"""Score functions: how good each candidate of a private selection is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from math import log
from typing import TYPE_CHECKING, ClassVar

from dpcli.data.kinds import Axis
from dpcli.numeric.arrays import Array, largest_magnitude, np, widened
from dpcli.numeric.exact import short_up
from dpcli.privacy.sensitivity import RowContribution, Sensitivity
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import AnswerWords, LinearQuery, Query
from dpcli.queries.sums import Shape
from dpcli.queries.terms import QueryTerms

if TYPE_CHECKING:
    from dpcli.noise.distribution import Noise

Points = tuple[int, ...] | range
"""Increasing whole numbers: steps of a grid, or indices."""

Chooser = Callable[["Noise", Array, int], Array]
"""Chooses k candidates for each row of scores, one after another."""


@dataclass(frozen=True)
class ScoreFunction(ABC):
    """How good each candidate is, as a whole number; the best has the greatest.

    The rows of a group are counted in classes. The scores of all candidates are computed from
    these counts. `candidate_classes` has the index of the class of each candidate.
    """

    candidate_classes: Points

    @property
    def candidates(self) -> int:
        """How many candidates there are."""
        return len(self.candidate_classes)

    @property
    def row_score(self) -> int:
        """The largest difference of two scores in a group of one row; by default one.

        In a group of n rows, the largest difference is n times as large.
        """
        return 1

    @property
    def row_contribution(self) -> RowContribution:
        """How much a row can change score(a) - score(b), for any candidates a and b.

        A selection depends only on differences of scores. Adding or removing a row changes a
        difference by at most `max_abs`, replacing a row by at most `high - low`. The default is
        from -1 to 1.
        """
        return RowContribution(-1, 1)

    def expected_error(self, noise: Noise, choices: int, confidence: Fraction) -> Fraction:
        """The most by which a chosen score is below the best one, with this confidence.

        The default is a bound for any data. `choices` is the number of picks times the number of
        candidates.
        """
        return Fraction(noise.shortfall(choices, confidence))

    def protection(self, words: AnswerWords) -> str:
        """How a choice is protected: the end of a sentence that names the candidates."""
        return (
            f"one {words.unit} can change how good a candidate is by at most {words.farthest}. The "
            f"choice falls short of the best by at most {words.error} in {words.percent}% of cases."
        )

    @abstractmethod
    def scores(self, counts: Array) -> Array:
        """The scores, an array of whole numbers of shape (groups, candidates).

        `counts` has the shape (groups, classes); its dtype is wide enough for the scores.
        """


@dataclass(frozen=True)
class Frequency(ScoreFunction):
    """The number of rows of each category.

    Sensitivity: adding a row raises one score by one and lowers none, so the difference of two
    scores changes by 1. Replacing a row raises one score and lowers another: 2.
    """

    def scores(self, counts: Array) -> Array:
        return counts


@dataclass(frozen=True)
class Rank(ScoreFunction):
    """Minus the number of rows by which the rank of a candidate misses a quantile.

    Of n rows, `below` have values below the candidate and `above` have values above it. The
    candidate is a quantile q if q n lies between `below` and n - `above`, ends included.
    Otherwise it misses by the distance to the nearer end. Scores count rows in units of 1/d,
    with q = p/d in lowest terms, so they are whole numbers.

    Sensitivity: score = -max(0, d below - p n, p n - d (n - above)). Adding or removing a row
    changes d below - p n by at most max(p, d - p), and the other term likewise. One candidate
    can gain as much as another loses, so the difference of two scores changes by at most
    2 max(p, d - p). If a row is replaced, the difference changes by at most 2 d.

    If there are only two values, and both are candidates, no row is below the lower or above the
    higher one. The higher score is then zero, and their difference is p n - d `up_to` for the rows
    `up_to` the lower one: half of that for any row.

    Attributes:
        quantile: The quantile q.
        classes: How many classes there are; by default, more than two.
    """

    quantile: Fraction
    classes: int | None = None

    @property
    def row_score(self) -> int:
        """The denominator d of p/d: one row, in units of 1/d row."""
        return self.quantile.denominator

    @property
    def row_contribution(self) -> RowContribution:
        """From -2p to 2(d - p), for the quantile p/d; half of that with only two values."""
        part, whole = self.quantile.numerator, self.quantile.denominator
        times = 1 if self.candidates == self.classes == 2 else 2
        return RowContribution(-times * part, times * (whole - part))

    def expected_error(
        self,
        noise: Noise,
        choices: int,  # noqa: ARG002 - their number does not matter here
        confidence: Fraction,
    ) -> Fraction:
        """The most a rank misses the quantile by, if values around it are dense and even.

        With one row between any two candidates, their scores fall by one row after another on both
        sides of the best. So a score falls short by t or more with a probability of at most
        exp(-t/scale), whatever the number of candidates.
        """
        return short_up(noise.scale * Fraction(-log(1 - confidence)), 6)

    def protection(self, words: AnswerWords) -> str:
        return (
            f"one {words.unit} can change how good a candidate is by at most {words.farthest}. "
            f"Where values lie densely and evenly, at most {words.error} ranks lie between the "
            f"quantile and the chosen value in {words.percent}% of cases."
        )

    def scores(self, counts: Array) -> Array:
        """Minus the distance of each rank from the quantile, in units of 1/d row."""
        part, whole = self.quantile.numerator, self.quantile.denominator
        up_to = np.cumsum(counts, axis=1)
        target = part * up_to[:, -1:]
        if len(self.candidate_classes) == counts.shape[1]:
            # Indices increase, so every class belongs to a candidate.
            below = up_to - counts
        else:
            classes = np.array(self.candidate_classes)
            below, up_to = up_to[:, classes] - counts[:, classes], up_to[:, classes]
        distance = np.maximum(whole * below - target, target - whole * up_to)
        scores: Array = -np.maximum(distance, 0)
        return scores


@dataclass(frozen=True)
class Accuracy(ScoreFunction):
    """The number of rows that a threshold classifies correctly.

    A threshold t predicts true for values of t or more, and false for others. A prediction is
    correct if the `label` of the row is the same. To choose the threshold with the most correct
    predictions is to learn a threshold function privately (Kasiviswanathan, Lee, Nissim,
    Raskhodnikova and Smith 2011).

    Sensitivity: adding or removing a row changes each score by one or not at all, all in one
    direction: 1. Replacing a row can raise one score and lower another: 2.
    """

    def scores(self, counts: Array) -> Array:
        false, true = counts[:, 0::2], counts[:, 1::2]
        classes = np.array(self.candidate_classes)
        false_below = (np.cumsum(false, axis=1) - false)[:, classes]
        true_from = np.cumsum(true[:, ::-1], axis=1)[:, ::-1][:, classes]
        scores: Array = false_below + true_from
        return scores


@dataclass(frozen=True)
class Revenue(ScoreFunction):
    """A price times the number of rows whose value is at least that price.

    Each row is an offer. At a price p everyone who offers p or more buys and pays p
    (McSherry and Talwar 2007, the digital goods auction).

    Sensitivity: adding or removing a row changes the revenue at each price up to its offer by
    that price, all in one direction, and leaves the others. So the difference of two scores
    changes by at most the highest price. Replacing a row changes the revenue at each price
    between the old and the new offer by that price, again all in one direction.
    """

    prices: Points

    @property
    def row_score(self) -> int:
        """The highest price, in steps: what a row pays at most."""
        return max(self.prices)

    @property
    def row_contribution(self) -> RowContribution:
        """From zero to the highest price, in steps."""
        return RowContribution(min(0, *self.prices), max(0, *self.prices))

    def scores(self, counts: Array) -> Array:
        buyers = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
        scores: Array = buyers[:, np.array(self.candidate_classes)] * np.array(
            self.prices, counts.dtype
        )
        return scores


@dataclass(frozen=True, kw_only=True)
class SelectionQuery(Query):
    """Counts of rows by group and class, by which candidates are chosen.

    Rows are counted along the axes `classes`, the last one fastest.
    """

    classes: tuple[Axis, ...]

    chooses: ClassVar[bool] = True

    @property
    def inner_axes(self) -> tuple[Axis, ...]:
        return self.classes

    @property
    def block(self) -> int:
        return self.cells_per_group

    @cached_property
    def cells(self) -> int | None:
        """How many groups there are; None if they are private."""
        return self.groups

    @property
    def shape(self) -> Shape:
        rows = LinearQuery(items=self.grouping_axes, where=self.where, present=self.present)
        return rows.shape

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """How far one unit can change differences of scores, added up over the rounds."""
        return super().sensitivity(relation).repeated(self.rounds)

    def terms(self, relation: Relation) -> QueryTerms:
        """With the number of rounds; a group is what a choice is made in."""
        return replace(super().terms(relation), rule="choices", numbers=1, counted=self.rounds)

    def ledger_details(self) -> dict[str, object]:
        details = super().ledger_details()
        return details | {"candidates": self.candidates, "picks": self.rounds}

    @property
    @abstractmethod
    def candidates(self) -> int:
        """How many candidates there are."""

    @property
    @abstractmethod
    def rounds(self) -> int:
        """How many choices follow one another; a unit can change each of them."""

    @abstractmethod
    def choose(self, chooser: Chooser, noise: Noise, answers: Array) -> Array:
        """The index of each chosen candidate, group by group, as one array of int64.

        `answers` are exact, of shape (groups, numbers of a group).
        """

    @abstractmethod
    def expected_error(self, noise: Noise, confidence: Fraction) -> Fraction:
        """The most by which a chosen score is below the best one, with this confidence."""

    def error_in_rows(self, noise: Noise, confidence: Fraction) -> Fraction:
        """The expected error as a number of rows.

        In a group of fewer rows, any two scores differ by less than the expected error.
        """
        return self.expected_error(noise, confidence)


@dataclass(frozen=True, kw_only=True)
class ScoreQuery(SelectionQuery):
    """For each group, the scores of all candidates, by which `k` of them are chosen.

    `score_function` computes the scores of a group from the counts of its classes. The candidates
    are chosen one after another, each from those that were not chosen before.
    """

    score_function: ScoreFunction
    k: int = 1

    chooses_by_score: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError("at least one candidate is chosen")

    @property
    def candidates(self) -> int:
        return self.score_function.candidates

    @property
    def rounds(self) -> int:
        """`k`: one round for each chosen candidate."""
        return self.k

    def terms(self, relation: Relation) -> QueryTerms:
        function = self.score_function
        return replace(
            super().terms(relation),
            score=type(function).__name__.lower(),
            quantile=str(function.quantile) if isinstance(function, Rank) else None,
            sizes=(function.candidates,),
        )

    def answer(self, sums: Array) -> Array:
        """The scores of all candidates, group by group."""
        largest = max(self.row_contribution.max_abs, 1) * sums.size
        counts = widened(sums, largest * largest_magnitude(sums))
        return self.score_function.scores(counts).ravel()

    def choose(self, chooser: Chooser, noise: Noise, answers: Array) -> Array:
        return chooser(noise, answers, self.k)

    def trial_errors(self, noisy: Array, exact: Array) -> Array:
        left = exact.reshape(-1, self.cells_per_group).copy()
        gaps, groups, lowest = [], np.arange(len(left)), left.min(axis=1) - 1
        for chosen in noisy.reshape(-1, self.k).T:
            gaps.append(left.max(axis=1) - left[groups, chosen])
            left[groups, chosen] = lowest
        return np.stack(gaps, axis=1).ravel()

    def changes(self, differences: Array) -> Array:
        """How much differences of scores change in each group, once for each choice."""
        groups = differences.reshape(len(differences), -1, self.cells_per_group)
        return np.repeat(groups.max(axis=2) - groups.min(axis=2), self.k, axis=1)

    def protection(self, words: AnswerWords) -> str:
        return (
            f"{words.role}: chosen by {words.mechanism} among {self.candidates:,} public "
            "candidates, better ones with a higher probability; "
            f"{self.score_function.protection(words)}"
        )

    def expected_error(self, noise: Noise, confidence: Fraction) -> Fraction:
        return self.score_function.expected_error(noise, self.candidates * self.k, confidence)

    def error_in_rows(self, noise: Noise, confidence: Fraction) -> Fraction:
        return self.expected_error(noise, confidence) / self.score_function.row_score

    @cached_property
    def cells_per_group(self) -> int:
        return self.candidates

    @cached_property
    def row_contribution(self) -> RowContribution:
        """How much one row can change the difference of two scores of a group."""
        return self.score_function.row_contribution
