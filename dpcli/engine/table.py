"""The rows of each data file as columns of text, whatever the file is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import polars as pl

from dpcli.columns import Column, NumericColumn
from dpcli.dialect import STANDARD, Dialect
from dpcli.engine import parquet
from dpcli.engine.dialect import Inspection, has_blank_lines, plain_copy
from dpcli.engine.heading import seems_packed
from dpcli.engine.lines import line_copy
from dpcli.engine.source import Dataset, Source


def swapped(text: pl.Expr, column: Column, decimal: str) -> pl.Expr:
    """The text of a cell, with a point before decimals; see `dpcli.engine.grammar`."""
    if decimal == "." or not isinstance(column, NumericColumn) or column.kind == "date":
        return text
    return text.str.replace_many([".", decimal], [decimal, "."])


class Tables:
    """The files of a dataset, each read as it is or by way of a plain copy."""

    def __init__(
        self,
        dataset: Dataset,
        inspection: Inspection,
        wanted: Sequence[Column],
        copies: ExitStack,
    ) -> None:
        self._dataset, self._inspection, self._wanted = dataset, inspection, wanted
        self._copies: dict[int, Source] = {}
        self._stack = copies
        for place, source in enumerate(dataset.sources):
            if source.dialect is None:
                continue
            if not inspection.plain(source) or seems_packed(source.file):
                self._copy(place)

    def frames(self) -> list[pl.LazyFrame]:
        """For each file its wanted columns `t0`, `t1` and so on, in the order of the files.

        `blank` says of a row that nothing was in it: perhaps it is a blank line, and no row.
        """
        return [self._frame(place) for place in range(len(self._dataset.sources))]

    def sample(self) -> tuple[Source, list[int]]:
        """The largest file, and where its wanted columns are."""
        source = max(self._dataset.sources, key=lambda source: source.size)
        return source, [source.header.index(column.name) for column in self._wanted]

    def copy(self, *, blank: bool) -> bool:
        """Copy the files that are read as they are, or, if `blank`, those with blank lines.

        False if there is none.
        """
        chosen = [
            place
            for place, source in enumerate(self._dataset.sources)
            if source.dialect is not None
            and place not in self._copies
            and (not blank or _has_blank_lines(source))
        ]
        for place in chosen:
            self._copy(place)
        return bool(chosen)

    def _copy(self, place: int) -> None:
        """Put a plain copy in the place of a file."""
        source = self._dataset.sources[place]
        self._copies[place] = self._stack.enter_context(plainly_copied(source, self._wanted))

    def _frame(self, place: int) -> pl.LazyFrame:
        """One file."""
        source = self._dataset.sources[place]
        copy = self._copies.get(place)
        decimal = self._dataset.dialect.decimal
        if copy is not None:
            return csv_frame(copy, self._wanted, copy.dialect or STANDARD, decimal, quotes=True)
        if source.dialect is None:
            return parquet_frame(source, self._wanted, decimal)
        quotes = self._inspection.quotes(source)
        return csv_frame(source, self._wanted, source.dialect, decimal, quotes=quotes)


def _has_blank_lines(source: Source) -> bool:
    """Whether some line is no row; with one column, a blank line is a row without a value."""
    return len(source.header) > 1 and has_blank_lines(source.file, source.size)


@contextmanager
def plainly_copied(source: Source, wanted: Sequence[Column]) -> Iterator[Source]:
    """A plain copy of a CSV file, with the wanted columns at least, by their names."""
    if source.dialect is not None and not source.dialect.multiline:
        with line_copy(source) as copy:
            size = os.fstat(copy.fileno()).st_size
            yield Source(source.name, copy, size, source.header, dialect=source.dialect)
        return
    places = [source.header.index(column.name) for column in wanted]
    names = tuple(column.name for column in wanted) or ("nothing",)
    with plain_copy(source, places) as copy:
        yield Source(source.name, copy, os.fstat(copy.fileno()).st_size, names)


def csv_frame(
    source: Source,
    wanted: Sequence[Column],
    dialect: Dialect,
    decimal: str,
    *,
    quotes: bool,
) -> pl.LazyFrame:
    """The wanted columns of a plain CSV file.

    The names are given and the header line is skipped, so that the file is never mapped into
    memory: to touch a page of a mapped file that was cut off would end the process.
    """
    names = [f"c{index}" for index in range(len(source.header))]
    table = pl.scan_csv(
        source.file,
        has_header=False,
        skip_rows=1,
        schema=dict.fromkeys(names, pl.String()),
        # How many cells the first record has decides nothing.
        missing_columns="insert",
        extra_columns="ignore",
        separator=dialect.delimiter,
        glob=False,
        truncate_ragged_lines=True,
        quote_char=dialect.quote if quotes else None,
    )
    places = [source.header.index(column.name) for column in wanted]
    read = [pl.col(names[place]) for place in places or [0]]
    blank = pl.all_horizontal(text.is_null() for text in read)
    texts = [
        swapped(pl.col(names[place]), column, decimal).alias(f"t{at}")
        for at, (place, column) in enumerate(zip(places, wanted, strict=True))
    ]
    return table.select(*texts, blank.alias("blank"))


def parquet_frame(source: Source, wanted: Sequence[Column], decimal: str) -> pl.LazyFrame:
    """The wanted columns of a Parquet file; an empty row of it is a row."""
    table = parquet.scanned(source.file)
    types = table.collect_schema().dtypes()
    texts = []
    for at, column in enumerate(wanted):
        place = source.header.index(column.name)
        text = parquet.text_of(place, types[place], decimal)
        texts.append(swapped(text, column, decimal).alias(f"t{at}"))
    if texts:
        return table.select(*texts, pl.lit(value=False).alias("blank"))
    # A literal alone would be one row: some column has to say how many there are.
    readable = [at for at, name in enumerate(source.header) if name not in source.odd]
    return table.select(pl.nth(*readable[:1] or [0]).is_null().alias("blank"))
