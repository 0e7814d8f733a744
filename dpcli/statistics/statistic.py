"""What every statistic is: queries, and an estimate from their noisy answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Literal

from dpcli.columns import CategoryColumn, Column, Key, NumericColumn
from dpcli.noise.distribution import Noise
from dpcli.numeric.arrays import Array, integer_array
from dpcli.privacy.neighboring import Relation
from dpcli.queries import Condition, Query
from dpcli.scores import Points
from dpcli.spec_fields import FieldFault
from dpcli.spec_values import SectionModel, extended_model
from dpcli.statistics.estimates import Estimates

NUMERIC_STEPS = ("nonnegative", "integer", "clamp", "suppress_below")
"""Steps of `post` that suit any number."""


@dataclass(frozen=True, slots=True)
class Request:
    """One entry of a spec with its names resolved: what to compute, not its budget request.

    Attributes:
        bins: The axis along which a histogram counts.
        user_clamp: Clamps what one person adds to a group, over all their rows, in steps; without
            it their kept rows count.
        columns: Several columns that are computed with together.
        margins: Axes of which tables are made, `ways` at a time.
        candidates: Steps of the column to choose from, of which `k` are chosen by `utility`.
        label: The column that a threshold should predict.
        checked: Columns whose readable cells are counted.
        options: Fields that only one statistic has, by name.
    """

    name: str
    column: Column | None = None
    bins: Key | None = None
    by: tuple[Key, ...] = ()
    where: tuple[Condition, ...] = ()
    user_clamp: tuple[int, int] | None = None
    columns: tuple[NumericColumn, ...] = ()
    margins: tuple[Key, ...] = ()
    ways: int = 1
    quantiles: tuple[Fraction, ...] = ()
    candidates: Points = ()
    utility: str = ""
    label: CategoryColumn | None = None
    k: int = 1
    ridge: Fraction | None = None
    method: str = ""
    rows: int = 0
    checked: tuple[Column, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()

    def option(self, name: str) -> Any:
        """The value of a field that only one statistic has."""
        return dict(self.options)[name]

    @property
    def binned_axes(self) -> tuple[Key, ...]:
        """The axes that cut numbers into bins: of groups, of a histogram, of tables."""
        axes = (*self.by, *([self.bins] if self.bins else []), *self.margins)
        return tuple(key for key in axes if key.starts)


REQUEST_FIELDS = frozenset(field.name for field in fields(Request))
"""Fields that a request has by name; the others are among its `options`."""


@dataclass(frozen=True, slots=True)
class WeightedQuery:
    """One query of a statistic, with its part of the epsilon and delta of the entry.

    The weights of the queries of a statistic sum to one. `step` is the value of one step of
    the answer's grid. `role` names the query among those of the statistic.
    """

    role: str
    query: Query
    weight: Fraction = Fraction(1)
    step: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True, eq=False)
class NoisyAnswer:
    """The noisy whole numbers of one query, shape (cells,), and their noise."""

    values: Array
    noise: Noise

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", integer_array(self.values))


class Statistic(ABC):
    """A statistic that a spec may name: one subclass, one line in the registry.

    The docstring of a subclass carries its privacy argument, and `dpcli explain` prints it.

    Attributes:
        takes: The fields that it has beyond those of every entry, with their types.
        counts_people: Whether it counts people if no column is named.
        chooses: Whether its answers are choices among candidates.
        chooses_labels: Whether these candidates are labels.
        steps: The steps of `post` that it allows; `default_steps` are taken if `post` is absent.
        has_raw: Whether there is one noisy number behind each estimate.
        derivation: What is done to the noisy answers before they are published.
        warning: What readers of the numbers must know.
        item: What several items are; empty if there is a single number.
        measure: What the numbers measure, which decides how they are worded and drawn.
        mixed_units: Whether its items have no common scale.
    """

    name: ClassVar[str]
    takes: ClassVar[Mapping[str, Any]] = {}
    counts_people: ClassVar[bool] = False
    chooses: ClassVar[bool] = False
    steps: ClassVar[tuple[str, ...]] = NUMERIC_STEPS
    default_steps: ClassVar[tuple[str, ...]] = ()
    has_raw: ClassVar[bool] = True
    chooses_labels: ClassVar[bool] = False
    measure: ClassVar[Literal["counts", "amounts", "values"]] = "values"
    mixed_units: ClassVar[bool] = False
    derivation: ClassVar[str] = ""
    warning: ClassVar[str] = ""
    item: ClassVar[str] = ""

    @cached_property
    def fields(self) -> type[SectionModel]:
        """The model of its own fields."""
        return extended_model(self.takes)

    @abstractmethod
    def queries(self, request: Request, relation: Relation) -> tuple[WeightedQuery, ...]:
        """The queries that answer `request`; their weights sum to one."""

    def estimate(
        self, request: Request, answers: Sequence[NoisyAnswer], confidence: Fraction
    ) -> Estimates:
        """Published numbers from noisy answers alone, group by group, item by item.

        By default the answers of a single query as they are.
        """
        width = answers[0].noise.half_width(confidence)
        return Estimates.around(answers[0].values, width, self.step(request))

    def step(self, request: Request) -> Fraction:
        """The value of one step, where a noisy answer is published as it is."""
        return Fraction(1)

    def complete_request(self, bare: Request, given: Mapping[str, Any]) -> Request:
        """The request with the statistic's own fields, whose names are resolved."""
        known = {key: value for key, value in given.items() if key in REQUEST_FIELDS}
        other = tuple((key, value) for key, value in given.items() if key not in REQUEST_FIELDS)
        present = {key: value for key, value in known.items() if value is not None}
        return replace(bare, **present, options=other)

    def faults(self, request: Request, relation: Relation) -> Iterable[FieldFault]:
        """What is wrong with fields that are each valid alone."""
        return ()

    def items(self, request: Request) -> tuple[str, ...]:
        """The names of the numbers of each group; an empty name if there is one number."""
        return self.names(request) if self.item else ("",)

    def names(self, request: Request) -> tuple[str, ...]:
        """The names of the items, where there are several."""
        return ()

    def item_count(self, request: Request) -> int:
        """How many items there are."""
        return len(self.items(request))

    def item_heading(self, request: Request) -> str:
        """What the items are, as the heading of a column."""
        return self.item

    def notes(self, request: Request) -> tuple[str, ...]:
        """What is done to the noisy answers before they are published, in sentences."""
        return (self.derivation,) if self.derivation else ()

    def warnings(self, request: Request) -> tuple[str, ...]:
        """What a reader of the numbers must know, in sentences."""
        return (f"{request.name}: {self.warning}",) if self.warning else ()

    def make_consistent(
        self,
        request: Request,
        answers: Sequence[NoisyAnswer],
        estimates: Estimates,
        confidence: Fraction,
    ) -> Estimates:
        """The estimates of all groups after they were made to agree with each other."""
        return estimates


def groups(request: Request) -> int:
    """The number of groups of a request whose keys are public."""
    return prod(len(key) for key in request.by)


def numeric(request: Request) -> NumericColumn:
    """The numeric column of a request; the spec has checked that it is one."""
    if not isinstance(request.column, NumericColumn):
        raise TypeError("this statistic needs a numeric column")
    return request.column


def center(column: NumericColumn) -> int:
    """The whole step nearest to the middle of the bounds, from below."""
    return (column.lower + column.upper) // 2
