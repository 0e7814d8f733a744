"""What the readers of all sections share: columns by name, numbers in steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from fractions import Fraction
from math import floor
from pathlib import Path

from dpcli.data.column import Column, ValuedColumn
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.labels import IdColumn, PrivatePartitionColumn
from dpcli.fields.section import SectionModel
from dpcli.fields.tree import Findings, MappingNode, ScalarNode, Span, scalars_of
from dpcli.fields.values import AlreadyReportedError, NumberSyntaxError, parse_number
from dpcli.numeric.exact import readable_text
from dpcli.privacy.accounting.composition import Composition
from dpcli.privacy.unit import Neighbors, Relation, RowUnit, Unit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.messages import quote
from dpcli.specification.model import Caption, SpecFile
from dpcli.statistics.bounds.chosen_bounds import BoundsChoice, bounds_name
from dpcli.statistics.design import SampleDesign


@dataclass
class SpecContext:
    """What the readers of all sections share: columns, privacy settings, problems.

    A column with a wrong declaration is None, and readers that use it report nothing more. Without
    the section `columns`, `declared` is false, and names of unknown columns report nothing. `later`
    are the derived columns that have not been read yet. `sample` is how the rows were drawn.

    `names` are the names of the statistics read so far. `reserved_names` cannot be names of
    statistics; each value says what has the name. `files` are the files in `folder` that the spec
    names; none of them may be among the `data` of the command. `captions` are the stated captions
    of columns. In the columns of `blank_answers`, a blank cell is an answer. `choices` has each
    choice of bounds or of the limit on rows per person, and its place in the spec, by the name of
    the histogram.
    """

    findings: Findings
    folder: Path = Path()
    declared: bool = True
    columns: dict[str, Column | None] = field(default_factory=dict)
    later: set[str] = field(default_factory=set)
    spans: dict[str, Span] = field(default_factory=dict)
    unit: Unit | None = None
    neighbors: str = ""
    composition: Composition | None = None
    sample: SampleDesign | None = None
    names: dict[str, Span] = field(default_factory=dict)
    reserved_names: dict[str, str] = field(default_factory=dict)
    files: list[SpecFile] = field(default_factory=list)
    data: Sequence[str] = ()
    decimal: str = "."
    captions: dict[str, Caption] = field(default_factory=dict)
    blank_answers: set[str] = field(default_factory=set)
    choices: dict[str, tuple[BoundsChoice, Span]] = field(default_factory=dict)

    @property
    def relation(self) -> Relation:
        """The neighboring relation; missing or wrong parts default to rows, add-remove."""
        neighbors = Neighbors(self.neighbors) if self.neighbors else Neighbors.ADD_REMOVE
        return Relation(self.unit or RowUnit(), neighbors)

    def declared_name(self, scalar: ScalarNode) -> str:
        """The name in a scalar, if a column of this name is declared, even with problems."""
        if scalar.text in self.columns:
            return scalar.text
        if self.declared:
            code = "unknown-column.later" if scalar.text in self.later else "unknown-column"
            scalar.span.report(code, word=scalar.text, choices=self.columns)
        raise AlreadyReportedError

    def column(self, scalar: ScalarNode, *, values: bool = False) -> Column:
        """The declared column that a scalar names.

        Where noisy counts choose its bounds, only a statistic may use the column, for its `values`.
        """
        column = self.columns[self.declared_name(scalar)]
        if column is None:
            raise AlreadyReportedError
        if bounds_name(column.name) in self.choices and not values:
            raise scalar.span.report("bounds-chosen", column=column.name)
        return column

    def groupable_column(
        self, scalar: ScalarNode, subject: str, *, values: bool = False
    ) -> ValuedColumn | PrivatePartitionColumn:
        """The column that a scalar names, if rows may be grouped by it."""
        column = self.column(scalar, values=values)
        if not isinstance(column, ValuedColumn | PrivatePartitionColumn):
            raise scalar.span.report("id-column", column=scalar.text)
        if isinstance(column, NumericColumn) and column.bounds is None:
            arguments = {"column": column.name, "example": column.bounds_example}
            span = self.spans[column.name]
            raise span.report_and_suppress(column.unusable, subject=subject, **arguments)
        return column

    def valued_column(
        self, scalar: ScalarNode, subject: str, *, values: bool = False
    ) -> ValuedColumn:
        """The column that a scalar names, if a statistic may read its values."""
        column = self.groupable_column(scalar, subject, values=values)
        if isinstance(column, PrivatePartitionColumn):
            span = self.spans[column.name]
            raise span.report("values-required", column=column.name, subject=subject)
        return column

    def column_of_kind(
        self,
        scalar: ScalarNode,
        subject: str,
        kinds: Sequence[str],
        needed_by: str,
        *,
        values: bool = False,
    ) -> Column:
        """The column that a scalar names, if its kind is one that `needed_by` needs."""
        column = self.column(scalar, values=values)
        if not (isinstance(column, IdColumn) and "id" in kinds):
            column = self.valued_column(scalar, subject, values=values)
        if column.kind not in kinds:
            arguments = {
                "column": scalar.text,
                "kind": column.kind,
                "kinds": kinds,
                "who": needed_by,
                "other": "another statistic",
            }
            raise scalar.span.report(column.wrong_type, **arguments)
        return column


MAX_STEPS = 2**62
"""Bounds stay below this limit, so that every value fits 64 bits."""


def read_number(
    scalar: ScalarNode, name: str, read: Callable[[str], Fraction | int] = parse_number
) -> Fraction:
    """The number or day in a scalar, as `read` parses it; messages call it `name`."""
    try:
        return Fraction(read(scalar.text))
    except NumberSyntaxError as failure:
        arguments = {"found": quote(scalar.text), "advice": failure.advice}
        raise scalar.span.report(failure.code, name=name, **arguments) from None


def read_in_steps(column: NumericColumn, scalar: ScalarNode, name: str) -> Fraction:
    """The number or day in a scalar, in steps of a column; perhaps not a whole one."""
    return read_number(scalar, name, column.parse) / column.step


def read_on_grid(column: NumericColumn, scalar: ScalarNode, name: str) -> int:
    """The number or day in a scalar, in whole steps of a column."""
    return require_whole_steps(read_in_steps(column, scalar, name), column.step, scalar, name)


def read_within_bounds(column: NumericColumn, scalar: ScalarNode, name: str) -> int:
    """The number or day in a scalar, in whole steps, within the bounds of a column."""
    steps = read_on_grid(column, scalar, name)
    if column.lower <= steps <= column.upper:
        return steps
    low, high = map(column.text, column.limits)
    raise scalar.span.report("out-of-bounds", name=name, found=scalar.shown, low=low, high=high)


def require_whole_steps(steps: Fraction, step: Fraction, scalar: ScalarNode, name: str) -> int:
    """A number of steps as an integer; the problem names the nearest whole numbers."""
    if steps.denominator == 1:
        return steps.numerator
    below, above = (readable_text((floor(steps) + side) * step) for side in (0, 1))
    arguments = {"value": scalar.text, "step": readable_text(step), "below": below, "above": above}
    raise scalar.span.report("off-grid", name=name, **arguments)


def bounds_in_steps(
    section: SectionModel, bounds: Sequence[Fraction], step: Fraction
) -> tuple[int, int]:
    """Bounds in whole steps that fit 64 bits; other bounds are a problem."""
    low, high = (bound / step for bound in bounds)
    if low.denominator == high.denominator == 1:
        largest = max(abs(low), abs(high))
        if largest < MAX_STEPS:
            return low.numerator, high.numerator
        factor = 1
        while largest / factor >= MAX_STEPS:
            factor *= 10
        fits = (low / factor).denominator == (high / factor).denominator == 1
        code = "grid-too-fine.step" if fits else "grid-too-fine"
        arguments = {"larger": readable_text(step * factor), "name": "the bounds"}
        raise section.report(code, "bounds", step=readable_text(step), **arguments)
    near = [floor(bound + Fraction(1, 2)) * step for bound in (low, high)]
    fine = _dividing_power_of_ten(step, *bounds)
    ways = []
    if near[0] != near[1]:
        ways.append(f"`bounds: [{readable_text(near[0])}, {readable_text(near[1])}]`")
    if not ways or getattr(section, "type", "") != "integer" or fine >= 1:
        ways.append(f"`step: {readable_text(fine)}`")
    side = 0 if low.denominator != 1 else 1
    arguments = {"which": ("lower", "upper")[side], "ways": " or ".join(ways)}
    raise section.report("off-grid.bound", "bounds", side, step=readable_text(step), **arguments)


def proposed_step(node: MappingNode) -> str:
    """The step that a message proposes: it divides the range into 1,000 or more."""
    try:
        low, high = (parse_number(scalar.text) for scalar in scalars_of(node.value("bounds")))
    except ValueError:
        return "0.01"
    if low >= high:
        return "0.01"
    step = Fraction(1)
    while step * 10000 <= high - low:
        step *= 10
    while step * 1000 > high - low:
        step /= 10
    return readable_text(_dividing_power_of_ten(step, low, high))


def _dividing_power_of_ten(step: Fraction, low: Fraction, high: Fraction) -> Fraction:
    """The largest power of ten up to `step` that divides both bounds."""
    power = Fraction(1)
    while power * 10 <= step:
        power *= 10
    while power > step or (low / power).denominator != 1 or (high / power).denominator != 1:
        power /= 10
    return power
