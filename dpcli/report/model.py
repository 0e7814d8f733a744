"""What a report states, as types: every output of a release is made from them.

Fields have the names of the keys of the JSON report, whose schema is made from these classes.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Literal

from dpcli.privacy.loss import Loss
from dpcli.problems.light_dataclasses import dataclass
from dpcli.report.entry_model import (
    ChoiceReport,
    ChoiceRuleReport,
    Count,
    Keywords,
    PlannedResponseReport,
    Positive,
    PublishedStatisticReport,
    QualityReport,
    QualityRuleReport,
    ResponseReport,
    Sentences,
    StatisticReport,
)
from dpcli.report.json import JsonNumber, JsonObject, if_known
from dpcli.statistics.postprocessing import Flag
from dpcli.statistics.precision import OPTIONAL_COLUMNS

Sha256 = Annotated[str, Keywords(pattern="^[0-9a-f]{64}$")]
Version = Annotated[int, Keywords(const=2)]
Instant = Annotated[str, Keywords(format="date-time")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LossReport(JsonObject):
    """A privacy loss."""

    epsilon: JsonNumber
    """Rounded up where it has no short decimal."""
    delta: JsonNumber
    rho: JsonNumber | None
    """Where the composition counts in it."""

    @classmethod
    def of(cls, loss: Loss) -> LossReport:
        """The report of a loss."""
        epsilon, delta = JsonNumber.of(loss.epsilon), JsonNumber.of(loss.delta)
        return cls(epsilon=epsilon, delta=delta, rho=if_known(JsonNumber.of, loss.rho))

    @property
    def loss(self) -> Loss:
        """The loss that is stated."""
        rho = None if self.rho is None else Fraction(self.rho)
        return Loss(Fraction(self.epsilon), Fraction(self.delta), rho)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport(JsonObject):
    """A file that the spec names."""

    name: str
    sha256: Sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnReport(JsonObject):
    """A column that the spec declares."""

    name: str
    type: str
    title: str | None = None
    """What people read in place of the name, if stated."""
    unit: str | None = None
    """The unit of the numbers, if stated."""
    note: str | None = None
    """What readers must know, if stated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecReport(JsonObject):
    """The spec of a release."""

    dataset: str
    digest: Sha256
    """SHA-256 of the text, and of the tables that it names."""
    rows_are: str
    """What a row of the data is, as a plural."""
    title: str | None = None
    """The title of the release, if stated."""
    note: str | None = None
    """What readers must know, if stated."""
    numbers: str | None = None
    """How the spec writes the number 1234.5 for people, if stated."""
    columns: list[ColumnReport]
    """The columns that the spec declares."""
    text: str
    files: list[FileReport] | None = None
    """The files that the spec names, such as lists of codes, if any."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagsReport(JsonObject):
    """What the flags of numbers mean."""

    unreliable_above: JsonNumber
    """Half-width of the interval, as a share of the value, above which a number is unreliable."""
    suppressed: str
    no_information: str
    limited: str
    unreliable: str

    def meaning(self, flag: Flag) -> str | None:
        """What a flag means; None for a flag that an earlier version did not have."""
        return getattr(self, flag.name.lower(), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionalColumnReport(JsonObject):
    """A column of the table that the spec adds."""

    name: Annotated[str, Keywords(enum=[column.name for column in OPTIONAL_COLUMNS])]
    meaning: str
    """What it means, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleReport(JsonObject):
    """The declared sample."""

    design: Literal["simple-random"]
    population: Positive
    size: Positive | None
    notes: Sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskReport(JsonObject):
    """A risk, and the verdict on it."""

    risk: str
    description: str
    """The risk as a question."""
    verdict: Literal["met", "warned", "declared", "open"]
    found: str
    """What dpcli states about it."""
    warning: str | None
    """What to do about it."""
    answer: str | None
    """What the spec declares."""
    declared_as: str | None
    """The key under `declarations` that answers it."""


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


