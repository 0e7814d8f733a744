"""Columns that native readers parse by themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Self

import polars as pl

from dpcli.data.column import Column
from dpcli.engine.files.dataset import Source


class NativeColumns:
    """The columns that a native reader parses, by index, until one has an odd cell.

    The reader parses numbers and labels exactly as the rules of columns do, or refuses the whole
    piece, which is then read as texts. So odd cells change how long a release takes, and no number.
    A type is that of the parsed cells of CSV text, or of the cells in a Parquet file.
    """

    def __init__(self, types: Mapping[int, pl.DataType]) -> None:
        self.types = types

    @classmethod
    def of(cls, source: Source, columns: Sequence[Column], decimal: str) -> Self:
        """The columns whose cells have a native type, as long as no cell is odd."""
        dialect = source.dialect
        if dialect is None:
            return cls(_strict_types(source, columns))
        # Copies of other formats have typed cells of their own.
        if source.kind != "csv":
            return cls({})
        read = [source.index_of(column) for column in columns]
        types = {
            index: dtype
            for index, column in enumerate(columns)
            if column.rules_are_native
            and (dtype := column.native_type(decimal, dialect.quote)) is not None
            # A footer is found by the text of the first cell.
            and read.count(read[index]) == 1 and not (dialect.footer and read[index] == 0)
        }  # fmt: skip
        return cls(types)

    def drop_odd(self, are_readable: Callable[[Mapping[int, pl.DataType]], bool]) -> bool:
        """Drop columns with an odd cell in a piece of the file; False if there is none.

        `are_readable` tries whether the native reader can read the piece with these columns.
        """
        if are_readable(self.types):
            return False
        types = self.types
        self.types = {at: types[at] for at in types if are_readable({at: types[at]})}
        return len(self.types) < len(types)


def _strict_types(source: Source, columns: Sequence[Column]) -> dict[int, pl.DataType]:
    """The types of Parquet columns whose cells are read without texts."""
    from dpcli.engine.files.parquet import scan_parquet_file

    types = scan_parquet_file(source.file).collect_schema().dtypes()
    found = {index: types[source.index_of(column)] for index, column in enumerate(columns)}
    return {
        index: found[index]
        for index, column in enumerate(columns)
        if column.rules_are_native and column.strict_cells(pl.first(), found[index]) is not None
    }
