"""What a report states about a statistic, from its plan and its numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import field, fields
from fractions import Fraction
from math import floor, log10
from typing import TYPE_CHECKING, Annotated, Any, Literal

from dpcli.data.filters import joint_texts
from dpcli.data.grid_columns import require_numeric
from dpcli.data.kinds import Axis
from dpcli.fields.json import (
    CELLS_PLACE,
    Count,
    Date,
    Ends,
    JsonNumber,
    JsonObject,
    JsonRow,
    Keywords,
    Positive,
    Sentences,
    if_known,
    number,
)
from dpcli.numeric.exact import decimal_text, short_down
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.planning.words.statistics import counted_phrase, counted_units, number_units
from dpcli.problems.light_dataclasses import dataclass
from dpcli.report.numbers import (
    DATE_UNIT,
    JSON_COLUMNS,
    HistoryReport,
    NumberTable,
    is_crossed,
    key_names,
)
from dpcli.report.privacy import MechanismReport, QueryReport, SensitivityReport, answers
from dpcli.specification.model import EXACT, CentralSpec
from dpcli.statistics import STATISTICS
from dpcli.statistics.design import Inputs, NoiseOfNumbers
from dpcli.statistics.estimates import ANY, Estimates
from dpcli.statistics.postprocessing import Flag, raw_agrees
from dpcli.statistics.quality.completeness import Complete

if TYPE_CHECKING:
    from dpcli.planning.results import EstimatedStatistic


@dataclass(frozen=True, slots=True, kw_only=True)
class BetweenReport(JsonObject):
    """The column whose labels are compared; the first one is the reference."""

    column: str
    labels: list[str]
    filters: str | None = None
    """The conditions of groups that are no labels of a column, in words."""
    reference: str | None = None
    """`previous` if each label is compared with the one before it."""

    @classmethod
    def of(cls, inputs: Inputs, axis: Axis) -> BetweenReport:
        """The compared labels of an axis."""
        column, derivation = axis.column, axis.column.derivation
        is_named = derivation is None or {one.name for one in derivation.inputs} == {column.name}
        filters = None if derivation is None or is_named else derivation.text
        reference = dict(inputs.options).get("reference")
        return cls(column=column.name, labels=[*axis.labels], filters=filters, reference=reference)

    def __str__(self) -> str:
        *others, last = self.labels
        of = f"({self.filters})" if self.filters else f"of {self.column}"
        each = ", each with the one before it" if self.reference else ""
        return f"{', '.join(others)} and {last} {of}{each}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BinsReport(JsonObject):
    """How numbers are cut into bins: how many, and the labels of the first and the last."""

    column: str
    count: Positive
    first: str
    last: str
    labels: list[str] | None = None
    """All labels; absent where bins have one width."""

    @classmethod
    def of(cls, axis: Axis) -> BinsReport:
        """The bins of an axis."""
        starts = axis.starts if axis.chosen is None else [axis.starts[at] for at in axis.chosen]
        widths = {end - start for start, end in itertools.pairwise(starts)}
        first, last = axis.label(0), axis.label(len(axis) - 1)
        labels = None if len(widths) == 1 and len(axis) > SHOWN_BINS else [*axis.labels]
        return cls(column=axis.column.name, count=len(axis), first=first, last=last, labels=labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateKeysReport(JsonObject):
    """What selects private groups."""

    selected_by: str
    threshold: Count | None
    delta: JsonNumber | None

    @classmethod
    def of(cls, planned: PlannedStatistic) -> PrivateKeysReport | None:
        """What selects the groups of a statistic; None if they are declared."""
        selected_by = planned.entry.selected_by
        if selected_by is None:
            return None
        rule = planned.queries[0].calibrated.partition_selection
        return cls(
            selected_by=selected_by,
            threshold=rule.threshold if rule else None,
            delta=number(rule.delta) if rule else None,
        )


def option(read: Callable[[Inputs], Any], words: str = "") -> Any:
    """A field with what `read` finds in the inputs, and its `words` in a request."""
    return field(default=None, metadata={"read": read, "words": words})


def own(
    name: str, state: Callable[[Inputs, Any], Any] = lambda _, value: value, words: str = ""
) -> Any:
    """A field that states a field of its name that only some statistics take."""
    return option(
        lambda inputs: next(
            (state(inputs, value) for key, value in inputs.options if key == name), None
        ),
        words,
    )


def _column_or_rows(_: Inputs, column: Any) -> str:
    return column.name if column else "rows"


def _range_texts(inputs: Inputs, ranges: Any) -> list[str] | None:
    if ranges is None:
        return None
    from dpcli.data.labels import require_labeled

    return require_labeled(inputs.column).range_texts(ranges)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsReport(JsonObject):
    """Limits on people that a statistic states itself; null if not stated."""

    max_rows: Count | None
    max_groups: Count | None
    max_rows_per_group: Count | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticReport(JsonObject):
    """One entry of the spec: what was requested, and how it was answered."""

    name: str
    title: str | None = None
    """What people read in place of the name, if stated."""
    unit: str | None = None
    """The unit of the numbers, if one is stated or follows from the column."""
    note: str | None = None
    """What readers must know, if stated."""
    statistic: str
    counts: str
    """What is counted, or what values are taken over.

    Rows under their name in the spec, people, or different values."""
    counted: str
    """The same with the limits: `visits (at most 3 of each person)`."""
    units: list[str]
    """The unit of all numbers, or one for each item; empty where none is stated."""
    left_out: str | None = None
    """What limits on people leave out; only earlier versions state it."""
    interval_about: str | None = None
    """What intervals are about, if not all rows; only earlier versions state it."""
    limits: LimitsReport | None = None
    """Limits on people that it states itself; absent if it states none."""
    column: str | None
    columns: list[str]
    quantiles: list[JsonNumber] | None = option(
        lambda inputs: [*map(number, inputs.quantiles)], "at {}"
    )
    utility: str | None = option(lambda inputs: inputs.utility, "by {}")
    weight: str | None = option(lambda inputs: inputs.weight and inputs.weight.name)
    label: str | None = option(lambda inputs: inputs.label and inputs.label.name)
    k: Count | None = option(lambda inputs: inputs.k > 1 and inputs.k, "({} of them)")
    ways: Positive | list[Count] | None = option(
        lambda inputs: (len(inputs.ways) == 1 and inputs.ways[0]) or [*inputs.ways],
        "with {} columns each",
    )
    method: str | None = option(lambda inputs: inputs.method)
    ridge: JsonNumber | None = option(lambda inputs: if_known(number, inputs.ridge))
    rows: Count | None = option(lambda inputs: inputs.rows)
    candidates: Count | None = option(lambda inputs: len(inputs.candidates), "among {} candidates")
    listed: list[str] | None = field(default=None, metadata={"words": "({})"})
    """The candidates, where they are listed one by one."""
    numerator: str | None = own("numerator", _column_or_rows, "of {}")
    """A column, or rows."""
    denominator: str | None = own("denominator", _column_or_rows, "to {}")
    """A column, or rows."""
    compared: str | None = own("of", words="by its {}")
    """The statistic that is compared."""
    values: list[str] | None = own("values", _range_texts)
    between: BetweenReport | None = own(
        "between", lambda inputs, axis: axis and BetweenReport.of(inputs, axis), "between {}"
    )
    max_selected: Positive | None = own(
        "max_selected", lambda inputs, most: most and most < len(inputs.checked) and most
    )
    points: Positive | None = own("bins", words="in {} bins")
    """The bins that both numbers of an `inequality` follow from."""
    per: Positive | None = own("per", words="per {}")
    percent: str | None = own("percent", words="in percent of the {}")
    totals: str | None = own("totals", words="with totals called {}")
    rate: str | None = own("rate", lambda _, rate: str(rate), "{}")
    sizes: str | None = option(
        lambda inputs: inputs.sizes and str(inputs.sizes), "with public sizes of groups ({})"
    )
    series: list[str] | None = own(
        "series", lambda _, shown: shown and list(map(str, shown)), "as a daily series: {}"
    )
    hierarchy: str | None = own(
        "hierarchy", lambda _, trees: " and of ".join(map(str, trees)), "at the levels of {}"
    )
    level_shares: list[str] | None = own(
        "level_shares",
        lambda _, shares: shares and [f"{name}: {number(share)}" for name, share in shares],
        "with the shares {}",
    )
    known: str | None = own(
        "known", lambda _, known: known and str(known), "with public numbers ({})"
    )
    unit_bounds: list[JsonNumber] | None = field(
        default=None, metadata={"words": "with the total of a person within [{}]"}
    )
    """Of the total of a person, where that is clamped in place of each row."""
    by: list[str]
    bins: list[BinsReport]
    where: list[str]
    """The filters, in words."""
    mechanism: MechanismReport
    sensitivity: SensitivityReport
    epsilon: JsonNumber
    delta: JsonNumber
    rho: JsonNumber
    error95: JsonNumber | None
    """Null where it depends on the values."""
    designs: Sentences
    """Why these queries answer it, in words."""
    protected: Sentences
    """How each query was protected, in words."""
    queries: list[QueryReport]
    bounds: Ends | tuple[Date, Date] | None
    """Of the column, as they are declared."""
    target_error: JsonNumber | None = None
    """The error that was asked for, where noise was chosen to reach it."""
    share: JsonNumber | None = None
    """The share of the budget that was asked for, if any."""
    calibration: str | None = None
    """How the noise is calibrated, where that is not the best way."""
    post: list[str]
    """Steps after the noise."""
    post_unbiased: bool = False
    """Whether errors do not add up to one side after such steps.

    Absent if they may, or if there are no steps."""
    noise_of_numbers: Annotated[str, Keywords(enum=["own", "linear"])] | None = None
    """What is known of the noise of several numbers together.

    Before `post`, each number has noise of its own, with the mechanism of the first query, or all
    are linear functions of the noisy answers to the queries. Absent if only the interval of each is
    known. Next to raw counts, what is known of these, and not of the percent."""
    raw: bool
    population: bool = False
    """Whether numbers of the population are published too; absent if not."""
    keys: PrivateKeysReport | None
    """Where groups are private: what selects them."""

    @classmethod
    def of(cls, planned: PlannedStatistic, spec: CentralSpec) -> StatisticReport:
        """What is requested by one statistic, and how it is answered and protected."""
        entry, inputs, design = planned.entry, planned.entry.inputs, planned.design
        named = [*inputs.columns, *inputs.checked, *(axis.column for axis in inputs.margins)]
        known = (design.raw_design if entry.raw else design).noise_of_numbers
        column = inputs.column
        points, clamp = inputs.candidates or None, inputs.user_clamp
        bounds: Ends | tuple[str, str] | None = column.bound_texts if column else None
        if column and bounds and not column.is_date:
            bounds = JsonNumber(bounds[0]), JsonNumber(bounds[1])
        options: dict[str, Any] = {name: read(inputs) or None for name, read in OPTIONS.items()}
        options |= {key: getattr(entry.caption, key) or None for key in ("title", "unit", "note")}
        amount = entry.budget_amount
        return cls(
            name=inputs.name,
            statistic=entry.statistic.name,
            counts=counted_units(planned, spec),
            counted=counted_phrase(planned, spec),
            units=[*number_units(planned, spec)],
            limits=LimitsReport.read(entry.limits) if entry.limits.are_stated else None,
            column=column.name if column else None,
            columns=[each.name for each in named],
            **options,
            listed=[*map(inputs.numeric.text, points)] if isinstance(points, tuple) else None,
            unit_bounds=clamp and [number(end * entry.statistic.step(inputs)) for end in clamp],
            by=[key.column.name for key in inputs.by],
            bins=[*map(BinsReport.of, inputs.binned_axes)],
            where=joint_texts(inputs.where),
            **answers(planned, spec),
            error95=if_known(number, planned.error(spec.confidence)),
            designs=list(design.sentences(planned.noises, spec.confidence)),
            bounds=bounds,
            target_error=if_known(number, amount.error),
            share=if_known(number, amount.weight),
            calibration=None if entry.calibration == EXACT else entry.calibration,
            post=[step.summary for step in entry.post],
            post_unbiased=bool(entry.post) and all(step.unbiased for step in entry.post),
            noise_of_numbers=None if known is NoiseOfNumbers.UNKNOWN else known.value,
            raw=entry.raw,
            population=design.has_population,
            keys=PrivateKeysReport.of(planned),
        )

    @property
    def one_unit(self) -> str:
        """The unit of all numbers; empty if there are several, or none is stated."""
        units = getattr(self, "units", [self.unit])
        return (units[0] or "") if len(units) == 1 else ""

    @property
    def named_after(self) -> str:
        """What numbers are named after; earlier reports do not state the limits."""
        return getattr(self, "counted", self.counts)

    @property
    def request(self) -> str:
        """What was asked, in words: `mean of income, by region`."""
        statistic = STATISTICS.named(self.statistic)
        noun = (statistic and statistic.noun) or self.statistic
        words, counted = [noun.format(self.named_after)], self.named_after
        others = [name for name in self.columns if name != self.column]
        if self.column is not None and not self.counts.endswith(f" {self.column}"):
            words.append(f"with {self.column}" if "{" in noun else f"of {self.column}")
        if others:
            words.append(f"{'on' if self.column else 'of'} {', '.join(others)}")
        words += self._options
        if (counted != self.counts or counted == "people") and "{" not in noun:
            words.append(f"over {counted}")
        parts = [" ".join(words)]
        parts += [f"by {', '.join(self.by)}"] if self.by else []
        parts += [f"where {' and '.join(self.where)}"] if self.where else []
        return ", ".join(parts)

    @property
    def _options(self) -> Iterator[str]:
        """The optional fields that are stated, in words, such as `with k 5`."""
        for name, words in OPTION_WORDS.items():
            stated = getattr(self, name)
            if stated is not None:
                text = f"{stated:,}" if isinstance(stated, int) else str(stated)
                listed = ", ".join(map(str, stated)) if isinstance(stated, list) else text
                yield (words or f"with {name.replace('_', ' ')} {{}}").format(listed)


OPTIONS: dict[str, Callable[[Inputs], Any]] = {
    stated.name: stated.metadata["read"]
    for stated in fields(StatisticReport)
    if "read" in stated.metadata
}
"""How each optional field of a statistic is read from its inputs, by its name."""

OPTION_WORDS: dict[str, str] = {
    stated.name: stated.metadata["words"] for stated in fields(StatisticReport) if stated.metadata
}
"""How a request states each optional field, by its name; empty for the usual way."""

SHOWN_BINS = 10
"""Bins of one width are listed up to this number."""

MAX_CHART_BINS = 5_000
"""Above this number of bins no chart is drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisReport(JsonObject):
    """The bins that order the numbers of a group."""

    column: str
    type: Literal["integer", "number", "date"]
    step: JsonNumber
    starts: list[str]
    """The least value of each bin."""
    end: str
    """The greatest value of the last bin."""

    @classmethod
    def of(cls, published: EstimatedStatistic) -> AxisReport | None:
        """The bins along which a chart is drawn: of a histogram, or else of the last key.

        The last key is used only if groups are not private and each has one number. None if there
        are no bins, or more than `MAX_CHART_BINS`, or gaps between them.
        """
        key, repeated = published.bins
        if key is None or repeated > 1 or len(key) > MAX_CHART_BINS:
            return None
        column, shown = require_numeric(key.column), key.chosen or range(len(key))
        if shown[-1] - shown[0] >= len(shown):
            return None
        return cls(
            column=column.name,
            type=column.kind,
            step=number(column.step),
            starts=[column.text(key.starts[position]) for position in shown],
            end=column.text(column.bin_ends(key.starts, shown[-1])[1]),
        )


