"""What a report states about a statistic, a response, the check, or a choice."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import floor, log10
from typing import TYPE_CHECKING, Any

from dpcli.data.column import Ranges
from dpcli.data.filters import joint_texts
from dpcli.data.grid_columns import NumericColumn, require_numeric
from dpcli.numeric.exact import decimal_places, decimal_text, rounded_text
from dpcli.planning.guarantee import protection
from dpcli.planning.limit_notes import (
    choices,
    chosen_sentences,
    interval_about,
    left_out_note,
    rule_sentences,
)
from dpcli.planning.notes import counted_units
from dpcli.planning.plan import CentralPlan, PlannedQuery, PlannedStatistic
from dpcli.report.entry_model import (
    AxisReport,
    BetweenReport,
    BinsReport,
    ChargeReport,
    ChoiceReport,
    ChoiceRuleReport,
    Ends,
    LayoutReport,
    MechanismReport,
    PlannedResponseReport,
    PrivateKeysReport,
    PublishedStatisticReport,
    QueryReport,
    ResponseReport,
    SensitivityReport,
    StatisticReport,
    WiderIntervalReport,
)
from dpcli.report.json import JsonNumber, JsonRow, if_known
from dpcli.report.numbers import DATE_UNIT
from dpcli.specification.model import Caption, CentralSpec, Response
from dpcli.statistics.bounds.chosen_bounds import BoundsChoice
from dpcli.statistics.design import Inputs, NoiseOfNumbers
from dpcli.statistics.estimates import ANY, Estimates

if TYPE_CHECKING:
    from dpcli.planning.results import EstimatedStatistic

OPTIONS = (
    "quantiles", "utility", "weight", "label", "k", "ways", "method", "ridge", "rows", "candidates",
    "numerator", "denominator", "values", "between", "max_selected", "per",
)  # fmt: skip

COVARIANCE_DIGITS = 9
"""Digits of covariances after the first one of the largest."""

PARTS = ("numerator", "denominator")
"""The fields of a ratio; each is a column, or the number of rows."""


def caption_texts(caption: Caption) -> dict[str, Any]:
    """The title, unit and note of a caption; None for each that is not stated."""
    texts = {"title": caption.title, "unit": caption.unit, "note": caption.note}
    return {key: text or None for key, text in texts.items()}


def statistic_options(inputs: Inputs) -> dict[str, Any]:
    """The optional fields of a statistic by name; None for each that is not used."""
    own = dict(inputs.options)
    max_selected, axis, ranges = (own.get(name) for name in ("max_selected", "between", "values"))
    return {
        "quantiles": list(map(JsonNumber.of, inputs.quantiles)) or None,
        "utility": inputs.utility or None,
        "weight": inputs.weight.name if inputs.weight else None,
        "label": inputs.label.name if inputs.label else None,
        "k": inputs.k if inputs.k > 1 else None,
        "ways": list(inputs.ways) if len(inputs.ways) > 1 else next(iter(inputs.ways), None),
        "method": inputs.method or None,
        "ridge": if_known(JsonNumber.of, inputs.ridge),
        "rows": inputs.rows or None,
        "candidates": len(inputs.candidates) or None,
        **{name: own[name].name if own[name] else "rows" for name in PARTS if name in own},
        "values": None if ranges is None else _range_texts(inputs, ranges),
        "between": axis and BetweenReport(column=axis.column.name, labels=list(axis.labels)),
        "max_selected": max_selected
        if max_selected and max_selected < len(inputs.checked)
        else None,
        "per": own.get("per"),
    }


def _range_texts(inputs: Inputs, ranges: Ranges) -> list[str]:
    from dpcli.data.labels import require_labeled

    return require_labeled(inputs.column).range_texts(ranges)


def option_words(statistic: StatisticReport) -> Iterator[str]:
    """The optional fields of a statistic in words, such as `with k 5`."""
    for name in OPTIONS:
        option = getattr(statistic, name)
        if isinstance(option, BetweenReport):
            yield f"between {' and '.join(option.labels)} of {option.column}"
        elif option is not None:
            listed = ", ".join(map(str, option)) if isinstance(option, list) else option
            yield f"with {name} {listed}"


def _bounds_of(inputs: Inputs) -> Ends | tuple[str, str] | None:
    column = inputs.column
    if not isinstance(column, NumericColumn) or column.bounds is None:
        return None
    low, high = map(column.text, column.bounds)
    return (JsonNumber(low), JsonNumber(high)) if column.date_range is None else (low, high)


def statistic_report(planned: PlannedStatistic, spec: CentralSpec) -> StatisticReport:
    """One statistic: what is requested, and how it is answered and protected."""
    entry, inputs = planned.entry, planned.entry.inputs
    margins = (key.column for key in inputs.margins)
    known = planned.design.noise_of_numbers
    queries = [
        _query(planned_query, spec.confidence, joint=planned.is_joint)
        for planned_query in planned.queries
    ]
    return StatisticReport(
        name=inputs.name,
        **caption_texts(entry.caption),
        statistic=entry.statistic.name,
        counts=counted_units(planned, spec),
        left_out=left_out_note(planned, spec) or None,
        interval_about=interval_about(planned, spec) or None,
        column=inputs.column.name if inputs.column else None,
        columns=[column.name for column in (*inputs.columns, *inputs.checked, *margins)],
        **statistic_options(inputs),
        by=[key.column.name for key in inputs.by],
        bins=[
            BinsReport(
                column=key.column.name,
                count=len(key),
                first=key.label(0),
                last=key.label(len(key) - 1),
            )
            for key in inputs.binned_axes
        ],
        where=joint_texts(inputs.where),
        mechanism=queries[0].mechanism,
        sensitivity=queries[0].sensitivity,
        epsilon=JsonNumber.of(planned.target.epsilon),
        delta=JsonNumber.of(planned.target.delta),
        rho=JsonNumber.of(planned.rho),
        error95=if_known(JsonNumber.of, planned.error(spec.confidence)),
        designs=list(planned.design.sentences(planned.noises, spec.confidence)),
        protected=[protection(part, spec) for part in planned.queries],
        queries=queries,
        bounds=_bounds_of(inputs),
        post=[step.summary for step in entry.post],
        post_unbiased=bool(entry.post) and all(step.unbiased for step in entry.post),
        noise_of_numbers=None if known is NoiseOfNumbers.UNKNOWN else known.value,
        raw=entry.raw,
        population=entry.statistic.has_population(inputs),
        keys=_private_keys(planned),
    )


def covariance_rows(planned: PlannedStatistic) -> list[JsonRow] | None:
    """The covariance of linear functions of answers; None if it is not stated."""
    entry, design = planned.entry, planned.design
    if not all(step.unbiased for step in entry.post):
        return None
    from dpcli.statistics.covariance import covariance_of

    covariance = covariance_of(design, planned.noises, consistent=bool(entry.post))
    if covariance is None:
        return None
    unit = Fraction(10) ** (floor(log10(covariance.max() or 1.0)) - COVARIANCE_DIGITS)
    return [
        JsonRow(JsonNumber.of(round(Fraction(number) / unit) * unit) for number in row[: at + 1])
        for at, row in enumerate(covariance.tolist())
    ]


def with_wider_interval(
    report: PublishedStatisticReport, published: EstimatedStatistic, plan: CentralPlan
) -> PublishedStatisticReport:
    """The report of a statistic, with its interval about all rows if one is known."""
    from dpcli.planning.wider_intervals import wider_interval

    wider = wider_interval(published, plan)
    if wider is None:
        return report
    lower, upper = wider.ends or (None, None)
    interval = WiderIntervalReport(
        below=JsonNumber.of(wider.below),
        above=JsonNumber.of(wider.above),
        lower=if_known(JsonNumber.of, lower),
        upper=if_known(JsonNumber.of, upper),
    )
    left_out = f"{report.left_out}; {wider.sentence}"
    return replace(report, left_out=left_out, wider_interval=interval)


def _private_keys(planned: PlannedStatistic) -> PrivateKeysReport | None:
    selected_by, rule = planned.entry.selected_by, planned.queries[0].calibrated.partition_selection
    if selected_by is None:
        return None
    return PrivateKeysReport(
        selected_by=selected_by,
        threshold=rule.threshold if rule else None,
        delta=JsonNumber.of(rule.delta) if rule else None,
    )


MAX_CHART_BINS = 5_000
"""Above this number of bins no chart is drawn."""


def layout_report(published: EstimatedStatistic, table: str, columns: list[str]) -> LayoutReport:
    """The layout of a statistic's numbers: its wide `table`, its scale and its axis."""
    entry = published.planned.entry
    statistic, scale = entry.statistic, "each" if entry.statistic.mixed_units else "common"
    if statistic.chooses and isinstance(entry.inputs.column, NumericColumn):
        scale = "bounds"
    return LayoutReport(
        table=table,
        columns=columns,
        chosen=statistic.chooses_labels,
        measure=statistic.measure,
        scale=scale,
        axis=_axis(published),
        unit=None if published.estimates.date_range is None else DATE_UNIT,
        possible=_possible(published.estimates) or None,
    )


