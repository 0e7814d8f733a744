"""Choices: the scores of candidates, by which some of them are chosen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from dpcli.columns import Key
from dpcli.numeric.arrays import Array, np
from dpcli.privacy.sensitivity import RowContribution
from dpcli.queries import Query

Points = tuple[int, ...] | range
"""Rising whole numbers: steps of a grid, or places."""


@dataclass(frozen=True)
class ScoreFunction(ABC):
    """How good each candidate is, as a whole number; more is better.

    Rows are counted in classes, and a utility makes the score of every candidate of
    the counts of one group. The classes of the candidates themselves have these `places`.
    """

    places: Points

    @property
    def candidates(self) -> int:
        """How many candidates there are."""
        return len(self.places)

    @property
    def row_contribution(self) -> RowContribution:
        """How much a row changes the distance of scores, for the table of sensitivities.

        What matters for a choice is the range of a change: the most that one
        candidate gains on another. `max_abs` bounds it where a row comes or goes, and
        `high - low` where a row changes. Unless a utility says otherwise, from -1 to 1.
        """
        return RowContribution(-1, 1)

    @abstractmethod
    def scores(self, counts: Array) -> Array:
        """The score of each candidate (columns) in each group (rows).

        `counts` has a row for each group and a column for each class, of whole numbers
        that cannot overflow.
        """


@dataclass(frozen=True)
class Frequency(ScoreFunction):
    """The number of rows of each category.

    Sensitivity: a row that comes raises one score by one and lowers none, so the distance
    of two scores changes by 1; where a row changes, one rises and another falls: 2.
    """

    def scores(self, counts: Array) -> Array:
        """The counts themselves."""
        return counts


@dataclass(frozen=True)
class Rank(ScoreFunction):
    """By how many rows a candidate misses the quantile; the score is that below zero.

    Of n rows, `below` lie below the candidate and `above` above it. The quantile q
    is right for it if q n lies between `below` and n - `above`, ends included; else the
    distance to the nearer end is what it misses by. Scores count rows in units of
    1/d, with q = p/d in lowest terms, so they are whole numbers.

    Sensitivity: score = -max(0, d below - p n, p n - d (n - above)). A row that comes or
    goes changes d below - p n by d - p or -p, and the other term likewise. One candidate
    can gain as much as another loses, so their distance changes by 2 max(p, d - p) at
    most; where a row changes, by 2 d.
    """

    quantile: Fraction

    @property
    def row_contribution(self) -> RowContribution:
        """From -2p to 2(d - p)."""
        part, whole = self.quantile.numerator, self.quantile.denominator
        return RowContribution(-2 * part, 2 * (whole - part))

    def scores(self, counts: Array) -> Array:
        """Minus the distance of ranks, in units of 1/d rows."""
        part, whole = self.quantile.numerator, self.quantile.denominator
        upto = np.cumsum(counts, axis=1)
        wanted = part * upto[:, -1:]
        if len(self.places) == counts.shape[1]:
            # Places rise, so that every class is a candidate's.
            below = upto - counts
        else:
            places = np.array(self.places)
            below, upto = upto[:, places] - counts[:, places], upto[:, places]
        missed = np.maximum(whole * below - wanted, wanted - whole * upto)
        scores: Array = -np.maximum(missed, 0)
        return scores


@dataclass(frozen=True)
class Accuracy(ScoreFunction):
    """The number of rows that a threshold decides correctly.

    A threshold t calls rows with a value of t or more true, and others false; it is right
    about a row when the row's `label` says the same. Finding the threshold that is right
    most often is learning a threshold function in private (Kasiviswanathan, Lee, Nissim,
    Raskhodnikova and Smith 2011).

    Sensitivity: a row that is added or removed changes each score by one or not at all, all
    in one direction: 1. Where a row changes, one score may rise and another fall: 2.
    """

    def scores(self, counts: Array) -> Array:
        """Rows below that are false, and rows from the threshold on that are true."""
        false, true = counts[:, 0::2], counts[:, 1::2]
        places = np.array(self.places)
        below = (np.cumsum(false, axis=1) - false)[:, places]
        upwards = np.cumsum(true[:, ::-1], axis=1)[:, ::-1][:, places]
        scores: Array = below + upwards
        return scores


@dataclass(frozen=True)
class Revenue(ScoreFunction):
    """A price times the number of rows whose value is at least that price.

    Each row is an offer; at a price p everyone who offers p or more buys, and pays p
    (McSherry and Talwar 2007, the digital goods auction).

    Sensitivity: a row that is added or removed changes the revenue of the prices up to its
    offer by the price itself, all in one direction, and of others by nothing. So the
    difference of two scores changes by at most the highest price. Where an offer changes,
    the prices between old and new offer change by themselves, again in one direction.
    """

    prices: Points

    @property
    def row_contribution(self) -> RowContribution:
        """From zero to the highest price, in steps."""
        return RowContribution(min(0, *self.prices), max(0, *self.prices))

    def scores(self, counts: Array) -> Array:
        """Price times buyers, in steps of the price."""
        buyers = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
        scores: Array = buyers[:, np.array(self.places)] * np.array(self.prices, counts.dtype)
        return scores


@dataclass(frozen=True, kw_only=True)
class ScoreQuery(Query):
    """For each group, the utility of every candidate, of which some are chosen.

    Rows are counted along `classes`, the last one fastest, and `score_function` turns the
    counts of a group into scores. `k` candidates are chosen one after another, each
    from those that are left.
    """

    classes: tuple[Key, ...]
    score_function: ScoreFunction
    k: int = 1

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError("at least one candidate is chosen")

    @cached_property
    def grouping_axes(self) -> tuple[Key, ...]:
        """The groups, and the classes in which rows are counted."""
        return self.by + self.classes

    @cached_property
    def cells_per_group(self) -> int:
        """How many candidates each group has."""
        return self.score_function.candidates

    @cached_property
    def row_contribution(self) -> RowContribution:
        """How much one row can change the distance of the scores of a group."""
        return self.score_function.row_contribution
