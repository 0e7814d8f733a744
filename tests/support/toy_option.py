"""An option of columns for tests, in one file; `toy_registry` adds it to a column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated

import polars as pl
from pydantic import Field

from dpcli.data.column import Column, Option, Proposal, SampledTexts, TextOption
from dpcli.fields.values import Text
from dpcli.problems.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prefix(TextOption):
    """A text that stands before the text of each cell, and is removed."""

    text: str

    key = "prefix"
    value_type = Annotated[Text, Field(examples=["AB-"])]

    def changed(self, text: pl.Expr) -> pl.Expr:
        return text.str.strip_prefix(self.text)

    @classmethod
    def proposed(cls, column: Column, cells: SampledTexts) -> Iterator[Proposal[Option | None]]:
        starts = Counter[str]()
        for text, rows in cells.unread.items():
            if "-" in text:
                starts[text[: text.index("-") + 1]] += rows
        yield from map(Proposal, (column.option(cls), *map(cls, cells.shown(starts))))
