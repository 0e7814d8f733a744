"""Sequential composition: the plain sum of losses."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpcli.privacy.accounting.composition import Bound, Composition, GuaranteeCounts
from dpcli.privacy.loss import Loss
from dpcli.privacy.zcdp_conversion import sum_rounded_up


def plain_sum(answers: GuaranteeCounts, rho: Fraction | None = None) -> Bound:
    """The sums of epsilons and of deltas: exact for few terms, otherwise rounded up."""
    epsilon = sum_rounded_up((one.loss.epsilon, times) for one, times in answers.items())
    delta = sum_rounded_up((one.loss.delta, times) for one, times in answers.items())
    return Bound(Loss(epsilon, delta, rho), "plain sum")


class SequentialComposition(Composition):
    """Epsilons add, and deltas add; exact, and valid for every mechanism.

    Privacy: if each answer is (epsilon_i, delta_i)-private, all of them together are (sum
    epsilon_i, sum delta_i)-private, even if each query was chosen after seeing the answers
    before it (Dwork and Roth 2014, theorem 3.16).
    """

    name = "sequential"
    needs_delta = False
    condition = ""

    def remaining(self, budget: Loss, spent: Loss) -> Loss:
        """The remaining epsilon and the remaining delta."""
        zero = Fraction(0)
        return Loss(
            max(budget.epsilon - spent.epsilon, zero), max(budget.delta - spent.delta, zero)
        )

    def bounds(self, answers: GuaranteeCounts, delta: Fraction) -> Iterator[Bound]:
        """The exact sums, without rounding."""
        zero, counted = Fraction(0), answers.items()
        epsilon = sum((times * one.loss.epsilon for one, times in counted), zero)
        delta = sum((times * one.loss.delta for one, times in counted), zero)
        yield Bound(Loss(epsilon, delta), "plain sum")
