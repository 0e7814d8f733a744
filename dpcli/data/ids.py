"""Columns of texts that are as private as the rows: ids and private keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from dpcli.data.column import Column, Option, Rule, Source
from dpcli.data.lazy_polars import pl
from dpcli.data.options.every import From, Marks
from dpcli.data.text_cells import private_key, strip_blanks
from dpcli.problems.light_dataclasses import dataclass


class TextColumn(Column):
    """A column whose cells stay texts."""

    __slots__ = ()

    takes: ClassVar[tuple[type[Option], ...]] = (Marks, From)


@dataclass(frozen=True, slots=True)
class PrivatePartitionColumn(TextColumn):
    """A column whose texts are not declared, so that they are as private as the rows.

    It can only be a key of groups that partition selection chooses (`keys: private`).
    """

    name: str
    missing: None = None
    source: Source = None
    derivation: None = None
    options: tuple[Option, ...] = ()

    kind: ClassVar[str] = "category"

    def rules(self, decided: Mapping[str, int | None], *, is_integer: bool) -> Sequence[Rule]:
        return [private_key]

    def expected(self, decimal: str) -> str:
        return "expected a text of at most 1,000 visible characters"


@dataclass(frozen=True, slots=True)
class IdColumn(TextColumn):
    """The id of the person of a row. Ids are counted, but never published.

    A row with an empty id, or with a mark of missing cells, belongs to no person. With
    `singletons_without_id`, it belongs to a person with no other row.
    """

    name: str
    singletons_without_id: bool = False
    missing: None = None
    source: Source = None
    derivation: None = None
    options: tuple[Option, ...] = ()

    kind: ClassVar[str] = "id"

    def rules(self, decided: Mapping[str, int | None], *, is_integer: bool) -> Sequence[Rule]:
        return [strip_blanks]

    def declared_parts(self, cell: pl.Expr) -> Iterator[tuple[str, pl.Expr]]:
        """Nothing: ids are not looked at."""
        yield from ()

    def expected(self, decimal: str) -> str:
        return "expected a text"
