"""Columns of texts that are as private as the rows: ids, and keys that are not declared."""

from __future__ import annotations

from typing import Literal

from dpcli.data.column import Column, Source
from dpcli.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PrivatePartitionColumn(Column):
    """A column whose texts are not declared, so that they are as private as the rows.

    It can only be a key of groups that partition selection chooses (`keys: private`).
    """

    name: str
    kind: Literal["category"] = "category"
    missing: None = None
    source: Source = None
    derivation: None = None
    na: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IdColumn(Column):
    """The id of the person of a row. Ids are counted, but never published.

    A row with an empty id, or with one of the marks `na`, belongs to no person. With
    `singletons_without_id`, it belongs to a person with no other row.
    """

    name: str
    singletons_without_id: bool = False
    kind: Literal["id"] = "id"
    missing: None = None
    source: Source = None
    derivation: None = None
    na: tuple[str, ...] = ()
