"""What a report states about choices of bounds and of the limit on rows."""

from __future__ import annotations

from typing import Any

from dpcli.numeric.exact import decimal_places, decimal_text
from dpcli.planning.limit_notes import choices, chosen_sentences, rule_sentences
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.problems.light_dataclasses import dataclass
from dpcli.report.json import Ends, JsonNumber, JsonObject, Sentences, number
from dpcli.report.privacy import AnswersReport, answers
from dpcli.statistics.bounds.chosen_bounds import BoundsChoice

BINS_COLUMNS = ("from", "to", "noisy count")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceRuleReport(AnswersReport):
    """How the bounds of a column, or the limit on rows per person, are chosen."""

    order = ("name", "column")

    name: str
    column: str | None = None
    """Absent for the limit on rows per person, which is the upper bound."""
    ladder: str
    outermost: Ends
    cover: JsonNumber
    threshold: int
    """A noisy count above it cannot be noise alone."""
    rule: Sentences

    @classmethod
    def of(
        cls, choice: BoundsChoice, planned: PlannedStatistic, plan: CentralPlan
    ) -> ChoiceRuleReport:
        """How a choice is made, by the planned histogram that decides it."""
        return ChoiceRuleReport(
            name=planned.name,
            column=choice.column_name,
            **answers(planned, plan.spec.for_choices),
            ladder=choice.grid.kind.name,
            outermost=_numbers(choice, choice.column.limits),
            cover=number(choice.coverage),
            threshold=choice.rule(planned.queries[0].calibrated.noise).threshold,
            rule=list(rule_sentences(choice, planned, plan)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargeReport(JsonObject):
    """The entry that was charged for counts."""

    entry: int
    head: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceReport(ChoiceRuleReport):
    """How bounds or a limit were chosen, from which noisy counts."""

    lower: JsonNumber = JsonNumber("0")
    upper: JsonNumber
    decided: bool
    """False if no count was large enough: the bounds are the outermost ones."""
    counts: list[int]
    """The noisy count of each bin."""
    bins: list[Ends]
    """The least and the greatest value of each bin."""
    sentences: Sentences
    ledger: ChargeReport

    @classmethod
    def of(cls, choice: BoundsChoice, planned: PlannedStatistic, plan: CentralPlan) -> ChoiceReport:
        """What a choice has chosen, from which noisy counts."""
        chosen, (lower, upper) = choice.chosen, _numbers(choice, choice.limits)
        assert chosen is not None
        return ChoiceRuleReport.of(choice, planned, plan).extended(
            cls,
            lower=lower,
            upper=upper,
            decided=chosen.decided,
            counts=list(chosen.counts),
            bins=[_numbers(choice, ends) for ends in choice.bins],
            sentences=list(chosen_sentences(choice, planned, plan)),
            ledger=ChargeReport(entry=chosen.entry, head=chosen.head),
        )


def choice_reports(plan: CentralPlan) -> list[Any] | None:
    """Each choice of bounds or limits; None if the plan makes no choice.

    A choice has its noisy counts once they are known.
    """
    return [
        (ChoiceRuleReport if choice.chosen is None else ChoiceReport).of(choice, planned, plan)
        for choice, planned in choices(plan)
    ] or None


def _numbers(choice: BoundsChoice, steps: tuple[int, int]) -> Ends:
    step = choice.column.step
    low, high = (JsonNumber(decimal_text(end * step, decimal_places(step))) for end in steps)
    return low, high
