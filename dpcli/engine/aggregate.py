"""The one pass over the file: every query answered, every answer sealed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

import polars as pl

from dpcli.columns import Column, NumericColumn
from dpcli.engine.dialect import Marks, has_blank_lines, is_plain, plain_copy
from dpcli.engine.encode import encoder
from dpcli.engine.fuse import Cluster, fuse
from dpcli.engine.source import Source
from dpcli.errors import DataError
from dpcli.privacy.confidential import Confidential
from dpcli.queries import Key, LinearQuery

Table = Sequence[tuple[int, ...]]
Answers = list[Confidential[tuple[int, ...]]]


def aggregate(queries: Sequence[LinearQuery], source: Source) -> Answers:
    """The exact answer to every query, sealed, from one scan of the file.

    The file must have every column the queries read. Nothing that happens here
    is reported beyond one fixed sentence: DataError `data-unreadable`.
    """
    try:
        with _silent():
            return _aggregate(queries, source)
    except (KeyboardInterrupt, DataError):
        raise
    except BaseException:
        # The reader's own words may quote a record, so none of them may pass.
        raise DataError.of(
            "data-unreadable",
            "the data could not be read to the end",
            "check that the file is complete CSV text, and that memory and disk suffice",
        ) from None


@contextmanager
def _silent() -> Iterator[None]:
    """Send what native code prints on standard error to nowhere."""
    os.environ.pop("POLARS_VERBOSE", None)
    kept = os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)


def _aggregate(queries: Sequence[LinearQuery], source: Source) -> Answers:
    """Read the file as it is if it is plain, else a plain copy of it."""
    used = tuple(dict.fromkeys(column for query in queries for column in query.columns))
    wanted = [source.header.index(column.name) for column in used] or [0]
    marks = Marks(source.file, source.size)
    if is_plain(source.file, source.size, marks):
        tables, blank = _collect(queries, used, source, wanted, quotes=marks.quotes)
        if not blank or not has_blank_lines(source.file, source.size):
            return tables
    with plain_copy(source.file, source.size, wanted) as copy:
        again = Source(copy, os.fstat(copy.fileno()).st_size, tuple(map(str, wanted)))
        return _collect(queries, used, again, range(len(wanted)), quotes=True)[0]


def _collect(
    queries: Sequence[LinearQuery],
    used: Sequence[Column],
    source: Source,
    wanted: Sequence[int],
    *,
    quotes: bool,
) -> tuple[Answers, bool]:
    """All answers, and whether some row was blank in every column that was read."""
    rows = _encoded(used, source, wanted, quotes)
    clusters = fuse(queries)
    frames = [_aggregated(rows, queries, cluster, used, source.size) for cluster in clusters]
    frames.append(rows.select(pl.col("blank").any()))
    *results, blank = pl.collect_all(frames, engine="streaming")
    answers: dict[int, tuple[int, ...]] = {}
    for cluster, result in zip(clusters, results, strict=True):
        answers |= _rolled_up(result.rows(), queries, cluster)
    sealed = [Confidential(answers[position]) for position in range(len(queries))]
    return sealed, bool(blank.item())


def _encoded(
    used: Sequence[Column], source: Source, wanted: Sequence[int], quotes: bool
) -> pl.LazyFrame:
    """The columns in use as whole numbers named by position: v0, v1 and so on."""
    texts = pl.scan_csv(
        source.file,
        infer_schema=False,
        glob=False,
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
        quote_char='"' if quotes else None,
        new_columns=[f"t{index}" for index in range(len(source.header))],
    )
    raw = [pl.col(f"t{index}") for index in wanted]
    encoded = []
    for position, (column, text) in enumerate(zip(used, raw, strict=False)):
        encode, dtype = encoder(column)
        values = text.map_batches(encode, return_dtype=dtype, is_elementwise=True)
        encoded.append(values.alias(f"v{position}"))
    blank = pl.all_horizontal(text.is_null() for text in raw).alias("blank")
    return texts.select(*encoded, blank)


def _aggregated(
    rows: pl.LazyFrame,
    queries: Sequence[LinearQuery],
    cluster: Cluster,
    used: Sequence[Column],
    size: int,
) -> pl.LazyFrame:
    """One row per occupied joint cell: its number, then every member's sum."""
    name = {column: f"v{position}" for position, column in enumerate(used)}
    sums = [
        _summed(queries[position], name, size).alias(f"s{position}")
        for position in cluster.members
    ]
    if not cluster.axes:
        return rows.select(pl.lit(0, dtype=pl.Int64).alias("cell"), *sums)
    cell = pl.lit(0, dtype=pl.Int64)
    for axis in cluster.axes:
        cell = cell * (len(axis) + 1) + _place(axis, name[axis.column])
    return rows.with_columns(cell.alias("cell")).group_by("cell").agg(sums)


