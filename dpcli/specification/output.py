"""Reads the section `output`: what published tables look like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from dpcli.fields.section import SectionModel
from dpcli.fields.values import Choice, invalid_value
from dpcli.statistics.columns import OPTIONAL_COLUMNS, TableColumn

COLUMN_NAMES = tuple(column.name for column in OPTIONAL_COLUMNS)

ColumnName = Annotated[str, Choice("unknown-choice", COLUMN_NAMES)]


def _require_distinct_columns(names: list[str]) -> list[str]:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise invalid_value("column-twice", path=(index,), column=name)
    return names


class OutputModel(SectionModel):
    """Further columns of the published tables, and how bins are written."""

    missing_lines: ClassVar[Mapping[str, str]] = {
        "columns": f"`columns: [{', '.join(COLUMN_NAMES)}]`: the columns that are added"
    }

    columns: (
        Annotated[
            list[ColumnName],
            AfterValidator(_require_distinct_columns),
            Field(min_length=1, json_schema_extra={"uniqueItems": True}),
        ]
        | None
    ) = None
    bins: Annotated[str, Choice("unknown-choice", ("dashes", "words"))] | None = None

    def resolved(self) -> tuple[TableColumn, ...]:
        """The columns in the order of the table."""
        self.require()
        if self.columns is None and self.bins is None:
            line = self.missing_lines["columns"]
            arguments = {"owner": "`output`", "key": "columns", "line": line}
            raise self.node.span.report("missing-field", **arguments)
        return tuple(column for column in OPTIONAL_COLUMNS if column.name in (self.columns or ()))
