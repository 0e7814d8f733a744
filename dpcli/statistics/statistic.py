"""The interface of statistics: queries, and an estimate from their noisy answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Literal, final

from dpcli.columns import Axis, CategoryColumn, Column, NumericColumn
from dpcli.filters import Filter
from dpcli.light_dataclasses import dataclass
from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import Array, integer_array
from dpcli.privacy.confidential import Group
from dpcli.privacy.neighboring import Relation
from dpcli.queries.query import Query
from dpcli.queries.scores import Points
from dpcli.spec_fields import FieldFault
from dpcli.spec_values import SectionModel, extended_model
from dpcli.statistics.estimates import Estimates
from dpcli.statistics.interval_limits import ANY, NONNEGATIVE, Limits
from dpcli.statistics.sampling import SampleDesign

NUMERIC_STEPS = ("nonnegative", "integer", "clamp", "suppress_below")
"""Steps of `post` for statistics whose numbers are whole or real."""


@dataclass(frozen=True, slots=True)
class Request:
    """One entry of a spec with its names resolved: what to compute, not its budget request.

    Attributes:
        bins: The axis along which a histogram counts.
        user_clamp: Clamps the total of a person in a group, in steps; else kept rows count.
        columns: Several columns of one statistic.
        margins: Axes of marginal tables, each table with as many as a number of `ways`.
        candidates: Steps of the column among which `k` are chosen by `utility`.
        sample: How the rows were drawn from a population, if that is declared.
        weight: The column by whose value each row counts.
        label: The column that a threshold should predict.
        checked: Columns whose readable cells are counted.
        options: Fields of a statistic that are no attributes here, by name.
    """

    name: str
    column: Column | None = None
    bins: Axis | None = None
    by: tuple[Axis, ...] = ()
    where: tuple[Filter, ...] = ()
    user_clamp: tuple[int, int] | None = None
    columns: tuple[NumericColumn, ...] = ()
    margins: tuple[Axis, ...] = ()
    ways: tuple[int, ...] = ()
    quantiles: tuple[Fraction, ...] = ()
    candidates: Points = ()
    utility: str = ""
    sample: SampleDesign | None = None
    weight: NumericColumn | None = None
    label: CategoryColumn | None = None
    k: int = 1
    ridge: Fraction | None = None
    method: str = ""
    rows: int = 0
    checked: tuple[Column, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()

    def option(self, name: str) -> Any:
        """The value of one of the `options`."""
        return dict(self.options)[name]

    @property
    def binned_axes(self) -> tuple[Axis, ...]:
        """The axes that divide numbers into bins: of groups, of a histogram, of tables."""
        histogram = (self.bins,) if self.bins else ()
        axes = (*self.by, *histogram, *self.margins)
        return tuple(key for key in axes if key.starts)


REQUEST_FIELDS = frozenset(field.name for field in fields(Request))
"""Attributes of a request. Other fields that a statistic takes are among the `options`."""


@dataclass(frozen=True, slots=True)
class WeightedQuery:
    """One query of a statistic, with its part of the loss of the entry.

    The weights of the queries of a statistic sum to one, and divide epsilon and delta, or with
    Gaussian noise rho. `step` is the value of a step of the answer's grid. A published number sums
    at most `summed` cells of an answer. A query that `supports` says how good the answer to those
    before it is: noise is added to it in any case, and no published number has its error.
    """

    role: str
    query: Query
    weight: Fraction = Fraction(1)
    step: Fraction = Fraction(1)
    summed: int = 1
    supports: bool = False


Queries = tuple[WeightedQuery, ...]


@dataclass(frozen=True, slots=True, eq=False)
class NoisyAnswer:
    """The noisy answer to one query and its noise.

    `values` has the shape (cells,) and holds whole numbers, as int64 or Python integers. `groups`
    are the selected groups in order, if the query has private groups. The `query` is there if the
    statistic has several designs.
    """

    values: Array
    noise: Noise
    groups: tuple[Group, ...] | None = None
    query: Query | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", integer_array(self.values))

    def divided(self, numbers: int) -> list[NoisyAnswer]:
        """The answers to each of several numbers of every group, which share the noise."""
        return [
            NoisyAnswer(column, self.noise, self.groups)
            for column in self.values.reshape(-1, numbers).T
        ]


class Statistic(ABC):
    """A statistic that a spec may name: one subclass, one line in the registry.

    The docstring of a subclass has its privacy argument, and `dpcli explain` prints it.

    Attributes:
        takes: Its fields besides those that every entry has, with their types.
        counts_people: Whether it counts people if no column is named.
        counts_blanks: Whether a blank cell of its columns is an answer.
        chooses: Whether its answers are choices; with `counts_or_chooses`, `queries` may count.
        minimizes: Whether its answers are minimizers of a perturbed objective.
        chooses_labels: Whether the items are labels that were chosen, and the numbers their ranks.
        selects_labels: Whether these labels are private, and its noisy counts select them.
        steps: The steps of `post` that it allows. `default_steps` apply if `post` is absent.
        has_raw: Whether there is one noisy number behind each estimate.
        derivation: How the published numbers are computed from the noisy answers.
        warning: What readers of the numbers must know.
        item: What an item is, for example a bin; empty if each group has a single number.
        measure: What the numbers measure. Reports word and draw them accordingly.
        mixed_units: Whether its items have different units.
        error_is_known: Whether the error of a single answer is that of the published number.
        sums_answers: Whether published numbers are fixed sums of the answers to several queries.
        gives_dates: Whether its numbers are dates if those of the column are.
        in_column_unit: Whether its numbers have the unit of its column.
    """

    name: ClassVar[str]
    takes: ClassVar[Mapping[str, Any]] = {}
    counts_people: ClassVar[bool] = False
    counts_blanks: ClassVar[bool] = False
    chooses: ClassVar[bool] = False
    counts_or_chooses: ClassVar[bool] = False
    steps: ClassVar[tuple[str, ...]] = NUMERIC_STEPS
    default_steps: ClassVar[tuple[str, ...]] = ()
    has_raw: ClassVar[bool] = True
    minimizes: ClassVar[bool] = False
    chooses_labels: ClassVar[bool] = False
    selects_labels: ClassVar[bool] = False
    measure: ClassVar[Literal["counts", "amounts", "values"]] = "values"
    mixed_units: ClassVar[bool] = False
    error_is_known: ClassVar[bool] = True
    sums_answers: ClassVar[bool] = False
    gives_dates: ClassVar[bool] = False
    in_column_unit: ClassVar[bool] = False
    derivation: ClassVar[str] = ""
    warning: ClassVar[str] = ""
    item: ClassVar[str] = ""

    @property
    def adds_rows(self) -> bool:
        """Whether its numbers add up rows or compare such numbers: limits then make them wrong."""
        return self.measure != "values"

    @cached_property
    def fields(self) -> type[SectionModel]:
        """The pydantic model of the fields in `takes`."""
        return extended_model(self.takes)

    def variant(self, column: Column | None, method: str = "") -> Statistic:
        """The statistic of the same name for such a column and method; by default, this one."""
        return self

    @abstractmethod
    def queries(self, request: Request, relation: Relation) -> Queries:
        """The queries behind `request`; their weights sum to one."""

    def queries_for_pure_noise(self, request: Request, relation: Relation) -> Queries:
        """The queries for noise whose loss depends on L1, if others than `queries` are better."""
        return self.queries(request, relation)

    def queries_for_pure_noise_in_rho(self, request: Request, relation: Relation) -> Queries:
        """The queries for the same noise where weights divide rho, not epsilon."""
        return self.queries_for_pure_noise(request, relation)

    def queries_for_choices(self, request: Request, relation: Relation) -> Queries:
        """The queries for a mechanism that chooses."""
        return self.queries(request, relation)

    def designs(self, request: Request, relation: Relation) -> tuple[Queries, ...]:
        """All sets of queries that may answer `request`, each for some mechanisms."""
        pure = self.queries_for_pure_noise, self.queries_for_pure_noise_in_rho
        ways = (self.queries, *pure, self.queries_for_choices)
        return tuple(dict.fromkeys(queries(request, relation) for queries in ways))

    def expected_error(
        self, request: Request, queries: Sequence[WeightedQuery], errors: Sequence[float]
    ) -> float:
        """The error of a published number from those of its queries, up to a common factor."""
        return prod(error for error in errors if error) ** (1 / max(len(errors), 1))

    def estimate(
        self, request: Request, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> Estimates:
        """The numbers, from noisy answers alone, by groups, then items; by default, the answer."""
        width = answers[0].noise.half_width(confidence)
        return Estimates.around(answers[0].values, width, self.step(request))

    def limits(self, request: Request) -> tuple[Limits, ...]:
        """The noise-free numbers that the spec alone makes possible, for each item or for all.

        Published intervals are cut to them, whatever the noise was.
        """
        return (NONNEGATIVE if self.measure == "counts" else ANY,)

    @final
    def possible_estimate(
        self, request: Request, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> Estimates:
        """The same as `estimate`, with intervals cut to what is possible."""
        return self.estimate(request, answers, confidence).within(self.limits(request))

    def rows_for_interval(self, request: Request, noises: Sequence[Noise]) -> int:
        """About how many rows it takes until noise leaves an interval; zero if any number does."""
        return 0

    def has_population(self, request: Request) -> bool:
        """Whether its numbers are also estimated for the population of a declared sample."""
        return False

    def population(
        self, request: Request, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> Estimates:
        """The numbers of the population, if there are any, in the order of `estimate`."""
        raise NotImplementedError

    def step(self, request: Request) -> Fraction:
        """The value of one step of the answer, for statistics that publish it as it is."""
        return Fraction(1)

    def complete_request(self, bare: Request, given: Mapping[str, Any]) -> Request:
        """The request with the fields of the statistic, in which names are resolved."""
        common = {key: value for key, value in given.items() if key in REQUEST_FIELDS}
        options = tuple((key, value) for key, value in given.items() if key not in common)
        present = {key: value for key, value in common.items() if value is not None}
        return replace(bare, **present, options=options)

    def faults(self, request: Request, relation: Relation) -> Iterable[FieldFault]:
        """What is wrong with the combination of fields that are each valid alone."""
        return ()

    def items(self, request: Request) -> tuple[str, ...]:
        """The names of the numbers of each group; one empty name if there is a single number."""
        return self.names(request) if self.item else ("",)

    def names(self, request: Request) -> tuple[str, ...]:
        """The names of the items, for a statistic that has several."""
        return ()

    def item_count(self, request: Request) -> int:
        """How many numbers each group has."""
        return len(self.items(request))

    def item_heading(self, request: Request) -> str:
        """The heading of a column of items."""
        return self.item

    def notes(self, request: Request) -> tuple[str, ...]:
        """Sentences on how the published numbers are computed from the noisy answers."""
        return (self.derivation,) if self.derivation else ()

    def design_notes(
        self, request: Request, queries: Sequence[WeightedQuery], noises: Sequence[Noise]
    ) -> tuple[str, ...]:
        """Sentences on the chosen design, if the statistic has several."""
        return ()

    def warnings(self, request: Request) -> tuple[str, ...]:
        """Sentences that a reader of the numbers must know."""
        return (f"{request.name}: {self.warning}",) if self.warning else ()

    def publishes_dates(self, request: Request) -> bool:
        """Whether the published numbers are dates."""
        return self.gives_dates and request.column is not None and request.column.kind == "date"

    def make_consistent(
        self,
        request: Request,
        answers: Sequence[NoisyAnswer],
        estimates: Estimates,
        confidence: Fraction,
    ) -> Estimates:
        """The estimates after the step `consistent`: all numbers agree with each other."""
        return estimates


def groups(request: Request) -> int:
    """The number of groups of a request without private groups."""
    return prod(len(key) for key in request.by)
