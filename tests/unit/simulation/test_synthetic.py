"""SyntheticDataset rows come from the spec and the seed alone, and exercise what a spec says."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcli.data.filters import InRanges
from dpcli.data.number_columns import IntegerColumn
from dpcli.noise import entropy
from dpcli.planning.plan import CentralPlan
from dpcli.simulation.synthetic import (
    MARK_COLUMN,
    MARK_TEXT,
    Stream,
    SyntheticDataset,
    column_cells,
    fraction_of,
)
from tests.oracles.plain import value
from tests.support.simulations import PEOPLE, ROWS, Make, content, plan_of

MANY = 4000


def table(dummy: SyntheticDataset, folder: Path) -> dict[str, list[str]]:
    """The columns of a dummy by their names."""
    text = content(dummy, folder).decode()
    header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert all(len(row) == len(header) for row in rows)
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


def test_the_bytes_are_those_of_the_seed(plan: CentralPlan, dummy: Make, tmp_path: Path) -> None:
    """The same spec, rows and seed give the same bytes; another seed gives others."""
    first, again, other = (content(dummy(plan, MANY, seed), tmp_path) for seed in (20, 20, 21))
    assert first == again
    assert first != other


def test_the_bytes_are_the_same_on_every_machine(dummy: Make, tmp_path: Path) -> None:
    """The digests are those of the first version; another digest breaks the seeds of users."""
    digests = [
        hashlib.sha256(content(dummy(plan_of(text), 1000, 7), tmp_path)).hexdigest()[:16]
        for text in (ROWS, PEOPLE)
    ]
    assert digests == ["f5eed100c38feee9", "b777f8f708c71807"]


def test_rows_use_no_entropy(
    plan: CentralPlan, dummy: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Generating rows takes no randomness from the operating system."""

    def refuse(_: int) -> bytes:
        raise AssertionError

    monkeypatch.setattr(entropy, "source", refuse)
    dummy(plan, 100, 1)


@given(st.integers(0, 2**64 - 1), st.integers(1, 2**63), st.integers(0, 2**62))
def test_words_are_those_of_the_algorithm(start: int, limit: int, place: int) -> None:
    """Array arithmetic does what whole numbers of any size do."""
    stream = Stream(start, "a")
    text = f"13:dpcli dummy 1,{len(str(start))}:{start},1:a,"
    first = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    word = (place * 0x9E3779B97F4A7C15 + first) % 2**64
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    word ^= word >> 31
    assert stream.words(np.array([place])).tolist() == [word]
    expected = word * limit >> 64
    assert fraction_of(np.array([word], np.uint64), limit).tolist() == [expected]


def test_every_declared_column_is_there_and_the_last_one_marks(
    plan: CentralPlan, dummy: Make, tmp_path: Path
) -> None:
    """The columns of the spec in their order, then one that says in each row what this is."""
    columns = table(dummy(plan, MANY, 1), tmp_path)
    assert list(columns) == [*(column.name for column in plan.spec.columns), MARK_COLUMN]
    assert columns[MARK_COLUMN] == [MARK_TEXT] * MANY


def test_a_column_of_that_name_may_be_declared(dummy: Make, tmp_path: Path) -> None:
    """The mark then gets a name that is free."""
    plan = plan_of(ROWS.replace("unused:", f"{MARK_COLUMN}:"))
    assert list(table(dummy(plan, 10, 1), tmp_path))[-1] == f"{MARK_COLUMN}_"


def test_cells_are_plausible_and_some_are_not(
    plan: CentralPlan, dummy: Make, tmp_path: Path
) -> None:
    """Most cells can be read, a few are blank, a few numbers lie outside the bounds."""
    columns = table(dummy(plan, MANY, 2), tmp_path)
    for column in plan.spec.columns:
        cells = columns[column.name]
        blank = cells.count("")
        assert 0 < blank < MANY * 0.06, column.name
        if column.name == "unused":
            continue
        read = [value(column, cell) for cell in cells if cell]
        assert None not in read, column.name
        bare = {cell for cell in cells if cell}
        assert len(bare) > 1, column.name
    ages = [int(cell) for cell in columns["age"] if cell]
    assert 0 < sum(not 0 <= age <= 110 for age in ages) < MANY * 0.05
    # A hill: the middle half of the bounds holds most.
    assert sum(28 <= age < 83 for age in ages) > MANY * 0.55


