"""Zero-concentrated composition: rhos add up, and are converted to epsilon."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import accumulate

from dpcli.numeric.exact import sum_rounded_up
from dpcli.privacy.accounting.composition import (
    Bound,
    Composition,
    GuaranteeCounts,
    plain_sum,
    total_failure_delta,
)
from dpcli.privacy.loss import Guarantee, Loss
from dpcli.privacy.zcdp_conversion import best_order, renyi_epsilon, zcdp_epsilon, zcdp_rho_within

LESS = 1 - Fraction(1, 10**9)
"""A mixture counts if it is less than this part of the bound by rho alone."""


class ZcdpComposition(Composition):
    """Each mechanism states its rho; rhos add, and are converted to an epsilon at delta.

    With r the sum, for every alpha > 1 the answers together are (epsilon, delta)-private
    for epsilon = alpha r + log(1 - 1/alpha) - (log delta + log alpha)/(alpha - 1), of which
    the least is taken and rounded up (Canonne, Kamath and Steinke 2020, proposition 12;
    better than r + 2 sqrt(r log(1/delta))). Many answers cost about the square root of
    their number.

    Privacy: Renyi divergences of every order add up under composition (Bun and Steinke
    2016, lemma 2.3), also where each query was chosen after seeing the answers before it.
    Where an answer is concentrated only outside an event of some probability (the keys of private
    groups), these probabilities add, and that much less of delta is left for the conversion
    (definition 8.1 there). The divergence of a pure answer is at most its epsilon, too; that is
    added in place of alpha times its rho wherever it is less. Of disjoint parts, the greatest
    divergence of each order is added. `rho:` may be given instead of `epsilon:`.
    """

    name = "zcdp"
    takes_rho = True

    def remaining(self, budget: Loss, spent: Loss) -> Loss:
        """The remaining epsilon at the delta of the budget, and the remaining rho."""
        rho = budget.rho
        if rho is None:
            rho = zcdp_rho_within(budget.epsilon, budget.delta) if budget.delta else Fraction(0)
        left = max(rho - (spent.rho or Fraction(0)), Fraction(0))
        return Loss(max(budget.epsilon - spent.epsilon, Fraction(0)), budget.delta, left)

    def bounds(self, guarantees: GuaranteeCounts, delta: Fraction) -> Iterator[Bound]:
        rho = sum_rounded_up((guarantee.rho, times) for guarantee, times in guarantees.items())
        yield plain_sum(guarantees, rho)
        left = delta - total_failure_delta(guarantees)
        if left > 0:
            by_rho, mixed = zcdp_epsilon(rho, left), _mixed_epsilon(guarantees, left)
            yield Bound(Loss(by_rho, delta, rho), "sum of rhos")
            if mixed < by_rho * LESS:
                yield Bound(Loss(mixed, delta, rho), "sum of epsilons and rhos")


def _mixed_epsilon(guarantees: GuaranteeCounts, delta: Fraction) -> Fraction:
    """Epsilon at `delta` if pure answers count by epsilon where that is less."""
    above = best_order(_float_divergence(guarantees), delta)
    by_epsilon, others = Counter[Guarantee](), Counter[Guarantee]()
    for guarantee, times in guarantees.items():
        is_less = _divergence(guarantee, 1 + above) == guarantee.loss.epsilon
        (by_epsilon if is_less and not guarantee.loss.delta else others)[guarantee] += times
    epsilon = sum_rounded_up((one.loss.epsilon, times) for one, times in by_epsilon.items())
    if any(guarantee.alternatives for guarantee in others):
        divergences = ((_divergence(one, 1 + above), times) for one, times in others.items())
        return epsilon + renyi_epsilon(above, sum_rounded_up(divergences), delta)
    rho = sum_rounded_up((one.rho, times) for one, times in others.items())
    return epsilon + zcdp_epsilon(rho, delta)


def _divergence(guarantee: Guarantee, alpha: Fraction) -> Fraction:
    """A bound on the Renyi divergence of order `alpha`, for the worst alternative."""
    if guarantee.alternatives:
        return max(
            sum_rounded_up((_divergence(one, alpha), 1) for one in answers)
            for answers in guarantee.alternatives
        )
    by_rho = alpha * guarantee.rho
    return by_rho if guarantee.loss.delta else min(guarantee.loss.epsilon, by_rho)


def _float_divergence(guarantees: GuaranteeCounts) -> Callable[[float], float]:
    """About the sum of all divergences, as a function of their order."""
    by_rho, pure = 0.0, list[tuple[float, float, float]]()
    worst: list[tuple[int, list[Callable[[float], float]]]] = []
    for guarantee, times in guarantees.items():
        if guarantee.alternatives:
            cases = map(Counter[Guarantee], guarantee.alternatives)
            worst.append((times, list(map(_float_divergence, cases))))
            continue
        epsilon, rho = float(guarantee.loss.epsilon), float(guarantee.rho)
        by_rho += times * rho
        if rho and not guarantee.loss.delta:
            pure.append((epsilon / rho, times * epsilon, times * rho))
    # Pure answers count by epsilon from the order epsilon/rho on.
    pure.sort()
    orders = [order for order, _, _ in pure]
    epsilons = [0.0, *accumulate(epsilon for _, epsilon, _ in pure)]
    rhos = [0.0, *accumulate(rho for _, _, rho in pure)]

    def divergence(alpha: float) -> float:
        count = bisect_left(orders, alpha)
        known = epsilons[count] + alpha * max(by_rho - rhos[count], 0.0)
        return known + sum([times * max([case(alpha) for case in of]) for times, of in worst])

    return divergence
