"""What every composition rule is: bounds, of which the least counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

from dpcli.privacy.loss import Guarantee, Loss
from dpcli.privacy.zcdp_conversion import sum_rounded_up

GuaranteeCounts = Mapping[Guarantee, int]
"""What was answered, and how often each."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A proven bound on the loss of all answers together, and what proves it."""

    loss: Loss
    name: str


class MissingDependencyError(Exception):
    """A rule needs a package that is not installed; the message says which."""


class Composition(ABC):
    """A rule that bounds the loss of all answers by the guarantees of each.

    A rule knows no mechanism by name: each mechanism states its own guarantee. Of all
    its bounds the least that keeps to the allowed delta counts.

    The bounds hold for answers to questions that were chosen after seeing the answers before
    them. Where also privacy parameters of later releases are chosen so, the plain sum holds
    (Rogers, Roth, Ullman and Vadhan 2016), and so does a sum of rhos alone (Feldman and Zrnic
    2021); other bounds, and the choice of the least of several, are proven for parameters
    that were planned beforehand.

    The docstring of a subclass carries its argument and is what `dpcli explain` prints.
    `takes_rho` says whether losses may be given in rho, `needs_delta` whether it bounds less
    than the plain sum only with a delta in the budget, `condition` what users must keep to.
    """

    name: ClassVar[str]
    takes_rho: ClassVar[bool] = False
    needs_delta: ClassVar[bool] = True
    condition: ClassVar[str] = (
        "The total holds if the privacy parameters of later releases are not chosen by looking at "
        "the results of earlier ones."
    )

    @abstractmethod
    def bounds(self, answers: GuaranteeCounts, delta: Fraction) -> Iterator[Bound]:
        """Every bound that the rule proves; `delta` is the most that may be used.

        `MissingDependencyError` if a package that it needs is not installed.
        """

    def remaining(self, budget: Loss, spent: Loss) -> Loss:
        """What is left of a budget, stated at its delta: what a pure answer may add."""
        left = max(budget.epsilon - spent.epsilon, Fraction(0))
        return Loss(left, budget.delta)

    @final
    def bound(self, answers: GuaranteeCounts, delta: Fraction) -> Bound:
        """The least bound within `delta`; the first, if none is."""
        found = list(self.bounds(answers, delta))
        valid = [bound for bound in found if bound.loss.delta <= delta]
        return min(valid, key=lambda bound: bound.loss.epsilon, default=found[0])

    @final
    def total(self, answers: GuaranteeCounts, delta: Fraction) -> Loss:
        """The loss of publishing every answer, each as often as it is given."""
        return self.bound(answers, delta).loss


def plain_sum(answers: GuaranteeCounts, rho: Fraction | None = None) -> Bound:
    """The sums of epsilons and of deltas, exactly, or rounded up if there are thousands."""
    epsilon = sum_rounded_up((one.loss.epsilon, times) for one, times in answers.items())
    delta = sum_rounded_up((one.loss.delta, times) for one, times in answers.items())
    return Bound(Loss(epsilon, delta, rho), "plain sum")


def total_failure_delta(answers: GuaranteeCounts) -> Fraction:
    """The delta that is spent on what only holds except with some probability."""
    return Fraction(sum(times * one.failure_delta for one, times in answers.items()))
