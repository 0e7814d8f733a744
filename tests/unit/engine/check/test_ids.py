"""How many ids an option would join, in words."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from dpcli.data.cell_options import Blanks, Case, Numerals
from dpcli.data.column import Option
from dpcli.data.labels import IdColumn
from dpcli.engine.check_cells import CellsCheck, check_cells
from dpcli.engine.files import pieces
from dpcli.engine.files.source import open_dataset
from dpcli.engine.progress import Progress
from dpcli.privacy.unit import PersonUnit

OTHERS = [f"q{number}" for number in range(30)]


def checked(path: Path, ids: Iterable[str], options: tuple[Option, ...] = ()) -> CellsCheck:
    """The check of a file with these ids."""
    path.write_text("".join(f"{one},1\n" for one in ("who,x", *ids)), "utf-8")
    column = IdColumn("who", options=options)
    unit = PersonUnit("who", 1, 1, 1, options=tuple((option.key,) for option in options))
    with open_dataset([str(path)]) as dataset:
        return check_cells(dataset, [column], (None, None), Progress(), unit=unit)


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (["p1", "P1", *OTHERS], [("few", "case: ignore")]),
        (["p1", "P1", "p2", "P2", "p1"], [("all", "case: ignore")]),
        (["7", "07", "8", *OTHERS[:5]], [("some", "number: true")]),
        (["7", "7.0", "8", "8.0", *OTHERS], [("some", "number: true")]),
        (["a b", "ab", "AB", *OTHERS], [("few", "case: ignore"), ("few", "blanks: ignore")]),
        (["p1", " p1", "p1\N{NO-BREAK SPACE}", "p1", *OTHERS], []),
        (["A\u20111", "A-1", *OTHERS], []),
        (["A\u20131", "A-1", "\u04101", *OTHERS], [("few", "")]),
        (["\uff211", "A1", "p\u20281", "p1"], [("all", "")]),
        (["p1", "p2", "", ""], []),
    ],
)
def test_ids_that_an_option_would_join_are_reported_in_words(
    ids: list[str], words: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few, some, most or all of the ids, and never how many, whatever the pieces are."""
    found = checked(tmp_path / "data.csv", ids).joined
    assert [(share, option) for share, option, _ in found] == words
    monkeypatch.setattr(pieces, "PIECE", 16)
    assert checked(tmp_path / "data.csv", ids).joined == found


def test_an_option_that_is_declared_is_not_proposed(tmp_path: Path) -> None:
    """What it joins is one id, also where the rows of ids are counted."""
    ids = ["p1", "P1", *OTHERS]
    assert checked(tmp_path / "data.csv", ids, (Case(),)).joined == ()
    assert checked(tmp_path / "data.csv", ids, (Case(),)).repeated == "few"
    assert checked(tmp_path / "data.csv", ids, (Blanks(), Numerals())).repeated == "none"
