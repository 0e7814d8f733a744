"""What a report states about statistics, responses, checks and choices."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from dpcli.problems.light_dataclasses import dataclass
from dpcli.report.json import CELLS_PLACE, JsonNumber, JsonObject, JsonRow
from dpcli.report.numbers import ADDED_COLUMNS, COLUMNS


class Keywords:
    """Keywords that are added to the JSON Schema of a type."""

    def __init__(self, **keywords: Any) -> None:
        self.keywords = keywords

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> Any:
        return handler(core_schema) | self.keywords


Count = Annotated[int, Keywords(minimum=0)]
Positive = Annotated[int, Keywords(minimum=1)]
Date = Annotated[str, Keywords(format="date")]
Sentences = list[str]
Ends = tuple[JsonNumber, JsonNumber]


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismReport(JsonObject):
    """How a query was answered."""

    kind: str
    """discrete-laplace, discrete-gaussian, the name of a choice, or exact."""
    scale: JsonNumber
    """In the unit of the answer."""
    grid: JsonNumber
    """The step on which noise and answer lie."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitivityReport(JsonObject):
    """How far one unit can change the answer, in the unit of the answer."""

    l0: Count | None
    """How many numbers one unit can change."""
    l1: JsonNumber
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
    quantiles: list[JsonNumber] | None = None
    utility: str | None = None
    weight: str | None = None
    label: str | None = None
    k: Count | None = None
    ways: Positive | list[Positive] | None = None
    method: str | None = None
    ridge: JsonNumber | None = None
    rows: Count | None = None
    candidates: Count | None = None
    numerator: str | None = None
    """A column, or rows."""
    denominator: str | None = None
    """A column, or rows."""
    values: list[str] | None = None
    between: BetweenReport | None = None
    max_selected: Positive | None = None
    per: Positive | None = None
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
    possible: list[tuple[JsonNumber | None, JsonNumber | None]] | None = None
    """The least and the greatest number that the spec makes possible, for all numbers or for each
    item; dates are days since 1970-01-01. Intervals are cut to that. Absent if nothing limits the
    numbers."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityRuleReport(JsonObject):
    """The check that comes before all statistics."""

    mechanism: MechanismReport
    sensitivity: SensitivityReport
    epsilon: JsonNumber
    delta: JsonNumber
    rho: JsonNumber
    protected: Sentences
    """How each query was protected, in words."""
    queries: list[QueryReport]
    min_rows: Positive | None
    min_readable: dict[str, JsonNumber]
    min_people: Positive | None = None
    """The least number of people in a complete file; absent if none is required."""
    max_limited: JsonNumber | None = None
    """The largest share of the rows that limits on a person's rows may leave out."""
    false_stop: JsonNumber
    """Probability with which a file that meets all minimums is stopped, at most."""
    rule: Sentences
    counted: str | None
    """Which rows are counted, where people have limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateReport(JsonObject):
    """A noisy number and its interval."""

    value: JsonNumber
    lower: JsonNumber
    upper: JsonNumber


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutReport(JsonObject):
    """A lower bound of the share of rows that a limit on rows per person leaves out."""

    limit: Positive
    share_at_least: JsonNumber


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityReport(QualityRuleReport):
    """The check that comes before all statistics, with its noisy counts."""

    passed: bool
    missed: Sentences
    """Why the release was stopped."""
    rows: EstimateReport
    people: EstimateReport | None = None
    readable: dict[str, EstimateReport]
    """Readable cells by column."""
    left_out: list[LeftOutReport] | None = None
    table: list[list[str]]
    """For the rows and each column: what is counted, the noisy number, its lower and upper end,
    the minimum, and the verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceRuleReport(JsonObject):
    """How the bounds of a column, or the limit on rows per person, are chosen."""

    name: str
    column: str | None = None
    """Absent for the limit on rows per person, which is the upper bound."""
    mechanism: MechanismReport
    sensitivity: SensitivityReport
    epsilon: JsonNumber
    delta: JsonNumber
    rho: JsonNumber
    protected: Sentences
    """How each query was protected, in words."""
    queries: list[QueryReport]
    ladder: str
    outermost: Ends
    cover: JsonNumber
    threshold: int
    """A noisy count above it cannot be noise alone."""
    rule: Sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargeReport(JsonObject):
    """The entry that was charged for counts."""

    entry: int
    head: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceReport(ChoiceRuleReport):
    """How bounds or a limit were chosen, from which noisy counts."""

    lower: JsonNumber = JsonNumber("0")
    upper: JsonNumber
    decided: bool
    """False if no count was large enough: the bounds are the outermost ones."""
    counts: list[int]
    """The noisy count of each bin."""
    bins: list[Ends]
    """The least and the greatest value of each bin."""
    sentences: Sentences
    ledger: ChargeReport


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseReport(JsonObject):
    """How records respond for one column."""

    column: str
    collected: list[str]
    mechanism: str
    parameters: dict[str, object]
    """Of the randomizer, exactly."""
    description: str
    """How a record responds, in words."""
    by: list[str]
    post: list[str]
    epsilon: JsonNumber
    delta: JsonNumber
    rho: JsonNumber


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedResponseReport(ResponseReport):
    """How a given number of records respond for one column."""

    standard_error: JsonNumber | None
