"""Minimums and limits in `check` are about the rows of the period."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dpcli.data.dates import DateColumn
from dpcli.data.labels import IdColumn
from dpcli.data.number_columns import IntegerColumn
from dpcli.data.period_filter import period_filter
from dpcli.data.periods import parse_period
from dpcli.engine.check_cells import CellsCheck, check_cells
from dpcli.engine.files import pieces
from dpcli.engine.files.source import open_dataset
from dpcli.engine.progress import Progress
from dpcli.numeric.days import days_of
from dpcli.privacy.unit import PersonUnit

DAY = DateColumn("day", bounds=(days_of("2024-01-01"), days_of("2024-12-31")))
COLUMNS = (IdColumn("who"), DAY, IntegerColumn("size", bounds=(0, 9)))

ROWS = [
    *(f"{who},2024-03-05,7" for who in range(10)),
    *(f"{who},2024-03-04,x" for who in range(30)),
    *(f"{who},2024-03-04,x" for who in range(30)),
    "1,,x", "2,soon,x", "3,2023-12-31,x",
]  # fmt: skip


def checked(folder: Path, period: str | None, minimum: int) -> CellsCheck:
    """The check of these rows, with this minimum of rows and of people."""
    (path := folder / "data.csv").write_text("\n".join(["who,day,size", *ROWS, ""]), "utf-8")
    only = None if period is None else period_filter(DAY, parse_period(period))
    minimums, unit = (minimum, minimum), PersonUnit("who", 1, 1, 1)
    with open_dataset([str(path)]) as dataset:
        shares = {"size": Fraction(9, 10)}
        return check_cells(dataset, COLUMNS, minimums, Progress(), shares, unit, only)


@pytest.mark.parametrize("piece", [pieces.PIECE, 64])
def test_what_would_stop_a_release_is_about_its_period(
    piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People, kept rows, readable shares and repeated ids are those of the day alone."""
    monkeypatch.setattr(pieces, "PIECE", piece)
    day = checked(tmp_path, "2024-03-05", 10)
    assert day.existing == "some" and day.is_unique and day.repeated == "none"
    assert day.enough_rows and day.enough_people and not day.below
    more = checked(tmp_path, "2024-03-05", 11)
    assert not more.enough_rows and not more.enough_people
    every = checked(tmp_path, None, 30)
    assert every.existing is None and not every.is_unique and every.below == ("size",)
    assert every.enough_rows and every.enough_people
    none = checked(tmp_path, "2024-06", 1)
    assert none.existing == "none" and not none.enough_people


def test_cells_are_those_of_all_rows(tmp_path: Path) -> None:
    """How a column reads, also that of the days, does not depend on the period."""
    for period in (None, "2024-03-05", "2024-06"):
        who, day, size = checked(tmp_path, period, 1).columns
        assert (who.readable, day.readable, size.readable) == ("all", "most", "some")
        assert (day.blank, day.unreadable, day.outside) == ("few", "few", "few")
