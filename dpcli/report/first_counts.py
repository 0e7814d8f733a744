"""What a report states about the noisy counts that come before the statistics.

They choose bounds and the limit on rows per person, and check the quality of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcli.fields.json import Ends, JsonNumber, JsonObject, Positive, Sentences, number
from dpcli.numeric.exact import decimal_places, decimal_text, short_down
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.problems.light_dataclasses import dataclass
from dpcli.report.privacy import AnswersReport, answers

if TYPE_CHECKING:
    from dpcli.planning.quality_check import QualityResult
    from dpcli.statistics.bounds.chosen_bounds import BoundsChoice
    from dpcli.statistics.estimates import Estimate

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
        from dpcli.planning.words.choices import rule_sentences

        return ChoiceRuleReport(
            name=planned.name,
            column=choice.column_name,
            **answers(planned, plan.spec.for_choices),
            ladder=choice.grid.kind.name,
            outermost=_ends(choice, choice.column.limits),
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
        from dpcli.planning.words.choices import chosen_sentences

        chosen, (lower, upper) = choice.chosen, _ends(choice, choice.limits)
        assert chosen is not None
        return ChoiceRuleReport.of(choice, planned, plan).extended(
            cls,
            lower=lower,
            upper=upper,
            decided=chosen.decided,
            counts=list(chosen.counts),
            bins=[_ends(choice, ends) for ends in choice.bins],
            sentences=list(chosen_sentences(choice, planned, plan)),
            ledger=ChargeReport.read(chosen),
        )


def choice_reports(plan: CentralPlan) -> list[Any] | None:
    """Each choice of bounds or limits; None if the plan makes no choice.

    A choice has its noisy counts once they are known.
    """
    return [
        (ChoiceRuleReport if choice.chosen is None else ChoiceReport).of(choice, planned, plan)
        for choice, planned in plan.choices
    ] or None


def _ends(choice: BoundsChoice, steps: tuple[int, int]) -> Ends:
    step = choice.column.step
    low, high = (JsonNumber(decimal_text(end * step, decimal_places(step))) for end in steps)
    return low, high


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityRuleReport(AnswersReport):
    """The check that comes before all statistics."""

    min_rows: Positive | None
    min_readable: dict[str, JsonNumber]
    min_people: Positive | None = None
    """The least number of people in a complete file; absent if none is required."""
    max_limited: JsonNumber | None = None
    """The largest share of the rows that limits on a person's rows may leave out."""
    false_stop: JsonNumber
    """Probability with which a file that meets all minimums is stopped, at most."""
    rule: Sentences
    counted: str | None
    """Which rows are counted, where people have limits."""

    @classmethod
    def of(cls, plan: CentralPlan) -> QualityRuleReport:
        """The quality check of a plan that has one."""
        quality = plan.spec.quality
        assert plan.quality is not None
        assert quality is not None
        from dpcli.planning.quality_check import FALSE_STOP
        from dpcli.planning.words.quality import check_rule, counted_rows_note

        return QualityRuleReport.read(
            quality,
            **answers(plan.quality, plan.spec),
            min_readable={name: number(share) for name, share in quality.min_readable.items()},
            false_stop=number(FALSE_STOP),
            rule=list(check_rule(plan)),
            counted=counted_rows_note(plan) or None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateReport(JsonObject):
    """A noisy number and its interval."""

    value: JsonNumber
    lower: JsonNumber
    upper: JsonNumber

    @classmethod
    def of(cls, estimate: Estimate) -> EstimateReport:
        """An estimate, with its decimals."""
        value, lower, upper = (
            JsonNumber(decimal_text(end, estimate.decimals)) for end in _numbers(estimate)
        )
        return cls(value=value, lower=lower, upper=upper)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutReport(JsonObject):
    """A lower bound of the share of rows that a limit on rows per person leaves out."""

    limit: Positive
    share_at_least: JsonNumber


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityReport(QualityRuleReport):
    """The check that comes before all statistics, with its noisy counts."""

    passed: bool
    missed: Sentences
    """Why the release was stopped."""
    counts: dict[str, EstimateReport] | None = None
    """The noisy numbers of rows, or of people, by their first fault."""
    rows: EstimateReport | None = None
    """The number of rows that limits on people keep, or the public number."""
    people: EstimateReport | None = None
    """The number of people; earlier versions counted them."""
    readable: dict[str, EstimateReport] | None = None
    """Readable cells by column; earlier versions counted them."""
    left_out: list[LeftOutReport] | None = None
    ledger: ChargeReport | None = None
    """The entry that was charged for the check, if it also chose bounds or a limit."""
    table: list[list[str]]
    """For each count and each minimum: what is counted, the noisy number, its lower and upper end,
    the minimum, and the verdict."""

    @classmethod
    def judge(cls, plan: CentralPlan, result: QualityResult) -> QualityReport:
        """The quality check with its noisy counts."""
        rule, labels = QualityRuleReport.of(plan), result.counts.order.labels
        charged = plan.spec.quality and plan.spec.quality.charged
        estimates = list(map(EstimateReport.of, result.estimates))
        left_out = [
            LeftOutReport(limit=limited.limit, share_at_least=number(short_down(limited.least, 3)))
            for limited in result.left_out
        ]
        return rule.extended(
            cls,
            passed=not result.reasons,
            missed=list(result.reasons),
            counts=dict(zip(labels, estimates, strict=False)),
            rows=estimates[len(labels)] if len(estimates) > len(labels) else None,
            left_out=left_out or None,
            ledger=charged and ChargeReport.read(charged),
            table=[*_quality_rows(plan, result), *_left_out_rows(plan, result)],
        )


def _numbers(estimate: Estimate) -> list[Fraction]:
    return [end or Fraction(0) for end in (estimate.value, estimate.lower, estimate.upper)]


def _quality_rows(plan: CentralPlan, result: QualityResult) -> Iterator[list[str]]:
    """Table lines: each noisy count, then each minimum."""
    from dpcli.planning.quality_check import percent_text, required_minimums

    labels = [*result.counts.order.labels, plan.spec.rows_are]
    for label, estimate in zip(labels, result.estimates, strict=False):
        yield [label, *(f"{max(0, round(end)):,}" for end in _numbers(estimate)), "", ""]
    for minimum in required_minimums(plan):
        value = result.counts.value(minimum.weights)
        verdict = "met" if value >= minimum.required else "below, within the noise"
        verdict = "missed" if minimum.key in result.missed else verdict
        if minimum.kind == "cells":
            yield [f"readable: {minimum.key[1]}", "", "", "", percent_text(minimum.share), verdict]
            continue
        ends = (value, value - minimum.margin, value + minimum.margin)
        numbers = (f"{max(0, end):,}" for end in ends)
        yield [minimum.counted(plan), *numbers, f"{minimum.required:,}", verdict]


def _left_out_rows(plan: CentralPlan, result: QualityResult) -> Iterator[list[str]]:
    """Table lines: for each limit on rows, the least share that it leaves out."""
    from dpcli.planning.quality_check import at_least, percent_text

    rows = plan.spec.rows_are
    for left_out in result.left_out:
        most = left_out.allowed
        allowed = "" if most is None else f"at most {percent_text(most)}"
        what = f"{rows} left out by a limit of {left_out.limit:,}"
        yield [what, at_least(left_out.least), "", "", allowed, left_out.verdict]
