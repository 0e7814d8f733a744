"""Intervals of coefficients that minimize an objective, by its noisy curvature.

Noise moves a minimizer by as much as the objective is flat. How flat it is depends on the inputs
of the rows, so the sums of their products are measured, with a share of the loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from math import ceil, floor, prod, sqrt

from dpcli.noise.distribution import Noise
from dpcli.noise.k_norm import KNormNoise
from dpcli.numeric.arrays import Floats, integer_array, np
from dpcli.numeric.exact import exact_or_up, short_up
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from dpcli.statistics.design import Design, NoisyAnswer, Request, WeightedQuery
from dpcli.statistics.estimates import HAS_INTERVAL, UNBOUNDED, Estimates
from dpcli.statistics.moments import TYPICAL_MEAN, TYPICAL_SQUARE, TYPICAL_VARIANCE
from dpcli.statistics.regression.queries import ObjectiveQuery

CURVATURE_SHARE = Fraction(1, 10)
"""The share of the loss for all products of the inputs together."""

CURVATURE_RISK = Fraction(1, 5)
"""The part of the risk for the curvature; the rest is for the random slope."""

TRIED = 80
"""Curvatures of a logistic loss to try, each a tenth smaller than the one before."""


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
        request: Request,
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
            request,
            (objective, *parts),
            ("slope",),
            objective=query,
            minimized=minimized,
            exception=exception,
        )

    def known_error(self, noises: Sequence[Noise], confidence: Fraction) -> None:
        """None: how far a slope moves a coefficient depends on the rows."""

    def sentences(self, noises: Sequence[Noise], confidence: Fraction) -> tuple[str, ...]:
        ridge = self.objective.perturbation(noises[0].scale * self.queries[0].step).ridge
        noise, shrinkage = ridge_sentences(self.minimized, ridge / self.objective.curvature)
        shrinkage += self.exception
        return noise, shrinkage, curvature_design(self.objective, noises, Fraction(19, 20))


def curvature_sentence() -> str:
    """A sentence for the plan: what noisy products of inputs are for, and their cost."""
    percent = exact_or_up(CURVATURE_SHARE * 100)
    return (
        "no error of the coefficients is known before a release; intervals follow from noisy "
        f"products of the inputs, with {percent}% of the loss, and contain the coefficients "
        "of the same ridge regression without noise; `dpcli simulate` estimates errors on "
        "synthetic rows"
    )


@dataclass(frozen=True, slots=True)
class CoefficientBounds:
    """How far the slope may have moved coefficients, as noisy input products prove.

    Let t be the published minimizer of J(t) + <b, t> for the random slope b, and t* that of J, the
    objective with its ridge but without noise, both over the same convex set. With d = t - t*, the
    conditions of the two minima give <J'(t) - J'(t*), d> <= -<b, d>. If J'' is at least M between
    them, d'Md <= |<b, d>|, so d'Md <= b'M^-1 b, and |a'd| is at most the root of a'M^-1 a b'M^-1 b.
    All coordinates of b are within a width w with a stated confidence, and then b'M^-1 b is at most
    w^2 S, for the sum S of the absolute values in M^-1.

    J'' is at least the ridge plus h times the products G of the inputs. G is at least its noisy
    value minus the greatest sum of absolute noise in a row of it. Discrete Laplace noise is at most
    an exponential variable of its scale plus one step, so the sum of a row is at most a gamma
    variable of shape k plus k steps, and some of k rows exceeds a width with at most k times the
    probability. If what is left is not positive, only the ridge counts.

    For squares, h is one. For logistic losses, h is the curvature at the greatest log-odds within
    the region d'Md <= w^2 S around t, where |d| is at most w S in L1. If that is at least the h in
    M, then J'' is at least M in the region, and on its border <J'(t + d), d> >= d'Md - <b, d> >= 0:
    so the minimizer t* lies within it.
    """

    inverse: Floats
    width: float

    @property
    def farthest(self) -> float:
        """The most that noise changes the coefficients, in L1."""
        return self.width * float(np.abs(self.inverse).sum())

    def half_width(self, weights: Floats) -> float:
        """The most that noise changes the weighted sum of the coefficients."""
        return sqrt(self.width * self.farthest * float(weights @ self.inverse @ weights))

    @classmethod
    def proven(
        cls, answers: Sequence[NoisyAnswer], query: ObjectiveQuery, confidence: Fraction
    ) -> CoefficientBounds | None:
        """The bounds that noisy answers prove; the first answer is that of the objective.

        None if the answers prove no bounds.
        """
        objective, *sums = answers
        risk, size = 1 - confidence, query.cells
        scale, ridge = query.perturbation(objective.noise.scale * query.step)
        width = float(KNormNoise(scale).radius(size, 1 - risk * (1 - CURVATURE_RISK)))
        ridges = float(ridge) * np.eye(size)
        products = _min_products(sums, query, confidence)
        if products is None:
            return None if query.greatest is None else cls(np.eye(size) / float(ridge), width)
        norm = sum(abs(int(steps)) + 1 for steps in objective.values) * float(query.grid)
        curvature = float(query.curvature)
        for _ in range(TRIED):
            inverse: Floats = np.linalg.inv(ridges + curvature * products).astype(np.float64)
            bounds = cls(inverse, width)
            if query.curvature_at(norm + bounds.farthest) >= curvature:
                return bounds
            curvature *= 0.9
        return None


def _min_products(
    sums: Sequence[NoisyAnswer], query: ObjectiveQuery, confidence: Fraction
) -> Floats | None:
    """A lower bound on the matrix of products of scaled inputs, as noise allows.

    None unless the bound is positive definite.
    """
    size, halves = query.cells, query.half_widths
    noisy = np.zeros((size, size))
    indexes = combinations_with_replacement(range(size), 2)
    for (i, j), answer in zip(indexes, sums, strict=True):
        noisy[i, j] = noisy[j, i] = float(int(answer.values[0])) / (halves[i] * halves[j])
    noise = _noise_of_products([answer.noise for answer in sums], query, confidence)
    lower = noisy - noise * np.eye(size)
    return lower if float(np.linalg.eigvalsh(lower)[0]) > 0 else None


def _noise_of_products(
    noises: Sequence[Noise], query: ObjectiveQuery, confidence: Fraction
) -> float:
    """A bound on the sum of absolute noise in any row of the matrix of products."""
    size, halves = query.cells, query.half_widths
    indexes = combinations_with_replacement(range(size), 2)
    pairs = zip(indexes, noises, strict=True)
    scale = max(noise.scale / (halves[i] * halves[j]) for (i, j), noise in pairs)
    outside = (1 - confidence) * CURVATURE_RISK / size
    return float(KNormNoise(scale).radius(size, 1 - outside)) + size


def curvature_design(query: ObjectiveQuery, noises: Sequence[Noise], confidence: Fraction) -> str:
    """A sentence for the plan: from about how many rows on intervals can be expected.

    The inputs are taken to be typical and independent. The matrix of their products then has the
    mean squares on its diagonal, and products of means elsewhere. Its least eigenvalue is compared
    with the noise.
    """
    means = np.array([1.0] + [TYPICAL_MEAN] * (query.cells - 1))
    products = np.outer(means, means)
    np.fill_diagonal(products[1:, 1:], TYPICAL_SQUARE)
    min_eigenvalue = float(np.linalg.eigvalsh(products)[0])
    rows = Fraction(_noise_of_products(noises[1:], query, confidence) / min_eigenvalue)
    return (
        f"expect intervals from about {int(short_up(rows, 2)):,} rows on, for inputs that "
        "vary by a third of the way from the middle to a bound and do not depend on each "
        "other; with fewer rows, noise may hide how much the inputs vary, and a flag says so"
    )


def with_bounds(
    estimates: Estimates,
    answers: Sequence[NoisyAnswer],
    query: ObjectiveQuery,
    units: Sequence[Fraction],
    confidence: Fraction,
    origin: Fraction = Fraction(0),
) -> Estimates:
    """Coefficients with intervals in these units of the scaled ones, intercept first.

    The intercept is that of scaled columns less the slopes times the middles of the inputs, plus an
    `origin`. Ends are rounded outwards to the last decimal, after a step of the grid for each
    coefficient and a millionth for floats. If the query has a `greatest` sum of coefficients, they
    are clipped to what it allows.
    """
    if not answers[0].noise.scale:
        return estimates
    bounds = CoefficientBounds.proven(answers, query, confidence)
    if bounds is None:
        return replace(estimates, status=np.full(len(estimates), UNBOUNDED, np.int8))
    ends, limits = [], []
    for index, row in enumerate(_weights(query, units)):
        value = int(estimates.value[index])
        numbers = np.array(row, np.float64)
        width = Fraction(bounds.half_width(numbers) * (1 + 1e-6))
        width += query.grid * sum(map(abs, row), start=Fraction(0))
        steps = ceil(width / estimates.step)
        last = int(1 / (10 ** estimates.decimals[index] * estimates.step))
        low = (value - steps) // last * last
        high = -(-(value + steps) // last) * last
        if query.greatest is not None:
            middle = Fraction(0) if index else origin
            distance = query.greatest * max(map(abs, row))
            min_limit = floor((middle - distance) / estimates.step)
            max_limit = ceil((middle + distance) / estimates.step)
            limits.append((min_limit * estimates.step, max_limit * estimates.step))
        ends.append((low, high))
    lower, upper = map(integer_array, zip(*ends, strict=True))
    status = np.full(len(estimates), HAS_INTERVAL, np.int8)
    return replace(estimates, lower=lower, upper=upper, status=status).within(limits)


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