Possible = list[tuple[JsonNumber | None, JsonNumber | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutReport(JsonObject):
    """How the numbers of a statistic are laid out in tables and drawings."""

    table: str
    """The short name of its wide table."""
    columns: list[str]
    """The columns that name the lines of its wide table."""
    chosen: bool
    """Whether the items are labels that were chosen, and the values their ranks."""
    measure: Annotated[str, Keywords(enum=["counts", "amounts", "values"])]
    """What its numbers measure."""
    scale: Annotated[str, Keywords(enum=["common", "bounds", "each"])]
    """Whether they are drawn on a common scale, on one that holds the bounds of the column, or on
    one each."""
    axis: AxisReport | None
    """Null where there are no bins, or too many to be drawn."""
    period: str | None = None
    """The key whose labels follow each other in the calendar; absent without one."""
    across: str | None = None
    """The key whose labels are columns of the wide table.

    Absent if all keys name its lines."""
    keys: list[str] | None = None
    """The columns of the keys of each number; absent if these are `by`."""
    totals: str | None = None
    """What a key is called in totals over it.

    Keys are those of `keys` that are not in `by`, or all of `by`. Absent without totals."""
    unit: Annotated[str, Keywords(const="date")] | None = None
    """Its numbers are dates, written as strings; absent where they are numbers."""
    possible: Possible | None = None
    """The least and the greatest number that the spec makes possible, for all numbers or for each
    item; dates are days since 1970-01-01. Intervals are cut to that. Absent if nothing limits the
    numbers."""

    @classmethod
    def of(cls, published: EstimatedStatistic, table: str, columns: list[str]) -> LayoutReport:
        """The layout of numbers in this wide `table`, with these key `columns`."""
        entry = published.planned.entry
        statistic, scale = entry.statistic, "each" if entry.statistic.mixed_units else "common"
        if statistic.chooses and entry.inputs.column and entry.inputs.column.bound_texts:
            scale = "bounds"
        keys = [*key_names(entry)]
        lines = 1 if is_crossed(entry) else len(columns)
        return cls(
            table=table,
            columns=columns[:lines],
            across=next(iter(columns[lines:]), None),
            keys=keys if len(keys) > len(entry.inputs.by) else None,
            totals=statistic.total_label(entry.inputs) or None,
            chosen=statistic.chooses_labels,
            measure=statistic.measure,
            scale=scale,
            axis=AxisReport.of(published),
            period=published.period,
            unit=None if published.estimates.date_range is None else DATE_UNIT,
            possible=_possible(published.estimates) or None,
        )


def _possible(estimates: Estimates) -> Possible:
    """The ranges of possible numbers by the spec: one for all, or one per item.

    An end is a printed number, or None without a limit. Empty if nothing limits the numbers.
    """
    if set(estimates.limits) == {ANY}:
        return []
    pairs: list[Any] = [
        tuple(None if end is None else JsonNumber(decimal_text(end, digits)) for end in ends)
        for ends, digits in zip(estimates.limits, itertools.cycle(estimates.decimals), strict=False)
    ]
    return pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class CellReport(JsonObject):
    """A published number with the digits of the table, and the interval of the noise-free one.

    Only the schema has this class: there may be millions of numbers, and they are data frames.
    """

    raw: Literal[True] | None = None
    """Before post-processing; absent after it."""
    population: Literal[True] | None = None
    """Of the population of the sample; absent for the file."""
    keys: dict[str, str]
    """The group, or the cell of a table, by column."""
    item: str | None

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> Any:
        reference = handler(core_schema)
        schema = handler.resolve_ref_schema(reference)
        for column in JSON_COLUMNS:
            schema["properties"][column.name] = column.schema
        schema["required"] += [column.name for column in JSON_COLUMNS if not column.is_sparse]
        return reference


class Cells(str):
    """A placeholder in JSON, where the numbers of a statistic will be inserted."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, handler: Any) -> Any:
        return handler(list[CellReport])


CELLS = Cells(CELLS_PLACE)

MISSING_DIGITS = 3
"""Digits of the share that is not in the numbers, which is rounded down."""

COVARIANCE_DIGITS = 9
"""Digits of covariances after the first one of the largest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletenessReport(JsonObject):
    """Whether the numbers of an entry count all that they are named after."""

    complete: Annotated[str, Keywords(enum=[*Complete])]
    reason: str
    min_missing: JsonNumber
    """At least this share is not in the numbers; zero if none is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedStatisticReport(StatisticReport):
    """One entry of the spec: what was requested, how it was answered, and the numbers."""

    completeness: CompletenessReport
    layout: LayoutReport
    history: HistoryReport | None = None
    """What the periods of a series published; absent for others."""
    noise_covariance: list[JsonRow] | None = None
    """The covariance of the noise in numbers that share noisy answers.

    It is a lower triangle. N rows are about the first N numbers of the statistic, in their order;
    each next N numbers have the same covariance, and are independent of all others. After steps
    with which errors may add up, it is about the numbers that are marked raw. Absent if each
    number has noise of its own, if no covariance is known, or for more than 64 numbers."""
    cells: Cells

    @classmethod
    def publish(
        cls, published: EstimatedStatistic, plan: CentralPlan, layout: LayoutReport
    ) -> PublishedStatisticReport:
        """A statistic with the layout of its numbers, and the covariance of their noise."""
        planned, spec, completeness = published.planned, plan.spec, published.completeness
        is_linear = planned.design.noise_of_numbers is NoiseOfNumbers.LINEAR
        covariance = _covariance(planned) if is_linear else None
        return StatisticReport.of(planned, spec).extended(
            cls,
            completeness=CompletenessReport.read(
                completeness,
                min_missing=number(short_down(completeness.min_missing, MISSING_DIGITS)),
            ),
            layout=layout,
            history=None
            if planned.design.follows is None
            else HistoryReport.of(published, spec.confidence),
            noise_covariance=covariance,
            cells=CELLS,
        )

    @property
    def key_names(self) -> list[str]:
        """The columns of the keys of each number."""
        return self.layout.keys or self.by

    @property
    def complete(self) -> str:
        """Whether the numbers are complete; reports of earlier versions do not state it."""
        stated = getattr(self, "completeness", None)
        return stated.complete if stated else Complete.UNKNOWN.value

    @property
    def interval_of(self) -> str:
        """The rows that intervals are about, such as `what is used`; empty for all rows."""
        if getattr(self, "completeness", None) is None:
            return self.interval_about or ""
        kind = STATISTICS.named(self.statistic)
        whole = self.complete == Complete.YES or (kind is not None and kind.chooses)
        return "" if whole else "what is used"

    @property
    def complete_sentence(self) -> str:
        """Whether the numbers are complete, and why that is known or not; no final point.

        Empty for reports of earlier versions.
        """
        stated = getattr(self, "completeness", None)
        if stated is None:
            return ""
        words = {
            Complete.YES: "these numbers are complete",
            Complete.NO: "these numbers are not complete",
            Complete.UNKNOWN: "it is not known whether these numbers are complete",
        }[Complete(stated.complete)]
        # The reason has the share that is missing, and of what.
        return stated.reason if Fraction(stated.min_missing) else f"{words}: {stated.reason}"


def nothing_selected(stated: PublishedStatisticReport, numbers: NumberTable) -> str:
    """That noise selected no group or label; empty if it did, or if none is private.

    Privacy: a function of what was selected, which is published.
    """
    lines = numbers.frame
    if stated.layout.chosen:
        # A rank without a label is a line.
        lines = lines.filter(lines["flag"] != Flag.SUPPRESSED.value)
    if stated.keys is None or len(lines):
        return ""
    if stated.keys.threshold is None:
        return f"{stated.keys.selected_by} selected no group."
    return f"No noisy count reached the threshold of {stated.keys.threshold:,}: nothing is shown."


def _covariance(planned: PlannedStatistic) -> list[JsonRow] | None:
    """The covariance of linear functions of answers; None if it is not stated."""
    entry, design = planned.entry, planned.design
    is_of_raw = entry.raw and raw_agrees(entry.post)
    if not (is_of_raw or all(step.unbiased for step in entry.post)):
        return None
    from dpcli.statistics.noise_covariance import covariance_of

    covariance = covariance_of(design, planned.noises, consistent=bool(entry.post))
    if covariance is None:
        return None
    unit = Fraction(10) ** (floor(log10(covariance.max() or 1.0)) - COVARIANCE_DIGITS)
    return [
        JsonRow(number(round(Fraction(value) / unit) * unit) for value in row[: at + 1])
        for at, row in enumerate(covariance.tolist())
    ]
