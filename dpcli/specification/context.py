"""What the readers of all sections share, and how they resolve names of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

from dpcli.data.column import Column, ValuedColumn
from dpcli.data.ids import IdColumn, PrivatePartitionColumn
from dpcli.data.numeric import NumericColumn
from dpcli.fields.tree import Findings, ScalarNode, Span
from dpcli.fields.values import AlreadyReportedError
from dpcli.privacy.accounting.composition import Composition
from dpcli.privacy.neighboring import Neighbors, Relation
from dpcli.privacy.unit import RowUnit, Unit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.reference import variant_code
from dpcli.specification.model import Caption, SpecFile
from dpcli.statistics.bounds.choice import BoundsChoice, bounds_name
from dpcli.statistics.sampling import SampleDesign


@dataclass
class SpecContext:
    """What the readers of all sections share: columns, privacy settings, problems.

    A column with a wrong declaration is None, and its uses report nothing more. Without the section
    `columns`, `declared` is false, and names of columns report nothing. `names` are the names of
    statistics so far. `reserved_names` cannot be names of statistics; their values say what has
    each of them. `sample` is how the rows were drawn. `later` are the derived columns that have not
    been read. `files` are those in `folder` that the spec names. `captions` are
    those of columns that state one. In the columns of `blank_answers`, a blank cell is an answer.
    `choices` say how bounds and the limit on rows per person are chosen, by the name of the
    histogram, and where the spec says it.
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
    decimal: str = "."
    captions: dict[str, Caption] = field(default_factory=dict)
    blank_answers: set[str] = field(default_factory=set)
    choices: dict[str, tuple[BoundsChoice, Span]] = field(default_factory=dict)

    @property
    def relation(self) -> Relation:
        """The neighboring relation, with defaults for what is missing or wrong."""
        neighbors = Neighbors(self.neighbors) if self.neighbors else Neighbors.ADD_REMOVE
        return Relation(self.unit or RowUnit(), neighbors)

    def declared_name(self, scalar: ScalarNode) -> str:
        """The name of a column that is declared, perhaps with problems."""
        if scalar.text in self.columns:
            return scalar.text
        if self.declared:
            code = "unknown-column.later" if scalar.text in self.later else "unknown-column"
            scalar.span.report(code, word=scalar.text, choices=self.columns)
        raise AlreadyReportedError

    def column(self, scalar: ScalarNode, *, values: bool = False) -> Column:
        """The declared column of that name.

        Columns whose bounds are chosen are for statistics, which read their `values` alone.
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
        """The column of that name if rows may be grouped by it."""
        column = self.column(scalar, values=values)
        if not isinstance(column, ValuedColumn | PrivatePartitionColumn):
            raise scalar.span.report("id-column", column=scalar.text)
        if isinstance(column, NumericColumn) and column.bounds is None:
            code, span = variant_code("missing-bounds", column.kind), self.spans[column.name]
            raise span.report_and_suppress(code, column=column.name, subject=subject)
        return column

    def valued_column(
        self, scalar: ScalarNode, subject: str, *, values: bool = False
    ) -> ValuedColumn:
        """The column of that name if a statistic may read its values."""
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
        """The column of that name if it is of one of the `kinds` that `needed_by` needs."""
        column = self.column(scalar, values=values)
        if not (isinstance(column, IdColumn) and "id" in kinds):
            column = self.valued_column(scalar, subject, values=values)
        if column.kind not in kinds:
            arguments = {
                "column": scalar.text,
                "kind": column.kind,
                "kinds": kinds,
                "who": needed_by,
            }
            raise scalar.span.report(column.wrong_type, **arguments)
        return column
