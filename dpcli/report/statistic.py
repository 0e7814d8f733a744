"""What a report states about a statistic, from its plan and its numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import field, fields, replace
from fractions import Fraction
from math import floor, log10
from typing import TYPE_CHECKING, Annotated, Any, Literal

from dpcli.data.filters import joint_texts
from dpcli.data.grid_columns import require_numeric
from dpcli.numeric.exact import decimal_text
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.planning.words.data import interval_about, left_out_note
from dpcli.planning.words.statistics import counted_units
from dpcli.problems.light_dataclasses import dataclass
from dpcli.report.json import (
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
from dpcli.report.numbers import ADDED_COLUMNS, COLUMNS, DATE_UNIT
from dpcli.report.privacy import MechanismReport, QueryReport, SensitivityReport, answers
from dpcli.specification.model import Caption, CentralSpec
from dpcli.statistics.design import Inputs, NoiseOfNumbers
from dpcli.statistics.estimates import ANY, Estimates

if TYPE_CHECKING:
    from dpcli.planning.results import EstimatedStatistic


@dataclass(frozen=True, slots=True, kw_only=True)
class BetweenReport(JsonObject):
    """The column whose two labels are compared."""

    column: str
    labels: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class BinsReport(JsonObject):
    """How numbers are cut into bins: how many, and the labels of the first and the last."""

    column: str
    count: Positive
    first: str
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateKeysReport(JsonObject):
    """What selects private groups."""

    selected_by: str
    threshold: Count | None
    delta: JsonNumber | None

    @classmethod
    def of(cls, planned: PlannedStatistic) -> PrivateKeysReport | None:
        """What selects the groups of a statistic; None if they are declared."""
        rule, selected_by = (
            planned.queries[0].calibrated.partition_selection,
            planned.entry.selected_by,
        )
        if selected_by is None:
            return None
        return cls(
            selected_by=selected_by,
            threshold=rule.threshold if rule else None,
            delta=number(rule.delta) if rule else None,
        )


def option(read: Callable[[Inputs], Any]) -> Any:
    """A field with what `read` finds in the inputs of a statistic, if anything."""
    return field(default=None, metadata={"read": read})


def own(name: str, state: Callable[[Inputs, Any], Any] = lambda _, value: value) -> Any:
    """A field that states a field of its name that only some statistics take."""
    return option(
        lambda inputs: next(
            (state(inputs, value) for key, value in inputs.options if key == name), None
        )
    )


def _range_texts(inputs: Inputs, ranges: Any) -> list[str] | None:
    if ranges is None:
        return None
    from dpcli.data.labels import require_labeled

    return require_labeled(inputs.column).range_texts(ranges)


def caption_texts(caption: Caption) -> dict[str, Any]:
    """The title, unit and note of a caption; None for each that is not stated."""
    return {key: getattr(caption, key) or None for key in ("title", "unit", "note")}


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
    left_out: str | None
    """What limits on people leave out and what chosen bounds clamp; null if neither."""
    interval_about: str | None = None
    """What intervals are about, if not all rows of the file, such as `what is used`."""
    column: str | None
    columns: list[str]
    quantiles: list[JsonNumber] | None = option(lambda inputs: [*map(number, inputs.quantiles)])
    utility: str | None = option(lambda inputs: inputs.utility)
    weight: str | None = option(lambda inputs: inputs.weight and inputs.weight.name)
    label: str | None = option(lambda inputs: inputs.label and inputs.label.name)
    k: Count | None = option(lambda inputs: inputs.k > 1 and inputs.k)
    ways: Positive | list[Positive] | None = option(
        lambda inputs: [*inputs.ways] if len(inputs.ways) > 1 else next(iter(inputs.ways), None)
    )
    method: str | None = option(lambda inputs: inputs.method)
    ridge: JsonNumber | None = option(lambda inputs: if_known(number, inputs.ridge))
    rows: Count | None = option(lambda inputs: inputs.rows)
    candidates: Count | None = option(lambda inputs: len(inputs.candidates))
    numerator: str | None = own("numerator", lambda _, column: column.name if column else "rows")
    """A column, or rows."""
    denominator: str | None = own(
        "denominator", lambda _, column: column.name if column else "rows"
    )
    """A column, or rows."""
    values: list[str] | None = own("values", _range_texts)
    between: BetweenReport | None = own(
        "between",
        lambda _, axis: axis and BetweenReport(column=axis.column.name, labels=[*axis.labels]),
    )
    max_selected: Positive | None = own(
        "max_selected", lambda inputs, most: most and most < len(inputs.checked) and most
    )
    per: Positive | None = own("per")
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
    post: list[str]
    """Steps after the noise."""
    post_unbiased: bool = False
    """Whether errors do not add up to one side after such steps.

    Absent if they may, or if there are no steps."""
    noise_of_numbers: Annotated[str, Keywords(enum=["own", "linear"])] | None = None
    """What is known of the noise of several numbers together.

    Before `post`, each number has noise of its own, with the mechanism of the first query, or all
    are linear functions of the noisy answers to the queries. Absent if only the interval of each is
    known."""
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
        known, column = design.noise_of_numbers, inputs.column
        bounds: Ends | tuple[str, str] | None = column.bound_texts if column else None
        if column and bounds and not column.is_date:
            bounds = JsonNumber(bounds[0]), JsonNumber(bounds[1])
        options: dict[str, Any] = {name: read(inputs) or None for name, read in OPTIONS.items()}
        return cls(
            name=inputs.name,
            **caption_texts(entry.caption),
            statistic=entry.statistic.name,
            counts=counted_units(planned, spec),
            left_out=left_out_note(planned, spec) or None,
            interval_about=interval_about(planned, spec) or None,
            column=column.name if column else None,
            columns=[each.name for each in named],
            **options,
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
            **answers(planned, spec),
            error95=if_known(number, planned.error(spec.confidence)),
            designs=list(design.sentences(planned.noises, spec.confidence)),
            bounds=bounds,
            post=[step.summary for step in entry.post],
            post_unbiased=bool(entry.post) and all(step.unbiased for step in entry.post),
            noise_of_numbers=None if known is NoiseOfNumbers.UNKNOWN else known.value,
            raw=entry.raw,
            population=design.has_population,
            keys=PrivateKeysReport.of(planned),
        )

    @property
    def options(self) -> Iterator[str]:
        """The optional fields that are stated, in words, such as `with k 5`."""
        for name in OPTIONS:
            stated = getattr(self, name)
            if isinstance(stated, BetweenReport):
                yield f"between {' and '.join(stated.labels)} of {stated.column}"
            elif stated is not None:
                listed = ", ".join(map(str, stated)) if isinstance(stated, list) else stated
                yield f"with {name} {listed}"


OPTIONS: dict[str, Callable[[Inputs], Any]] = {
    stated.name: stated.metadata["read"] for stated in fields(StatisticReport) if stated.metadata
}
"""How each optional field of a statistic is read from its inputs, by its name."""

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
        entry = published.planned.entry
        inputs, key = entry.inputs, entry.inputs.bins
        if key is None and inputs.by and published.groups is None:
            key = inputs.by[-1] if entry.statistic.item_count(inputs) == 1 else None
        if key is None or not key.starts or len(key) > MAX_CHART_BINS:
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
        return cls(
            table=table,
            columns=columns,
            chosen=statistic.chooses_labels,
            measure=statistic.measure,
            scale=scale,
            axis=AxisReport.of(published),
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
    """The group, by column."""
    item: str | None

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> Any:
        reference = handler(core_schema)
        schema = handler.resolve_ref_schema(reference)
        for column in (*COLUMNS, *ADDED_COLUMNS):
            schema["properties"][column.name] = column.schema
        schema["required"] += [column.name for column in COLUMNS]
        return reference


class Cells(str):
    """A placeholder in JSON, where the numbers of a statistic will be inserted."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, handler: Any) -> Any:
        return handler(list[CellReport])


