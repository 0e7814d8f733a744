"""Each shape of files is taken from `init` to right numbers, as its user would do it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tests.support.cli import Command, Outcome, reported
from tests.support.spark import spark
from tests.support.terminal import on_terminal
from tests.system.shapes.shape import Shape, expected_numbers, published_intervals

pytest.importorskip("pandas")

import pandas as pd

from tests.support.rules import mostly_extended
from tests.system.shapes.analysis import ANALYSES
from tests.system.shapes.categories import CATEGORIES
from tests.system.shapes.dates import DATES
from tests.system.shapes.exports import EXPORTS
from tests.system.shapes.numbers import CODES, MARKS, NUMBERS

__all__ = ["spark"]

SHAPES = (*DATES, *NUMBERS, *CATEGORIES, *EXPORTS, *ANALYSES)
DEFAULT = (*DATES, *NUMBERS[:2], CATEGORIES[-1], EXPORTS[4], ANALYSES[-1])

CELLS = re.compile(r"^ *(.*?) +(?:all|most|some) +\w+ +none +(?:none|-) *$", re.MULTILINE)
"""A line about a column with readable cells, no unreadable ones, and none out of bounds."""


@pytest.mark.parametrize("shape", mostly_extended(SHAPES, *DEFAULT), ids=lambda shape: shape.name)
def test_a_file_is_released(shape: Shape, tmp_path: Path, dpcli: Command) -> None:
    """Every column is readable, and every interval contains the number of pandas."""
    spec, data = drafted(shape, tmp_path, dpcli)
    checked = on_terminal("check", spec, data, "--cells", columns=200, cwd=tmp_path)
    assert checked.status == 0, checked.text
    assert "no problems" in " ".join(checked.text.split())
    assert "the same value" not in checked.text
    readable = set(CELLS.findall(checked.text))
    assert readable == {name.strip('"') for name in shape.columns}, checked.text

    assert_right(shape, dpcli("release", spec, data, "-q"), data)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_spark_reads_the_same(shape: Shape, tmp_path: Path, dpcli: Command, spark: object) -> None:
    """Spark reads every shape as polars does."""
    spec, data = drafted(shape, tmp_path, dpcli)
    assert_right(shape, dpcli("release", spec, data, "-q", "--engine", "spark"), data)


def drafted(shape: Shape, folder: Path, dpcli: Command) -> tuple[Path, Path]:
    """The edited draft of a shape, and its file."""
    spec, data = folder / "spec.yaml", folder / shape.file
    shape.write(data, Random(shape.name))
    draft = dpcli("init", data, *shape.init).succeeded()
    spec.write_text(shape.edited(draft.out), encoding="utf-8")
    return spec, data


def assert_right(shape: Shape, released: Outcome, data: Path) -> None:
    """Every number is published, and every interval contains it."""
    assert released.status == 0, released.err
    expected, published = expected_numbers(shape.truth(data)), published_intervals(released.out)
    assert set(published) == set(expected)
    wrong = {
        labels: (lower, expected[labels], upper)
        for labels, (lower, upper) in published.items()
        if not lower <= expected[labels] <= upper
    }
    assert not wrong


def test_unreadable_marks_are_counted(tmp_path: Path, dpcli: Command) -> None:
    """The noisy counts of the quality check leave out marks that the spec does not declare."""
    columns = {name: text.partition(", na: ")[0] for name, text in CODES.columns.items()}
    spec, data = drafted(replace(CODES, columns=columns), tmp_path, dpcli)
    frame = pd.read_csv(data, dtype=str, keep_default_na=False)

    checked = on_terminal("check", spec, data, "--cells", columns=200, cwd=tmp_path)
    assert len(re.findall(r"(?:most|some) +(?:some|few) +(?:some|few)\b", checked.text)) == len(
        columns
    )
    spec.write_text(spec.read_text("utf-8").replace("0.98", "0.1"), "utf-8")
    dpcli("release", spec, data, "-q", "--report", tmp_path / "report.json").succeeded()
    counts = reported(tmp_path / "report.json")["quality"]["counts"]
    first, before = [label for label in counts if label.endswith("unreadable")], False
    for label in first:
        name = label.partition(":")[0]
        # Only in a column of numbers, -99 is readable. A blank cell is no unreadable one.
        marks = ["NA", "."] if name == "HOURS" else MARKS[:-1]
        unread = frame[name].isin(marks)
        # The noise of a count with an epsilon of 20 is this large once in 10^7 runs.
        assert abs(counts[label]["value"] - (unread & ~before).sum()) <= 1
        assert unread.sum() > 10
        before |= unread
    assert len(first) == len(columns)
