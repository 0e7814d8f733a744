"""The value below which a given part of a numeric column lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

from dpcli.fields import Candidates, NumericColumnName, Quantiles
from dpcli.privacy.decimals import decimal_places, plain_text
from dpcli.privacy.relation import Relation
from dpcli.queries import ScoreQuery
from dpcli.scores import Rank
from dpcli.statistics.base import (
    Answer,
    Estimate,
    Question,
    Request,
    Statistic,
    numeric,
)
from dpcli.statistics.cuts import at_and_between
from dpcli.values import Shape


class QuantileFields(Shape):
    """The column, which parts of the rows, and the values to choose from."""

    column: NumericColumnName
    quantiles: Quantiles
    candidates: Candidates | None = None


class Quantile(Statistic):
    """Values below which given shares of a numeric column lie, overall or in each group.

    Each of the `quantiles` is chosen from public `candidates` (a list, or `{step: ...}`
    from bound to bound; all steps of the column if absent), by the number of rows by which
    the rank of a candidate is off. The expected error in `plan` is a number of rows: that
    many ranks may lie between the published value and the quantile. Several quantiles share
    epsilon evenly, and `post: [consistent]` puts them in order where noise has swapped
    them.

    Privacy: for the quantile p/d in lowest terms, the score of a candidate is minus the
    number of rows by which its rank is off, in units of 1/d. Adding or removing a row
    changes the difference of two scores by at most 2 max(p, d - p), and changing a row by 2
    d, or by twice the former if the row moves to another group; the scale of the mechanism
    is that over epsilon. Candidates are public; values are counted and never shown (Smith
    2011).

    No interval is given: how far a few ranks are apart in value is itself private, and the
    choice reveals nothing about it. Two quantiles around the one of interest give honest
    bounds for it.
    """

    name = "quantile"
    keeps_raw = False
    fields: ClassVar[type[Shape]] = QuantileFields
    chooses = True
    steps: ClassVar[tuple[str, ...]] = ("consistent",)

    def quantiles(self, request: Request) -> tuple[Fraction, ...]:
        """Which quantiles are asked for."""
        return request.quantiles

    def questions(self, request: Request, relation: Relation) -> tuple[Question, ...]:
        """One choice for each quantile."""
        column, asked = numeric(request), self.quantiles(request)
        classes, places = at_and_between(column, request.candidates)
        return tuple(
            Question(
                f"rank of {plain_text(quantile)}",
                ScoreQuery(
                    by=request.by,
                    where=request.where,
                    classes=(classes,),
                    utility=Rank(quantile, places),
                ),
                Fraction(1, len(asked)),
                Fraction(1, quantile.denominator),
            )
            for quantile in asked
        )

    def estimate(
        self, request: Request, answers: Sequence[Answer], confidence: Fraction
    ) -> tuple[Estimate, ...]:
        """The chosen candidates, in the column's unit."""
        column, points = numeric(request), request.candidates
        places = decimal_places(column.step)
        return tuple(
            Estimate(points[chosen] * column.step, None, None, places)
            for group in zip(*(answer.values for answer in answers), strict=True)
            for chosen in group
        )

    def items(self, request: Request) -> tuple[str, ...]:
        """The quantiles."""
        return tuple(plain_text(quantile) for quantile in request.quantiles)

    def item_name(self, request: Request) -> str:
        """Each item is a quantile."""
        return "quantile"

    def consistent(
        self,
        request: Request,
        answers: Sequence[Answer],
        estimates: Sequence[Estimate],
        confidence: Fraction,
    ) -> tuple[Estimate, ...]:
        """The values of each group, put in the order of their quantiles."""
        asked = self.quantiles(request)
        order = sorted(range(len(asked)), key=lambda place: asked[place])
        found = list(estimates)
        for start in range(0, len(found), len(asked)):
            values = sorted(found[start + place].value or Fraction(0) for place in order)
            for place, value in zip(order, values, strict=True):
                found[start + place] = replace(found[start + place], value=value)
        return tuple(found)
