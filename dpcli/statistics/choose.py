"""The best of declared candidates, by a utility that is named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Annotated

from pydantic import Field

from dpcli.fields import BooleanColumnName, Candidates, Fault, NumericColumnName
from dpcli.privacy.decimals import decimal_places
from dpcli.privacy.relation import Relation
from dpcli.queries import Key, ScoreQuery
from dpcli.scores import Accuracy, Revenue, Utility
from dpcli.statistics.base import Answer, Estimate, Question, Request, Statistic, numeric
from dpcli.statistics.quantile import from_each
from dpcli.values import Choice, Shape

UTILITIES: dict[str, type[Utility]] = {"revenue": Revenue, "accuracy": Accuracy}
"""What a choice can be judged by."""


UtilityName = Annotated[
    str, Choice("unknown-utility", tuple(UTILITIES)), Field(examples=["revenue"])
]


class ChooseFields(Shape):
    """The column, what may be chosen, and what candidates are judged by."""

    column: NumericColumnName
    candidates: Candidates
    utility: UtilityName
    label: BooleanColumnName | None = None


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

    No interval is given: how much worse the other candidates are is private.
    """

    name = "choose"
    keeps_raw = False
    fields = ChooseFields
    chooses = True
    steps = ()

    def faults(self, request: Request, relation: Relation) -> Iterable[Fault]:
        """A label is there where thresholds are judged by it, and prices are not negative."""
        judged = request.utility == "accuracy"
        if judged and request.label is None:
            yield Fault("label-missing", "utility")
        if not judged and request.label is not None:
            yield Fault("label-not-taken", "label", utility=request.utility)
        points = request.candidates
        if not judged and len(points) and (points[0] < 0 or points[-1] <= 0):
            yield Fault("price-negative", "candidates")

    def questions(self, request: Request, relation: Relation) -> tuple[Question, ...]:
        """One choice among the candidates."""
        column = numeric(request)
        key, places = from_each(column, request.candidates)
        classes: tuple[Key, ...] = (key,)
        utility: Utility = Revenue(request.candidates, places)
        unit = column.step
        if request.label is not None:
            classes, utility = (key, Key(request.label)), Accuracy(places)
            unit = Fraction(1)
        query = ScoreQuery(by=request.by, where=request.where, classes=classes, utility=utility)
        return (Question(request.utility, query, unit=unit),)

    def estimate(
        self, request: Request, answers: Sequence[Answer], confidence: Fraction
    ) -> tuple[Estimate, ...]:
        """The chosen candidates, in the column's unit."""
        column = numeric(request)
        places = decimal_places(column.step)
        return tuple(
            Estimate(request.candidates[chosen] * column.step, None, None, places)
            for chosen in answers[0].values
        )
