"""The columns that a spec declares, by name, while it is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from dpcli.data.column import Column, ValuedColumn
from dpcli.fields.tree import ScalarNode, Span
from dpcli.fields.values import AlreadyReportedError
from dpcli.problems.light_dataclasses import dataclass


@dataclass
class DeclaredColumns:
    """Columns by name, and where they are declared.

    A column with a wrong declaration is None, and readers that use it report nothing more. Without
    the section `columns`, `declared` is false, and names of unknown columns report nothing. `later`
    are the derived columns that have not been read yet. Noisy counts choose the bounds of the
    columns in `chosen`.
    """

    declared: bool = True
    columns: dict[str, Column | None] = field(default_factory=dict)
    later: set[str] = field(default_factory=set)
    spans: dict[str, Span] = field(default_factory=dict)
    chosen: set[str] = field(default_factory=set)

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
        if column.name in self.chosen and not values:
            raise scalar.span.report("bounds-chosen", column=column.name)
        return column

    def groupable_column(self, scalar: ScalarNode, subject: str, *, values: bool = False) -> Column:
        """The column that a scalar names, if rows may be grouped by it."""
        column = self.column(scalar, values=values)
        if column.is_id:
            raise scalar.span.report("id-column", column=scalar.text)
        if column.unusable:
            arguments = {"column": column.name, "example": column.bounds_example}
            span = self.spans[column.name]
            raise span.report_and_suppress(column.unusable, subject=subject, **arguments)
        return column

    def valued_column(
        self, scalar: ScalarNode, subject: str, *, values: bool = False
    ) -> ValuedColumn:
        """The column that a scalar names, if a statistic may read its values."""
        column = self.groupable_column(scalar, subject, values=values)
        if not isinstance(column, ValuedColumn):
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
        if not (column.is_id and "id" in kinds):
            column = self.valued_column(scalar, subject, values=values)
        if column.kind not in kinds:
            arguments = {
                "column": scalar.text,
                "kind": column.kind,
                "kinds": kinds,
                "who": needed_by,
                "other": "another statistic",
            }
            ends = column.bound_texts if {"category", "boolean"} <= {*kinds} else None
            if ends:
                raise scalar.span.report("wrong-column-type.condition", most=ends[1], **arguments)
            raise scalar.span.report(column.wrong_type, **arguments)
        return column
