"""`Composition`: what every rule states; and `sequential`, the plain sum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import ClassVar, final

from dpcli.light_dataclasses import dataclass
from dpcli.privacy.loss import Guarantee, Loss
from dpcli.privacy.zcdp_conversion import sum_rounded_up

GuaranteeCounts = Mapping[Guarantee, int]
"""The guarantees of answers, each with its number of answers."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A proven bound on the loss of all answers together; `name` says which theorem proves it."""

    loss: Loss
    name: str


class MissingDependencyError(Exception):
    """A rule needs a package that is not installed; the message names it."""


class Composition(ABC):
    """A rule that bounds the loss of all answers by the guarantee of each.

    A rule knows no mechanism: each mechanism states its own guarantee. The result is the least
    bound within the allowed delta.

    Privacy: the bounds hold for queries that are chosen after seeing earlier answers. If the
    privacy parameters of later releases are chosen in this way as well, the plain sum holds
    (Rogers, Roth, Ullman and Vadhan 2016), and so does a sum of rhos alone (Feldman and Zrnic
    2021). Other bounds, and the choice of the least of several, are proven for parameters that
    were planned in advance.

    The docstring of a subclass has its argument, and `dpcli explain` prints it. `takes_rho` says
    whether losses may be given in rho, `needs_delta` whether only a budget with a delta
    gets a bound below the plain sum, and `condition` what users must obey.
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
        """Every bound that the rule proves; a bound may use at most `delta`.

        Raises MissingDependencyError if a package that it needs is not installed.
        """

    def remaining(self, budget: Loss, spent: Loss) -> Loss:
        """The remaining budget: the epsilon of one more pure answer, at the same delta."""
        left = max(budget.epsilon - spent.epsilon, Fraction(0))
        return Loss(left, budget.delta)

    @final
    def bound(self, answers: GuaranteeCounts, delta: Fraction) -> Bound:
        """The least bound within `delta`, or the first one if none is within it."""
        proven = list(self.bounds(answers, delta))
        valid = [bound for bound in proven if bound.loss.delta <= delta]
        return min(valid, key=lambda bound: bound.loss.epsilon, default=proven[0])

    @final
    def total(self, answers: GuaranteeCounts, delta: Fraction) -> Loss:
        """The loss of all answers together."""
        return self.bound(answers, delta).loss


def total_failure_delta(answers: GuaranteeCounts) -> Fraction:
    """The probability with which any of the guarantees may fail."""
    return Fraction(sum(times * one.failure_delta for one, times in answers.items()))


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
