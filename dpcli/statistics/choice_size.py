"""The noisy size of a choice: the number of rows that it is made from.

How much better the chosen candidate is than others is private, so a choice has no interval. But the
plan states its error, a number of rows that holds for any data, and a noisy count of the rows of a
group says whether there are enough of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from dpcli.noise.distribution import Noise
from dpcli.noise.tails import one_sided_width
from dpcli.numeric.arrays import np
from dpcli.privacy.neighboring import Relation
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.scores import SelectionQuery
from dpcli.statistics.estimates import IMPRECISE, NO_INTERVAL, UNBOUNDED, Estimates
from dpcli.statistics.numeric_columns import date_range, numeric
from dpcli.statistics.postprocessing import IMPRECISE_SHARE
from dpcli.statistics.quantile_counts import candidate_values
from dpcli.statistics.statistic import NoisyAnswer, Queries, Request, WeightedQuery

SIZE_SHARE = Fraction(1, 10)
"""The share of the loss of a choice that its size gets: with a tenth, errors are a ninth larger."""


def with_size(choices: Queries, relation: Relation) -> Queries:
    """The queries of a choice, and last the number of rows that they score in each group.

    Privacy: the size is one more answer to the entry, about the same rows. Weights divide the loss
    of the entry among all answers, so that the choices get what the size leaves. A number of rows
    that is the same for all neighbors is answered exactly and leaves all of it.
    """
    scored = choices[0].query
    columns = (*scored.present, *(axis.column for axis in scored.inner_axes))
    rows = LinearQuery(by=scored.by, where=scored.where, present=tuple(dict.fromkeys(columns)))
    public = relation.size_is_public and not rows.may_skip and rows.cells == 1
    share = Fraction(0) if public else SIZE_SHARE
    chosen = (replace(one, weight=one.weight * (1 - share)) for one in choices)
    return *chosen, WeightedQuery("count", rows, share, supports=True)


FLAG_CONFIDENCE = Fraction(19, 20)
"""Of the groups without rows, at least this share is flagged, whatever confidence a spec states."""


class SizeLimits(NamedTuple):
    """From how many noisy rows on a choice says something, and from how many it is precise.

    Let e be the error of the choice in rows, w what the noise of a size exceeds in one direction
    with the remaining probability, and n a noisy size. Every row changes what is compared, its
    score, by at most one (for revenues, by at most the highest price: then e is counted in rows
    that each pay it). So the scores of N rows differ by at most N. If n - w < e, there may be fewer
    rows than e, and the noise alone may have decided: any candidate is as good as the best, up to
    the error. Of groups without rows, 1 - p have such an n, if w is exceeded with probability p.
    """

    informative: int
    precise: int
    width: int

    @classmethod
    def of(cls, answered: Sequence[tuple[Query | None, Noise]], confidence: Fraction) -> SizeLimits:
        """Those of the queries of an entry and their noises: choices, and last their size.

        The least precise choice counts.
        """
        *choices, (_, size) = answered
        error = max(
            query.error_in_rows(noise, confidence)
            for query, noise in choices
            if isinstance(query, SelectionQuery)
        )
        width = one_sided_width(size, float(1 - confidence))
        informative = ceil(error + width)
        return cls(informative, max(informative, ceil(error / IMPRECISE_SHARE)), width)

    @property
    def rows(self) -> int:
        """The size from which on a group has no flag, with the confidence of `width`."""
        return self.precise + self.width


def flag_sizes(estimates: Estimates, answers: Sequence[NoisyAnswer]) -> Estimates:
    """What was chosen, with the status that the noisy size of its group gives it.

    A function of noisy answers and public knowledge alone. The last answer is the size.
    """
    limits = SizeLimits.of([(answer.query, answer.noise) for answer in answers], FLAG_CONFIDENCE)
    size = answers[-1].values
    rows = np.repeat(size, len(estimates) // max(len(size), 1))
    status = np.where(rows < limits.precise, IMPRECISE, NO_INTERVAL)
    status[(rows < limits.informative).astype(np.bool_)] = UNBOUNDED
    return replace(estimates, status=status.astype(np.int8))


def chosen_candidates(request: Request, answers: Sequence[NoisyAnswer]) -> Estimates:
    """The chosen candidates, in the order of groups, then answers, in the unit of the column.

    The last answer is the number of rows of each group.
    """
    chosen = np.stack([answer.values for answer in answers[:-1]], axis=1).ravel()
    column = numeric(request)
    estimates = Estimates.chosen(candidate_values(request.candidates, chosen), column.step)
    estimates = replace(estimates, date_range=date_range(column))
    return flag_sizes(estimates, answers)
