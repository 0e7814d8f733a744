"""Reads the section `period`: which rows are of the period of a release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, cast

from dpcli.fields.section import SectionModel
from dpcli.fields.values import Text
from dpcli.privacy.unit import Relation
from dpcli.specification.context import SpecContext

if TYPE_CHECKING:
    from dpcli.data.dates import DateColumn


class PeriodModel(SectionModel):
    """Which rows are of the period of a release: those whose day lies in it."""

    missing_lines: ClassVar[Mapping[str, str]] = {
        "column": "`column: NAME`: the date of a row, which must lie in the period of a release"
    }

    column: Text

    def resolved(self, context: SpecContext, relation: Relation) -> DateColumn:
        """The column of the days; `AlreadyReportedError` after its problems are recorded."""
        self.require()
        scalar = self.node.scalar("column")
        assert scalar is not None
        column = context.column(scalar)
        if not column.has_days:
            raise scalar.span.report("period-column", column=column.name)
        if relation.size_is_public:
            # Rows may be removed only if that says nothing about a public size.
            raise self.report_key("period-public-size", "column")
        return cast("DateColumn", column)
