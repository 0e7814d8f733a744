"""`ColumnModel`: what every type of column states, also the options it takes."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from pydantic import Field, create_model

from dpcli.data.column import Column
from dpcli.data.formats import DECIMALS
from dpcli.fields.section import SectionModel
from dpcli.fields.tree import MappingNode
from dpcli.specification.captions import Title
from dpcli.specification.context import SpecContext

TEXT_SCHEMA = {"type": ["string", "number", "boolean"]}


class ColumnModel(SectionModel):
    """The declaration of a column; each type is a subclass, listed in `COLUMN_TYPES`.

    `column_class` is the class of the column, which lists its options; `taking_options` adds a
    field for each of them.
    """

    kind: ClassVar[str]
    column_class: ClassVar[type[Column]]
    title: Title | None = None

    @property
    def what(self) -> str:
        return f"{'an' if self.kind.startswith('i') else 'a'} `{self.kind}` column"

    @classmethod
    def completed(cls, node: MappingNode, context: SpecContext) -> MappingNode:  # noqa: ARG003
        """The declaration with what it names in a file; raises `AlreadyReportedError`."""
        return node

    def column(self, name: str) -> Column:
        """The declared column without options; `AlreadyReportedError` if it has problems."""
        raise NotImplementedError

    def with_options(self, column: Column, decimal: str) -> Column:
        """The column with the declared options, which may have problems with each other.

        `decimal` is the decimal mark of columns without their own.
        """
        values = {kind: getattr(self, kind.field or kind.key) for kind in self.column_class.takes}
        options = [kind.stated(value) for kind, value in values.items() if value is not None]
        for option in options:
            column = option.applied(column)
        # Cells are compared with marks and texts before decimal marks are exchanged.
        if decimal != DECIMALS[0] and column.options:
            from dpcli.data.number_options import Decimal

            if Decimal in values:
                column = column.with_options(column.option(Decimal) or Decimal(decimal))
        for option in options:
            option.require_fit(column, self)
        return column


M = TypeVar("M", bound=ColumnModel)


def taking_options(model: type[M]) -> type[M]:
    """The model with a field for each option that its column takes."""
    fields: Any = {
        option.field or option.key: (
            option.value_type | None,
            Field(
                None,
                alias=option.key if option.field else None,
                description=" ".join((option.__doc__ or "").split()),
            ),
        )
        for option in model.column_class.takes
    }
    bases: Any = model, create_model("Options", __base__=model.__base__, **fields)
    extended: type[M] = create_model(model.__name__, __base__=bases, __doc__=model.__doc__)
    return extended
