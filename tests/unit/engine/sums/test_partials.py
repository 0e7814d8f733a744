"""Sealed partials merge to the result of one scan of all rows."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from random import Random

import numpy as np
import polars as pl
import pytest

from dpcli.data.kinds import Axis
from dpcli.data.number_columns import IntegerColumn
from dpcli.engine.files.source import open_dataset
from dpcli.engine.progress import Progress
from dpcli.engine.sums.aggregate import QueryAggregator
from dpcli.engine.sums.blocks import pack_blocks, unpack_blocks
from dpcli.engine.sums.partials import aggregate_partials, pack_partial
from dpcli.noise import entropy
from dpcli.privacy.unit import PersonUnit, RowUnit
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.sums import Factor
from dpcli.statistics.counts.distinct import DistinctQuery
from tests.oracles import users
from tests.oracles.agreement import without_empty
from tests.oracles.files import batches, generate, vectors
from tests.oracles.opened import Units, bounded, cells_of, engine, opened
from tests.oracles.plain import Answer, evaluate, table
from tests.support.blocks import compact_often
from tests.support.priorities import prioritize_by_content
from tests.support.refusals import refused
from tests.support.rules import mostly_extended

DIGEST = "d" * 64


def split(data: bytes, random: Random) -> list[bytes]:
    """The rows of a file in several files at random, each with the header."""
    header, rows = table(data)
    files = [[header] for _ in range(random.randint(1, 4))]
    for row in rows:
        random.choice(files).append(row or [*header, "surplus"])
    return [_csv(lines) for lines in files]


def _csv(lines: list[list[str]]) -> bytes:
    file = io.StringIO(newline="")
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows(lines)
    return file.getvalue().encode("utf-8", "replace")


def sealed(queries: list[Query], unit: Units, pieces: list[bytes], folder: Path) -> list[str]:
    """The sealed partials of some files."""
    names = []
    for place, piece in enumerate(pieces):
        data, part = folder / f"{place}.csv", folder / f"{place}.sealed"
        data.write_bytes(piece)
        with open_dataset([str(data)]) as dataset:
            frames = QueryAggregator(bounded(queries, unit)).mergeable_partial(dataset, Progress())
        part.write_bytes(pack_partial(DIGEST, frames))
        names.append(str(part))
    return names


def merged(queries: list[Query], unit: Units, names: list[str]) -> list[Answer]:
    """The integers of merged partials."""
    return opened(aggregate_partials(bounded(queries, unit), DIGEST, names))


@pytest.mark.parametrize("start", batches(700, 10, 10, 20))
def test_parts_of_rows_merge_to_the_integers_of_all_rows(start: int, tmp_path: Path) -> None:
    """For every split of the rows, sums and counts are those of one scan."""
    for seed in range(start, start + 10):
        data, columns, generated = generate(seed)
        random = Random(seed)
        distinct = DistinctQuery(column=random.choice(columns), by=generated[-1].by)
        queries: list[Query] = [*generated, *vectors(seed, columns), distinct]
        names = sealed(queries, RowUnit(), split(data, random), tmp_path)
        assert merged(queries, RowUnit(), names) == evaluate(queries, data), seed


@pytest.mark.parametrize("hurried", mostly_extended([False, True], True))
@pytest.mark.parametrize("start", batches(400, 4, 4, 8))
def test_parts_of_users_merge_to_the_rows_that_one_scan_keeps(
    start: int, hurried: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limits of a user hold for the rows of all partials together.

    With several shards that are compacted after every few rows.
    """
    prioritize_by_content(monkeypatch)
    if hurried:
        compact_often(monkeypatch)
    path = tmp_path / "data.csv"
    for seed in range(start, start + 4):
        data, unit, generated = users.generate(seed)
        columns = dict.fromkeys(column for query in generated for column in query.columns)
        queries: list[Query] = [*generated, *vectors(seed, columns)]
        path.write_bytes(data)
        units = users.limits_of_each(seed, unit, queries)
        names = sealed(queries, units, split(data, Random(seed)), tmp_path)
        actual = without_empty(merged(queries, units, names))
        assert actual == without_empty(engine(queries, units, path)), seed


