"""Columns of declared texts, each with a label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Literal, Self

from dpcli.data.column import Column, Derivation, Source
from dpcli.light_dataclasses import dataclass

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "'")
"""First characters of cells that a spreadsheet evaluates, or hides.

Declared labels do not begin with them, except for numbers. So a label is the same text in every
format. A private key from the data that begins with one of them gets an apostrophe in CSV.
"""


@dataclass(frozen=True)
class CategoryColumn(Column):
    """Declared texts and their labels; several texts may have the same label.

    `values` are pairs of a text in the file and its label. `missing` is the position of the label
    of all other cells; if it is None, they are missing. `na` are texts that mark missing cells, and
    `other` is the label of every other text that is not blank. Properties are computed once,
    because a column may have very many values and be used by many statistics.
    """

    name: str
    kind: Literal["category", "boolean"]
    values: tuple[tuple[str, str], ...]
    missing: int | None = None
    source: Source = None
    derivation: Derivation | None = None
    na: tuple[str, ...] = ()
    ignores_case: bool = False
    other: str | None = None

    def __post_init__(self) -> None:
        # What is counted must be what is compared, so all of it is plain data.
        texts = {*map(type, chain.from_iterable(self.values)), *map(type, self.na)}
        lists = {type(self.values), type(self.na), *map(type, self.values)}
        if texts - {str} or lists - {tuple} or type(self.other) not in (str, type(None)):
            raise TypeError("categories are plain texts")
        if self.missing is not None:
            if type(self.missing) is not int:
                raise TypeError("the constant of a category is the position of a label")
            if not 0 <= self.missing < len(self.labels):
                raise ValueError(f"the constant of column {self.name} is no label")

    def __hash__(self) -> int:
        return hash((self.name, self.kind, len(self.values), self.missing, self.source))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The different labels in the declared order. A cell is a position in them."""
        others = () if self.other is None else (self.other,)
        return tuple(dict.fromkeys((*(label for _, label in self.values), *others)))

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """The position of each label."""
        return {label: position for position, label in enumerate(self.labels)}

    @cached_property
    def label_of(self) -> Mapping[str, str]:
        """The label of each text in the file."""
        return dict(self.values)

    def without_missing_constant(self) -> Self:
        return replace(self, missing=None)