Declarations = dict[str, str | Count] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseReport(JsonObject):
    """Report of a release."""

    dpcli_version: str
    report_version: Version
    release_id: str
    created: Instant
    """UTC."""
    spec: SpecReport
    privacy: PrivacyReport
    confidence: JsonNumber
    choices: list[ChoiceReport] | None = None
    """Bounds that noisy counts chose, then the limit on rows per person."""
    quality: QualityReport | None
    unchecked: str | None = None
    """A warning if the spec neither asks for a check nor states that none is meant."""
    statistics: list[PublishedStatisticReport]
    """Empty if the quality check stopped the release."""
    derived: Sentences | None = None
    """How derived columns are computed."""
    bounding: Sentences
    """How people were bounded."""
    composition: Sentences
    """How losses were added up."""
    selections: Sentences
    """Which groups are shown."""
    flags: FlagsReport
    optional_columns: list[OptionalColumnReport] | None = None
    """The columns of the table that the spec adds; absent without any."""
    sample: SampleReport | None = None
    """The declared sample; absent without one."""
    post_processing: Sentences
    """What was done to noisy answers."""
    unprotected: Sentences
    """What is published exactly."""
    limits: Sentences
    """What is not protected."""
    risks: list[RiskReport]
    declarations: Declarations
    """What only people know, as the spec declares it."""
    ledger: LedgerReport


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionReport(JsonObject):
    """Report of a local collection."""

    dpcli_version: str
    report_version: Version
    model: Literal["local"]
    release_id: str
    created: Instant
    """UTC."""
    spec: SpecReport
    privacy: PrivacyReport
    confidence: JsonNumber
    responses: list[ResponseReport]
    shuffled: bool
    responses_sha256: Sha256
    """Of the file of responses."""
    unprotected: Sentences
    """What is published exactly."""
    limits: Sentences
    """What is not protected."""
    risks: list[RiskReport]
    declarations: Declarations
    """What only people know, as the spec declares it."""
    ledger: LedgerReport


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsReport(JsonObject):
    """Repeated releases of a plan."""

    requested: Count
    fits: bool
    needed: LossReport
    most: Count
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonReport(JsonObject):
    """What a composition states of the same noise."""

    composition: str
    total: LossReport | None
    bound: str | None
    fits: bool
    cheapest: bool
    needs: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReport(JsonObject):
    """The JSON of a plan."""

    dpcli_version: str
    report_version: Version
    spec: SpecReport
    privacy: PrivacyReport
    confidence: JsonNumber
    fits: bool
    account: AccountReport
    times: RunsReport | None
    choices: list[ChoiceRuleReport] | None = None
    quality: QualityRuleReport | None
    unchecked: str | None = None
    statistics: list[StatisticReport]
    derived: Sentences | None = None
    bounding: Sentences
    composition: Sentences
    selections: Sentences
    flags: FlagsReport
    optional_columns: list[OptionalColumnReport] | None = None
    sample: SampleReport | None = None
    post_processing: Sentences
    unprotected: Sentences
    limits: Sentences
    warnings: Sentences
    risks: list[RiskReport]
    declarations: Declarations
    compared: list[ComparisonReport] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShuffledReport(JsonObject):
    """The central guarantee of responses in random order."""

    records: Count
    delta: JsonNumber
    epsilon: JsonNumber | None
    enough_records: Count | None
    condition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPlanReport(JsonObject):
    """The JSON of a plan of the local model."""

    dpcli_version: str
    report_version: Version
    model: Literal["local"]
    spec: SpecReport
    privacy: PrivacyReport
    confidence: JsonNumber
    fits: bool
    account: AccountReport
    times: RunsReport | None
    records: Count | None
    responses: list[ResponseReport] | list[PlannedResponseReport]
    unprotected: Sentences
    limits: Sentences
    risks: list[RiskReport]
    declarations: Declarations
    shuffled: ShuffledReport | None = None
    compared: list[ComparisonReport] | None = None


def load_report(parsed: Any) -> ReleaseReport | CollectionReport:
    """The report, from the JSON object that `parsed_json` returned."""
    # Early reports state bounds and limits apart.
    if apart := [*parsed.get("chosen_bounds", ()), *parsed.get("chosen_limits", ())]:
        parsed = {"choices": apart, **parsed}
    if parsed.get("model") == "local":
        return CollectionReport.load(parsed)
    return ReleaseReport.load(parsed)
