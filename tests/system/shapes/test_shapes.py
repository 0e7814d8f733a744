"""Each shape of files is taken from `init` to right numbers, as its user would do it."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from tests.support.cli import Command
from tests.support.terminal import on_terminal
from tests.system.shapes.shape import Shape, expected_numbers, published_intervals

pytest.importorskip("pandas")

from tests.system.shapes.dates import DATES
from tests.system.shapes.numbers import NUMBERS

SHAPES = (*DATES, *NUMBERS)

CELLS = re.compile(r"^ *(.*?) +(all|most|some) +(all|most|some|none) +none\b", re.MULTILINE)
"""A line about a column that has readable cells and no unreadable ones."""


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_file_is_released(shape: Shape, tmp_path: Path, dpcli: Command) -> None:
    """Every column is readable, and every interval contains the number of pandas."""
    data, spec, table = (tmp_path / name for name in (shape.file, "spec.yaml", "table.csv"))
    shape.write(data, Random(shape.name))
    draft = dpcli("init", data, *shape.init)
    assert draft.status == 0, draft.err
    spec.write_text(shape.edited(draft.out), encoding="utf-8")

    checked = on_terminal("check", spec, data, "--cells", columns=200, cwd=tmp_path)
    assert checked.status == 0, checked.text
    assert "no problems" in checked.text
    readable = {name for name, *_ in CELLS.findall(checked.text)}
    assert readable == {name.strip('"') for name in shape.columns}, checked.text

    released = dpcli("release", spec, data, "-q", "-o", table)
    assert released.status == 0, released.err
    expected, published = expected_numbers(shape.truth(data)), published_intervals(table)
    assert set(published) == set(expected)
    wrong = {
        labels: (lower, expected[labels], upper)
        for labels, (lower, upper) in published.items()
        if not lower <= expected[labels] <= upper
    }
    assert not wrong
