"""Inputs of a statistic, designs of queries that answer it, and noisy answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from enum import StrEnum
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from dpcli.data.column import Column
from dpcli.data.filters import Filter
from dpcli.data.grid_columns import NumericColumn, require_numeric
from dpcli.data.kinds import Axis
from dpcli.noise.distribution import ADDITIVE, Family, Noise
from dpcli.noise.sums import summed_margin
from dpcli.numeric.arrays import Array, Floats, integer_array
from dpcli.numeric.exact import exact_or_up, rounded_text
from dpcli.privacy.confidential import Group
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import Query
from dpcli.statistics.estimates import Estimates

if TYPE_CHECKING:
    from dpcli.data.labels import LabeledColumn
    from dpcli.privacy.accounting.composition import Composition
    from dpcli.queries.scores import Points
    from dpcli.statistics.public_numbers import PublicNumbers
    from dpcli.statistics.series.history import History

Measure = Literal["epsilon", "rho"]
"""The unit of the privacy loss that the weights of queries divide."""

MEASURES: tuple[Measure, ...] = ("epsilon", "rho")


class NoiseOfNumbers(StrEnum):
    """What is known of the noise of several published numbers together."""

    OWN = "own"
    """Each number is a cell of the first answer, with independent noise of its own."""
    LINEAR = "linear"
    """Numbers are linear functions of the answers, and may share noise."""
    UNKNOWN = "unknown"
    """Nothing but the interval of each number."""


TYPICAL_MEAN, TYPICAL_SQUARE = 0.5, 0.35
"""Mean and mean square of typical values, in half-widths from the bounds' middle.

Plans compare mechanisms by their errors for typical values.
"""

TYPICAL_VARIANCE = TYPICAL_SQUARE - TYPICAL_MEAN**2
"""Variance of typical values, in squared half-widths: a deviation near a third."""


def typical_value(limits: tuple[int, int]) -> Fraction:
    """The mean of typical values between these limits; for 0 and 1, a typical share."""
    low, high = limits
    return low + (high - low) * (1 + Fraction(TYPICAL_MEAN)) / 2


@dataclass(frozen=True, slots=True)
class SampleDesign:
    """A simple random sample without replacement; `size` is its row count, if public.

    Every unit of the population had the same chance, and each row of the file is one unit.
    """

    population: int
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Inputs:
    """A spec entry with names resolved: what to compute, not its budget request.

    Attributes:
        bins: The axis along which a histogram counts, or the labels that can be chosen.
        user_clamp: Clamps the total of a person in a group, in steps; else kept rows count.
        columns: Several columns of one statistic.
        margins: Axes of marginal tables, each table with as many as a number of `ways`.
        candidates: Steps of the column among which `k` are chosen by `utility`.
        sample: How the rows were drawn from a population, if that is declared.
        weight: The column by whose value each row counts.
        label: The column that a threshold should predict.
        checked: Columns whose readable cells are counted.
        sizes: Public sizes of groups by which sums are divided, if they are declared.
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
    label: LabeledColumn | None = None
    k: int = 1
    ridge: Fraction | None = None
    method: str = ""
    rows: int = 0
    checked: tuple[Column, ...] = ()
    sizes: PublicNumbers | None = None
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def numeric(self) -> NumericColumn:
        """The column, which the spec has checked; TypeError if it is not numeric."""
        return require_numeric(self.column)

    @property
    def label_axis(self) -> Axis:
        """The labels of the column that can be chosen; by default, all of them."""
        from dpcli.data.labels import require_labeled

        return self.bins or Axis(require_labeled(self.column))

    def option(self, name: str) -> Any:
        """The value of one of the `options`."""
        return dict(self.options)[name]

    def with_columns(self, change: Callable[[Column], Column]) -> Inputs:
        """The inputs with changed columns; columns of axes and filters stay as they are.

        Candidates that are given by a step then cover the range of the changed bounds.
        """
        more: dict[str, Any] = {
            name: _changed(getattr(self, name), change) for name in COLUMN_FIELDS
        }
        column, points = more["column"], self.candidates
        if isinstance(points, range):
            column = require_numeric(column)
            more["candidates"] = range(column.lower, column.upper + 1, points.step)
        return replace(self, **more)

    @property
    def has_private_groups(self) -> bool:
        """Whether a key is private, so that only the data say which groups there are."""
        return any(key.is_private for key in self.by)

    @property
    def groups(self) -> int:
        """The number of groups by the public keys."""
        return prod(len(key) for key in self.by if not key.is_private)

    @property
    def binned_axes(self) -> tuple[Axis, ...]:
        """The axes that divide numbers into bins: of groups, of a histogram, of tables."""
        histogram = (self.bins,) if self.bins else ()
        axes = (*self.by, *histogram, *self.margins)
        return tuple(key.without_total for key in axes if key.starts)


