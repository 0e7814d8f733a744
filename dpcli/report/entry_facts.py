"""What a report states about a statistic, a response, or the quality check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcli.columns import Column, NumericColumn
from dpcli.filters import joint_texts
from dpcli.messages import note
from dpcli.numeric.exact import decimal_text, short_down
from dpcli.numeric.number_text import plain_decimal
from dpcli.planning.designs import design_sentences
from dpcli.planning.expected_errors import standard_error
from dpcli.planning.guarantee_text import protection
from dpcli.planning.limit_notes import interval_about, left_out_note, uncounted_names
from dpcli.planning.notes import counted_units
from dpcli.planning.plan import Plan, PlannedQuery, PlannedStatistic
from dpcli.planning.quality_check import (
    FALSE_STOP,
    PEOPLE,
    ROWS,
    MinimumKey,
    cells_of,
    check_rule,
    counted_rows_note,
    percent_text,
)
from dpcli.report.captions import caption_facts
from dpcli.report.json_text import Fact, Facts, JsonNumber
from dpcli.report.published_numbers import DATE_UNIT
from dpcli.report.request_facts import bounds_fact, statistic_options
from dpcli.specification.model import Response, Spec
from dpcli.statistics.estimates import Estimate, Estimates
from dpcli.statistics.interval_limits import ANY

if TYPE_CHECKING:
    from dpcli.planning.quality_check import QualityResult
    from dpcli.releasing import PublishedStatistic


def statistic_facts(planned: PlannedStatistic, spec: Spec) -> Facts:
    """One statistic: what is requested, and how it is answered and protected."""
    entry, first = planned.entry, planned.queries[0]
    request, rule = entry.request, first.partition_selection
    margins = (key.column for key in request.margins)
    return {
        "name": request.name,
        **caption_facts(entry.caption),
        "statistic": entry.statistic.name,
        "counts": counted_units(planned, spec),
        "left_out": left_out_note(planned, spec) or None,
        **({"interval_about": about} if (about := interval_about(planned, spec)) else {}),
        "column": request.column.name if request.column else None,
        "columns": [column.name for column in (*request.columns, *request.checked, *margins)],
        **statistic_options(request),
        "by": [key.column.name for key in request.by],
        "bins": [
            {
                "column": key.column.name,
                "count": len(key),
                "first": key.label(0),
                "last": key.label(len(key) - 1),
            }
            for key in request.binned_axes
        ],
        "where": joint_texts(request.where),
        "mechanism": _mechanism(first),
        "sensitivity": _sensitivity(first),
        "epsilon": planned.target.epsilon,
        "delta": planned.target.delta,
        "rho": planned.rho,
        "error95": planned.error(spec.confidence),
        "designs": design_sentences(planned, spec.confidence),
        "protected": protection(planned, spec),
        "parts": [
            _part(planned_query, spec.confidence, joint=planned.is_joint)
            for planned_query in planned.queries
        ],
        "bounds": bounds_fact(request),
        "post": [step.summary for step in entry.post],
        "raw": entry.raw,
        **({"population": True} if entry.statistic.has_population(request) else {}),
        "keys": {
            "selected_by": entry.selected_by,
            "threshold": rule.threshold if rule else None,
            "delta": rule.delta if rule else None,
        }
        if entry.selected_by is not None
        else None,
    }


MAX_CHART_BINS = 5_000
"""Above this number of bins no chart is drawn."""


def column_facts(columns: Sequence[Column]) -> list[Fact]:
    """The name and the type of each column, and how it is computed if it is derived."""
    return [
        {"name": column.name, "type": column.kind}
        | ({"derived": column.derivation.text} if column.derivation else {})
        for column in columns
    ]


def layout_facts(published: PublishedStatistic, table: str, columns: list[str]) -> Fact:
    """The layout of the numbers of a statistic: its wide `table`, its scale and its axis."""
    entry = published.planned.entry
    statistic, scale = entry.statistic, "each" if entry.statistic.mixed_units else "common"
    if statistic.chooses and isinstance(entry.request.column, NumericColumn):
        scale = "bounds"
    return {
        "table": table,
        "columns": columns,
        "chosen": statistic.chooses_labels,
        "measure": statistic.measure,
        "scale": scale,
        "axis": _axis(published),
        **({"unit": DATE_UNIT} if published.estimates.date_range is not None else {}),
        **({"possible": possible} if (possible := _possible(published.estimates)) else {}),
    }


def _possible(estimates: Estimates) -> list[Fact]:
    """The limits of what the spec makes possible, as printed, of all numbers or of each item."""
    if set(estimates.limits) == {ANY}:
        return []
    count = len(estimates.places)
    places = (estimates.places[item % count] for item in range(len(estimates.limits)))
    ends = [
        [None if end is None else JsonNumber(decimal_text(end, digits)) for end in limits]
        for limits, digits in zip(estimates.limits, places, strict=True)
    ]
    return [list(pair) for pair in ends]


def _axis(published: PublishedStatistic) -> Fact:
    """The bins along which a chart is drawn: of a histogram, or of the last key; None without."""
    entry = published.planned.entry
    request, key = entry.request, entry.request.bins
    if key is None and request.by and published.groups is None:
        key = request.by[-1] if entry.statistic.item_count(request) == 1 else None
    if key is None or not isinstance(key.column, NumericColumn) or len(key) > MAX_CHART_BINS:
        return None
    column = key.column
    return {
        "column": column.name,
        "type": column.kind,
        "step": column.step,
        "starts": list(map(column.text, key.starts)),
        "end": column.text(column.upper),
    }


def _part(planned_query: PlannedQuery, confidence: Fraction, *, joint: bool) -> Fact:
    """One query of a statistic; if it is `joint`, only the sum of the losses has a meaning."""
    return {
        "role": planned_query.weighted.role,
        "joint": joint,
        "cells": planned_query.weighted.query.cells,
        "influence": planned_query.row_contribution,
        "mechanism": _mechanism(planned_query),
        "sensitivity": _sensitivity(planned_query),
        "epsilon": planned_query.loss.epsilon,
        "delta": planned_query.loss.delta,
        "rho": planned_query.guarantee.rho,
        "error95": planned_query.error(confidence),
    }


QUALITY_KEYS = ("mechanism", "sensitivity", "epsilon", "delta", "rho", "protected", "parts")
"""Keys that the quality check has in common with statistics."""


def quality_facts(plan: Plan, result: QualityResult | None = None) -> Facts | None:
    """The quality check, with its noisy counts after it was made; None without a check."""
    quality = plan.spec.quality
    if plan.quality is None or quality is None:
        return None
    check = statistic_facts(plan.quality, plan.spec)
    facts: Facts = {
        **{key: check[key] for key in QUALITY_KEYS},
        "min_rows": quality.min_rows,
        "min_readable": quality.min_readable,
        **({} if quality.min_people is None else {"min_people": quality.min_people}),
        **({} if quality.max_limited is None else {"max_limited": quality.max_limited}),
        "false_stop": FALSE_STOP,
        "rule": list(check_rule(plan)),
        "counted": counted_rows_note(plan) or None,
    }
    if result is None:
        return facts
    rows, *columns = map(_estimate, result.estimates)
    people = {} if quality.min_people is None else {"people": columns.pop(0)}
    left_out: list[Fact] = [
        {"limit": one.limit, "share_at_least": short_down(one.least, 3)} for one in result.left_out
    ]
    return facts | {
        "passed": not result.reasons,
        "missed": list(result.reasons),
        "rows": rows,
        **people,
        "readable": dict(zip(quality.min_readable, columns, strict=True)),
        **({"left_out": left_out} if left_out else {}),
        "table": [*_quality_rows(plan, result), *_left_out_rows(plan, result)],
    }


def _estimate(estimate: Estimate) -> Fact:
    ends = zip(("value", "lower", "upper"), _numbers(estimate), strict=True)
    return {name: JsonNumber(decimal_text(end, estimate.places)) for name, end in ends}


def _numbers(estimate: Estimate) -> list[Fraction]:
    return [end or Fraction(0) for end in (estimate.value, estimate.lower, estimate.upper)]


QUALITY_COLUMNS = ("what", "about", "lower", "upper", "required", "verdict")
"""The columns of the table of the quality check."""


def _quality_rows(plan: Plan, result: QualityResult) -> Iterator[tuple[str, ...]]:
    """The noisy numbers of rows and of people, then the readable share of each column."""
    quality = plan.spec.quality
    assert quality is not None
    estimates = list(result.estimates)
    count = max(estimates[0].value or Fraction(0), Fraction(1))
    required: dict[MinimumKey, Fraction | int | None] = {ROWS: quality.min_rows}
    required |= {} if quality.min_people is None else {PEOPLE: quality.min_people}
    required |= {cells_of(name): share * count for name, share in quality.min_readable.items()}
    names = {ROWS: plan.spec.rows_are, PEOPLE: "people"}
    for (key, least), estimate in zip(required.items(), estimates, strict=True):
        total = count if key[0] == "cells" else None
        numbers, verdict = _numbers(estimate), "met"
        if least is None:
            verdict = "not checked"
        elif key in result.missed:
            verdict = "missed"
        elif numbers[0] < least:
            verdict = "below, within the noise"
        yield (
            names.get(key, f"readable: {key[1]}"),
            *(_count_or_share(number, total) for number in numbers),
            "" if least is None else _count_or_share(Fraction(least), total),
            verdict,
        )


def _left_out_rows(plan: Plan, result: QualityResult) -> Iterator[tuple[str, ...]]:
    """For each limit on rows per person, the least share of rows that it leaves out."""
    key = "left_out_alone" if uncounted_names(plan) else "left_out"
    for one in result.left_out:
        what = note(f"quality.{key}", rows=plan.spec.rows_are, limit=one.limit)
        least = note("quality.at_least", share=percent_text(short_down(one.least, 3)))
        allowed = ""
        if one.allowed is not None:
            allowed = note("quality.at_most", share=percent_text(one.allowed))
        yield what, least, "", "", allowed, one.verdict


def _count_or_share(value: Fraction, total: Fraction | None) -> str:
    if total is None:
        return f"{max(0, round(value)):,}"
    return percent_text(min(max(value / total, Fraction(0)), Fraction(1)))


def _mechanism(planned_query: PlannedQuery) -> Fact:
    """The noise of a query, in the unit of the answer."""
    return {
        "kind": planned_query.mechanism_kind,
        "scale": planned_query.scale,
        "grid": planned_query.weighted.step,
    }


def _sensitivity(planned_query: PlannedQuery) -> Fact:
    """The sensitivities of a query, in the unit of the answer."""
    return {
        "l0": planned_query.sensitivity.l0,
        "l1": planned_query.l1,
        "l2": planned_query.l2,
        "linf": planned_query.linf,
    }


def response_facts(response: Response, records: int | None = None) -> Facts:
    """How records respond for one column; with `records`, also the expected error."""
    randomizer = response.randomizer
    facts: Facts = {
        "column": response.column.name,
        "collected": response.names,
        "mechanism": response.mechanism.name,
        "parameters": {name: _parameter(value) for name, value in randomizer.record().items()},
        "description": randomizer.describe(),
        "by": [column.name for column in response.by],
        "post": response.steps,
        "epsilon": randomizer.loss.epsilon,
        "delta": randomizer.loss.delta,
        "rho": randomizer.guarantee.rho,
    }
    if records is not None:
        error = standard_error(response, records)
        facts["standard_error"] = (
            None if error is None else JsonNumber(plain_decimal(Fraction(error), 6))
        )
    return facts


def _parameter(value: object) -> Fact:
    if isinstance(value, list):
        return [_parameter(item) for item in value]
    return value if isinstance(value, int) else str(value)
