"""The sample file is the output of its script, and is as untidy as a real file."""

from __future__ import annotations

import csv
import io
import re
import runpy
from collections import Counter
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "sample_data"
PEOPLE = FOLDER / "people.csv"


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    """The records of the sample file."""
    text = PEOPLE.read_bytes().decode()
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def test_the_script_makes_the_file() -> None:
    """The script reproduces the sample file byte for byte."""
    text = runpy.run_path(str(FOLDER / "make_people.py"))["text"]()
    assert text.encode() == PEOPLE.read_bytes()


def test_form() -> None:
    """The sample file is UTF-8 with LF line ends, and neither tiny nor large."""
    data = PEOPLE.read_bytes()
    assert b"\r" not in data
    assert data.endswith(b"\n")
    assert "Saint-Rémy" in data.decode()
    assert 500_000 <= len(data) <= 1_000_000


def test_rows_are_whole(rows: list[dict[str, str]]) -> None:
    """There are about twelve thousand rows, each with a cell for every column."""
    assert 11_900 <= len(rows) <= 12_100
    assert all(None not in row and None not in row.values() for row in rows)


def test_people_repeat(rows: list[dict[str, str]]) -> None:
    """Most people have several rows, and a few have more than six."""
    visits = Counter(row["person_id"] for row in rows)
    spread = Counter(visits.values())
    assert {1, 2, 3, 4, 5, 6} <= set(spread)
    assert 0 < sum(count for number, count in spread.items() if number > 6) < 150
    assert spread[1] < len(visits) / 2


def test_the_readme_names_every_column(rows: list[dict[str, str]]) -> None:
    """The README of the sample data describes each column of the file, in order."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    described = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]
    assert described == list(rows[0])


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("income", ["", "NA", "n/a", "-", "NaN", "inf", "-inf", "1e3", "1,200", "+5", "0x10"]),
        ("income", ["-250.00", "9999999.00", " 1850.50 ", "1_000", "1234.565"]),
        ("hours", ["", "168", "-8", " 40 ", "37,5"]),
        ("employment", ["", "Employed", " employed ", "military"]),
        ("first_visit", ["", "no", "2"]),
        ("note", ["", "back pain, second week", 'wants a "second opinion", see letter']),
    ],
)
def test_oddities(rows: list[dict[str, str]], column: str, cells: list[str]) -> None:
    """Cells that real files have, and that no spec expects, are in the sample file."""
    assert set(cells) <= {row[column] for row in rows}


@pytest.mark.parametrize(
    ("column", "form"),
    [
        ("age", "[0-9]{1,2}"),
        ("visit", "2021-[0-9]{2}-[0-9]{2}"),
        ("sex", "[012]"),
        ("insured", "yes|no"),
    ],
)
def test_the_register_has_no_odd_cells(rows: list[dict[str, str]], column: str, form: str) -> None:
    """Every cell of these columns is as its description says."""
    assert all(re.fullmatch(form, row[column]) for row in rows)


def test_other_offices_have_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their script reproduces them byte for byte."""
    monkeypatch.syspath_prepend(str(FOLDER))
    made = runpy.run_path(str(FOLDER / "make_offices.py"))
    for office in made["FILES"]:
        assert made["text"](office).encode() == (FOLDER / f"{office}.csv").read_bytes()


@pytest.mark.parametrize("column", ["employment", "income", "hours", "first_visit"])
def test_most_cells_are_plain(rows: list[dict[str, str]], column: str) -> None:
    """Of a column's cells, nearly all are as its description says."""
    odd = runpy.run_path(str(FOLDER / "make_people.py"))["ODD"][column]
    strange = sum(row[column] in odd for row in rows)
    assert 0.02 < strange / len(rows) < 0.05
