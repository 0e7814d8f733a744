"""What the JSON of plans states, and that of their differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from dpcli.fields.json import Count, JsonNumber, JsonObject, Sentences
from dpcli.planning.plan import LocalPlan, Plan
from dpcli.planning.words.data import limit_warnings, plan_warnings
from dpcli.planning.words.guarantee import (
    collection_limitations,
    limitations,
    shuffle_condition,
    unprotected_notes,
)
from dpcli.planning.words.statistics import unreachable_thresholds
from dpcli.problems.light_dataclasses import dataclass
from dpcli.report.collection import PlannedResponseReport, ResponseReport
from dpcli.report.first_counts import ChoiceRuleReport, QualityRuleReport, choice_reports
from dpcli.report.privacy import FurtherBudgetReport, LossReport
from dpcli.report.release import AnyReport, CentralReport, any_fields, central_fields
from dpcli.report.statistic import StatisticReport

if TYPE_CHECKING:
    from dpcli.ledger.forecast import BalanceForecast
    from dpcli.planning.compositions import CompositionComparison
    from dpcli.privacy.shuffling import ShuffledGuarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalReport(JsonObject):
    """A reason why an account would refuse a release."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountReport(JsonObject):
    """The account that would pay: its ledger, and why it would refuse the release.

    `opened` is whether it exists, `window` the days that its budget covers. `shares_files_with`
    names other accounts that were charged for the same data files.
    """

    ledger: str
    ledger_exists: bool
    opened: bool
    window: Count | None
    refused: list[RefusalReport]
    shares_files_with: list[str]
    further_budgets: list[FurtherBudgetReport] | None = None
    """What else bounds the account, after the release; absent without anything."""

    @classmethod
    def of(cls, forecast: BalanceForecast) -> AccountReport:
        """The account of a forecast."""
        refused = forecast.refused.problems if forecast.refused else ()
        return cls(
            ledger=str(forecast.ledger),
            ledger_exists=forecast.exists,
            opened=forecast.terms is not None,
            window=forecast.window,
            refused=[*map(RefusalReport.read, refused)],
            shares_files_with=list(forecast.shared),
            further_budgets=[*map(FurtherBudgetReport.of, forecast.further_budgets)] or None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsReport(JsonObject):
    """Repeated releases of a plan."""

    requested: Count
    fits: bool
    needed: LossReport
    most: Count
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReport(CentralReport):
    """The JSON of a plan."""

    fits: bool
    account: AccountReport
    times: RunsReport | None
    choices: list[ChoiceRuleReport] | None = None
    quality: QualityRuleReport | None
    statistics: list[StatisticReport]
    warnings: Sentences
    compared: list[CompositionComparison] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffledReport(JsonObject):
    """The central guarantee of responses in random order."""

    records: Count
    delta: JsonNumber
    epsilon: JsonNumber | None
    enough_records: Count | None
    condition: str

    @classmethod
    def of(cls, plan: LocalPlan, amplified: ShuffledGuarantee) -> ShuffledReport:
        """The guarantee of the responses of a plan in random order."""
        return cls.read(
            amplified, enough_records=amplified.needed_records, condition=shuffle_condition(plan)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPlanReport(AnyReport):
    """The JSON of a plan of the local model."""

    model: Literal["local"]
    fits: bool
    account: AccountReport
    times: RunsReport | None
    records: Count | None
    responses: list[ResponseReport] | list[PlannedResponseReport]
    shuffled: ShuffledReport | None = None
    compared: list[CompositionComparison] | None = None


def plan_report(
    plan: Plan,
    forecast: BalanceForecast,
    records: int | None = None,
    amplified: ShuffledGuarantee | None = None,
    *,
    compared: bool = False,
) -> PlanReport | LocalPlanReport:
    """What a plan and its account state, known before any row is read.

    The remaining budget is that after the release; it is null if the release is refused. With
    `compared`, there is the cost under every composition. In the local model, `records` gives
    expected errors, and `amplified` is the central guarantee of responses in random order.
    """
    before, runs = forecast.before, forecast.runs
    outlook: dict[str, Any] = {
        **any_fields(plan, before.spent if before else None, forecast.after, forecast.window),
        "fits": forecast.refused is None,
        "account": AccountReport.of(forecast),
        "times": runs
        and RunsReport.read(runs, requested=runs.asked, needed=LossReport.read(runs.needed)),
        "compared": None,
    }
    if compared:
        from dpcli.planning.compositions import compare_compositions

        outlook["compared"] = [*compare_compositions(plan)]
    if isinstance(plan, LocalPlan):
        return LocalPlanReport(
            **outlook,
            model="local",
            records=records,
            responses=[
                ResponseReport.of(response)
                if records is None
                else PlannedResponseReport.expect(response, records)
                for response in plan.spec.responses
            ],
            unprotected=[*unprotected_notes(plan)],
            limits=[*collection_limitations(plan, shuffled=amplified is not None)],
            shuffled=ShuffledReport.of(plan, amplified) if amplified else None,
        )
    return PlanReport(
        **outlook,
        **central_fields(plan),
        choices=choice_reports(plan),
        quality=QualityRuleReport.of(plan) if plan.quality else None,
        statistics=[StatisticReport.of(planned, plan.spec) for planned in plan.statistics],
        limits=[*limitations(plan), *limit_warnings(plan)],
        warnings=[*plan_warnings(plan), *unreachable_thresholds(plan, records)],
    )
