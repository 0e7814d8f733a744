"""Choices: the best of declared candidates, and the most frequent categories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Annotated

from pydantic import Field

from dpcli.columns import CategoryColumn, Key
from dpcli.numeric.arrays import np
from dpcli.privacy.neighboring import Relation
from dpcli.scores import Accuracy, Frequency, Revenue, ScoreFunction, ScoreQuery
from dpcli.spec_fields import (
    BooleanColumnName,
    Candidates,
    FieldFault,
    LabelColumnName,
    NumericColumnName,
    check_at_most,
)
from dpcli.spec_values import NO_FIXED_LIMIT, Choice, field_types, whole_number
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.quantile import chosen_candidates, classes_from_each
from dpcli.statistics.statistic import NoisyAnswer, Request, Statistic, WeightedQuery, numeric

SCORE_FUNCTIONS: dict[str, type[ScoreFunction]] = {"revenue": Revenue, "accuracy": Accuracy}
"""What a choice can be judged by."""


UtilityName = Annotated[
    str, Choice("unknown-utility", tuple(SCORE_FUNCTIONS)), Field(examples=["revenue"])
]


class Choose(Statistic):
    """The best of declared `candidates`, by a `utility`, overall or in each group of `by`.

    `utility: revenue`: each row is an offer; the best price is the one that earns most if
    everyone who offers as much or more pays it (the auction of McSherry and Talwar 2007).
    `utility: accuracy`: the best threshold is the one from which on most rows are true and
    below which most are false, in the boolean column `label`. `value` is the chosen
    candidate. What it earns, or how often it is right, is not published: another statistic
    can count that. The expected error in `plan` says by how much its utility falls short of
    the best at most.

    Privacy: adding or removing a row changes the revenue of prices up to its offer by the
    price itself, and so the difference of two revenues by at most the highest price; so
    does changing an offer. Adding or removing a row changes the number of rows that a
    threshold decides correctly by 1, all in one direction, so the difference of two such
    numbers by 1; changing a row, by 2.

    >>> x = "{type: integer, bounds: [0, 10]}"
    >>> l1("statistic: choose, column: x, candidates: [5, 8], utility: revenue", x=x)
    {'add-remove': [8], 'change-one': [8]}

    No interval is given: how much worse the other candidates are is private.
    """

    name = "choose"
    has_raw = False
    takes = field_types(
        column=NumericColumnName,
        candidates=Candidates,
        utility=UtilityName,
        label=BooleanColumnName | None,
    )
    chooses = True
    steps = ()

    def faults(self, request: Request, relation: Relation) -> Iterable[FieldFault]:
        """A label is there where thresholds are judged by it, and prices are not negative."""
        judged = request.utility == "accuracy"
        if judged and request.label is None:
            yield FieldFault("label-missing", "utility")
        if not judged and request.label is not None:
            yield FieldFault("label-not-taken", "label", utility=request.utility)
        points = request.candidates
        if not judged and len(points) and (points[0] < 0 or points[-1] <= 0):
            yield FieldFault("price-negative", "candidates")

    def queries(self, request: Request, relation: Relation) -> tuple[WeightedQuery, ...]:
        """One choice among the candidates."""
        column = numeric(request)
        key, places = classes_from_each(column, request.candidates)
        classes: tuple[Key, ...] = (key,)
        score: ScoreFunction = Revenue(places, request.candidates)
        step = column.step
        if request.label is not None:
            classes, score = (key, Key(request.label)), Accuracy(places)
            step = Fraction(1)
        query = ScoreQuery(
            by=request.by, where=request.where, classes=classes, score_function=score
        )
        return (WeightedQuery(request.utility, query, step=step),)

    def estimate(
        self, request: Request, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> Estimates:
        """The chosen candidates, in the column's unit."""
        return chosen_candidates(request, answers)


Picks = Annotated[
    int, whole_number(NO_FIXED_LIMIT, "of the labels are chosen"), Field(examples=[3])
]


class TopK(Statistic):
    """The `k` most frequent categories of a column, most frequent first.

    Overall or in each group of `by`. Of the declared labels, one is chosen by the number of
    rows that have it, then one of the others, and so on: `item` is the label, `value` its
    rank. The number of rows that have a label is not published; a `histogram` publishes
    that. The expected error in `plan` is a number of rows: a chosen label has at most that
    many rows fewer than a better one.

    Privacy: a row that is added or removed changes the count of one label by 1, and the
    difference of two counts by as much; changing a row changes it by 2. Each of the k
    choices has a k-th of epsilon (McSherry and Talwar 2007).

    >>> l1("statistic: top_k, column: sex, k: 2", sex="{type: category, values: [f, m]}")
    {'add-remove': [2], 'change-one': [4]}

    No interval is given: a rank is not a number with an error, and how much less frequent
    the other labels are is private.
    """

    name = "top_k"
    has_raw = False
    item = "rank"
    chooses_labels = True
    takes = field_types(column=LabelColumnName, k=Picks)
    chooses = True
    steps = ()

    def faults(self, request: Request, relation: Relation) -> Iterable[FieldFault]:
        """No more labels are chosen than there are."""
        labels = len(categories(request).labels)
        yield from check_at_most(request.k, "k", labels, "of the labels are chosen")

    def queries(self, request: Request, relation: Relation) -> tuple[WeightedQuery, ...]:
        """The `k` choices among the labels."""
        column = categories(request)
        query = ScoreQuery(
            by=request.by,
            where=request.where,
            classes=(Key(column),),
            score_function=Frequency(range(len(column.labels))),
            k=request.k,
        )
        return (WeightedQuery("frequency", query),)

    def estimate(
        self, request: Request, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> Estimates:
        """The chosen labels and their ranks."""
        places, labels = answers[0].values, np.array(categories(request).labels, object)
        ranks = np.arange(len(places)) % request.k + 1
        return Estimates.chosen(ranks, items=labels[places])

    def names(self, request: Request) -> tuple[str, ...]:
        """The ranks, from one."""
        return tuple(str(rank + 1) for rank in range(request.k))


def categories(request: Request) -> CategoryColumn:
    """The category column of a request; the spec has checked that it is one."""
    if not isinstance(request.column, CategoryColumn):
        raise TypeError("this statistic needs a category column")
    return request.column


class Mode(TopK):
    """The most frequent category of a column, overall or in each group of `by`.

    One of the declared labels is chosen by the number of rows that have it: `item` is the
    label, and `value` its rank, one. The number of rows that have it is not published; a
    `histogram` publishes that.

    Privacy: a row that is added or removed changes the count of one label by 1, and the
    difference of two counts by as much; changing a row changes it by 2 (McSherry and Talwar
    2007).

    >>> l1("statistic: mode, column: sex", sex="{type: category, values: [f, m]}")
    {'add-remove': [1], 'change-one': [2]}

    No interval is given: a label is not a number with an error.
    """

    name = "mode"
    takes = field_types(column=LabelColumnName)
    item = ""
