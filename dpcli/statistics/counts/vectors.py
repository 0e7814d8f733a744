"""Numbers that one unit can change together, with K-norm noise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from math import inf, sqrt
from operator import itemgetter
from typing import Any

from dpcli.noise.bodies import BODIES
from dpcli.privacy.norms import NORMS
from dpcli.privacy.unit import Neighbors, Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.vectors import VectorQuery
from dpcli.statistics.design import Inputs, LinearDesign, WeightedQuery

MAX_SIZE = 1024
"""The most numbers of a vector; the time of its noise grows with their square."""

MAX_RELATIVE_DEVIATION = 0.95
"""Other designs are used with at most this part of the noise of separate numbers."""

REASON = (
    "the numbers have K-norm noise: it covers {change}, instead of the sum of all changes, so this "
    "needs less noise than separate numbers; the numbers share it"
)


@dataclass(frozen=True, kw_only=True)
class NumbersTogether(LinearDesign):
    """Numbers with K-norm noise, in place of noise for the sum of their changes.

    At the same rho, other designs have less noise.
    """

    @classmethod
    def of(
        cls, inputs: Inputs, separate: WeightedQuery, relation: Relation
    ) -> tuple[NumbersTogether, ...]:
        """The design instead of `separate` numbers; empty unless it has less noise.

        Empty also for a sample, whose numbers are estimated from separate ones.
        """
        if inputs.sample or (together := vectors_instead(separate, relation)) is None:
            return ()
        return (cls(inputs, (together[0],), **in_vectors(together[1])),)

    @property
    def block(self) -> tuple[int, ...]:
        (size, _) = self.queries[0].query.vectors or (1, "")
        return (size,)


def in_vectors(reason: str) -> dict[str, Any]:
    """What designs with K-norm noise have in common."""
    return {
        "families": ("l1", "vector"), "reason": reason,
        "gains_by_epsilon": True, "answered_by": "k_norm",
    }  # fmt: skip


def vectors_instead(
    separate: WeightedQuery, relation: Relation, *, of_differences: bool = False
) -> tuple[WeightedQuery, str] | None:
    """Vectors in place of `separate` numbers, and the reason.

    None unless they have less noise. With `of_differences`, there is one vector, and that is the
    noise of the difference of two of its numbers.
    """
    query = separate.query
    possible = () if query.cells is None else _possible(separate, relation)
    found = [
        (sqrt(1 - correlation) * deviation if of_differences else deviation, vectors)
        for deviation, correlation, vectors in possible
        if not (of_differences and vectors.by_group)
    ]
    deviation, best = min(found, key=itemgetter(0), default=(inf, None))
    if (
        best is None
        or deviation > MAX_RELATIVE_DEVIATION * sqrt(2) * query.sensitivity(relation).l1
    ):
        return None
    return replace(separate, query=best), REASON.format(change=NORMS[best.norm].change)


def _possible(
    separate: WeightedQuery, relation: Relation
) -> Iterator[tuple[float, float, VectorQuery]]:
    """Each way to divide the numbers into vectors, with deviation and correlation.

    Under change-one, a row may leave the rows of an entry with a filter and enter those of another.
    Separate counts by groups of disjoint entries then cost no more than those of one: a removal and
    an addition are an exchange. So with filters, a removal is no larger a part of an exchange than
    for separate numbers.
    """
    of = separate.query
    added = Relation(relation.unit, Neighbors.ADD_REMOVE)
    moves = relation != added and bool(of.where)
    for body in BODIES.values():
        for by_group in (False, True):
            query = VectorQuery(
                by=of.by, items=of.items, where=of.where, present=of.present,
                of=of, norm=body.norm.name, by_group=by_group,
            )  # fmt: skip
            if 1 < query.size <= MAX_SIZE:
                # A bound may not be proven for this body.
                with suppress(ValueError):
                    change = query.sensitivity(relation).l1
                    removed = query.sensitivity(added).l1 if moves else 0
                    if change * of.sensitivity(added).l1 >= of.sensitivity(relation).l1 * removed:
                        deviation = sqrt(body.variance(query.size)) * change
                        yield deviation, body.correlation(query.size), query
