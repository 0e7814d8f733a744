"""The one pass over the file: every query answered, every answer sealed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress

import polars as pl

from dpcli.columns import Column, IdColumn
from dpcli.engine.cluster import clusters_of
from dpcli.engine.dialect import Inspection, has_blank_lines, plain_copy
from dpcli.engine.discretion import discreetly
from dpcli.engine.draw import Draw
from dpcli.engine.patience import patiently
from dpcli.engine.persons import Persons
from dpcli.engine.rollup import Sealed, rolled_up
from dpcli.engine.rows import row_frames
from dpcli.engine.source import Source
from dpcli.privacy.relation import PersonUnit, Unit
from dpcli.queries import Query

Answers = list[Sealed]


def aggregate(
    queries: Sequence[Query], unit: Unit, source: Source, inspection: Inspection
) -> Answers:
    """The exact answer to every query, sealed, from one scan of the file.

    The file must have every column the queries read. Nothing that happens here
    is reported beyond one fixed sentence: DataError `data-unreadable`.
    """
    with discreetly():
        return _aggregate(queries, unit, source, inspection)


def _aggregate(
    queries: Sequence[Query], unit: Unit, source: Source, inspection: Inspection
) -> Answers:
    """Read the file as it is if it is plain, else a plain copy of it."""
    draw = Draw()
    used = dict.fromkeys(column for query in queries for column in query.columns)
    if isinstance(unit, PersonUnit):
        used |= {IdColumn(unit.column, unit.each): None}
    wanted = {column: source.header.index(column.name) for column in used}
    if inspection.plain:
        with suppress(pl.exceptions.PolarsError):
            quotes = inspection.quotes
            answers, blank = _scan(queries, unit, draw, source, wanted, quotes=quotes)
            single = len(source.header) == 1
            if single or not blank or not has_blank_lines(source.file, source.size):
                return answers
    # Bytes that are not UTF-8 end up here as well: the copy decodes them by rule.
    with plain_copy(source.file, tuple(wanted.values())) as copy:
        names = tuple(map(str, wanted.values())) or ("nothing",)
        again = Source(copy, os.fstat(copy.fileno()).st_size, names)
        places = {column: place for place, column in enumerate(wanted)}
        return _scan(queries, unit, draw, again, places, quotes=True)[0]


def _scan(
    queries: Sequence[Query],
    unit: Unit,
    draw: Draw,
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
    texts = texts.with_columns(pl.all_horizontal(text.is_null() for text in read).alias("blank"))
    clusters = clusters_of(queries, unit)
    if isinstance(unit, PersonUnit):
        results = patiently(
            lambda: Persons(queries, clusters, unit, draw, source.size, wanted).frames(texts)
        )
    else:
        frames = row_frames(texts, queries, clusters, source, wanted)
        results = patiently(lambda: pl.collect_all(frames, engine="streaming"))
    answers: dict[int, Sealed] = {}
    for cluster, result in zip(clusters, results, strict=True):
        answers |= rolled_up(result, queries, cluster)
    blank = any(result["blank"].any() for result in results)
    return [answers[position] for position in range(len(queries))], blank
