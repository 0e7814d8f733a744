"""The plan of a local spec: what one record reveals, before any is read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from dpcli.columns import CategoryColumn
from dpcli.composition.base import Bound, Missing
from dpcli.errors import SpecError
from dpcli.plan.making import make_plan, missing_package
from dpcli.plan.model import Plan
from dpcli.privacy.guarantee import Guarantee
from dpcli.privacy.loss import Loss
from dpcli.privacy.shuffling import Shuffled, shuffled
from dpcli.spec.local_model import LocalSpec, Response
from dpcli.spec.model import Spec


@dataclass(frozen=True, slots=True)
class LocalPlan:
    """How each record will respond, and what all its responses together reveal."""

    spec: LocalSpec
    bound: Bound

    @property
    def asked(self) -> Loss:
        """What the responses reveal one by one: the plain sum of their losses."""
        losses = [response.channel.loss for response in self.spec.responses]
        return Loss(
            sum((loss.epsilon for loss in losses), start=Fraction(0)),
            sum((loss.delta for loss in losses), start=Fraction(0)),
        )

    @property
    def answers(self) -> dict[Guarantee, int]:
        """What a record can lose by each response, and how often."""
        return _answers(self.spec)

    @property
    def spent(self) -> Loss:
        """What all responses of a record reveal, by the composition of the spec."""
        return self.bound.loss

    @property
    def fits(self) -> bool:
        """Whether the budget allows it, compared exactly."""
        return self.spent.within(self.spec.privacy.budget)

    def shuffled(self, records: int, delta: Fraction) -> Shuffled | None:
        """The central guarantee of so many responses in random order.

        A record's responses together are one, of the sum of epsilons. None if some response
        has a delta: the bound is for pure ones.
        """
        if self.asked.delta:
            return None
        return shuffled(self.asked.epsilon, records, delta)


AnyPlan = Plan | LocalPlan


def make_any_plan(spec: Spec | LocalSpec) -> AnyPlan:
    """The complete plan of a spec of either model; SpecError if there is none."""
    return make_plan(spec) if isinstance(spec, Spec) else make_local_plan(spec)


def make_local_plan(spec: LocalSpec) -> LocalPlan:
    """The complete plan of a local spec; SpecError if its composition cannot be used."""
    answers = _answers(spec)
    composition = spec.privacy.composition
    try:
        return LocalPlan(spec, composition.bound(answers, spec.privacy.budget.delta))
    except Missing as missing:
        raise SpecError([missing_package(composition.name, missing)]) from None


def _answers(spec: LocalSpec) -> dict[Guarantee, int]:
    """The guarantees of a record's responses, and how often each is given."""
    return Counter(response.channel.guarantee for response in spec.responses)


def standard_error(response: Response, records: int) -> float | None:
    """The standard error that estimates from so many records will have; None without any.

    For frequencies the root of the mean square over all labels, where these are equally
    frequent. Symmetric responses and unary encoding have the same for all frequencies,
    as their squares sum to the same.
    """
    channel, column = response.channel, response.column
    if not channel.estimable:
        return None
    count = len(column.labels) if isinstance(column, CategoryColumn) else 1
    variances = channel.variances([1 / count] * count)
    return sqrt(sum(variances) / count / records)
