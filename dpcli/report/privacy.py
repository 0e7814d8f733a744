"""What a report states about privacy: of queries, a release and an account."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from dpcli.fields.json import Count, Ends, JsonNumber, JsonObject, Sentences, if_known, number
from dpcli.ledger.balance import DAYS_A_YEAR
from dpcli.planning.plan import Plan, PlannedQuery, PlannedStatistic
from dpcli.planning.words.guarantee import headline, meaning, promise, protection
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.loss import Loss
from dpcli.privacy.unit import RowUnit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.terms import QueryTerms
from dpcli.specification.model import CentralSpec

if TYPE_CHECKING:
    from dpcli.ledger.account import FurtherBudget
    from dpcli.ledger.balance import Balance
    from dpcli.ledger.charge import Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismReport(JsonObject):
    """How a query was answered."""

    kind: str
    """discrete-laplace, discrete-gaussian, discrete-k-norm, a choice, or exact."""
    scale: JsonNumber
    """In the unit of the answer."""
    grid: JsonNumber
    """The step on which noise and answer lie."""
    norm: str | None = None
    """The norm by which K-norm noise falls off."""
    vector: Count | None = None
    """How many successive numbers share K-norm noise."""

    @classmethod
    def of(cls, planned: PlannedQuery) -> MechanismReport:
        """The noise of a planned query, in the unit of the answer."""
        vector, norm = planned.weighted.query.vectors or (None, None)
        return cls(
            kind=planned.mechanism_kind,
            scale=number(planned.scale),
            grid=number(planned.weighted.step),
            norm=norm,
            vector=vector,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitivityReport(JsonObject):
    """How far one unit can change the answer, in the unit of the answer."""

    l0: Count | None
    """How many numbers one unit can change."""
    l1: JsonNumber
    """The sum of all changes; of K-norm noise, the change in its norm."""
    l2: JsonNumber
    linf: JsonNumber


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryReport(JsonObject):
    """A query of a statistic."""

    role: str
    """What the query is for."""
    joint: bool
    """Whether its loss means something only together with the others."""
    cells: Count | None
    """How many numbers; null where groups are private."""
    row_contribution: Ends
    """The least and the most that one row adds to one number."""
    mechanism: MechanismReport
    sensitivity: SensitivityReport
    epsilon: JsonNumber
    delta: JsonNumber
    rho: JsonNumber
    """What its answer reveals, in rho."""
    error95: JsonNumber
    """The half-width of the noise at the confidence of the report."""
    terms: QueryTerms | None = None
    """What decides its sensitivity; absent in reports of earlier versions."""
    event: dict[str, object] | None = None
    """What the ledger records of it, exactly; absent in reports of earlier versions."""

    @classmethod
    def of(
        cls, planned: PlannedQuery, confidence: Fraction, event: MechanismEvent, *, joint: bool
    ) -> QueryReport:
        """What a report states about one query, in the unit of the answer."""
        weighted, calibrated = planned.weighted, planned.calibrated
        low, high = map(number, planned.row_contribution)
        return cls(
            role=weighted.role,
            joint=joint,
            cells=weighted.query.cells,
            row_contribution=(low, high),
            mechanism=MechanismReport.of(planned),
            sensitivity=SensitivityReport.read(planned, l0=calibrated.sensitivity.l0),
            epsilon=number(calibrated.loss.epsilon),
            delta=number(calibrated.loss.delta),
            rho=number(calibrated.guarantee.rho),
            error95=number(planned.error(confidence)),
            terms=weighted.query.terms(calibrated.relation),
            event=event.to_json(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersReport(JsonObject):
    """How the queries of the quality check, or of a choice, are answered."""

    mechanism: MechanismReport
    sensitivity: SensitivityReport
    epsilon: JsonNumber
    delta: JsonNumber
    rho: JsonNumber
    protected: Sentences
    """How each query was protected, in words."""
    queries: list[QueryReport]


def answers(planned: PlannedStatistic, spec: CentralSpec) -> dict[str, Any]:
    """The fields of `AnswersReport`, which every statistic has, by name."""
    queries = [
        QueryReport.of(query, spec.confidence, event, joint=planned.is_joint)
        for query, event in zip(planned.queries, planned.events, strict=True)
    ]
    return {
        "mechanism": queries[0].mechanism,
        "sensitivity": queries[0].sensitivity,
        "epsilon": number(planned.target.epsilon),
        "delta": number(planned.target.delta),
        "rho": number(planned.rho),
        "protected": [protection(query, spec) for query in planned.queries],
        "queries": queries,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class LossReport(JsonObject):
    """A privacy loss."""

    epsilon: JsonNumber
    """Rounded up where it has no short decimal."""
    delta: JsonNumber
    rho: JsonNumber | None
    """Where the composition counts in it."""

    @property
    def loss(self) -> Loss:
        """The loss that is stated."""
        rho = None if self.rho is None else Fraction(self.rho)
        return Loss(Fraction(self.epsilon), Fraction(self.delta), rho)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitReport(JsonObject):
    """A person as the privacy unit."""

    column: str
    max_rows: Count
    max_groups: Count
    max_rows_per_group: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyReport(JsonObject):
    """The guarantee, and what it costs and means."""

    unit: Literal["row"] | UnitReport
    """Who is protected."""
    neighbors: Literal["add-remove", "change-one"]
    composition: str
    requested: LossReport
    """The plain sum of what the entries ask for."""
    spent: LossReport
    """By this release, by the composition."""
    bound: str
    """The theorem that gives it."""
    budget: LossReport
    """Of the account."""
    before: LossReport | None
    """What the account had spent before."""
    after: LossReport | None
    """What the account had spent after it."""
    remaining: LossReport | None
    """What it has left."""
    promise: str
    """What is promised, in words."""
    headline: str
    """What the loss means, in one sentence."""
    meaning: Sentences
    """What the loss of this release means for one person or row, in words."""

    @classmethod
    def of(cls, plan: Plan, before: Loss | None, after: Balance | None) -> PrivacyReport:
        """The guarantee of a plan.

        The losses `before` and `after`, and what remains, are stated if they are known.
        """
        spec, privacy, unit = plan.spec, plan.spec.privacy, plan.spec.privacy.unit
        return cls(
            unit="row" if isinstance(unit, RowUnit) else UnitReport.read(unit),
            neighbors=privacy.neighbors.value,
            composition=privacy.composition.name,
            requested=LossReport.read(plan.requested_loss),
            spent=LossReport.read(plan.cost),
            bound=plan.bound.name,
            budget=LossReport.read(privacy.budget),
            before=if_known(LossReport.read, before),
            after=LossReport.read(after.spent) if after else None,
            remaining=LossReport.read(after.remaining) if after else None,
            promise=promise(spec),
            headline=headline(plan),
            meaning=list(meaning(plan)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowReport(JsonObject):
    """What a window protects, and the loss of each span of time."""

    periods: Count
    period: str | None
    per_window: LossReport
    per_year_at_most: LossReport
    lifetime: LossReport
    protects: str
    does_not_protect: str

    @classmethod
    def of(cls, receipt: Receipt) -> WindowReport | None:
        """What the window of an account protects, and its losses; None without a window.

        The losses are those of the worst window, of a year at most, and of all releases.
        """
        days = receipt.terms.window
        if days is None:
            return None
        # This number of windows covers a year.
        windows, budget = -(-DAYS_A_YEAR // days), receipt.terms.budget
        return cls(
            periods=days,
            period=receipt.period,
            per_window=LossReport.read(receipt.balance.spent),
            per_year_at_most=LossReport.read(
                Loss(budget.epsilon * windows, budget.delta * windows)
            ),
            lifetime=LossReport.read(receipt.balance.lifetime),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FurtherBudgetReport(JsonObject):
    """What else bounds the account: the account that it is a part of, or a recipient."""

    account: str
    recipient: str | None = None
    """Whose releases the budget bounds, public ones included; absent for an account."""
    window: Count | None = None
    """The days that the budget covers; absent if it covers all."""
    budget: LossReport
    spent: LossReport
    remaining: LossReport

    @classmethod
    def of(cls, limit: FurtherBudget) -> FurtherBudgetReport:
        """A limit after a release."""
        return cls(
            account=limit.terms.dataset,
            recipient=limit.recipient,
            window=limit.terms.window,
            budget=LossReport.read(limit.terms.budget),
            spent=LossReport.read(limit.after.spent),
            remaining=LossReport.read(limit.after.remaining),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport(JsonObject):
    """What made the release."""

    dpcli: str
    commit: str | None = None
    """With `changed` if files were not committed; absent in a checkout."""
    python: str
    polars: str
    numpy: str
    platform: str

    @property
    def text(self) -> str:
        """All of it in a phrase."""
        commit = f" (commit {self.commit})" if self.commit else ""
        libraries = f"Python {self.python}, polars {self.polars}, numpy {self.numpy}"
        return f"dpcli {self.dpcli}{commit}, {libraries}, {self.platform}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierReport(JsonObject):
    """A release that the account paid for before."""

    release_id: str
    created: str
    loss: LossReport


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainReport(JsonObject):
    """What the head of an entry is the hash of, besides number, dataset and events."""

    previous: str
    """The digest of the entry before."""
    name: str | None
    period: str | None
    payload: str
    """As it is hashed: the paths of data files are a salted hash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerReport(JsonObject):
    """The entry of the ledger that was charged."""

    name: str
    entry: Count
    head: str
    """SHA-256 of the chain of entries up to this one."""
    first_release: bool
    """Whether it is the first release of its account in this ledger; true also where a new ledger
    took the place of a lost one."""
    after_check: str | None = None
    """The release whose quality check failed before, and is charged as well; absent otherwise."""
    window: WindowReport | None = None
    build: BuildReport | None = None
    recipient: str | None = None
    """For whom the release is; absent if it is public."""
    further_budgets: list[FurtherBudgetReport] | None = None
    """What else bounds the account; absent without anything."""
    earlier: list[EarlierReport] | None = None
    """The last other releases of the account, newest first; absent without any."""
    earlier_more: Count | None = None
    """How many entries are before these; absent without any."""
    chain: ChainReport | None = None
    """Absent in reports of earlier versions."""

    @classmethod
    def of(cls, receipt: Receipt) -> LedgerReport:
        """The entry that a receipt names."""
        return cls(
            name=receipt.ledger,
            entry=receipt.entry,
            head=receipt.head,
            first_release=receipt.first,
            after_check=receipt.after_check or None,
            window=WindowReport.of(receipt),
            build=BuildReport.read(receipt.build),
            recipient=receipt.recipient,
            further_budgets=[*map(FurtherBudgetReport.of, receipt.further_budgets)] or None,
            earlier=[
                EarlierReport(release_id=name, created=created, loss=LossReport.read(loss))
                for name, created, loss in receipt.earlier
            ]
            or None,
            earlier_more=receipt.more or None,
            chain=ChainReport.read(
                receipt.ledger_entry, payload=receipt.ledger_entry.public_payload
            ),
        )  # fmt: skip
