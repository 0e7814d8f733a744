"""What a report states about the noisy counts that come before the statistics.

They choose bounds and the limit on rows per person, and check the quality of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcli.numeric.exact import decimal_places, decimal_text, short_down
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.planning.words.data import uncounted_names
from dpcli.problems.light_dataclasses import dataclass
from dpcli.report.json import Ends, JsonNumber, JsonObject, Positive, Sentences, number
from dpcli.report.privacy import AnswersReport, answers

if TYPE_CHECKING:
    from dpcli.planning.quality_check import MinimumKey, QualityResult
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
    rows: EstimateReport
    people: EstimateReport | None = None
    readable: dict[str, EstimateReport]
    """Readable cells by column."""
    left_out: list[LeftOutReport] | None = None
    table: list[list[str]]
    """For the rows and each column: what is counted, the noisy number, its lower and upper end,
    the minimum, and the verdict."""

    @classmethod
    def judge(cls, plan: CentralPlan, result: QualityResult) -> QualityReport:
        """The quality check with its noisy counts."""
        rule = QualityRuleReport.of(plan)
        rows, *columns = map(EstimateReport.of, result.estimates)
        people = None if rule.min_people is None else columns.pop(0)
        left_out = [
            LeftOutReport(limit=limited.limit, share_at_least=number(short_down(limited.least, 3)))
            for limited in result.left_out
        ]
        return rule.extended(
            cls,
            passed=not result.reasons,
            missed=list(result.reasons),
            rows=rows,
            people=people,
            readable=dict(zip(rule.min_readable, columns, strict=True)),
            left_out=left_out or None,
            table=[*_quality_rows(plan, result), *_left_out_rows(plan, result)],
        )


def _numbers(estimate: Estimate) -> list[Fraction]:
    return [end or Fraction(0) for end in (estimate.value, estimate.lower, estimate.upper)]


def _quality_rows(plan: CentralPlan, result: QualityResult) -> Iterator[list[str]]:
    """Table lines: the noisy rows and people, then the readable share of each column."""
    from dpcli.planning.quality_check import PEOPLE, ROWS, cells_of

    quality = plan.spec.quality
    assert quality is not None
    estimates = list(result.estimates)
    count = max(estimates[0].value or Fraction(0), Fraction(1))
    required: dict[MinimumKey, Fraction | int | None] = {ROWS: quality.min_rows}
    required |= {} if quality.min_people is None else {PEOPLE: quality.min_people}
    required |= {cells_of(name): share * count for name, share in quality.min_readable.items()}
    names = {ROWS: plan.spec.rows_are, PEOPLE: "people"}
    for (key, minimum), estimate in zip(required.items(), estimates, strict=True):
        total = count if key[0] == "cells" else None
        numbers, verdict = _numbers(estimate), "met"
        if minimum is None:
            verdict = "not checked"
        elif key in result.missed:
            verdict = "missed"
        elif numbers[0] < minimum:
            verdict = "below, within the noise"
        yield [
            names.get(key, f"readable: {key[1]}"),
            *(_count_or_share(number, total) for number in numbers),
            "" if minimum is None else _count_or_share(Fraction(minimum), total),
            verdict,
        ]


def _left_out_rows(plan: CentralPlan, result: QualityResult) -> Iterator[list[str]]:
    """Table lines: for each limit on rows, the least share that it leaves out."""
    from dpcli.planning.quality_check import percent_text

    rows = plan.spec.rows_are
    unknown = "; by limits on groups: not counted" if uncounted_names(plan) else ""
    for left_out in result.left_out:
        what = f"{rows} left out by a limit of {left_out.limit:,}{unknown}"
        share = f"at least {percent_text(short_down(left_out.least, 3))}"
        allowed = ""
        if left_out.allowed is not None:
            allowed = f"at most {percent_text(left_out.allowed)}"
        yield [what, share, "", "", allowed, left_out.verdict]


def _count_or_share(value: Fraction, total: Fraction | None) -> str:
    if total is None:
        return f"{max(0, round(value)):,}"
    from dpcli.planning.quality_check import percent_text

    return percent_text(min(max(value / total, Fraction(0)), Fraction(1)))
