"""Columns of numbers: whole multiples of a step between two bounds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import chain, pairwise
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

from dpcli.data.candidate_bounds import ChosenBoundsModel
from dpcli.data.column import Column, Derivation, FormOption, Option, Ranges, Source, ValuedColumn
from dpcli.data.declared_texts import UnitText
from dpcli.data.formats import NumberFormat
from dpcli.data.polars_text import pl
from dpcli.data.sections import ColumnSection
from dpcli.data.steps import bounds_in_steps, proposed_step, read_number, require_whole_steps
from dpcli.fields.section import SectionModel
from dpcli.fields.tree import (
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    node_at,
    read_all,
    scalars_of,
)
from dpcli.numeric.exact import readable_text
from dpcli.problems.light_dataclasses import dataclass

if TYPE_CHECKING:
    from dpcli.data.date_forms import DateFormat

F = TypeVar("F")

NumericKind = Literal["integer", "number", "date"]

MAX_BINS = 10_001
"""The most bins of a column: one per value of a column of ten thousand steps."""

MAX_VALUES_AS_BINS = 200
"""Numbers with at most this number of values need no `bins`: each value is one."""


class NumericSection(ColumnSection):
    """The declaration of numbers or days, which become whole numbers of steps."""

    unit: UnitText | None = None

    def missing_line(self, key: str) -> str:
        step = f"`step: {proposed_step(self.node)}`: values are rounded to multiples of it"
        return step * (key == "step")


@dataclass(frozen=True, slots=True)
class NumericColumn(ValuedColumn):
    """Numbers or dates: whole multiples of `step` between two bounds.

    `bounds` and `missing` are numbers of steps. A column without bounds can be declared, but no
    statistic can use it. A column with a `derivation` is computed from other columns instead of
    being read. `options` say how cells are written, if not plainly.
    """

    name: str
    step: Fraction = Fraction(1)
    bounds: tuple[int, int] | None = None
    missing: int | None = None
    source: Source = None
    derivation: Derivation | None = None
    options: tuple[Option, ...] = ()

    kind: ClassVar[NumericKind]
    section: ClassVar[type[SectionModel]] = NumericSection
    comparison_words: ClassVar[Mapping[str, str]] = {
        "<": "below",
        "<=": "at most",
        "=": "equal to",
        ">=": "at least",
        ">": "above",
    }
    grid_words: ClassVar[str] = "a multiple of the step"
    """What the width of a bin must be, in messages."""
    bounds_example: ClassVar[str] = "[0, 100]"
    widest: ClassVar[tuple[int, int]] = (-(1 << 60), 1 << 60)
    """The bounds of a column without any, so that values stay different."""

    def __post_init__(self) -> None:
        if self.bounds is not None and self.bounds[0] > self.bounds[1]:
            raise ValueError(f"the lower bound of column {self.name} is above the upper one")
        low, high = self.bounds or (self.missing, self.missing)
        # The constant is not clamped, and sensitivities follow from the bounds.
        if self.missing is not None and not (low or 0) <= self.missing <= (high or 0):
            raise ValueError(f"the constant of column {self.name} is not within its bounds")

    @property
    def lower(self) -> int:
        """The lower bound in steps; the column must have bounds."""
        return self.limits[0]

    @property
    def upper(self) -> int:
        """The upper bound in steps; the column must have bounds."""
        return self.limits[1]

    @property
    def limits(self) -> tuple[int, int]:
        if self.bounds is None:
            raise ValueError(f"column {self.name} has no bounds")
        return self.bounds

    @property
    def bound_texts(self) -> tuple[str, str] | None:
        return (self.text(self.lower), self.text(self.upper)) if self.bounds else None

    @property
    def unusable(self) -> str:
        return "" if self.bounds else "missing-bounds"

    @property
    def has_outside(self) -> bool:  # type: ignore[override]
        return self.bounds is not None

    @property
    def closed_bins(self) -> bool:
        """Whether a bin is a closed range: of whole numbers, days, or one of few values."""
        return self.step.denominator == 1 or self.upper - self.lower < MAX_VALUES_AS_BINS

    @property
    @abstractmethod
    def format(self) -> NumberFormat | DateFormat | None:
        """How cells are written, if not plainly."""

    def in_form(self, plain: F) -> F | None:
        """How cells are written: the plain form, changed by each declared option in turn.

        None if no declared option changes the form.
        """
        options = [option for option in self.options if isinstance(option, FormOption)]
        return (
            reduce(lambda form, option: option.in_form(form), options, plain) if options else None
        )

    @property
    @abstractmethod
    def mean_decimals(self) -> int:
        """The printed decimals of a mean of the values."""

    @property
    def may_have_time(self) -> bool:
        """Whether a cell may have a time of day."""
        return False

    @property
    def date_range(self) -> int | None:
        """The days between the bounds of dates; None for numbers."""
        return None

    @abstractmethod
    def is_like(self, other: Column) -> bool:
        """Whether a column can be compared with this one: both numbers, or both dates."""

    @abstractmethod
    def parse(self, text: str) -> Fraction:
        """A value that a spec states, not in steps; raises `NumberSyntaxError`."""

    @abstractmethod
    def constant_text(self, value: Fraction) -> str:
        """A constant of a formula with this column."""

    @abstractmethod
    def steps_of(self, text: str) -> int:
        """The number of steps of a text in published tables."""

    # How a spec declares it, and states its values.

    @classmethod
    def declared(
        cls, name: str, section: Any, limits: tuple[int, int] | None = None
    ) -> NumericColumn:
        """The column, with `bounds` and `missing` in whole steps. `missing` needs bounds.

        Bounds replace the `limits`, which follow from other fields.
        """
        step, bounds = getattr(section, "step", None) or Fraction(1), section.bounds
        low, high = (section.text("bounds", side) for side in (0, 1))
        if isinstance(bounds, ChosenBoundsModel):
            limits, (low, high) = bounds.outermost(step)
        elif bounds is not None:
            lower, upper = map(Fraction, bounds)
            if lower >= upper:
                code = "bounds-order.equal" if lower == upper else "bounds-order"
                raise section.report(code, "bounds", low=low, high=high)
            limits = bounds_in_steps(section, (lower, upper), step)
        scalar = section.node.scalar("missing")
        if section.missing is None or scalar is None:
            return cls(name, step, limits)
        constant = require_whole_steps(section.missing / step, step, scalar, "`missing`")
        if limits is None:
            example = {"subject": "`missing`", "example": cls.bounds_example}
            raise section.report_key("missing-bounds", "missing", column=name, **example)
        if not limits[0] <= constant <= limits[1]:
            raise section.report("out-of-bounds", "missing", low=low, high=high)
        return cls(name, step, limits, constant)

    def read_in_steps(self, scalar: ScalarNode, name: str) -> Fraction:
        """The number or day in a scalar, in steps; perhaps not a whole one."""
        return read_number(scalar, name, self.parse) / self.step

    def read_on_grid(self, scalar: ScalarNode, name: str) -> int:
        """The number or day in a scalar, in whole steps."""
        return require_whole_steps(self.read_in_steps(scalar, name), self.step, scalar, name)

    def read_within_bounds(self, scalar: ScalarNode, name: str) -> int:
        """The number or day in a scalar, in whole steps, within the bounds."""
        steps = self.read_on_grid(scalar, name)
        if self.lower <= steps <= self.upper:
            return steps
        low, high = map(self.text, self.limits)
        raise scalar.span.report("out-of-bounds", name=name, found=scalar.shown, low=low, high=high)

    def read_candidates(self, node: Node | None) -> tuple[int, ...] | range:
        """The listed candidates, or those at a step; by default all values."""
        if isinstance(node, SequenceNode):
            points: list[int] = []
            for scalar in scalars_of(node):
                point = self.read_within_bounds(scalar, "the candidate")
                if points and point <= points[-1]:
                    raise scalar.span.report("candidates-order", value=scalar.text)
                points.append(point)
            return tuple(points)
        step = node.scalar("step") if isinstance(node, MappingNode) else None
        # A step between dates is a number of days.
        size = 1 if step is None else self._read_size(step, "step", "off-grid.size")
        return range(self.lower, self.upper + 1, size)

    def read_starts(self, bins: Node | None, scalar: ScalarNode) -> tuple[int, ...]:
        """The starts of bins, in steps. Without `bins`, each of few values is a bin."""
        if bins is not None:
            return self.read_bins(bins)
        values = [range(low, high + 1) for low, high in self.declared_ranges]
        if self.is_date or sum(map(len, values)) > MAX_VALUES_AS_BINS:
            arguments = {"column": self.name, "kind": self.kind, "most": MAX_VALUES_AS_BINS}
            code = "missing-bins.days" if self.is_date else "missing-bins"
            raise scalar.span.report(code, **arguments)
        return tuple(chain.from_iterable(values))

    def read_bins(self, bins: Node) -> tuple[int, ...]:
        """The starts of bins by their number, or by a `width` or `edges`, in steps."""
        if isinstance(bins, ScalarNode):
            return tuple(self._starts_by_count(bins))
        width, edges = node_at(bins, "width"), node_at(bins, "edges")
        if isinstance(width, ScalarNode) == isinstance(edges, SequenceNode):
            found = "both" if isinstance(width, ScalarNode) else "neither"
            raise bins.span.report("bins-form", key="bins", found=found)
        if isinstance(width, ScalarNode):
            starts, span = self._starts_by_width(width), width.span
        else:
            starts, span = self._starts_by_edges(scalars_of(edges)), edges.span
        if len(starts) > MAX_BINS:
            raise span.report("too-many-bins", count=len(starts), most=MAX_BINS)
        return tuple(starts)

    def _starts_by_count(self, scalar: ScalarNode) -> Sequence[int]:
        """The starts of a number of bins, in steps, as equal as the steps allow.

        Some bins may be a step wider than others: each starts at the last step that is not above
        its equal share of the range, so that of 0 to 100 the last of ten bins has 90 to 100.
        """
        size = self.upper - self.lower + int(self.closed_bins)
        count, max_count = int(read_number(scalar, "`bins`")), min(size, MAX_BINS)
        if count > max_count:
            raise scalar.span.report("too-many-bins.number", count=count, most=max_count)
        return [self.lower + index * size // count for index in range(count)]

    def _starts_by_width(self, scalar: ScalarNode) -> Sequence[int]:
        """The starts of bins of equal width, in steps; the last bin may be narrower.

        The first bin starts at the lower bound. Closed bins are counted in values, so the upper
        bound may be a bin of its own. Of intervals, the last one includes the upper bound instead.
        """
        end = self.upper + 1 if self.closed_bins else self.upper
        return range(self.lower, end, self._read_size(scalar, "width", "width-not-positive"))

    def _starts_by_edges(self, scalars: Sequence[ScalarNode]) -> Sequence[int]:
        """The starts of bins between edges, which increase from lower to upper bound.

        Each edge but the last starts a bin. The last edge is the upper bound, which the last bin
        includes. For closed bins, the last edge may also be the value after the upper bound.
        """
        edges = read_all(lambda scalar: self.read_on_grid(scalar, "the edge"), scalars)
        for index in range(1, len(edges)):
            if edges[index] <= edges[index - 1]:
                arguments = {"edge": scalars[index].text, "before": scalars[index - 1].text}
                raise scalars[index].span.report("edges-order", **arguments)
        ends = (0, "first", "lower", self.lower), (-1, "last", "upper", self.upper)
        for index, which, side, bound in ends:
            after = self.closed_bins and index == -1 and edges[index] == bound + 1
            if edges[index] != bound and not after:
                within_bounds = self.lower <= edges[index] <= self.upper
                code = "edges-bounds" if within_bounds else "edges-bounds.beyond"
                arguments = {"edge": scalars[index].text, "bound": self.text(bound)}
                raise scalars[index].span.report(code, place=which, side=side, **arguments)
        return edges[:-1]

    def _read_size(self, scalar: ScalarNode, key: str, not_positive: str) -> int:
        """A positive whole number of steps: the width of a bin, or between candidates."""
        steps = read_number(scalar, f"`{key}`") / self.step
        if steps > 0 and steps.denominator == 1:
            return steps.numerator
        nearest = readable_text(max(1, ceil(steps)) * self.step)
        arguments = {"value": scalar.text, "unit": self.grid_words, "nearest": nearest}
        raise scalar.span.report(
            not_positive if steps <= 0 else "off-grid.size", key=key, **arguments
        )

    def without_missing_constant(self) -> Self:
        return replace(self, bounds=self.bounds or (0, 0), missing=None)

    def without_limits(self) -> Self:
        wider = (self.lower - 1, self.upper + 1) if self.bounds else self.widest
        return replace(self, bounds=wider, missing=None)

    def possible(self, value: pl.Expr) -> pl.Expr:
        """Whole steps within the bounds, in the smallest type that fits them."""
        return value.clip(*self.limits).cast(smallest_type(self.limits))

    def cell_aggregates(self, cell: pl.Expr, value: pl.Expr) -> Iterator[tuple[str, pl.Expr]]:
        yield "min", value.min()
        yield "max", value.max()
        outside = self.outside(value)
        if outside is not None:
            yield "outside", outside.sum()

    def outside(self, value: pl.Expr) -> pl.Expr | None:
        low, high = self.limits
        # `without_limits` has made both a step wider.
        return ~value.is_between(low + 1, high - 1) if (low, high) != self.widest else None

    def range_texts(self, ranges: Ranges) -> list[str]:
        return [
            self.text(low) if low == high else f"from {self.text(low)} to {self.text(high)}"
            for low, high in ranges
        ]

    def axis_labels(self, starts: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.axis_label(starts, index) for index in range(len(starts)))

    def axis_label(self, starts: Sequence[int], index: int) -> str:
        """The label of one bin, with the values from its start to below the next start.

        The last bin includes the upper bound of the column. Labels of whole numbers, of days and of
        numbers with at most `MAX_VALUES_AS_BINS` values are closed ranges; labels of finer numbers
        are intervals:

        =====================================  ==================================
        column                                 labels
        =====================================  ==================================
        whole numbers, none below zero         ``0-9``, ``10-19``, ``20``
        whole numbers, some below zero         ``[-10,-1]``, ``[0,9]``, ``10``
        few values whose step is not whole     ``0.0-0.5``, ``1.0-1.5``, ``2.0``
        dates                                  ``2024-03-01..2024-03-31``
        many values whose step is not whole    ``[0.00,0.50)``, ``[0.50,9.99]``
        =====================================  ==================================

        No label begins with a character that starts a formula in a spreadsheet. The exception is
        the minus of a negative number, which a spreadsheet reads as a number too. So a label is the
        same text in CSV, Parquet, JSON and HTML.
        """
        low, high = self.bin_ends(starts, index)
        first, end = self.text(low), self.text(high)
        if not self.closed_bins:
            return f"[{first},{end}{']' if index == len(starts) - 1 else ')'}"
        return first if low == high else self.closed_range(first, end)

    def bin_ends(self, starts: Sequence[int], index: int) -> tuple[int, int]:
        """The ends of a bin in steps: its last value if closed, or the next start."""
        last = index == len(starts) - 1
        return starts[index], self.upper if last else starts[index + 1] - int(self.closed_bins)

    def closed_range(self, first: str, end: str) -> str:
        """The label of a bin of several values."""
        return f"[{first},{end}]" if self.lower < 0 else f"{first}-{end}"

    def axis_length(self, starts: Sequence[int]) -> int:
        return len(starts)

    def axis_index(self, value: pl.Expr, starts: Sequence[int]) -> pl.Expr:
        inner = starts[1:]
        # Candidates alternate with the bins between them: two series, each of one width.
        for parts in ((inner,), (inner[::2], inner[1::2])):
            widths = [_width(part) for part in parts]
            if None not in widths:
                # The first and the last bin may be cut by the bounds.
                passed = (
                    ((value - part[0]) // width + 1).clip(0, len(part))
                    for part, width in zip(parts, widths, strict=True)
                    if part
                )
                return sum(passed, value * 0)
        bins = pl.lit(pl.Series(inner, dtype=pl.Int64)).search_sorted(
            value.cast(pl.Int64), side="right"
        )
        return pl.when(value.is_not_null()).then(bins.cast(pl.Int64))


def _width(starts: Sequence[int]) -> int | None:
    """The distance from each start to the next, if it is the same for all."""
    # A range of any number of starts has one width.
    ends = (0, starts.step) if isinstance(starts, range) else starts
    widths = {later - earlier for earlier, later in pairwise(ends)} or {1}
    return widths.pop() if len(widths) == 1 else None


def smallest_type(limits: tuple[int, int]) -> pl.DataType:
    """The smallest type of whole numbers that fits the bounds."""
    low, high = limits
    kinds = {pl.Int8(): 1 << 7, pl.Int16(): 1 << 15, pl.Int32(): 1 << 31, pl.Int64(): 1 << 63}
    return next(kind for kind, limit in kinds.items() if -limit <= low and high < limit)


def numeric_columns(items: Iterable[object]) -> tuple[NumericColumn, ...]:
    """The numbers and dates among columns, or among columns and constants."""
    return tuple(item for item in items if isinstance(item, NumericColumn))


def require_numeric(column: object) -> NumericColumn:
    """A column that is known to be numeric; `TypeError` for any other."""
    if not isinstance(column, NumericColumn):
        raise TypeError("this needs a column of numbers or dates")
    return column
