"""Quantiles from the noisy counts of a tree: queries, numbers and errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil

from dpcli.noise.distribution import Family, Noise
from dpcli.numeric.arrays import Ints, integer_array, multiply_exact, np
from dpcli.numeric.exact import rounded_text, short_up
from dpcli.privacy.neighboring import Relation
from dpcli.privacy.unit import PersonUnit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery
from dpcli.queries.scores import Points
from dpcli.statistics.candidate_classes import classes_at_and_between
from dpcli.statistics.design import Design, Measure, NoisyAnswer, Request, WeightedQuery, groups
from dpcli.statistics.estimates import HAS_INTERVAL, Estimates
from dpcli.statistics.quantiles.recursion import nearest_candidates
from dpcli.statistics.quantiles.tree import CountTree, RankErrors, classes_of_quantiles

STATED = Fraction(19, 20)
"""The confidence of the errors that plans state in words."""

POWERS: dict[Measure, int] = {"epsilon": 1, "rho": 2}
"""The power of the noise that a share of epsilon or of rho divides."""

USUAL_PART = 0.5
"""The part of `usual_error` with which choices are compared: counts that are not negative have
smaller errors, for incomes and for even values about half on average. Where rows share values,
counts are better than that by far, and choices in rounds can be worse than single choices."""


def may_count(request: Request, relation: Relation) -> bool:
    """Whether counts may answer: in public groups, and all levels about the same rows.

    Limits on the groups of a person would leave out other rows in each level.
    """
    unit = relation.unit
    limited = isinstance(unit, PersonUnit) and unit.limits_groups
    private = any(axis.is_private for axis in request.by)
    return not limited and not private


@dataclass(frozen=True, kw_only=True)
class TreeOfCounts(Design):
    """The rows in each node of a tree over the classes of candidates, a query for each level."""

    quantiles: tuple[Fraction, ...]

    @classmethod
    def of(
        cls,
        request: Request,
        quantiles: tuple[Fraction, ...],
        families: tuple[Family, ...],
        measure: Measure,
    ) -> TreeOfCounts:
        """The design for some quantiles, with shares of this measure."""
        classes, _ = classes_at_and_between(request.numeric, request.candidates)
        tree = CountTree(len(classes))
        queries = tuple(
            WeightedQuery(
                f"rows in {len(axis):,} ranges",
                LinearQuery(by=request.by, items=(axis,), where=request.where),
                share,
            )
            for axis, share in zip(tree.axes(classes), tree.shares(POWERS[measure]), strict=True)
        )
        return cls(request, queries, families, (measure,), quantiles=quantiles)

    @property
    def tree(self) -> CountTree:
        """The tree, with a node for each class on its last level."""
        return CountTree(self.queries[-1].query.cells_per_group)

    def expected_error(self, errors: Sequence[float]) -> float:
        """The error of the worst quantile, in ranks."""
        return USUAL_PART * self.usual_error(errors)

    def usual_error(self, errors: Sequence[Fraction | float]) -> float:
        """About how many ranks the worst quantile misses by where values lie densely and evenly.

        It is at the confidence of `errors`, those of a count in each level.
        """
        middle = min(map(float, self.quantiles), key=lambda quantile: abs(quantile - 0.5))
        return self.tree.usual_error(middle, list(map(float, errors)))

    def sentences(self, noises: Sequence[Noise], confidence: Fraction) -> tuple[str, ...]:
        """How quantiles are counted, and how many rows a group needs."""
        error = Fraction(self.usual_error([noise.half_width(STATED) for noise in noises]))
        *ranges, last = (f"{part.query.cells_per_group:,}" for part in self.queries)
        listed = f"{', '.join(ranges)} and {last}" if ranges else last
        counted = (
            f"the rows are counted in {listed} ranges of values with noise, and quantiles are "
            "read from counts that agree and are not negative. Where values lie densely and "
            f"evenly, a quantile misses by at most {rounded_text(error, 2)} rows with 95% "
            "confidence; where rows share values, by fewer"
        )
        if not self.request.by:
            return (counted,)
        rows = short_up(Fraction(self.rows_to_show(noises)), 2)
        return counted, (
            f"in groups of fewer than about {int(rows):,} rows, noise hides at least one of "
            "the quantiles: its interval may reach the first or the last candidate"
        )

    def rows_to_show(self, noises: Sequence[Noise]) -> int:
        """About how many rows it takes until noise no longer hides one of the quantiles.

        With fewer, the rank of a quantile is nearer to the first or the last row than the noise is
        large, and its interval may reach the end of the candidates.
        """
        errors, needed = RankErrors(self.tree, tuple(noises)), 0
        for quantile in self.quantiles:
            margin = float(errors.margins(float(quantile), STATED).max())
            needed = max(needed, ceil(margin / min(quantile, 1 - quantile)))
        return needed

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        """The candidate of each quantile, with an interval that has the exact one."""
        request, column = self.request, self.request.numeric
        points = request.candidates
        _, known = classes_at_and_between(column, points)
        counts = [answer.values.reshape(groups(request), -1) for answer in answers]
        noises = [answer.noise for answer in answers]
        positions, last = np.asarray(known), len(points) - 1
        limits = points[0] * column.step, points[-1] * column.step
        items = []
        for found in classes_of_quantiles(self.tree, counts, noises, self.quantiles, confidence):
            value = nearest_candidates(known, found.index, found.in_first_half)
            lower = np.maximum(np.searchsorted(positions, found.lowest, side="right") - 1, 0)
            upper = np.minimum(np.searchsorted(positions, found.highest), last)
            chosen = Estimates.chosen(candidate_values(points, value), column.step)
            bounded = replace(
                chosen,
                lower=candidate_values(points, lower),
                upper=candidate_values(points, upper),
                limits=(limits,),
                status=np.full(len(value), HAS_INTERVAL, np.int8),
            )
            items.append(bounded)
        return replace(Estimates.interleaved(items), date_range=column.date_range)


def candidate_values(points: Points, indices: Ints) -> Ints:
    """The candidates at these indices, in steps of the column."""
    if isinstance(points, range):
        values: Ints = points.start + multiply_exact(indices, points.step)
        return values
    return integer_array(points)[indices]