COLUMN_FIELDS = ("column", "columns", "weight", "checked", "options")
"""Attributes of inputs that may hold columns of numbers."""


def _changed(value: Any, change: Callable[[Column], Column]) -> Any:
    if isinstance(value, tuple):
        return tuple(_changed(item, change) for item in value)
    return change(value) if isinstance(value, NumericColumn) else value


INPUT_FIELDS = frozenset(field.name for field in fields(Inputs))
"""The attributes of `Inputs`; other fields of a statistic are in its `options`."""


@dataclass(frozen=True, slots=True)
class WeightedQuery:
    """One query of a statistic, with its part of the loss of the entry.

    The weights of the queries of a statistic sum to one. They divide epsilon and delta, or rho if
    the noise is Gaussian. `step` is the value of a step of the answer's grid. A published number
    sums at most `summed` cells of an answer. A query with `supports` shows how good the answers to
    the queries before it are: it always gets additive noise, and no published number has its error.
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
    are the selected groups in order, if the query has private groups.
    """

    values: Array
    noise: Noise
    groups: tuple[Group, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", integer_array(self.values))

    def divided(self, numbers: int) -> list[NoisyAnswer]:
        """One answer for each of the `numbers` of a group, about all groups.

        Each answer has the noise of this one.
        """
        return [
            NoisyAnswer(column, self.noise, self.groups)
            for column in self.values.reshape(-1, numbers).T
        ]


PopulationOf = Callable[[Any, Sequence[NoisyAnswer], Fraction], Estimates]
"""Numbers of a population from a design, noisy answers and the confidence."""


@dataclass(frozen=True)
class Design:
    """Queries that answer inputs, with errors and the estimate from the answers.

    Attributes:
        queries: Their weights sum to at most one.
        families: The families of noise that the design is meant for.
        measures: The units of the budget that the weights divide, unless noise is Gaussian.
        reason: A sentence on why these queries are answered, or an empty text.
        gains_by_epsilon: Whether it has less noise than others at the same epsilon, but not at the
            same rho.
        population_of: How the numbers of the population of a sample follow from the answers.
        publishes_answers: Whether the noisy answers are published before the numbers.
        derivation: How the published numbers follow from the noisy answers, or an empty text.
        is_compared_by_error: Whether plans compare it by `error`, not by `expected_error`.
        has_typical: Whether errors depend on the answers, and `typical_sums` gives typical ones.
        noise_of_numbers: What is known of the noise of several published numbers together.
        answered_by: The mechanism that answers its queries, if it is not the one of the entry.
        counts_rows: Whether the answers have a noisy number of the rows of each group.
        replaces_counts: Whether it is only for entries that counts could answer as well.
    """

    inputs: Inputs
    queries: Queries
    families: tuple[Family, ...] = ADDITIVE
    measures: tuple[Measure, ...] = MEASURES
    reason: str = ""
    replaces_counts: bool = False
    answered_by: str = ""
    counts_rows: bool = False
    gains_by_epsilon: bool = False
    population_of: PopulationOf | None = None
    publishes_answers: ClassVar[bool] = False
    derivation: ClassVar[str] = ""
    is_compared_by_error: ClassVar[bool] = False
    has_typical: ClassVar[bool] = False
    noise_of_numbers: ClassVar[NoiseOfNumbers] = NoiseOfNumbers.UNKNOWN

    def serves(self, family: Family, measure: Measure, composition: Composition) -> bool:
        """Whether the design is meant for this noise, unit of the budget and composition.

        With Gaussian noise, any unit is served: answers are protected together, and weights divide
        rho.
        """
        if composition.takes_rho and self.gains_by_epsilon:
            return False
        return family in self.families and (family == "l2" or measure in self.measures)

    @property
    def follows(self) -> str | None:
        """The digest of the state of a series that the answers follow; None without one."""
        return None

    def history(
        self, published: Estimates, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> History:
        """What the periods of a series published, with this one; empty without a series."""
        return ()

    def lines_of_history(self, published: Estimates) -> tuple[int, ...]:
        """The indices of the published numbers that the history has."""
        return ()

    @property
    def is_correction(self) -> bool:
        """Whether it answers a period of a series again, with corrected data."""
        return False

    @property
    def chooses(self) -> bool:
        """Whether the answers are choices among candidates."""
        return self.queries[0].query.chooses

    @property
    def raw_design(self) -> Design:
        """The design of the numbers that are published as raw; it has the first queries."""
        return self

    @property
    def agrees(self) -> bool:
        """Whether all published numbers are sums of the same answers, so that they agree."""
        return len(self.queries) == 1

    @property
    def block(self) -> tuple[int, ...]:
        """The cells of each answer on which a block of successive numbers depends.

        No other number depends on them, if numbers are linear functions of the answers.
        """
        return tuple(part.query.cells_per_group for part in self.queries)

    def expected_error(self, errors: Sequence[float]) -> float:
        """The error of a published number from those of the answers, to compare designs.

        It may lack a factor that is the same for all designs of a statistic.
        """
        return prod(error for error in errors if error) ** (1 / max(len(errors), 1))

    def error(self, noises: Sequence[Noise], confidence: Fraction) -> Fraction | None:
        """How far a published number may be from the noise-free one, at this confidence.

        It is known before any answer: the half-width of a published interval, and the largest one
        if several numbers are chosen one by one. None if it depends on the answers.
        """
        if len(self.queries) > 1 or self.has_typical:
            return None
        (weighted,) = self.queries
        return summed_margin(noises[0], weighted.summed, confidence).width * weighted.step

    def compared_error(self, noises: Sequence[Noise], confidence: Fraction) -> Fraction | None:
        """The error by which plans compare designs, if they do not by `expected_error`."""
        return self.error(noises, confidence)

    def typical_sums(self, rows: Fraction) -> Floats:
        """The noise-free answers about a group of `rows` typical rows, in steps.

        Numbers that no estimate needs may be left out at the end. Raises TypeError unless
        `has_typical` is true.
        """
        raise TypeError("no typical answers are known")

    def typical_estimates(
        self, noises: Sequence[Noise], confidence: Fraction, rows: Fraction
    ) -> Estimates:
        """What is published about a group of `rows` typical rows if all noise is zero.

        The half-widths of the intervals are the errors to expect.
        """
        return self.estimate(self.typical_answers(noises, rows), confidence)

    def typical_answers(self, noises: Sequence[Noise], rows: Fraction) -> list[NoisyAnswer]:
        """The answers about a group of `rows` typical rows if all noise is zero."""
        sums = iter(self.typical_sums(rows).tolist())
        numbers = (
            [round(next(sums, 0.0)) for _ in range(part.query.cells_per_group)]
            for part in self.queries
        )
        return list(map(NoisyAnswer, map(integer_array, numbers), noises))

    def sentences(self, noises: Sequence[Noise], confidence: Fraction) -> tuple[str, ...]:
        """Why these queries answer the inputs, if designs are several, and their error."""
        return (self.reason,) if self.reason else ()

    def rows_for_interval(self, noises: Sequence[Noise]) -> int:
        """About how many rows a bounded interval needs; zero if every number has one."""
        return 0

    def divided(self, answers: Sequence[NoisyAnswer]) -> list[NoisyAnswer]:
        """An answer for each number that the queries have in a group, about all groups."""
        numbers = [weighted.query.cells_per_group for weighted in self.queries]
        pairs = zip(answers, numbers, strict=True)
        return [part for answer, count in pairs for part in answer.divided(count)]

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        """The published numbers, from noisy answers alone, by groups, then items.

        By default, they are the first answer itself.
        """
        answer, step = answers[0], self.queries[0].step
        return Estimates.around(answer.values, answer.noise.margins(confidence), step)

    def noisy_rows(self, answers: Sequence[NoisyAnswer]) -> Array:
        """The noisy numbers of rows, of each group or behind each published number.

        By default, from a first answer whose numbers have a known sum for each row. Raises
        TypeError unless `counts_rows` is true.
        """
        query = self.queries[0].query
        if not self.counts_rows or not query.sum_of_row:
            raise TypeError("no answer counts the rows of a group")
        sums: Array = answers[0].values.reshape(-1, query.cells_per_group).sum(axis=1)
        return sums // query.sum_of_row

    def shown_incomplete(self, answers: Sequence[NoisyAnswer]) -> str:
        """Why noisy answers show that numbers are about less than all rows; empty if not."""
        return ""

    @property
    def has_population(self) -> bool:
        """Whether its numbers are also estimated for the population of a declared sample."""
        return self.population_of is not None

    def population(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        """The numbers of the population, in the order of the published ones.

        Raises TypeError unless `has_population` is true.
        """
        if self.population_of is None:
            raise TypeError("no number of a population is known")
        return self.population_of(self, answers, confidence)

    def make_consistent(
        self, answers: Sequence[NoisyAnswer], estimates: Estimates, confidence: Fraction
    ) -> Estimates:
        """The estimates after the step `consistent`: all numbers agree with each other."""
        return estimates

    def make_additive(
        self, answers: Sequence[NoisyAnswer], units: int, *, nonnegative: bool
    ) -> Array:
        """The published numbers as whole numbers of 1/`units` that add up.

        Raises TypeError unless numbers are those of tables.
        """
        raise TypeError("only tables add up")


@dataclass(frozen=True)
class PublishedAnswer(Design):
    """A design whose published numbers are the cells of its first answer.

    It may not change `estimate`: noise is added to each cell independently, so each number has
    noise of its own.
    """

    noise_of_numbers = NoiseOfNumbers.OWN


@dataclass(frozen=True, kw_only=True)
class DesignOf(Design):
    """A design whose numbers follow from those of the design `of`.

    It has the queries of that design, perhaps with others after them.
    """

    of: Design

    @classmethod
    def about(cls, of: Design, **more: Any) -> Self:
        """The design about another one, with the fields that differ or are its own."""
        shared = {name: getattr(of, name) for name in SHARED_FIELDS}
        return cls(**{**shared, "of": of, **more})

    @property
    def agrees(self) -> bool:
        return self.of.agrees

    def expected_error(self, errors: Sequence[float]) -> float:
        return self.of.expected_error(errors[: len(self.of.queries)])


SHARED_FIELDS = (
    "inputs", "queries", "families", "measures", "reason", "gains_by_epsilon", "answered_by",
)  # fmt: skip
"""What a design about another one takes from it."""


@dataclass(frozen=True)
class LinearDesign(Design):
    """A design whose published numbers are linear functions of its answers."""

    noise_of_numbers = NoiseOfNumbers.LINEAR

    def sentences(self, noises: Sequence[Noise], confidence: Fraction) -> tuple[str, ...]:
        reason, error = super().sentences(noises, confidence), self.error(noises, confidence)
        return reason if error is None else (*reason, _error_sentence(error, confidence))


def _error_sentence(error: Fraction, confidence: Fraction) -> str:
    """How far each number of an entry is from the noise-free one, and how often."""
    within, percent = rounded_text(error, 6), exact_or_up(confidence * 100)
    return f"each number is within {within} of the noise-free one in {percent}% of cases"
