"""Stretches of files in Spark tasks add up to the integers of the local engine."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("pyspark", reason="Spark is not installed: pip install -e '.[spark]'")

import pyarrow as pa

from dpcli.data.formats import STANDARD_DIALECT
from dpcli.engine.files.decoding import UTF8_BOM
from dpcli.engine.sums.blocks import unpack_blocks
from dpcli.engine.sums.joint_tables import Partial
from dpcli.engine.sums.partials import read_frames
from dpcli.privacy.unit import RowUnit
from dpcli.spark.tasks import File, Tasks, copy_lines
from dpcli.statistics.counts.distinct import DistinctQuery
from tests.oracles.files import batches, generate, vectors
from tests.oracles.opened import bounded, engine, opened
from tests.oracles.plain import table


def stretches(data: bytes, random: Random, *, whole: bool) -> list[pa.RecordBatch]:
    """The lines of a file as Spark hands them out, cut at random places."""
    lines = data.removeprefix(UTF8_BOM).split(b"\n")
    if not lines[-1]:
        lines.pop()
    count = 0 if whole else min(len(lines) - 1, random.randint(0, 5))
    cuts = sorted(random.sample(range(1, len(lines)), count))
    actual = []
    for start, end in zip([0, *cuts], [*cuts, len(lines)], strict=True):
        content = pa.array(lines[start:end], pa.binary())
        begin = pa.array([start] * (end - start), pa.int64())
        actual.append(pa.RecordBatch.from_arrays([content, begin], ["value", "begin"]))
    return actual


@pytest.mark.parametrize("start", batches(1000, 10, 10, 20))
def test_stretches_add_up_to_the_integers_of_the_whole_file(start: int, tmp_path: Path) -> None:
    """If a cut may be within a record, a task reports it, and the file is read again."""
    path, again = tmp_path / "data.csv", 0
    for seed in range(start, start + 10):
        data, columns, generated = generate(seed)
        path.write_bytes(data)
        random = Random(seed)
        distinct = DistinctQuery(column=random.choice(columns), by=generated[-1].by)
        queries = [*generated, *vectors(seed, columns), distinct]
        tasks = Tasks(bounded(queries, RowUnit()), STANDARD_DIALECT, columns, key=1)
        header = tuple(table(data)[0])
        for whole in (False, True):
            file = File("data.csv", "", (0, 0), header, whole, ended=data.endswith(b"\n"))
            partials: list[Partial] = []
            cut = False
            for stretch in stretches(data, random, whole=whole):
                for batch in tasks.partial(0, file, iter([stretch])):
                    for row in batch.to_pylist():
                        if row["report"]:
                            report = json.loads(row["report"])
                            assert not report["problems"]
                            cut = cut or report["cut"]
                        else:
                            partials.append(read_frames(unpack_blocks(row["content"])))
            if not cut:
                break
            again += 1
        aggregator = tasks.aggregator
        actual = opened(aggregator.confidential_answers(aggregator.merge(partials)))
        assert actual == engine(queries, RowUnit(), path), seed
    assert again > 0


def test_each_line_of_a_local_file_is_in_one_stretch(tmp_path: Path) -> None:
    """For stretches of every length, without the byte order mark."""
    path = tmp_path / "data.csv"
    for text in (b"a,b\n1,2\n\n\n3,4\n", b"a\r\nlonger line\n1", b"\n\n", b"x", b"1\r2\n\r\n"):
        for mark in (b"", UTF8_BOM):
            data = mark + text
            path.write_bytes(data)
            for step in range(1, len(data) + 2):
                read, copy = 0, BytesIO()
                for begin in range(0, len(data), step):
                    before = copy.tell()
                    end = min(begin + step, len(data))
                    read += copy_lines(str(path), begin, end, copy)
                    stretch = copy.getvalue()[before:]
                    assert not stretch or copy.tell() == len(text) or stretch.endswith(b"\n")
                assert (copy.getvalue(), read) == (text, len(data)), step