def test_labels_and_private_groups_have_a_long_tail(dummy: Make, tmp_path: Path) -> None:
    """Declared labels are unequal, and invented ones many and mostly rare."""
    columns = table(dummy(plan_of(ROWS), MANY, 2), tmp_path)
    sexes, towns = Counter(columns["sex"]), Counter(columns["town"])
    assert sexes["0"] > 1.5 * sexes["1"] > 1.5 * sexes["x"] > 0
    sizes = sorted(towns.values(), reverse=True)
    assert len(sizes) > 100
    assert sizes[0] > 20 * sizes[len(sizes) // 2]


def test_conditions_have_rows_on_both_sides(plan: CentralPlan, dummy: Make, tmp_path: Path) -> None:
    """Also where a condition holds for one two-hundredth of the possible values."""
    columns = table(dummy(plan, MANY, 3), tmp_path)
    for planned in plan.statistics:
        for condition in planned.entry.inputs.where:
            assert isinstance(condition, InRanges)
            cells = columns[condition.column.name]
            read = [value(condition.column, cell) for cell in cells]
            passed = sum(
                isinstance(number, int)
                and any(low <= number <= high for low, high in condition.ranges)
                for number in read
            )
            assert MANY * 0.03 < passed < MANY * 0.97


def test_people_have_few_rows_and_too_many(dummy: Make, tmp_path: Path) -> None:
    """Some have fewer rows than the limit, some as many, about a quarter more."""
    dataset = dummy(plan_of(PEOPLE), MANY, 4)
    rows = Counter(cell for cell in table(dataset, tmp_path)["who"] if cell)
    sizes = Counter(rows.values())
    assert min(sizes[1], sizes[2], sizes[3], sizes[4]) > 20
    assert max(sizes) == 4
    assert dataset.people is not None
    assert dataset.people_above_limit is not None
    assert dataset.people * 0.2 < dataset.people_above_limit < dataset.people * 0.3
    assert len(rows) == pytest.approx(dataset.people, rel=0.02)


def test_a_person_says_the_same_more_often_than_others(dummy: Make, tmp_path: Path) -> None:
    """Two rows of a person agree more often than two rows of different people."""
    columns = table(dummy(plan_of(PEOPLE), MANY, 4), tmp_path)
    towns: dict[str, list[str]] = {}
    for who, town in zip(columns["who"], columns["town"], strict=True):
        towns.setdefault(who, []).append(town)
    del towns[""]
    pairs = [(mine[0], mine[1]) for mine in towns.values() if len(mine) > 1]
    alike = sum(one == other for one, other in pairs) / len(pairs)
    assert 0.45 < alike < 0.85


def test_the_file_has_no_name(
    plan: CentralPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is open, nothing is seen in the temporary folder."""
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with SyntheticDataset(plan.spec, 10, 1) as made:
        assert not list(tmp_path.iterdir())
        file = made._SyntheticDataset__file  # type: ignore[attr-defined]
        assert os.fstat(file.fileno()).st_nlink == 0


@pytest.mark.parametrize("rows", [1, 2, 39, 40, 41])
def test_small_files_are_whole(plan: CentralPlan, dummy: Make, tmp_path: Path, rows: int) -> None:
    """Any number of rows is met exactly."""
    assert len(table(dummy(plan, rows, 1), tmp_path)[MARK_COLUMN]) == rows


def test_wide_grids_stay_within_words() -> None:
    """Bounds may lie as far apart as specs allow."""
    limit = 2**62 - 1
    bounds = (-limit, limit)
    column = IntegerColumn("n", bounds=bounds)
    conditions = [InRanges(column, ((limit, limit),))]
    cells = column_cells(column, conditions, Stream(1), np.arange(500), 500)
    numbers = [int(cell) for cell in cells if cell]
    assert limit in numbers
    assert min(numbers) < -limit // 2
    assert all(abs(number) < 2**63 for number in numbers)