def _possible(estimates: Estimates) -> list[tuple[JsonNumber | None, JsonNumber | None]]:
    """The ranges of possible numbers by the spec: one for all, or one per item.

    An end is a printed number, or None without a limit. Empty if nothing limits the numbers.
    """
    if set(estimates.limits) == {ANY}:
        return []

    def printed(end: Fraction | None, digits: int) -> JsonNumber | None:
        return None if end is None else JsonNumber(decimal_text(end, digits))

    digits = itertools.cycle(estimates.decimals)
    return [
        (printed(low, places), printed(high, places))
        for (low, high), places in zip(estimates.limits, digits, strict=False)
    ]


def _axis(published: EstimatedStatistic) -> AxisReport | None:
    """The bins along which a chart is drawn: of a histogram, or else of the last key.

    The last key is used only if groups are not private and each has one number. None if there are
    no bins, or more than `MAX_CHART_BINS`, or gaps between them.
    """
    entry = published.planned.entry
    inputs, key = entry.inputs, entry.inputs.bins
    if key is None and inputs.by and published.groups is None:
        key = inputs.by[-1] if entry.statistic.item_count(inputs) == 1 else None
    if key is None or not key.starts or len(key) > MAX_CHART_BINS:
        return None
    column, shown = require_numeric(key.column), key.chosen or range(len(key))
    if shown[-1] - shown[0] >= len(shown):
        return None
    return AxisReport(
        column=column.name,
        type=column.kind,
        step=JsonNumber.of(column.step),
        starts=[column.text(key.starts[position]) for position in shown],
        end=column.text(column.bin_ends(key.starts, shown[-1])[1]),
    )


