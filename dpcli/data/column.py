"""What all columns of a spec have in common.

Every cell of a file becomes a whole number, or is missing. A numeric cell becomes a number of
steps, a category cell the position of its label. All later arithmetic is on these integers.
Everything here is public: it comes from the spec, never from the data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import Field
from typing import Any, ClassVar, Self

Source = str | int | None
"""Where a file has the cells of a column: under a name, at a position from 1 on, or under the
column's own name. Several columns may read the same cells."""


class Derivation(ABC):
    """How the cells of a derived column follow from other cells of the same row."""

    __slots__ = ()

    @property
    @abstractmethod
    def inputs(self) -> tuple[Column, ...]:
        """The columns from which it is computed; they may be derived themselves."""

    @property
    @abstractmethod
    def text(self) -> str:
        """How it is computed, in words or as a formula, such as `wage + bonus`."""


class Column(ABC):
    """A column of a file, or one that is derived from others.

    Privacy: a query is made of the registered classes of columns alone, never of subclasses.
    """

    __slots__ = ()

    name: str
    kind: str
    missing: int | None
    source: Source
    derivation: Derivation | None
    na: tuple[str, ...]

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def labels(self) -> tuple[str, ...]:
        """The declared labels, in order; none if the column is no category."""
        return ()

    def without_missing_constant(self) -> Self:
        """The column without the constant for missing cells, and with bounds in any case."""
        return self


def file_columns(columns: Iterable[Column]) -> tuple[Column, ...]:
    """The columns that a file must have for these, without repetition: not the derived ones."""
    return tuple(dict.fromkeys(part for column in columns for part in _file_columns(column)))


def _file_columns(column: Column) -> Iterator[Column]:
    if column.derivation is None:
        yield column
        return
    for part in column.derivation.inputs:
        yield from _file_columns(part)


def column_names(columns: Iterable[Column]) -> tuple[str, ...]:
    """The names that these columns have in files, without repetition; positions are no names."""
    keys = (column.source or column.name for column in file_columns(columns))
    return tuple(dict.fromkeys(key for key in keys if isinstance(key, str)))
