"""Zero-concentrated composition: rhos add up, and are converted to epsilon."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpcli.numeric.exact import MAX_EXACT_TERMS, sum_rounded_up
from dpcli.privacy.accounting.composition import (
    Bound,
    Composition,
    GuaranteeCounts,
    plain_sum,
    total_failure_delta,
)
from dpcli.privacy.loss import Loss
from dpcli.privacy.zcdp_conversion import zcdp_epsilon, zcdp_rho_within

MAX_MIXED = 32
"""Most mixtures of a sum of epsilons and a sum of rhos that are tried."""


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
    (definition 8.1 there). Pure answers may instead be added up by their epsilons, next to
    what the rhos of the others mean; that is done for those of the greatest rho for their
    epsilon, wherever it is less. `rho:` may be given instead of `epsilon:`.
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
            yield Bound(Loss(zcdp_epsilon(rho, left), delta, rho), "sum of rhos")
            yield from _mixed(guarantees, rho, left, delta)


def _mixed(
    guarantees: GuaranteeCounts, rho: Fraction, left: Fraction, delta: Fraction
) -> Iterator[Bound]:
    """Bounds that add k pure answers by epsilon, and the others by rho, for many k.

    Epsilon is concave in rho, so the best choice takes the answers with the least epsilon for
    their rho, up to some limit. `rho` is the sum of all, `left` the delta for its conversion.
    """
    pure = [
        (guarantee, times)
        for guarantee, times in guarantees.items()
        if guarantee.rho and not guarantee.loss.delta
    ]
    pure.sort(key=lambda counted: counted[0].loss.epsilon / counted[0].rho)
    step = -(-len(pure) // MAX_MIXED) or 1
    epsilon, remaining = Fraction(0), rho
    for index, (guarantee, times) in enumerate(
        pure[: len(pure) if len(pure) <= MAX_EXACT_TERMS else 0], start=1
    ):
        epsilon += guarantee.loss.epsilon * times
        remaining = max(remaining - guarantee.rho * times, Fraction(0))
        if index % step == 0:
            yield Bound(
                Loss(epsilon + zcdp_epsilon(remaining, left), delta, rho),
                "sum of epsilons and rhos",
            )
