"""What a report states about the quality check and its noisy counts."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpcli.numeric.exact import decimal_text, short_down
from dpcli.planning.limit_notes import uncounted_names
from dpcli.planning.plan import CentralPlan
from dpcli.planning.quality_check import (
    FALSE_STOP,
    PEOPLE,
    ROWS,
    MinimumKey,
    QualityResult,
    cells_of,
    check_rule,
    counted_rows_note,
    percent_text,
)
from dpcli.report.entry_facts import queries_of
from dpcli.report.entry_model import EstimateReport, LeftOutReport, QualityReport, QualityRuleReport
from dpcli.report.json import JsonNumber, if_known
from dpcli.statistics.estimates import Estimate


def quality_rule(plan: CentralPlan) -> QualityRuleReport | None:
    """The quality check as it is planned; None if the plan has no check."""
    quality = plan.spec.quality
    if plan.quality is None or quality is None:
        return None
    return QualityRuleReport(
        **queries_of(plan.quality, plan.spec),
        min_rows=quality.min_rows,
        min_readable={name: JsonNumber.of(share) for name, share in quality.min_readable.items()},
        min_people=quality.min_people,
        max_limited=if_known(JsonNumber.of, quality.max_limited),
        false_stop=JsonNumber.of(FALSE_STOP),
        rule=list(check_rule(plan)),
        counted=counted_rows_note(plan) or None,
    )


def quality_report(plan: CentralPlan, result: QualityResult) -> QualityReport | None:
    """The quality check with its noisy counts; None without a check."""
    rule = quality_rule(plan)
    if rule is None:
        return None
    rows, *columns = map(_estimate, result.estimates)
    people = None if rule.min_people is None else columns.pop(0)
    left_out = [
        LeftOutReport(
            limit=limited.limit, share_at_least=JsonNumber.of(short_down(limited.least, 3))
        )
        for limited in result.left_out
    ]
    return rule.extended(
        QualityReport,
        passed=not result.reasons,
        missed=list(result.reasons),
        rows=rows,
        people=people,
        readable=dict(zip(rule.min_readable, columns, strict=True)),
        left_out=left_out or None,
        table=[*_quality_rows(plan, result), *_left_out_rows(plan, result)],
    )


def _estimate(estimate: Estimate) -> EstimateReport:
    value, lower, upper = (
        JsonNumber(decimal_text(end, estimate.decimals)) for end in _numbers(estimate)
    )
    return EstimateReport(value=value, lower=lower, upper=upper)


def _numbers(estimate: Estimate) -> list[Fraction]:
    return [end or Fraction(0) for end in (estimate.value, estimate.lower, estimate.upper)]


def _quality_rows(plan: CentralPlan, result: QualityResult) -> Iterator[list[str]]:
    """Table lines: the noisy rows and people, then the readable share of each column."""
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
    return percent_text(min(max(value / total, Fraction(0)), Fraction(1)))
