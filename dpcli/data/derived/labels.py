"""Labels that are computed from other cells: bands, first labels, and conditions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, ClassVar

from pydantic import Field

from dpcli.data.column import (
    Column,
    Derivation,
    Names,
    Ranges,
    RangesOf,
    ValuedColumn,
    common_ranges,
    merged_ranges,
)
from dpcli.data.conditions import read_where
from dpcli.data.declared_columns import DeclaredColumns
from dpcli.data.derived.declared import (
    DeclaredDerivation,
    DerivedSection,
    LabelSection,
    TruthSection,
    category_column,
    valued,
)
from dpcli.data.filters import AllOf, Filter
from dpcli.data.grid_columns import NumericColumn, require_numeric
from dpcli.data.kinds import Axis
from dpcli.data.labels import BOOLEAN_LABELS, BooleanColumn, CategoryColumn, LabeledColumn
from dpcli.data.polars_text import pl
from dpcli.fields.statistic_fields import ORDERED
from dpcli.fields.values import Fields, GridNumber, Text
from dpcli.problems.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bands(DeclaredDerivation):
    """Bands of a numeric column or a date: a category that many statistics can use.

    The value is the index among bins that begin at `starts`, in steps of the column.
    """

    column: NumericColumn
    starts: tuple[int, ...]

    key = "bands"
    fields: ClassVar[Fields] = {
        "bands": Text,
        "width": GridNumber | None,
        "edges": Annotated[list[Text], Field(min_length=2)] | None,
    }
    section: ClassVar[type[DerivedSection]] = LabelSection

    @classmethod
    def declared(cls, name: str, section: Any, context: DeclaredColumns) -> Column:
        """The column, a category whose labels are those of the bins unless declared."""
        scalar = section.node.scalar("bands")
        column = require_numeric(valued(scalar, section, context, ORDERED))
        if section.has("width") == section.has("edges"):
            found = "both" if section.has("width") else "neither"
            raise section.report_key("bins-form", "bands", key="bands", found=found)
        starts = column.read_bins(section.node)
        return category_column(name, section, cls(column, starts), Axis(column, starts).labels)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return (self.column,)

    @property
    def text(self) -> str:
        return f"bands of {self.column.name}"

    def value(self, names: Names) -> pl.Expr:
        # The last start that is not above the value; missing cells stay null.
        value, starts = pl.col(names[self.column]), pl.Series(self.starts, dtype=pl.Int64)
        index = pl.lit(starts).search_sorted(value.cast(pl.Int64), side="right")
        return pl.when(value.is_not_null()).then(index.cast(pl.Int64) - 1)

    def possible(self, ranges_of: RangesOf) -> Ranges:
        at = partial(bisect_right, self.starts)
        return merged_ranges((at(low) - 1, at(high) - 1) for low, high in ranges_of(self.column))

    def implied(self, ranges: Ranges) -> Mapping[ValuedColumn, Ranges]:
        starts = [*self.starts, self.column.upper + 1]
        return {self.column: tuple((starts[low], starts[high + 1] - 1) for low, high in ranges)}


@dataclass(frozen=True, slots=True)
class FirstLabel(Derivation):
    """The first label that is not missing, of categories or booleans with any labels."""

    columns: tuple[LabeledColumn, ...]

    def named(self, name: str, section: Any) -> Column:
        """The derived column: a boolean if all are, else a category."""
        for key in ("bounds", "step"):
            if section.has(key):
                raise section.report_key("derived-form.unneeded", key, key=key, kind="labels")
        kinds = set(map(type, self.columns))
        column_class = BooleanColumn if kinds == {BooleanColumn} else CategoryColumn
        return category_column(name, section, self, self.labels, column_class)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return tuple(dict.fromkeys(self.columns))

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels, in the order in which they are declared."""
        return tuple(dict.fromkeys(label for column in self.columns for label in column.labels))

    @property
    def text(self) -> str:
        names = ", ".join(column.name for column in self.columns)
        return f"the first of {names} that is not missing"

    def value(self, names: Names) -> pl.Expr:
        labels = {label: index for index, label in enumerate(self.labels)}
        return pl.coalesce(
            pl.col(names[column]).replace_strict(
                list(range(len(column.labels))),
                [labels[label] for label in column.labels],
                return_dtype=pl.Int64,
            )
            for column in self.columns
        )


@dataclass(frozen=True, slots=True)
class Satisfies(DeclaredDerivation):
    """A boolean: whether conditions hold. It is missing where they are unknown."""

    test: Filter

    key = "is"
    fields: ClassVar[Fields] = {"is": Annotated[dict[str, Any], Field(min_length=1)]}
    section: ClassVar[type[DerivedSection]] = TruthSection

    @classmethod
    def declared(cls, name: str, section: Any, context: DeclaredColumns) -> Column:
        tests = read_where(section, context, cls.key)
        test = tests[0] if len(tests) == 1 else AllOf(tests)
        return category_column(name, section, cls(test), BOOLEAN_LABELS, BooleanColumn)

    @property
    def inputs(self) -> tuple[Column, ...]:
        return self.test.columns

    @property
    def text(self) -> str:
        return self.test.text

    @property
    def misled_by_clamped(self) -> bool:
        return any(test.misled_by for test in self.test.single_tests)

    def value(self, names: Names) -> pl.Expr:
        return self.test.truth(names).cast(pl.Int8)

    def possible(self, ranges_of: RangesOf) -> Ranges:
        return tuple(
            (outcome, outcome)
            for outcome in (0, 1)
            if (implied := self.test.implied(outcome=bool(outcome))) is not None
            and all(common_ranges(ranges_of(column), implied[column]) for column in implied)
        )

    def implied(self, ranges: Ranges) -> Mapping[ValuedColumn, Ranges] | None:
        outcomes = [outcome for outcome in (0, 1) if common_ranges(ranges, ((outcome, outcome),))]
        return {} if len(outcomes) > 1 else self.test.implied(outcome=outcomes == [1])
