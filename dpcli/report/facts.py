"""Plans, reports and comparisons of plans as data with stable JSON keys.

A report depends on the spec, the released numbers, the version, the ledger entry, and the name and
date of the release. It has no exact row count, no digest of the data and no timing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dpcli.ledger.balance import DAYS_A_YEAR
from dpcli.numeric.exact import exact_or_up
from dpcli.planning import notes
from dpcli.planning.guarantee import headline, meaning, promise
from dpcli.planning.limit_notes import bounding_notes, counts_left_out, limit_warnings
from dpcli.planning.plan import CentralPlan, LocalPlan, Plan
from dpcli.planning.risks import risks
from dpcli.privacy.loss import Loss
from dpcli.privacy.unit import RowUnit
from dpcli.report.entry_facts import (
    caption_texts,
    choice_reports,
    covariance_rows,
    layout_report,
    response_report,
    statistic_report,
    with_wider_interval,
)
from dpcli.report.entry_model import (
    CELLS,
    PublishedStatisticReport,
    QualityReport,
    QualityRuleReport,
)
from dpcli.report.json import REPORT_VERSION, JsonNumber, if_known, json_text
from dpcli.report.model import (
    AccountReport,
    CollectionReport,
    ColumnReport,
    ComparisonReport,
    FileReport,
    FlagsReport,
    LedgerReport,
    LocalPlanReport,
    LossReport,
    OptionalColumnReport,
    PlanReport,
    PrivacyReport,
    RefusalReport,
    ReleaseReport,
    RiskReport,
    RunsReport,
    SampleReport,
    ShuffledReport,
    SpecReport,
    UnitReport,
    WindowReport,
)
from dpcli.report.numbers import published_numbers
from dpcli.report.report import Report
from dpcli.report.table import wide_layout
from dpcli.specification.model import Caption, Spec
from dpcli.statistics.design import NoiseOfNumbers
from dpcli.statistics.postprocessing import IMPRECISE_SHARE, LIMITED_SHARE, UNRELIABLE
from dpcli.version import __version__

if TYPE_CHECKING:
    from dpcli.ledger.account import BalanceForecast
    from dpcli.ledger.balance import Balance
    from dpcli.ledger.charge import NoisyRelease, RandomizedCollection, Receipt
    from dpcli.planning.quality_check import QualityResult
    from dpcli.privacy.shuffling import ShuffledGuarantee


def release_report(release: NoisyRelease) -> Report:
    """The report of a release."""
    numbers, plan = release.numbers, release.numbers.plan
    tables = wide_layout(plan)
    statistics = [
        statistic_report(published.planned, plan.spec).extended(
            PublishedStatisticReport,
            layout=layout_report(published, *tables[published.planned.name]),
            noise_covariance=covariance_rows(published.planned)
            if published.planned.design.noise_of_numbers is NoiseOfNumbers.LINEAR
            else None,
            cells=CELLS,
        )
        for published in numbers.statistics
    ]
    if plan.spec.choices:
        pairs = zip(statistics, numbers.statistics, strict=True)
        statistics = [with_wider_interval(report, published, plan) for report, published in pairs]
    stated = ReleaseReport(
        **_release(plan, release),
        quality=_quality(plan, numbers.quality),
        statistics=statistics,
        choices=choice_reports(plan),
        **_notes(plan),
        limits=[*notes.limitations(plan), *release.warnings],
    )
    columns = plan.spec.output_columns
    return Report.compose(
        stated,
        [
            published_numbers(published, columns, plan.spec.confidence)
            for published in numbers.statistics
        ],
    )


def collection_report(collection: RandomizedCollection) -> Report:
    """The report of a local collection."""
    plan = collection.plan
    return Report.compose(
        CollectionReport(
            **_release(plan, collection),
            model="local",
            responses=list(map(response_report, plan.spec.responses)),
            shuffled=collection.shuffled,
            responses_sha256=collection.digest,
            unprotected=notes.unprotected_notes(plan),
            limits=notes.collection_limitations(plan, shuffled=collection.shuffled),
        )
    )


def _release(plan: Plan, source: NoisyRelease | RandomizedCollection) -> dict[str, Any]:
    receipt = source.receipt
    return {
        **_common(plan, receipt.before, receipt.balance, receipt.terms.window),
        "release_id": source.release_id,
        "created": source.created,
        "ledger": LedgerReport(
            name=receipt.ledger,
            entry=receipt.entry,
            head=receipt.head,
            first_release=receipt.first,
            after_check=receipt.after_check or None,
            window=_window(receipt),
        ),
    }


def _common(
    plan: Plan, before: Loss | None, after: Balance | None, window: int | None
) -> dict[str, Any]:
    """What plans and reports of both models state, by key.

    The losses `before` and `after`, and what remains, are stated if they are known.
    """
    spec, declared, unit = plan.spec, plan.spec.declarations, plan.spec.privacy.unit
    population = {} if declared.population is None else {"population": declared.population}
    return {
        "dpcli_version": __version__,
        "report_version": REPORT_VERSION,
        "spec": spec_report(spec),
        "privacy": PrivacyReport(
            unit="row"
            if isinstance(unit, RowUnit)
            else UnitReport(
                column=unit.column,
                max_rows=unit.max_rows,
                max_groups=unit.max_groups,
                max_rows_per_group=unit.max_rows_per_group,
            ),
            neighbors=spec.privacy.neighbors.value,
            composition=spec.privacy.composition.name,
            requested=LossReport.of(plan.requested_loss),
            spent=LossReport.of(plan.cost),
            bound=plan.bound.name,
            budget=LossReport.of(spec.privacy.budget),
            before=if_known(LossReport.of, before),
            after=LossReport.of(after.spent) if after else None,
            remaining=LossReport.of(after.remaining) if after else None,
            promise=promise(spec),
            headline=headline(plan),
            meaning=list(meaning(plan)),
        ),
        "confidence": JsonNumber.of(spec.confidence),
        "risks": [
            RiskReport(
                risk=finding.risk,
                description=finding.question,
                verdict=finding.verdict.value,
                found=finding.words,
                warning=finding.warning or None,
                answer=finding.declared or None,
                declared_as=finding.asks or None,
            )
            for finding in risks(plan, window)
        ],
        "declarations": {**population, **dict(declared.answers)} or None,
    }


def spec_report(spec: Spec) -> SpecReport:
    """What a report states about a spec itself."""
    captions = spec.column_captions
    # A file may be named several times.
    digests = {file.name: file.sha256 for file in spec.named_files}
    return SpecReport(
        dataset=spec.dataset,
        digest=spec.digest,
        rows_are=spec.rows_are,
        title=spec.caption.title or None,
        note=spec.caption.note or None,
        numbers=spec.numbers or None,
        columns=[
            ColumnReport(
                name=column.name,
                type=column.kind,
                **caption_texts(captions.get(column.name, Caption())),
            )
            for column in spec.columns
        ],
        text=spec.text,
        files=[FileReport(name=name, sha256=digest) for name, digest in digests.items()] or None,
    )


def _quality_as_planned(plan: CentralPlan) -> QualityRuleReport | None:
    if plan.quality is None:
        return None
    from dpcli.report.quality_facts import quality_rule

    return quality_rule(plan)


def _quality(plan: CentralPlan, result: QualityResult | None) -> QualityReport | None:
    if result is None:
        return None
    from dpcli.report.quality_facts import quality_report

    return quality_report(plan, result)


def _window(receipt: Receipt) -> WindowReport | None:
    """What the window of an account protects, and its losses; None without a window.

    The losses are those of the worst window, of a year at most, and of all releases.
    """
    days = receipt.terms.window
    if days is None:
        return None
    # This number of windows covers a year.
    windows, budget = -(-DAYS_A_YEAR // days), receipt.terms.budget
    return WindowReport(
        periods=days,
        period=receipt.period,
        per_window=LossReport.of(receipt.balance.spent),
        per_year_at_most=LossReport.of(Loss(budget.epsilon * windows, budget.delta * windows)),
        lifetime=LossReport.of(receipt.balance.lifetime),
        protects=(
            f"what any person did within any {days:,} consecutive days, whatever is known of "
            "the other days, provided that the data of each release contain only what was "
            "done on the day that it names"
        ),
        does_not_protect=(
            "a person who is in the data in every window: what they reveal adds up over "
            "windows, to the loss per year and over the lifetime"
        ),
    )


def _notes(plan: CentralPlan) -> dict[str, Any]:
    unchecked = (
        "Nothing checked that the data file was complete and written as declared: the spec "
        "has no `quality:`. If most of it was missing, or a column could not be read, these "
        "numbers are noise and do not say so."
    )
    sample = plan.spec.sample
    return {
        "unchecked": unchecked if notes.lacks_check(plan) else None,
        "derived": notes.derived_notes(plan) or None,
        "bounding": bounding_notes(plan),
        "composition": notes.composition_notes(plan),
        "selections": notes.selection_notes(plan),
        "flags": _flags(plan),
        "optional_columns": [
            OptionalColumnReport(name=column.name, meaning=column.meaning)
            for column in plan.spec.output_columns
        ]
        or None,
        "sample": sample
        and SampleReport(
            design="simple-random",
            population=sample.population,
            size=sample.size,
            notes=notes.population_notes(plan),
        ),
        "post_processing": notes.post_processing_notes(plan),
        "unprotected": list(notes.exact_notes(plan)),
    }


def _flags(plan: CentralPlan) -> FlagsReport:
    percent, share = exact_or_up(plan.spec.confidence * 100), exact_or_up(UNRELIABLE)
    unreliable = (
        f"unreliable: half the width of the {percent}% interval is more than {share} of the "
        "value (of a date, or of a number that can be negative: of a fifth of what is "
        "possible, if that is more), or the interval leaves out the value"
    )
    nothing = (
        "no-information: the interval covers all that is possible, so nothing is proven about "
        "the data"
    )
    if any(planned.entry.statistic.chooses for planned in plan.statistics):
        share = exact_or_up(IMPRECISE_SHARE)
        unreliable += (
            f"; for a choice, its error may be more than {share} of the rows that it is made "
            "from, by their noisy number"
        )
        nothing += (
            "; for a choice, there may be so few rows, by their noisy number, that noise has "
            "decided"
        )
    return FlagsReport(
        unreliable_above=JsonNumber.of(UNRELIABLE),
        unreliable=unreliable,
        limited=_limited_meaning(plan),
        no_information=nothing,
        suppressed=(
            "suppressed: left out because of its noisy value or of its interval, as the "
            "post-processing says, never because of the exact value"
        ),
    )


def _limited_meaning(plan: CentralPlan) -> str:
    """The meaning of the flag `limited`: the reasons for it that the spec allows."""
    rows = f"limits left out more than {exact_or_up(LIMITED_SHARE * 100)}% of the rows"
    clamped = "values were clamped to bounds that noisy counts chose"
    if not plan.spec.clamped_by_choice:
        return f"limited: {rows}, so the interval is only about what was kept"
    if counts_left_out(plan):
        return f"limited: {rows}, or {clamped}, so the interval is only about what was kept"
    return f"limited: {clamped}, so the interval is only about clamped values"


def plan_report(
    plan: Plan,
    forecast: BalanceForecast,
    records: int | None = None,
    amplified: ShuffledGuarantee | None = None,
    *,
    compared: bool = False,
) -> PlanReport | LocalPlanReport:
    """What a plan and its account state, known before any row is read.

    With `compared`, it has the cost under every composition. In the local model, `records` gives
    expected errors, and `amplified` is the central guarantee of responses in random order.
    """
    outlook = _outlook(plan, forecast) | {"compared": _compared(plan) if compared else None}
    if isinstance(plan, LocalPlan):
        return LocalPlanReport(
            **outlook,
            model="local",
            records=records,
            responses=[response_report(response, records) for response in plan.spec.responses],
            unprotected=notes.unprotected_notes(plan),
            limits=notes.collection_limitations(plan, shuffled=amplified is not None),
            shuffled=_shuffled(plan, amplified) if amplified else None,
        )
    limits = limit_warnings(plan)
    quality = (*notes.quality_warnings(plan), *notes.kept_rows_warnings(plan))
    return PlanReport(
        **outlook,
        choices=choice_reports(plan),
        quality=_quality_as_planned(plan),
        statistics=[statistic_report(planned, plan.spec) for planned in plan.statistics],
        **_notes(plan),
        limits=[*notes.limitations(plan), *limits],
        warnings=[*notes.unit_warnings(plan), *notes.column_warnings(plan), *limits, *quality],
    )


def _outlook(plan: Plan, forecast: BalanceForecast) -> dict[str, Any]:
    """The common part of a plan report, its account and its repeated runs, by key.

    The remaining budget is that after the release; it is null if the release is refused.
    """
    before, runs = forecast.before, forecast.runs
    refused = forecast.refused.problems if forecast.refused else ()
    return {
        **_common(plan, before.spent if before else None, forecast.after, forecast.window),
        "fits": forecast.refused is None,
        "account": AccountReport(
            ledger=str(forecast.ledger),
            ledger_exists=forecast.exists,
            opened=forecast.terms is not None,
            window=forecast.window,
            refused=[
                RefusalReport(code=problem.code, message=problem.message) for problem in refused
            ],
            shares_files_with=list(forecast.shared),
        ),
        "times": runs
        and RunsReport(
            requested=runs.asked,
            fits=runs.fits,
            needed=LossReport.of(runs.needed),
            most=runs.most,
            exact=runs.exact,
        ),
    }


def _shuffled(plan: LocalPlan, amplified: ShuffledGuarantee) -> ShuffledReport:
    return ShuffledReport(
        records=amplified.records,
        delta=JsonNumber.of(amplified.delta),
        epsilon=if_known(JsonNumber.of, amplified.epsilon),
        enough_records=amplified.needed_records,
        condition=notes.shuffle_condition(plan),
    )


def _compared(plan: Plan) -> list[ComparisonReport]:
    from dpcli.planning.compare import compare_compositions

    return [
        ComparisonReport(
            composition=row.composition,
            total=if_known(LossReport.of, row.total),
            bound=row.bound,
            fits=row.fits,
            cheapest=row.cheapest,
            needs=row.needs,
        )
        for row in compare_compositions(plan)
    ]


def difference_json(old: CentralPlan, new: CentralPlan, weaker: Sequence[str]) -> str:
    """The changes between two plans as JSON, and why the new plan is `weaker`."""
    from dpcli.planning.compare import statistic_changes

    statistics, spent = list(map(asdict, statistic_changes(old, new))), [old.cost, new.cost]
    return json_text({"statistics": statistics, "spent": spent, "weaker": weaker})