CELLS = Cells(CELLS_PLACE)

COVARIANCE_DIGITS = 9
"""Digits of covariances after the first one of the largest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WiderIntervalReport(JsonObject):
    """How much farther intervals reach that include what is clamped or left out."""

    below: JsonNumber
    """What to subtract from each lower end."""
    above: JsonNumber
    """What to add to each upper end."""
    lower: JsonNumber | None = None
    """The least that a single number of all rows and values may be."""
    upper: JsonNumber | None = None
    """The most that a single number of all rows and values may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedStatisticReport(StatisticReport):
    """One entry of the spec: what was requested, how it was answered, and the numbers."""

    wider_interval: WiderIntervalReport | None = None
    """Intervals about all rows and values; absent if their ends are not known."""
    layout: LayoutReport
    noise_covariance: list[JsonRow] | None = None
    """The covariance of the noise in numbers that share noisy answers.

    It is a lower triangle. N rows are about the first N numbers of the statistic, in their order;
    each next N numbers have the same covariance, and are independent of all others. Absent if each
    number has noise of its own, if no covariance is known, or for more than 64 numbers."""
    cells: Cells

    @classmethod
    def publish(
        cls, published: EstimatedStatistic, plan: CentralPlan, layout: LayoutReport
    ) -> PublishedStatisticReport:
        """A statistic with the layout of its numbers, and their interval about all rows."""
        planned, spec = published.planned, plan.spec
        is_linear = planned.design.noise_of_numbers is NoiseOfNumbers.LINEAR
        covariance = _covariance(planned) if is_linear else None
        stated = StatisticReport.of(planned, spec).extended(
            cls, layout=layout, noise_covariance=covariance, cells=CELLS
        )
        if not spec.choices:
            return stated
        from dpcli.planning.wider_intervals import wider_interval

        wider = wider_interval(published, plan)
        if wider is None:
            return stated
        lower, upper = wider.ends or (None, None)
        interval = WiderIntervalReport.read(
            wider, lower=if_known(number, lower), upper=if_known(number, upper)
        )
        left_out = f"{stated.left_out}; {wider.sentence}"
        return replace(stated, left_out=left_out, wider_interval=interval)


def _covariance(planned: PlannedStatistic) -> list[JsonRow] | None:
    """The covariance of linear functions of answers; None if it is not stated."""
    entry, design = planned.entry, planned.design
    if not all(step.unbiased for step in entry.post):
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