@pytest.mark.parametrize("singletons", [False, True])
def test_no_user_has_more_rows_in_all_parts_than_allowed(singletons: bool, tmp_path: Path) -> None:
    """Users with rows in all partials count up to their limit; rows without an id stay single."""
    unit = PersonUnit("who", 2, 1, 2, singletons_without_id=singletons)
    pieces = [b"who\n" + b'a\nb\n b\n7\n""\n' * 3] * 4
    names = sealed([LinearQuery()], unit, pieces, tmp_path)
    assert merged([LinearQuery()], unit, names) == [[3 * 2 + 4 * 3 * singletons]]


def test_kept_rows_are_spread_evenly_over_partials(tmp_path: Path) -> None:
    """Each of ten rows of a user is kept equally often, in every partial."""
    day, people, kept = IntegerColumn("day", bounds=(0, 9)), 4000, 3
    pieces = [
        b"who,day\n" + b"".join(b"p%d,%d\n" % (who, row) for row in rows for who in range(people))
        for rows in ((0,), (1, 2, 3), (4, 5, 6, 7, 8, 9))
    ]
    query, unit = LinearQuery(by=(Axis(day, (*range(10),)),)), PersonUnit("who", kept, kept, kept)
    names = sealed([query], unit, pieces, tmp_path)
    cells = np.array(cells_of(merged([query], unit, names)[0]))
    expected = people * kept / 10
    assert cells.sum() == people * kept
    assert (((cells - expected) ** 2) / expected).sum() < 40


def test_ties_are_broken_by_the_order_of_a_users_rows(tmp_path: Path) -> None:
    """If all random bits are equal, each user keeps the first rows of the first partial."""
    day = IntegerColumn("day", bounds=(0, 9))
    query, unit = LinearQuery(factors=(Factor(day),)), PersonUnit("who", 1, 1, 1)
    pieces = [b"who,day\nx,0\na,5\n", b"who,day\na,1\n", b"who,day\nb,2\na,9\nb,8\n"]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(entropy, "source", bytes)
        names = sealed([query], unit, pieces, tmp_path)
    assert merged([query], unit, names) == [[0 + 5 + 2]]


def test_sums_that_overflow_a_word_in_all_parts_together_are_exact(tmp_path: Path) -> None:
    """Each partial fits 64 bits, and their sum does not."""
    frame = pl.DataFrame({"cell": [0], "s0": [(1 << 62) - 1]})
    wide = frame.with_columns(pl.col("s0").cast(pl.Int128))
    column = IntegerColumn("a", bounds=(0, (1 << 62) - 1))
    aggregator = QueryAggregator(bounded([LinearQuery(factors=(Factor(column),))], RowUnit()))
    answers = opened(
        aggregator.confidential_answers(aggregator.merge([[frame], [frame], [frame], [wide]]))
    )
    assert answers == [[((1 << 62) - 1) * 4]]


def test_a_damaged_part_is_refused_wherever_it_is_damaged(tmp_path: Path) -> None:
    """A changed or missing byte is detected before the content of a partial is used."""
    data, _, generated = generate(1)
    (name,) = sealed(list(generated), RowUnit(), [data], tmp_path)
    whole = Path(name).read_bytes()
    random = Random(1)
    for _ in range(50):
        at = random.randrange(len(whole))
        for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]):
            Path(name).write_bytes(damaged)
            with refused("not-a-part"):
                merged(list(generated), RowUnit(), [name])


def test_blocks_are_read_back_as_they_were_written() -> None:
    """Blocks keep their content and order, and may be empty."""
    blocks = [b"", b"a", b"\0" * 300]
    assert unpack_blocks(pack_blocks(blocks)) == blocks
