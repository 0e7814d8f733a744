"""The sections by which a spec declares columns: own fields, and options."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, Literal

from pydantic import Field, create_model

from dpcli.data.column import Column
from dpcli.data.declared_texts import Title
from dpcli.data.formats import DECIMALS
from dpcli.fields.section import SectionModel, extended_model


class ColumnSection(SectionModel):
    """The declaration of a column."""

    column_class: ClassVar[type[Column]]
    title: Title | None = None

    @property
    def what(self) -> str:
        key = self.column_class.key
        return f"{'an' if key.startswith('i') else 'a'} `{key}` column"

    def with_options(self, column: Column, decimal: str) -> Column:
        """The column with the declared options, which may have problems with each other.

        `decimal` is the decimal mark of columns without their own.
        """
        values = {kind: getattr(self, kind.field or kind.key) for kind in self.column_class.takes}
        options = [kind.stated(value) for kind, value in values.items() if value is not None]
        for option in options:
            column = option.applied(column)
        if decimal != DECIMALS[0] and column.options:
            column = column.with_decimal(decimal)
        for option in options:
            option.require_fit(column, self)
        return column


@cache
def section_of(kind: type[Column]) -> type[ColumnSection]:
    """The model of the declaration of a kind of column: own fields, then options."""
    options: Any = {
        option.field or option.key: (
            option.value_type | None,
            Field(
                None,
                alias=option.key if option.field else None,
                description=" ".join((option.__doc__ or "").split()),
            ),
        )
        for option in kind.takes
    }
    word: Any = Literal
    taking: type[Any] = create_model(kind.__name__, __base__=kind.section, **options)
    model: type[ColumnSection] = extended_model({"type": word[kind.key], **kind.fields}, taking)
    model.__doc__, model.column_class = (kind.__doc__ or "").partition("\n\n")[0], kind
    return model
