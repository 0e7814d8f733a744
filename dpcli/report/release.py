"""What the report of a release states, and what all reports and plans state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from dpcli.numeric.exact import exact_or_up
from dpcli.planning.plan import CentralPlan, Plan
from dpcli.planning.words.data import bounding_notes, lacks_check, period_notes
from dpcli.planning.words.guarantee import composition_notes, limitations
from dpcli.planning.words.risks import risks
from dpcli.planning.words.statistics import (
    derived_notes,
    exact_notes,
    population_notes,
    post_processing_notes,
    selection_notes,
)
from dpcli.privacy.loss import Loss
from dpcli.problems.light_dataclasses import dataclass
from dpcli.report.first_counts import ChoiceReport, QualityReport, choice_reports
from dpcli.report.json import (
    REPORT_VERSION,
    Count,
    JsonNumber,
    JsonObject,
    Keywords,
    Positive,
    Sentences,
    json_key,
    number,
)
from dpcli.report.numbers import RAW, columns_named, wide_layout
from dpcli.report.privacy import LedgerReport, PrivacyReport
from dpcli.report.statistic import LayoutReport, PublishedStatisticReport
from dpcli.specification.model import Caption, Spec
from dpcli.specification.yaml_reader import read_tree
from dpcli.statistics.columns import (
    COLUMNS,
    FACT_COLUMNS,
    FORMER_COLUMNS,
    OPTIONAL_COLUMNS,
    STATED_COLUMNS,
    StatedFacts,
    TableColumn,
)
from dpcli.statistics.postprocessing import IMPRECISE_SHARE, UNRELIABLE
from dpcli.version import __version__

if TYPE_CHECKING:
    from dpcli.ledger.balance import Balance
    from dpcli.ledger.charge import NoisyRelease, RandomizedCollection
    from dpcli.report.numbers import NumberTable

FIRST_WITH_UNITS = 3
"""The first version of reports whose tables have units."""

Sha256 = Annotated[str, Keywords(pattern="^[0-9a-f]{64}$")]
Version = Annotated[int, Keywords(const=REPORT_VERSION)]
Instant = Annotated[str, Keywords(format="date-time")]


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
    content: dict[str, object] | None = None
    """What the text states, with all scalars as texts; absent in earlier reports."""
    files: list[FileReport] | None = None
    """The files that the spec names, such as lists of codes, if any.

    In order, and as often as it names them."""

    @classmethod
    def of(cls, spec: Spec) -> SpecReport:
        """What a report states about a spec itself."""
        captions = spec.column_captions
        content, _, _ = read_tree(spec.text.encode(), "")
        return cls.read(
            spec,
            content=content,
            title=spec.caption.title or None,
            note=spec.caption.note or None,
            columns=[
                ColumnReport.read(
                    captions.get(column.name, Caption()), name=column.name, type=column.kind
                )
                for column in spec.columns
            ],
            files=[FileReport(name=file.name, sha256=file.sha256) for file in spec.named_files]
            or None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagsReport(JsonObject):
    """What the flags of numbers mean."""

    unreliable_above: JsonNumber
    """Half-width of the interval, as a share of the value, above which a number is unreliable."""
    suppressed: str
    no_information: str
    limited: str | None = None
    """Only in reports of earlier versions: now, `complete` says what numbers count."""
    unreliable: str

    @property
    def meanings(self) -> dict[str, str]:
        """The meaning of each flag that numbers may have, by the flag."""
        names = ("suppressed", "no_information", "limited", "unreliable")
        meanings = {json_key(name): getattr(self, name, None) for name in names}
        return {flag: meaning for flag, meaning in meanings.items() if meaning}

    @classmethod
    def of(cls, plan: CentralPlan) -> FlagsReport:
        """What the flags of the numbers of a plan mean."""
        percent, share = exact_or_up(plan.spec.confidence * 100), exact_or_up(UNRELIABLE)
        unreliable = (
            f"unreliable: half the width of the {percent}% interval is more than {share} of the "
            "value (of a date, or of a number that can be negative: of a fifth of what is "
            "possible, if that is more; at a limit of what is possible, before the interval is "
            "cut there), or the value is not possible"
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
        return cls(
            unreliable_above=number(UNRELIABLE),
            unreliable=unreliable,
            no_information=nothing,
            suppressed=(
                "suppressed: left out because of its noisy value or of its interval, as the "
                "post-processing says, never because of the exact value"
            ),
        )


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
class AnyReport(JsonObject):
    """What reports and plans of both models state."""

    order = (
        *("dpcli_version", "report_version", "model", "release_id", "created"),
        *("reference_period", "period_rows", "spec", "privacy"),
        *("confidence", "fits", "account", "times", "choices", "quality", "unchecked"),
        *("statistics", "derived", "bounding", "composition", "selections", "flags"),
        *("optional_columns", "sample", "post_processing", "records", "responses", "is_shuffled"),
        *("responses_sha256", "unprotected", "limits", "warnings", "risks", "declarations"),
    )

    dpcli_version: str
    report_version: Version
    reference_period: str | None = None
    """What the data are about, such as a day or a year, if that is stated."""
    spec: SpecReport
    privacy: PrivacyReport
    confidence: JsonNumber
    unprotected: Sentences
    """What is published exactly."""
    limits: Sentences
    """What is not protected."""
    risks: list[RiskReport]
    declarations: dict[str, str | Count] | None
    """What only people know, as the spec declares it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CentralReport(AnyReport):
    """What plans and reports of releases state."""

    period_rows: str | None = None
    """Which rows exist for the release, if that depends on their day."""
    unchecked: str | None = None
    """A warning if the spec neither asks for a check nor states that none is meant."""
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


