"""Sequential composition: the plain sum."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpcli.composition.base import Bound, Composition, Counted
from dpcli.privacy.loss import Loss


class Sequential(Composition):
    """Epsilons add, and deltas add; exact, and valid for every mechanism.

    Privacy: if each answer is (epsilon_i, delta_i)-private, all of them together are (sum
    epsilon_i, sum delta_i)-private, even if each query was chosen after seeing the answers
    before it (Dwork and Roth 2014, theorem 3.16).
    """

    name = "sequential"
    needs_delta = False

    def remaining(self, budget: Loss, spent: Loss) -> Loss:
        """What is left of the budget, in each of epsilon and delta."""
        return Loss(
            max(budget.epsilon - spent.epsilon, Fraction(0)),
            max(budget.delta - spent.delta, Fraction(0)),
        )

    def bounds(self, answers: Counted, delta: Fraction) -> Iterator[Bound]:
        """The exact sums; nothing is rounded."""
        epsilon, delta = Fraction(0), Fraction(0)
        for guarantee, times in answers.items():
            epsilon += times * guarantee.loss.epsilon
            delta += times * guarantee.loss.delta
        yield Bound(Loss(epsilon, delta), "plain sum")
