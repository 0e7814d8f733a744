"""The one pass over the file: every query answered, every answer sealed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import polars as pl

from dpcli.columns import Column, NumericColumn
from dpcli.engine.dialect import Inspection, has_blank_lines, plain_copy
from dpcli.engine.encode import encoder
from dpcli.engine.fuse import Cluster, fuse
from dpcli.engine.patience import patiently
from dpcli.engine.sample import few_distinct
from dpcli.engine.source import Source
from dpcli.engine.sums import PlainSum, combination
from dpcli.errors import DataError
from dpcli.privacy.confidential import Confidential
from dpcli.queries import Key, LinearQuery

Answers = list[Confidential[tuple[int, ...]]]


def aggregate(queries: Sequence[LinearQuery], source: Source, inspection: Inspection) -> Answers:
    """The exact answer to every query, sealed, from one scan of the file.

    The file must have every column the queries read. Nothing that happens here
    is reported beyond one fixed sentence: DataError `data-unreadable`.
    """
    try:
        with _silent():
            return _aggregate(queries, source, inspection)
    except (KeyboardInterrupt, DataError):
        raise
    except BaseException:  # noqa: BLE001 - a panic of native code is no Exception
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


def _aggregate(queries: Sequence[LinearQuery], source: Source, inspection: Inspection) -> Answers:
    """Read the file as it is if it is plain, else a plain copy of it."""
    used = tuple(dict.fromkeys(column for query in queries for column in query.columns))
    wanted = {column: source.header.index(column.name) for column in used}
    if inspection.plain:
        with suppress(pl.exceptions.PolarsError):
            answers, blank = _scan(queries, source, wanted, quotes=inspection.quotes)
            single = len(source.header) == 1
            if single or not blank or not has_blank_lines(source.file, source.size):
                return answers
    # Bytes that are not UTF-8 end up here as well: the copy decodes them by rule.
    with plain_copy(source.file, tuple(wanted.values())) as copy:
        names = tuple(map(str, wanted.values())) or ("nothing",)
        again = Source(copy, os.fstat(copy.fileno()).st_size, names)
        places = {column: place for place, column in enumerate(wanted)}
        return _scan(queries, again, places, quotes=True)[0]


def _scan(
    queries: Sequence[LinearQuery],
    source: Source,
    wanted: Mapping[Column, int],
    *,
    quotes: bool,
) -> tuple[Answers, bool]:
    """All answers, and whether some row was blank in every column that was read."""
    texts = pl.scan_csv(
        source.file,
        infer_schema=False,
        glob=False,
        truncate_ragged_lines=True,
        quote_char='"' if quotes else None,
        new_columns=[f"t{index}" for index in range(len(source.header))],
    )
    read = [pl.col(f"t{index}") for index in wanted.values()] or [pl.col("t0")]
    blank = pl.all_horizontal(text.is_null() for text in read).alias("blank")
    clusters = fuse(queries)
    frames = [_grouped(texts, blank, queries, cluster, source, wanted) for cluster in clusters]
    results = patiently(lambda: pl.collect_all(frames, engine="streaming"))
    answers: dict[int, tuple[int, ...]] = {}
    for cluster, result in zip(clusters, results, strict=True):
        answers |= _rolled_up(result, queries, cluster)
    sealed = [Confidential(answers[position]) for position in range(len(queries))]
    return sealed, any(result["blank"].any() for result in results)


def _sums(queries: Sequence[LinearQuery], cluster: Cluster) -> tuple[PlainSum, ...]:
    """The plain sums of all members of a cluster, each once."""
    return tuple(
        dict.fromkeys(
            plain for position in cluster.members for _, plain in combination(queries[position])
        )
    )


def _grouped(
    texts: pl.LazyFrame,
    blank: pl.Expr,
    queries: Sequence[LinearQuery],
    cluster: Cluster,
    source: Source,
    wanted: Mapping[Column, int],
) -> pl.LazyFrame:
    """One row per occupied joint cell: its number, its sums, and whether it has blanks."""
    sums = _sums(queries, cluster)
    values: dict[Column, str] = {
        column: f"v{wanted[column]}"
        for column in wanted
        if any(column in plain.columns for plain in sums)
    }
    keys: dict[Column, str] = {
        column: f"k{wanted[column]}"
        for column in dict.fromkeys(axis.column for axis in cluster.axes)
    }
    encoded = [_encoded(column, f"t{wanted[column]}", name) for column, name in values.items()]
    row = pl.lit(1, dtype=pl.Int64).alias("row")
    added = [plain.expression(values, source.size).alias(f"s{n}") for n, plain in enumerate(sums)]
    told = [*added, pl.col("blank").any()]
    if not keys:
        whole = texts.select(*encoded, blank).with_columns(row).select(told)
        return whole.select(pl.lit(0, dtype=pl.Int64).alias("cell"), pl.all())
    if few_distinct(source, [wanted[column] for column in keys]):
        raw = [pl.col(f"t{wanted[column]}") for column in keys]
        grouped = texts.select(*encoded, *raw, blank).with_columns(row).group_by(raw).agg(told)
        decided = [_encoded(column, f"t{wanted[column]}", name) for column, name in keys.items()]
        placed = grouped.select(*decided, pl.col(r"^s\d+$"), pl.col("blank"))
        placed = placed.with_columns(_cell(cluster.axes, keys).alias("cell"))
        again = [pl.col(r"^s\d+$").sum(), pl.col("blank").any()]
        return placed.group_by("cell").agg(again)
    both = {**values, **{c: n for c, n in keys.items() if c not in values}}
    encoded = [_encoded(column, f"t{wanted[column]}", name) for column, name in both.items()]
    rows = texts.select(*encoded, blank)
    return (
        rows.with_columns(_cell(cluster.axes, both).alias("cell"), row).group_by("cell").agg(told)
    )


def _encoded(column: Column, text: str, name: str) -> pl.Expr:
    """A column of texts as whole numbers."""
    encode, dtype = encoder(column)
    values = pl.col(text).map_batches(encode, return_dtype=dtype, is_elementwise=True)
    return values.alias(name)


def _cell(axes: Sequence[Key], name: Mapping[Column, str]) -> pl.Expr:
    """The joint cell of a row: its places along the axes, the last one fastest."""
    cell = pl.lit(0, dtype=pl.Int64)
    for axis in axes:
        cell = cell * (len(axis) + 1) + _place(axis, name[axis.column])
    return cell


def _place(axis: Key, name: str) -> pl.Expr:
    """Where a row lies along an axis; one past the end for nowhere."""
    value = pl.col(name).cast(pl.Int64)
    if isinstance(axis.column, NumericColumn):
        inner = pl.Series(axis.edges[1:-1], dtype=pl.Int64)
        value = value.map_batches(
            lambda values: (
                inner.search_sorted(values, side="right").cast(pl.Int64).set(values.is_null(), None)
            ),
            return_dtype=pl.Int64,
            is_elementwise=True,
        )
    return value.fill_null(len(axis))


def _rolled_up(
    result: pl.DataFrame, queries: Sequence[LinearQuery], cluster: Cluster
) -> dict[int, tuple[int, ...]]:
    """The answer of each member, by its position, as exact Python integers."""
    sums = {plain: f"s{number}" for number, plain in enumerate(_sums(queries, cluster))}
    joint = result["cell"].to_list()
    columns = {plain: result[name].to_list() for plain, name in sums.items()}
    answers: dict[int, tuple[int, ...]] = {}
    for position in cluster.members:
        query = queries[position]
        weighted = [(weight, columns[plain]) for weight, plain in combination(query)]
        cells = [0] * query.cells
        for row, place in enumerate(joint):
            cell = cluster.cell(query, place)
            if cell is not None:
                cells[cell] += sum(weight * (column[row] or 0) for weight, column in weighted)
        answers[position] = tuple(cells)
    return answers