def _query(planned_query: PlannedQuery, confidence: Fraction, *, joint: bool) -> QueryReport:
    """What a report states about one query, in the unit of the answer.

    If the queries of a statistic are `joint`, only the sum of their losses has a meaning.
    """
    low, high = map(JsonNumber.of, planned_query.row_contribution)
    return QueryReport(
        role=planned_query.weighted.role,
        joint=joint,
        cells=planned_query.weighted.query.cells,
        row_contribution=(low, high),
        mechanism=MechanismReport(
            kind=planned_query.mechanism_kind,
            scale=JsonNumber.of(planned_query.scale),
            grid=JsonNumber.of(planned_query.weighted.step),
        ),
        sensitivity=SensitivityReport(
            l0=planned_query.calibrated.sensitivity.l0,
            l1=JsonNumber.of(planned_query.l1),
            l2=JsonNumber.of(planned_query.l2),
            linf=JsonNumber.of(planned_query.linf),
        ),
        epsilon=JsonNumber.of(planned_query.calibrated.loss.epsilon),
        delta=JsonNumber.of(planned_query.calibrated.loss.delta),
        rho=JsonNumber.of(planned_query.calibrated.guarantee.rho),
        error95=JsonNumber.of(planned_query.error(confidence)),
    )


QUERY_FIELDS = ("mechanism", "sensitivity", "epsilon", "delta", "rho", "protected", "queries")


def queries_of(planned: PlannedStatistic, spec: CentralSpec) -> dict[str, Any]:
    """The `QUERY_FIELDS` of a quality check or of a choice of bounds, by name."""
    statistic = statistic_report(planned, spec)
    return {name: getattr(statistic, name) for name in QUERY_FIELDS}


def response_report(response: Response, records: int | None = None) -> ResponseReport:
    """How records respond for one column; with `records`, also the expected error."""
    randomizer = response.randomizer
    report = ResponseReport(
        column=response.column.name,
        collected=list(response.names),
        mechanism=response.mechanism.name,
        parameters={name: _parameter(value) for name, value in randomizer.record().items()},
        description=randomizer.describe(),
        by=[column.name for column in response.by],
        post=list(response.steps),
        epsilon=JsonNumber.of(randomizer.loss.epsilon),
        delta=JsonNumber.of(randomizer.loss.delta),
        rho=JsonNumber.of(randomizer.guarantee.rho),
    )
    if records is None:
        return report
    from dpcli.planning.compare import standard_error

    error = standard_error(response, records)
    digits = None if error is None else JsonNumber(rounded_text(Fraction(error), 6, plain=True))
    return report.extended(PlannedResponseReport, standard_error=digits)


def _parameter(value: object) -> object:
    if isinstance(value, list):
        return [_parameter(item) for item in value]
    return JsonNumber(value) if isinstance(value, int) else str(value)


BINS_COLUMNS = ("from", "to", "noisy count")


def choice_reports(plan: CentralPlan) -> list[Any] | None:
    """Each choice of bounds or limits; None if the plan makes no choice.

    A choice has its noisy counts once they are known.
    """
    return [_choice_report(choice, planned, plan) for choice, planned in choices(plan)] or None


def _choice_report(
    choice: BoundsChoice, planned: PlannedStatistic, plan: CentralPlan
) -> ChoiceRuleReport:
    def numbers(steps: tuple[int, int]) -> tuple[JsonNumber, JsonNumber]:
        step = choice.column.step
        low, high = (JsonNumber(decimal_text(end * step, decimal_places(step))) for end in steps)
        return low, high

    chosen, (lower, upper) = choice.chosen, numbers(choice.limits)
    report = ChoiceRuleReport(
        name=planned.name,
        column=choice.column_name,
        **queries_of(planned, plan.spec.for_choices),
        ladder=choice.grid.kind.name,
        outermost=numbers(choice.column.limits),
        cover=JsonNumber.of(choice.coverage),
        threshold=choice.rule(planned.queries[0].calibrated.noise).threshold,
        rule=list(rule_sentences(choice, planned, plan)),
    )
    if chosen is None:
        return report
    return report.extended(
        ChoiceReport,
        lower=lower,
        upper=upper,
        decided=chosen.decided,
        counts=list(chosen.counts),
        bins=list(map(numbers, choice.bins)),
        sentences=list(chosen_sentences(choice, planned, plan)),
        ledger=ChargeReport(entry=chosen.entry, head=chosen.head),
    )
