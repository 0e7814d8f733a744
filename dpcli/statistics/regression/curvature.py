"""Intervals of coefficients that minimize an objective, by its noisy curvature.

Noise moves a minimizer by as much as the objective is flat. How flat it is depends on the inputs
of the rows, so the sums of their products are measured, with a share of the loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from math import ceil, floor, prod

from dpcli.noise.distribution import Noise
from dpcli.noise.k_norm import KNormNoise
from dpcli.numeric.arrays import Floats, integer_array, np
from dpcli.numeric.exact import exact_or_up, short_up
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from dpcli.statistics.design import (
    TYPICAL_MEAN,
    TYPICAL_SQUARE,
    TYPICAL_VARIANCE,
    Design,
    Inputs,
    NoisyAnswer,
    WeightedQuery,
)
from dpcli.statistics.estimates import HAS_INTERVAL, UNBOUNDED, Estimates
from dpcli.statistics.intervals import FiducialInterval
from dpcli.statistics.regression.queries import ObjectiveQuery

CURVATURE_SHARE = Fraction(1, 10)
"""The share of the loss for all products of the inputs together."""

ITERATIONS = 25
"""How often change and curvature are computed from each other, at most."""

TWO_NOISES = Fraction(7, 4)
"""With this many times the rows that noise hides, most releases have intervals."""

MARGIN = 0.01
"""The part by which a change is enlarged, to exceed the fixed point."""


@dataclass(frozen=True, kw_only=True)
class ObjectiveDesign(Design):
    """A design of an objective, and sums of the products of any two of its inputs.

    The column of ones is an input too, so the first sum is the number of rows.
    """

    objective: ObjectiveQuery
    minimized: str
    exception: str = ""

    @classmethod
    def of(
        cls,
        inputs: Inputs,
        relation: Relation,
        query: ObjectiveQuery,
        minimized: str,
        exception: str = "",
    ) -> ObjectiveDesign:
        """The design that answers an objective, which sentences call `minimized`.

        `exception` is added to the sentence on shrinkage: where slopes shrink more.

        Privacy: the sums are more answers to the entry, about the same rows. Weights divide the
        loss of the entry among all answers. A number of rows that is the same for all neighbors
        costs nothing.
        """
        rows = LinearQuery(where=query.where, present=query.required_columns)
        terms: list[tuple[Factor, ...]] = [(), *((factor,) for factor in query.inputs)]
        sums = []
        for first, second in combinations_with_replacement(terms, 2):
            factors = first + second
            names = ", ".join(factor.column.name for factor in factors)
            role = ("count", f"sum of {names}", f"products of {names}")[len(factors)]
            step = prod((factor.step for factor in factors), start=Fraction(1))
            weight = Fraction(0 if not factors and rows.is_public(relation) else 1)
            sums.append(
                WeightedQuery(role, replace(rows, factors=factors), weight, step, supports=True)
            )
        total = sum(weighted.weight for weighted in sums)
        parts = (
            replace(weighted, weight=weighted.weight / total * CURVATURE_SHARE) for weighted in sums
        )
        objective = WeightedQuery("objective", query, 1 - CURVATURE_SHARE, query.step)
        return cls(
            inputs,
            (objective, *parts),
            ("slope",),
            objective=query,
            minimized=minimized,
            exception=exception,
        )

    def sentences(self, noises: Sequence[Noise], confidence: Fraction) -> tuple[str, ...]:
        ridge = self.objective.perturbation(noises[0].scale * self.queries[0].step).ridge
        noise, shrinkage = ridge_sentences(self.minimized, ridge / self.objective.curvature)
        shrinkage += self.exception
        return noise, shrinkage, curvature_design(self.objective, noises, Fraction(19, 20))

    def with_intervals(
        self,
        estimates: Estimates,
        answers: Sequence[NoisyAnswer],
        units: Sequence[Fraction],
        confidence: Fraction,
        origin: Fraction = Fraction(0),
    ) -> Estimates:
        """Coefficients with intervals in these units of the scaled ones, intercept first.

        The intercept is that of scaled columns less the slopes times the middles of the inputs,
        plus an `origin`. Ends are rounded outwards to the last decimal, after a step of the grid
        for each coefficient and a millionth for floats. If the query has a `greatest` sum of
        coefficients, they are clipped to what it allows, and intervals without a bound are all that
        is allowed.
        """
        query = self.objective
        if not answers[0].noise.scale:
            return estimates
        rows = _weights(query, units)
        half_widths = CoefficientErrors.half_widths(
            answers, query, np.array(rows, np.float64), confidence
        )
        is_unbounded = not np.isfinite(half_widths).all()
        if is_unbounded and query.greatest is None:
            return replace(estimates, status=np.full(len(estimates), UNBOUNDED, np.int8))
        ends, limits = [], []
        for index, (row, half_width) in enumerate(zip(rows, half_widths, strict=True)):
            value = int(estimates.value[index])
            last = int(1 / (10 ** estimates.decimals[index] * estimates.step))
            if query.greatest is not None:
                middle = Fraction(0) if index else origin
                distance = query.greatest * max(map(abs, row))
                min_limit = floor((middle - distance) / estimates.step)
                max_limit = ceil((middle + distance) / estimates.step)
                limits.append((min_limit * estimates.step, max_limit * estimates.step))
            if is_unbounded:
                low, high = min_limit, max_limit
            else:
                width = Fraction(float(half_width) * (1 + 1e-6))
                width += query.grid * sum(map(abs, row), start=Fraction(0))
                steps = ceil(width / estimates.step)
                low, high = value - steps, value + steps
            ends.append((low // last * last, -(-high // last) * last))
        lower, upper = map(integer_array, zip(*ends, strict=True))
        status = np.full(len(estimates), HAS_INTERVAL, np.int8)
        return replace(estimates, lower=lower, upper=upper, status=status).within(limits)


def curvature_sentence() -> str:
    """A sentence for the plan: what noisy products of inputs are for, and their cost."""
    percent = exact_or_up(CURVATURE_SHARE * 100)
    return (
        "no error of the coefficients is known before a release; intervals follow from noisy "
        f"products of the inputs, with {percent}% of the loss, and contain the coefficients "
        "of the same ridge regression without noise"
    )


@dataclass(frozen=True, slots=True)
class CoefficientErrors:
    """How far plausible slopes move coefficients, for plausible products of inputs.

    Let t be the published minimizer of J(t) + <b, t> for the random slope b, and t* that of J, the
    objective with its ridge but without noise, both over the same convex set. With d = t - t*, the
    conditions of the two minima give <J'(t) - J'(t*), d> <= -<b, d>, with equality inside the set.
    There d = -H^-1 b, for the mean H of J'' between t* and t: the ridge plus the sum of h x x' over
    the rows. If h is from l to u, H is from L = ridge + l G to U = ridge + u G for the products G
    of the inputs. Then for any weights a, with C = (L^-1 + U^-1)/2 and D = (L^-1 - U^-1)/2,

        |a'd| <= |a'Cb| + sqrt(a'Da b'Db).

    For squares, l = u = 1, and this is the error itself. Where t or t* is on the border of the set,
    U^-1 is zero: <Ld, d> <= -<b, d> is such an ellipsoid.

    For logistic losses, u is 1/4, and l the least mean curvature for a change of at most r in L1.
    The change is at most R(l), the root of b'L^-1 b times the sum of |v|^2/m over the unit
    eigenvectors v of L and their eigenvalues m, with |v| in L1. It grows continuously from zero as
    the slope grows from zero to b. So it is at most r if R(l) is below r, for the r just above the
    least fixed point.

    The distribution of b is known, and G is noisy. Plausible G are the noisy products less draws of
    their noise. Where these are not positive definite, or no r is found, any error is possible:
    with more such draws than the risk allows, there is no interval.
    """

    query: ObjectiveQuery
    scale: float
    ridge: float
    theta: Floats
    weights: Floats

    @classmethod
    def half_widths(
        cls,
        answers: Sequence[NoisyAnswer],
        query: ObjectiveQuery,
        weights: Floats,
        confidence: Fraction,
    ) -> Floats:
        """Half-widths of intervals for weighted sums of the coefficients; shape (sums,).

        The first answer is that of the objective; `weights` have the shape (sums, coefficients).
        Infinite without an interval.
        """
        objective, *sums = answers
        scale, ridge = query.perturbation(objective.noise.scale * query.step)
        theta = objective.values.astype(np.float64) * float(query.grid)
        errors = cls(query, float(scale), float(ridge), theta, weights)
        # Errors have no sign: the risk is all at the upper end.
        both_sides = 1 - 2 * (1 - confidence)
        return FiducialInterval(sums, errors.of, both_sides, uniform=query.cells + 1).upper[:, 0]

    def of(self, plausible: Floats) -> Floats:
        """Bounds on the errors, shape (sums, draws); NaN where any error is possible.

        `plausible` has products in steps and uniform numbers, shape (numbers, draws).
        """
        size, query = self.query.cells, self.query
        products = _matrices(plausible[: -size - 1], query)
        slopes = KNormNoise.vectors(plausible[-size - 1 :]).T * self.scale
        sizes, axes = np.linalg.eigh(products)
        is_possible = sizes[:, 0] > 0
        sizes = np.maximum(sizes, 0)
        # The slopes and the weights along the axes of the products.
        slope = np.einsum("nij,ni->nj", axes, slopes)
        weights = np.einsum("nij,ai->anj", axes, self.weights)
        norm = float(abs(self.theta).sum())

        lengths = abs(axes).sum(axis=1) ** 2

        def reach(curvature: Floats) -> Floats:
            inverse = 1 / (self.ridge + curvature[:, None] * sizes)
            most = (lengths * inverse).sum(axis=1) * (slope**2 * inverse).sum(axis=1)
            return np.array(np.sqrt(most))

        before = np.zeros(len(sizes))
        change = reach(query.mean_curvature(norm, before))
        for _ in range(ITERATIONS):
            if (change <= (1 + MARGIN / 10) * before).all():
                break
            before, change = change, reach(query.mean_curvature(norm, change))
        change *= 1 + MARGIN
        curvature = query.mean_curvature(norm, change)
        is_possible &= reach(curvature) < change
        greatest = 1 / (self.ridge + curvature[:, None] * sizes)
        least = 1 / (self.ridge + float(query.curvature) * sizes)
        if query.greatest is not None:
            exact = self.theta + np.einsum("nij,nj->ni", axes, slope * least)
            limit = float(query.greatest)
            is_inside = norm < limit - size * float(query.grid)
            least[(abs(exact).sum(axis=1) > limit) | (not is_inside)] = 0
        middle, half = (greatest + least) / 2, (greatest - least) / 2
        spread = (weights**2 * half).sum(axis=2) * (slope**2 * half).sum(axis=1)
        errors = abs((weights * (middle * slope)).sum(axis=2)) + np.sqrt(spread)
        return np.where(is_possible, errors, np.nan)


def _matrices(sums: Floats, query: ObjectiveQuery) -> Floats:
    """Products of scaled inputs, shape (products, draws), as (draws, size, size)."""
    size, halves = query.cells, query.half_widths
    matrices = np.empty((sums.shape[1], size, size))
    for (i, j), numbers in zip(combinations_with_replacement(range(size), 2), sums, strict=True):
        matrices[:, i, j] = matrices[:, j, i] = numbers / (halves[i] * halves[j])
    return matrices


def curvature_design(query: ObjectiveQuery, noises: Sequence[Noise], confidence: Fraction) -> str:
    """A sentence for the plan: from about how many rows on intervals can be expected.

    The inputs are taken to be typical and independent. The mean matrix of their products then has
    the mean squares on its diagonal, and products of means elsewhere. With n rows, products less
    their noise are positive definite if n exceeds the greatest eigenvalue of the noise relative to
    this matrix. Noise must not hide the products, and plausible noise must not either.
    """
    means = np.array([1.0] + [TYPICAL_MEAN] * (query.cells - 1))
    products = np.outer(means, means)
    np.fill_diagonal(products[1:, 1:], TYPICAL_SQUARE)
    root = np.linalg.inv(np.linalg.cholesky(products))

    def needed(noise: Floats) -> Floats:
        relative = root @ _matrices(noise, query) @ root.T
        return np.linalg.eigvalsh(relative)[None, :, -1]

    answers = [NoisyAnswer(np.zeros(1, np.int64), noise) for noise in noises[1:]]
    both_sides = 1 - 2 * (1 - confidence)
    rows = Fraction(float(FiducialInterval(answers, needed, both_sides).upper[0, 0])) * TWO_NOISES
    return (
        f"expect intervals from about {int(short_up(rows, 2)):,} rows on, for inputs that "
        "vary by a third of the way from the middle to a bound and do not depend on each "
        "other; with fewer rows, noise may hide how much the inputs vary, and a flag says so"
    )


def _weights(query: ObjectiveQuery, units: Sequence[Fraction]) -> list[list[Fraction]]:
    """The weights of scaled coefficients in each published one; intercept first."""
    middles = [
        Fraction(factor.offset, half)
        for factor, half in zip(query.inputs, query.half_widths[1:], strict=True)
    ]
    intercept = [units[0], *(-units[0] * middle for middle in middles)]
    slopes = [
        [unit * int(at == index) for at in range(query.cells)]
        for index, unit in enumerate(units[1:], start=1)
    ]
    return [intercept, *slopes]


def rows_of_shrinkage(ridge: Fraction, share: Fraction) -> Fraction:
    """With how many rows a ridge makes slopes smaller by this share of their size.

    `ridge` is in rows: it adds to the objective as much curvature as this number of rows with an
    input of one. For inputs that do not depend on each other and have the variance v, n rows have
    the curvature n v around their mean, so slopes are n v/(n v + ridge) of those without a ridge.
    """
    return ridge / Fraction(TYPICAL_VARIANCE) * (1 - share) / share


def ridge_sentences(minimized: str, ridge: Fraction) -> tuple[str, str]:
    """Two sentences for the plan: how heavy a ridge is, and how it shrinks slopes."""
    half, tenth, hundredth = (
        ceil(short_up(rows_of_shrinkage(ridge, Fraction(1, parts)), 2)) for parts in (2, 10, 100)
    )
    weight = exact_or_up(short_up(ridge, 2))
    noise = (
        f"noise is added to the slope of the {minimized} that is minimized, and not "
        f"to the coefficients. A ridge as heavy as about {weight} rows bounds what one row "
        "changes beyond that, and pulls the coefficients towards zero"
    )
    return noise, (
        f"the ridge makes slopes too small: by about half with {half:,} rows, a tenth with "
        f"{tenth:,} and a hundredth with {hundredth:,}, for inputs that vary by a third of "
        "the way from the middle to a bound and do not depend on each other"
    )
