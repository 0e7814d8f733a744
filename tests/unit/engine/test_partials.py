"""Sealed parts merge to what one scan of all rows finds."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from random import Random

import polars as pl
import pytest

from dpcli.columns import NumericColumn
from dpcli.engine.aggregate import Aggregation
from dpcli.engine.partials import aggregate_parts, packed, sealed_part, unpacked
from dpcli.engine.plain import Inspection
from dpcli.engine.progress import Progress
from dpcli.engine.source import open_dataset
from dpcli.errors import DataError
from dpcli.privacy.relation import RowUnit, Unit
from dpcli.queries import DistinctQuery, Factor, LinearQuery, Query
from tests.oracles.files import batches, generate, readability
from tests.oracles.opened import opened
from tests.oracles.plain import Answer, evaluate, table

DIGEST = "d" * 64


def split(data: bytes, random: Random) -> list[bytes]:
    """The rows of a file at random in some files, each with the header."""
    header, rows = table(data)
    files = [[header] for _ in range(random.randint(1, 4))]
    for row in rows:
        random.choice(files).append(row)
    return [_csv(lines) for lines in files]


def _csv(lines: list[list[str]]) -> bytes:
    file = io.StringIO(newline="")
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows(lines)
    return file.getvalue().encode("utf-8", "replace")


def sealed(queries: list[Query], unit: Unit, pieces: list[bytes], folder: Path) -> list[str]:
    """The parts of some files."""
    names = []
    for place, piece in enumerate(pieces):
        data, part = folder / f"{place}.csv", folder / f"{place}.sealed"
        data.write_bytes(piece)
        with open_dataset([str(data)]) as dataset:
            frames = Aggregation(queries, unit).partial(dataset, Inspection(dataset), Progress())
        part.write_bytes(sealed_part(DIGEST, frames))
        names.append(str(part))
    return names


def merged(queries: list[Query], unit: Unit, names: list[str]) -> list[Answer]:
    """The integers of parts that are read together."""
    return opened(aggregate_parts(queries, unit, DIGEST, names))


@pytest.mark.parametrize("start", batches(700, 50, 100))
def test_parts_of_rows_merge_to_the_integers_of_all_rows(start: int, tmp_path: Path) -> None:
    """However rows are split among parts, sums and counts are those of one scan."""
    for seed in range(start, start + 50):
        data, columns, asked = generate(seed)
        random = Random(seed)
        distinct = DistinctQuery(column=random.choice(columns), by=asked[-1].by)
        queries: list[Query] = [*asked, readability(seed, columns), distinct]
        names = sealed(queries, RowUnit(), split(data, random), tmp_path)
        assert merged(queries, RowUnit(), names) == evaluate(queries, data), seed


def test_sums_that_overflow_a_word_in_all_parts_together_are_exact(tmp_path: Path) -> None:
    """Each part fits 64 bits, and their sum does not."""
    frame = pl.DataFrame({"cell": [0], "s0": [(1 << 62) - 1]})
    wide = frame.with_columns(pl.col("s0").cast(pl.Int128))
    column = NumericColumn("a", "integer", bounds=(0, (1 << 62) - 1))
    aggregation = Aggregation([LinearQuery(factors=(Factor(column),))], RowUnit())
    answers = opened(aggregation.sealed(aggregation.merged([[frame], [frame], [frame], [wide]])))
    assert answers == [[((1 << 62) - 1) * 4]]


def test_a_damaged_part_is_refused_wherever_it_is_damaged(tmp_path: Path) -> None:
    """A byte that changes or is cut off is noticed before anything is read from a part."""
    data, _, asked = generate(1)
    (name,) = sealed(list(asked), RowUnit(), [data], tmp_path)
    whole = Path(name).read_bytes()
    random = Random(1)
    for _ in range(50):
        at = random.randrange(len(whole))
        for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]):
            Path(name).write_bytes(damaged)
            with pytest.raises(DataError) as refused:
                merged(list(asked), RowUnit(), [name])
            assert refused.value.problems[0].code == "not-a-part"


def test_blocks_are_read_back_as_they_were_written() -> None:
    """Also empty ones."""
    blocks = [b"", b"a", b"\0" * 300]
    assert unpacked(packed(blocks)) == blocks