def any_fields(
    plan: Plan, before: Loss | None, after: Balance | None, window: int | None
) -> dict[str, Any]:
    """The fields of `AnyReport`, without those on what is not protected, by name."""
    spec, declared = plan.spec, plan.spec.declarations
    population = {} if declared.population is None else {"population": declared.population}
    return {
        "dpcli_version": __version__,
        "report_version": REPORT_VERSION,
        "reference_period": spec.period,
        "spec": SpecReport.of(spec),
        "privacy": PrivacyReport.of(plan, before, after),
        "confidence": number(spec.confidence),
        "risks": [
            RiskReport.read(finding, verdict=finding.verdict.value)
            for finding in risks(plan, window)
        ],
        "declarations": {**population, **dict(declared.answers)} or None,
    }


def published_fields(plan: Plan, source: NoisyRelease | RandomizedCollection) -> dict[str, Any]:
    """The fields of reports of both models that plans do not have, with `any_fields`."""
    receipt = source.receipt
    return {
        **any_fields(plan, receipt.before, receipt.balance, receipt.terms.window),
        "release_id": source.release_id,
        "created": source.created,
        "ledger": LedgerReport.of(receipt),
    }


def central_fields(plan: CentralPlan) -> dict[str, Any]:
    """The fields of `CentralReport` that `AnyReport` does not have, by name."""
    unchecked = (
        "Nothing checked that the data file was complete and written as declared: the spec "
        "has no `quality:`. If most of it was missing, or a column could not be read, these "
        "numbers are noise and do not say so."
    )
    sample = plan.spec.sample
    return {
        "period_rows": next(period_notes(plan), None),
        "unchecked": unchecked if lacks_check(plan) else None,
        "derived": [*derived_notes(plan)] or None,
        "bounding": [*bounding_notes(plan)],
        "composition": [*composition_notes(plan)],
        "selections": [*selection_notes(plan)],
        "flags": FlagsReport.of(plan),
        "optional_columns": [
            OptionalColumnReport.read(column) for column in plan.spec.output_columns
        ]
        or None,
        "sample": sample
        and SampleReport.read(sample, design="simple-random", notes=[*population_notes(plan)]),
        "post_processing": [*post_processing_notes(plan)],
        "unprotected": [*exact_notes(plan)],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseReport(CentralReport):
    """Report of a release."""

    release_id: str
    created: Instant
    """UTC."""
    choices: list[ChoiceReport] | None = None
    """Bounds that noisy counts chose, then the limit on rows per person."""
    quality: QualityReport | None
    statistics: list[PublishedStatisticReport]
    """Empty if the quality check stopped the release."""
    ledger: LedgerReport
    content_sha256: Sha256 | None = None
    """Of the content of all other keys; absent in reports of earlier versions."""

    @classmethod
    def of(cls, release: NoisyRelease) -> ReleaseReport:
        """The report of a release."""
        numbers, plan = release.numbers, release.numbers.plan
        tables = wide_layout(plan)
        return cls(
            **published_fields(plan, release),
            **central_fields(plan),
            quality=QualityReport.judge(plan, numbers.quality) if numbers.quality else None,
            statistics=[
                PublishedStatisticReport.publish(
                    published, plan, LayoutReport.of(published, *tables[published.planned.name])
                )
                for published in numbers.statistics
            ],
            choices=choice_reports(plan) if plan.spec.choices else None,
            limits=[*limitations(plan), *release.warnings],
        )

    @property
    def table_columns(self) -> tuple[TableColumn, ...]:
        """The columns of the tables, in their order.

        Tables of reports up to version 2 do not say what numbers count.
        """
        is_former = getattr(self, "report_version", 0) < FIRST_WITH_UNITS
        added = columns_named(column.name for column in getattr(self, "optional_columns", ()) or ())
        return (*(FORMER_COLUMNS if is_former else COLUMNS), *added)

    def with_facts(
        self, statistic: PublishedStatisticReport, numbers: Iterable[NumberTable]
    ) -> tuple[NumberTable, ...]:
        """The numbers of a statistic with what is stated about all of them."""
        known = (*STATED_COLUMNS, *FACT_COLUMNS)
        columns = [column for column in known if column in self.table_columns]
        return tuple(
            table.with_facts(columns, self._facts(statistic, table)) if columns else table
            for table in numbers
        )

    def _facts(self, statistic: PublishedStatisticReport, table: NumberTable) -> StatedFacts:
        is_count = (statistic.layout.chosen or bool(statistic.percent)) and table.ending == RAW
        # Reports of earlier versions state the day of a window alone.
        day = self.ledger.window.period if self.ledger.window else None
        return StatedFacts(
            complete=(statistic.completeness.complete,),
            unit=(statistic.counts,) if is_count else statistic.units,
            period=(self.reference_period or day or "",),
            release_id=(self.release_id,),
            confidence=(self.confidence,),
        )