def _place(axis: Key, name: str) -> pl.Expr:
    """Where a row lies along an axis; one past the end for nowhere."""
    value = pl.col(name).cast(pl.Int64)
    if isinstance(axis.column, NumericColumn):
        first, *inner, _ = axis.edges
        widths = {b - a for a, b in zip(axis.edges, axis.edges[1:-1], strict=False)}
        if len(widths) == 1 and axis.edges[-1] - axis.edges[-2] <= max(widths):
            value = ((value - first) // widths.pop()).clip(0, len(axis) - 1)
        else:
            cuts = pl.Series(inner, dtype=pl.Int64)
            value = value.map_batches(
                lambda values: cuts.search_sorted(values, side="right")
                .cast(pl.Int64)
                .set(values.is_null(), None),
                return_dtype=pl.Int64,
                is_elementwise=True,
            )
    return value.fill_null(len(axis))


def _summed(query: LinearQuery, name: dict[Column, str], size: int) -> pl.Expr:
    """The sum over a group of what each row adds to `query`.

    A file of `size` bytes has at most as many rows, so a sum is within `size`
    times the greatest influence of a row; where that may pass 63 bits the sum is
    taken in 128.
    """
    mask = _mask(query, name)
    if not query.factors:
        if mask is not None:
            return mask.cast(pl.Int64).sum()
        return pl.len() if size < 2**31 else pl.col("blank").is_not_null().cast(pl.Int64).sum()
    dtype = pl.Int64() if query.influence.big * size < 2**62 else pl.Int128()
    first, *rest = (
        pl.col(name[factor.column]).cast(dtype) - factor.offset for factor in query.factors
    )
    value = first
    for factor in rest:
        value = value * factor
    return (value if mask is None else pl.when(mask).then(value)).sum()


def _mask(query: LinearQuery, name: dict[Column, str]) -> pl.Expr | None:
    """Which rows of a group count; None if all do whose factors are present.

    Rows that are missing on an axis of the query fall out when it is rolled up.
    """
    known = {key.column for key in query.by} | {factor.column for factor in query.factors}
    tests = [
        pl.any_horizontal(
            pl.col(name[condition.column]).is_between(low, high)
            for low, high in condition.ranges
        )
        for condition in query.where
    ]
    tests += [
        pl.col(name[column]).is_not_null()
        for column in dict.fromkeys(query.present)
        if column not in known and column.missing is None
    ]
    return pl.all_horizontal(tests).fill_null(False) if tests else None


def _rolled_up(
    table: Table, queries: Sequence[LinearQuery], cluster: Cluster
) -> dict[int, tuple[int, ...]]:
    """The answer of each member, by its position, as exact Python integers."""
    answers: dict[int, tuple[int, ...]] = {}
    for place, position in enumerate(cluster.members, start=1):
        query = queries[position]
        cells = [0] * query.cells
        for row in table:
            cell = cluster.cell(query, row[0])
            if cell is not None:
                cells[cell] += int(row[place] or 0)
        answers[position] = tuple(cells)
    return answers
