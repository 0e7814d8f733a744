"""Resolves the fields of a statistic to `Inputs`, and checks it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any

from dpcli.data.column import Column, Ranges, ValuedColumn
from dpcli.data.declared_texts import FORMULA_STARTS
from dpcli.data.filters import Filter
from dpcli.data.kinds import Axis
from dpcli.data.steps import MAX_STEPS, require_whole_steps
from dpcli.fields.section import MAX_COLUMNS_TOGETHER, ColumnRole, SectionModel, column_role
from dpcli.fields.statistic_fields import RateModel
from dpcli.fields.tree import (
    Attempt,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    attempt,
    node_at,
    read_all,
    scalars_of,
)
from dpcli.fields.values import AlreadyReportedError
from dpcli.privacy.unit import PersonUnit, Relation, RowUnit
from dpcli.queries.query import MAX_PRODUCT
from dpcli.specification.context import RESERVED_COLUMNS, SpecContext
from dpcli.specification.entry_fields import EntryModel
from dpcli.statistics.design import Design, Inputs
from dpcli.statistics.postprocessing import PostProcessingStep
from dpcli.statistics.statistic import Statistic

if TYPE_CHECKING:
    from dpcli.queries.scores import Points
    from dpcli.statistics.counts.rates import PublicRate
    from dpcli.statistics.public_numbers import PublicNumbers
    from dpcli.statistics.tables.hierarchy import KnownNumbers
    from dpcli.statistics.tables.known import KnownTables

ESTIMATE_COLUMNS = (
    "column",
    "estimate",
    "item",
    "records",
    "value",
    "standard_error",
    "lower",
    "upper",
)
"""The columns of the table of estimates that are not keys."""


def read_keys(section: SectionModel, field: str, context: SpecContext) -> tuple[Axis, ...]:
    """Reads the keys of a list such as `by`."""
    section.require(field)
    seen: set[str] = set()

    def read(item: Node) -> Axis:
        scalar = node_at(item, "column")
        assert isinstance(scalar, ScalarNode)
        if scalar.text in seen:
            raise scalar.span.report("duplicate-key-column", column=scalar.text, field=field)
        seen.add(scalar.text)
        declared = context.columns.get(scalar.text)
        if isinstance(item, ScalarNode) and declared and declared.is_date and declared.unusable:
            # If only bounds were declared, this would be the next error.
            scalar.span.report("missing-bins.days", column=declared.name, kind=declared.kind)
        column = context.groupable_column(scalar, section.subject)
        if column.name in RESERVED_COLUMNS:
            raise scalar.span.report("reserved-name", column=column.name, reserved=RESERVED_COLUMNS)
        bins = item.value("bins") if isinstance(item, MappingNode) else None
        return read_axis(column, bins, scalar)

    listing = section.node.sequence(field)
    return tuple(read_all(read, listing.items if listing else ()))


def read_axis(column: Column, bins: Node | None, scalar: ScalarNode) -> Axis:
    """The axis of a column: the labels of a category, or the bins of a number.

    Without `bins`, each value of a number is a bin, up to `MAX_VALUES_AS_BINS` values.
    """
    if column.name.startswith(FORMULA_STARTS):
        arguments = {"column": column.name, "first": column.name[0]}
        raise scalar.span.report("formula-label.name", **arguments)
    return Axis(column, column.read_starts(bins, scalar))


def with_possible_groups(inputs: Inputs) -> Inputs:
    """The inputs with the groups, bins and cells that a row can be in.

    Private groups stay as they are: only those with rows are counted.
    """
    if not (inputs.by or inputs.bins or inputs.margins):
        return inputs
    from dpcli.data.possible_values import possible_values

    values = possible_values(inputs.where)
    if values is None:
        return inputs
    is_private = any(key.is_private for key in inputs.by)
    return replace(
        inputs,
        by=inputs.by if is_private else tuple(map(values.axis, inputs.by)),
        bins=inputs.bins and values.axis(inputs.bins),
        margins=tuple(map(values.axis, inputs.margins)),
    )


MAX_CANDIDATES = 1_000_001
"""The most candidates: every value of a column of a million steps."""

MAX_CANDIDATES_PER_PRIVATE_GROUP = 10_001
"""The most candidates with private keys, as the number of groups is not known."""

MAX_CELLS, MAX_SCORES = 1_000_000, 2_000_000
MAX_COMBINATIONS = 1 << 58
ROWS, PEOPLE = "rows", "people"
"""The word for the part of a ratio that is the number of rows."""

NOT_INPUTS = ("bound", "unit_bounds", "keys")
"""Fields of statistics on how an entry is bounded or selected, not what it asks."""

COUNTS_INSTEAD = {
    "weight": "omit `weight`",
    "totals": "omit `totals`",
    "bound": "omit `bound`",
    "denominator": "write `denominator: rows`",
    "sizes": "omit `sizes`",
    "between": "write `of: mean`, whose answers count rows",
}
"""What to write so that the answers of an entry with this key count rows."""


class InputsReader:
    """Reads the fields of the statistic of one entry."""

    def __init__(
        self,
        section: EntryModel,
        statistic: Statistic,
        context: SpecContext,
        relation: Relation,
        by: Attempt[tuple[Axis, ...]],
    ) -> None:
        self._section, self._statistic, self._context, self._by = section, statistic, context, by
        self._relation = relation
        self._where: Attempt[tuple[Filter, ...]] = attempt(tuple)
        self._fields: dict[str, Attempt[Any]] = {}
        self._designs: dict[int, tuple[Design, ...]] = {}

    def inputs(self, where: Attempt[tuple[Filter, ...]]) -> Inputs:
        """The inputs of all fields; raises `AlreadyReportedError` if any is invalid."""
        section, fields = self._section, type(self._section).model_fields
        self._where = where
        for key in self._statistic.takes:
            if key not in NOT_INPUTS:
                self._fields[key] = attempt(self._field, key, column_role(fields[key]))
        values = {key: read.value for key, read in self._fields.items()}
        section.require("name", *self._statistic.takes)
        named = Inputs(section.name, by=self._by.value, where=where.value)
        inputs = replace(named, sample=self._context.sample)
        complete = with_possible_groups(self._statistic.complete_inputs(inputs, values))
        if self._statistic.counts_blanks:
            self._context.blank_answers.update(column.name for column in complete.checked)
        return complete

    def designs(self, inputs: Inputs) -> tuple[Design, ...]:
        """The designs for inputs; a second call returns the first result."""
        if id(inputs) not in self._designs:
            self._designs[id(inputs)] = self._statistic.designs(inputs, self._relation)
        return self._designs[id(inputs)]

    def by_rows(
        self, inputs: Inputs, steps: Sequence[PostProcessingStep]
    ) -> tuple[tuple[Design, ...], tuple[PostProcessingStep, ...]]:
        """The designs and the steps, by which numbers of small groups are left out."""
        statistic, section = self._statistic, self._section
        found = tuple(one if statistic.measure == "counts" else one.of_groups() for one in steps)
        if not any(step.needs_rows for step in found):
            return self.designs(inputs), found
        if counting := statistic.designs_with_rows(inputs, self._relation):
            return counting, found
        instead = next(
            (f"{text}, or " for key, text in COUNTS_INSTEAD.items() if section.has(key)), ""
        )
        raise section.report_key("step-not-taken.rows", "post", instead=instead)

    def _field(self, key: str, role: ColumnRole | None) -> Any:
        """The value of a field, with names of columns, bins and candidates resolved."""
        value, node = getattr(self._section, key), self._section.node.value(key)
        if role is None:
            return self._plain(key, value)
        match role.refers_to:
            case "column" if isinstance(node, ScalarNode):
                return self._column(node, role)
            case "labels" if node:
                return self._labels(key, self._fields["column"].value, scalars_of(node))
            case "part" if isinstance(node, ScalarNode):
                return self._part(node, role)
            case "between" | "hierarchy" | "known" | "rate" | "sizes" if node:
                # A rate has a model of its own.
                readers: dict[str, Callable[[], Any]] = {
                    "known": self._known, "between": self._between, "sizes": self._sizes,
                    "hierarchy": lambda: tuple(
                        read_all(self._context.hierarchy, scalars_of(node))
                    ),
                }  # fmt: skip
                return readers.get(role.refers_to, lambda: self._rate(value))()
            case "columns" if node:
                return self._columns(key, scalars_of(node), role)
            case "axes":
                return self._axes(key)
            case "bins":
                return self._bins(self._fields["column"].value)
            case "candidates":
                return self._candidates(self._fields["column"].value, key if node else "column")
        return value

    def _plain(self, key: str, value: Any) -> Any:
        """The value of a field that refers to nothing."""
        if key == "level_shares" and value and self._section.node.value("hierarchy") is None:
            raise self._section.report_key("hierarchy-entry.none", key)
        # That an entry is about people is no field of its statistic.
        return None if (key, value) == ("of", "people") else value

    def _column(self, scalar: ScalarNode, role: ColumnRole) -> Column:
        column = self._context.columns.get(scalar.text)
        if self._statistic.selects_labels and column is not None and column.is_private:
            return column
        return self._context.column_of_kind(
            scalar, self._section.subject, role.kinds, self._section.what, values=True
        )

    def _labels(
        self, key: str, column: ValuedColumn | None, scalars: Sequence[ScalarNode]
    ) -> Ranges:
        from dpcli.data.conditions import read_positions

        if column is None:
            raise self._section.report_key("comparison-form.column", key)
        return read_positions(column, scalars)

    def _between(self) -> Axis:
        from dpcli.specification.compared_groups import read_groups

        return read_groups(self._section, self._context, self._by.value, self._where.value)

    def _known(self) -> KnownNumbers | KnownTables:
        from dpcli.specification.hierarchies import read_known
        from dpcli.specification.public_numbers import keys_of, read_known_tables

        key, node = self._section.node.pairs["known"]
        read = {name: field.value for name, field in self._fields.items()}
        if hierarchies := read.get("hierarchy"):
            return read_known(key, node, hierarchies, self._context)
        bins = [read["bins"]] if "bins" in read else []
        axes = (*self._by.value, *bins, *read.get("columns", ()))
        if private := next((axis.column.name for axis in axes if axis.is_private), None):
            raise self._section.report_key("values-required.groups", "by", column=private)
        return read_known_tables(key, node, keys_of(axes), self._context)

    def _rate(self, rate: RateModel) -> PublicRate:
        from dpcli.specification.public_numbers import read_rate

        rate.require()
        return read_rate(rate, self._by.value, self._section, self._context)

    def _sizes(self) -> PublicNumbers:
        from dpcli.specification.public_numbers import read_sizes

        between = self._fields.get("between")
        axes = (*self._by.value, *((between.value,) if between else ()))
        return read_sizes(axes, self._section, self._context)

    def _part(self, scalar: ScalarNode, role: ColumnRole) -> Column | None:
        """The column of a part of a ratio; None for the number of rows, or of people."""
        if scalar.text not in (ROWS, PEOPLE):
            return self._column(scalar, role)
        if scalar.text in self._context.columns:
            raise scalar.span.report("ratio-parts.rows", word=scalar.text)
        if (scalar.text == PEOPLE) != (getattr(self._section, "of", None) == PEOPLE):
            raise scalar.span.report("ratio-parts.people", word=scalar.text)
        return None

    def _columns(
        self, key: str, scalars: Sequence[ScalarNode], role: ColumnRole
    ) -> tuple[Column, ...]:
        seen: set[str] = set()

        def read(scalar: ScalarNode) -> Column:
            column = attempt(self._column, scalar, role)
            if scalar.text in seen:
                raise scalar.span.report("column-twice", column=scalar.text, key=key)
            seen.add(scalar.text)
            return column.value

        columns = read_all(read, scalars)
        self._require_few(key, len(columns), role.min_columns, role.max_columns)
        return tuple(columns)

    def _require_few(
        self, key: str, count: int, min_columns: int, max_columns: int = MAX_COLUMNS_TOGETHER
    ) -> None:
        if not min_columns <= count <= max_columns:
            arguments = {"key": key, "count": count, "least": min_columns, "most": max_columns}
            raise self._section.report_key("columns-count", key, **arguments)

    def _axes(self, key: str) -> tuple[Axis, ...]:
        axes = read_keys(self._section, key, self._context)
        self._require_few(key, len(axes), 1)
        grouped = [key_of_by.column.name for key_of_by in self._by.value]
        for axis in axes:
            name = axis.column.name
            if name in grouped or axis.is_private:
                code = "values-required" if axis.is_private else "duplicate-key-column.both"
                raise self._section.report_key(code, key, column=name, key=key)
        return axes

    def _bins(self, column: ValuedColumn) -> Axis:
        section, scalar = self._section, self._section.node.scalar("column")
        assert scalar is not None
        # Bins begin and end at the bounds, which are not known yet.
        self._context.column(scalar)
        axis = read_axis(column, section.node.value("bins"), scalar)
        if any(key.column is column for key in self._by.value):
            raise section.report("duplicate-key-column.both", "column", column=column.name)
        return axis

    def _candidates(self, column: Column, key: str) -> Points:
        listed = self._section.node.value("candidates")
        if isinstance(listed, SequenceNode) and column.name in self._context.chosen:
            raise self._section.report_key("bounds-chosen", "candidates", column=column.name)
        points = column.read_candidates(listed)
        private = any(group_key.is_private for group_key in self._by.value)
        limit = MAX_CANDIDATES_PER_PRIVATE_GROUP if private else MAX_CANDIDATES
        if len(points) > limit:
            count = len(points)
            raise self._section.report_key("too-many-candidates", key, count=count, most=limit)
        return points

    def require_consistent(self, inputs: Inputs, steps: Sequence[PostProcessingStep]) -> None:
        """Checks that fields and steps fit together, and inputs are within limits.

        Raises `AlreadyReportedError` after the problems are recorded.
        """
        section, context, statistic = self._section, self._context, self._statistic
        faults = [fault for fault in statistic.unused(inputs) if section.has(fault.key)]
        faults += (
            *statistic.faults(inputs, self._relation), *statistic.step_faults(inputs, steps)
        )  # fmt: skip
        for fault in faults:
            report = section.report if fault.at_value else section.report_key
            report(fault.code, fault.key, **fault.arguments)
        if statistic.counts_people and inputs.column is None and isinstance(context.unit, RowUnit):
            raise section.report("nobody-to-count")
        if faults:
            raise AlreadyReportedError
        numbers, scores = count_numbers_and_scores(statistic, inputs)
        for code, unit, count, limit in (
            ("too-many-cells.joint", "", _count_combinations(inputs), MAX_COMBINATIONS),
            ("too-many-cells", "cells", numbers, MAX_CELLS),
            ("too-many-cells", "scores of candidates", scores, MAX_SCORES),
        ):
            if count > limit:
                raise section.report(code, items=unit, count=count, most=limit)
        if statistic.chooses:
            return
        items = statistic.items(inputs) if inputs.columns or inputs.margins else ()
        if len(set(items)) < len(items):
            raise section.report("ambiguous-items")
        for weighted in self.designs(inputs)[0].queries:
            if weighted.query.largest_product >= MAX_PRODUCT:
                raise section.report("grid-too-fine.product")

    def with_bounds(self, inputs: Inputs) -> tuple[Inputs, Inputs | None]:
        """The inputs with the declared contribution bounding, and with the other one.

        Bounds are on single rows, or on the total of all rows of a person. The second inputs are
        None if the other bounding is not possible.
        """
        section = self._section
        if "bound" not in self._statistic.takes:
            return inputs, None
        fields: Any = section  # The model of the statistic has both.
        bound, limits = fields.bound, fields.unit_bounds
        if isinstance(self._relation.unit, PersonUnit) and self._relation.unit.of_people:
            for key in ("bound", "unit_bounds"):
                if getattr(fields, key) is not None:
                    raise section.report_key("limit-of-people", key, key=key)
            return inputs, None
        clamp = None if limits is None else self._clamp(inputs, limits)
        if bound is None and clamp is not None:
            raise section.report_key("bound-required", "unit_bounds")
        if bound is not None and isinstance(self._context.unit, RowUnit):
            raise section.report_key("bound-needs-person", "bound", bound=bound)
        if bound == "sum" and clamp is None:
            raise section.report_key("unit-bounds-required", "bound")
        if clamp is None:
            return inputs, None
        summed = replace(inputs, user_clamp=clamp)
        return (summed, inputs) if bound == "sum" else (inputs, summed)

    def _clamp(self, inputs: Inputs, bounds: Sequence[Fraction]) -> tuple[int, int]:
        """The `unit_bounds` on the total of one person, in steps of the answer."""
        step = self._statistic.step(inputs)
        scalars = scalars_of(self._section.node.value("unit_bounds"))

        def read(side: tuple[Fraction, ScalarNode, str]) -> int:
            bound, scalar, name = side
            return require_whole_steps(bound / step, step, scalar, f"the {name} bound")

        low, high = read_all(read, zip(bounds, scalars, ("lower", "upper"), strict=True))
        if low < high and max(abs(low), abs(high)) < MAX_STEPS:
            return low, high
        code = "grid-too-fine" if low < high else "bounds-order.unit_bounds"
        arguments = {"name": "`unit_bounds`", "step": str(step)}
        raise self._section.report_key(code, "unit_bounds", **arguments)


def _count_combinations(inputs: Inputs) -> int:
    """How many combinations of cells, missing ones included, the engine may see."""
    hierarchies = dict(inputs.options).get("hierarchy") or ()
    axes = [
        *inputs.by,
        *inputs.margins,
        *(hierarchy.axis for hierarchy in hierarchies),
        *([inputs.bins] if inputs.bins else []),
    ]
    sizes = [len(key) for key in axes if not key.is_private]
    columns = (inputs.column, inputs.label)
    sizes += [len(column.labels) for column in columns if column is not None and column.labels]
    return prod(size + 1 for size in sizes) * (2 * len(inputs.candidates) + 3)


def count_numbers_and_scores(statistic: Statistic, inputs: Inputs) -> tuple[int, int]:
    """The counts of numbers that an entry publishes and of candidate scores it needs.

    With private keys, both are counted for each private group.
    """
    groups = prod(len(key) for key in inputs.by if not key.is_private)
    return groups * statistic.item_count(inputs), groups * len(inputs.candidates)
