"""One id of several columns together."""

from __future__ import annotations

from dpcli.data.column import Column, Derivation, Names
from dpcli.data.labels import IdColumn
from dpcli.data.polars_text import pl
from dpcli.problems.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JoinedIds(Derivation):
    """The ids of several columns as one text; missing if one of them is.

    Each but the last comes after its length in bytes, so different ids never give one text.
    """

    columns: tuple[IdColumn, ...]

    @property
    def inputs(self) -> tuple[Column, ...]:
        return self.columns

    @property
    def text(self) -> str:
        return " and ".join(column.name for column in self.columns)

    def value(self, names: Names) -> pl.Expr:
        return self.joined([pl.col(names[column]) for column in self.columns])

    @staticmethod
    def joined(ids: list[pl.Expr]) -> pl.Expr:
        """The text of ids, one of each column."""
        *first, last = ids
        parts = [
            part
            for text in first
            for part in (text.str.len_bytes().cast(pl.String), pl.lit(":"), text)
        ]
        return pl.concat_str(*parts, last)
