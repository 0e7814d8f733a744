"""No cell of a workbook ends its reading: what no reader knows is a missing cell."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest

from dpcli.data.formats import STANDARD_DIALECT, Dialect
from dpcli.data.labels import CategoryColumn
from dpcli.engine.files import decoding
from dpcli.engine.files.pieces import read_texts
from dpcli.engine.files.source import open_dataset

openpyxl = pytest.importorskip("openpyxl")
pytest.importorskip("fastexcel")

COLUMNS = [CategoryColumn(name, (("a", "a"),)) for name in ("age", "sex")]

ERRORS = [
    "#N/A", "#DIV/0!", "#GETTING_DATA", "#SPILL!", "#CALC!", "#FIELD!", "#BLOCKED!", "#CONNECT!",
    "#UNKNOWN!", "#BUSY!", "#PYTHON!", "Err:502", "",
]  # fmt: skip

MISSING = {
    **{f"error {word}": f't="e"><v>{word}</v></c>' for word in ERRORS},
    "no type": 't="x"><v>7</v></c>',
    "empty type": 't=""><v>7</v></c>',
    "shared": 't="s"><v>999</v></c>',
    "shared long": f't="s"><v>{"9" * 30}</v></c>',
    "shared below zero": 't="s"><v>-1</v></c>',
    "shared text": 't="s"><v>abc</v></c>',
    "shared empty": 't="s"><v></v></c>',
    "number text": 't="n"><v>abc</v></c>',
    "number nan": "><v>NaN</v></c>",
    "number blank": "><v> </v></c>",
    "no value": "/>",
    "no text": 't="inlineStr"/>',
    "element": 't="str"><v>a<b/></v></c>',
}

VALUES = {
    "number": ("><v>7</v></c>", "7"),
    "style": ('s="999"><v>7</v></c>', "7"),
    "style text": ('s="x"><v>7</v></c>', "7"),
    "child": ("><extLst/><v>7</v></c>", "7"),
    "formula": ("><f>1&lt;2</f><v>7</v></c>", "7"),
    "two": ("><v>7</v><v>8</v></c>", "7"),
    "text": ('t="str"><v>a&amp;b &#233;</v></c>', "a&b é"),
    "no reference": ('t="str"><v>a&bogus;</v></c>', "a&bogus;"),
    "no character": ('t="str"><v>a&#0;&#xD800;&#x110000;</v></c>', "a\ufffd\ufffd\ufffd"),
    "section": (
        't="inlineStr"><is><t><![CDATA[R&D </c> <c r="A9"> é]]></t></is></c>',
        'R&D </c> <c r="A9"> é',
    ),
    "comment": ('t="str"><!-- </c> & <c r="ZZ9"> --><v>a</v></c>', "a"),
    "inline": ('t="inlineStr"><is><r><t>a</t></r><r><t>b&</t></r></is></c>', "ab&"),
}


def workbook(path: Path, cell: str, *, rows: int = 3) -> Path:
    """A workbook whose first record has this cell, after its reference."""
    book, plain = openpyxl.Workbook(), io.BytesIO()
    for row in [["age", "sex"], *([30 + place, "f"] for place in range(rows))]:
        book.active.append(row)
    book.save(plain)
    with zipfile.ZipFile(plain) as parts, zipfile.ZipFile(path, "w") as copy:
        for name in parts.namelist():
            content = parts.read(name)
            if name.endswith("sheet1.xml"):
                content = re.sub(rb'<c r="A2".*?</c>', lambda _: cell.encode(), content)
            copy.writestr(name, content)
    return path


def read(path: Path, dialect: Dialect = STANDARD_DIALECT) -> list[tuple[str | None, ...]]:
    """The records as texts."""
    with open_dataset((str(path),), dialect) as dataset:
        return [row for frame in read_texts(dataset, COLUMNS) for row in frame.rows()]


OTHERS = [("31", "f"), ("32", "f")]


@pytest.mark.parametrize("block", [64, 1 << 20])
@pytest.mark.parametrize("kind", MISSING)
def test_a_cell_that_no_reader_knows_is_missing(
    kind: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors, unknown types, indices and numbers that are none: the other cells stay."""
    monkeypatch.setattr(decoding, "BLOCK", block)
    cell = f'<c r="A2" {MISSING[kind]}'
    assert read(workbook(tmp_path / "a.xlsx", cell)) == [("", "f"), *OTHERS]


@pytest.mark.parametrize("block", [64, 1 << 20])
@pytest.mark.parametrize("kind", VALUES)
def test_a_value_is_read_whatever_stands_next_to_it(
    kind: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Styles, formulas and extensions that no reader knows change no value."""
    monkeypatch.setattr(decoding, "BLOCK", block)
    cell, text = VALUES[kind]
    assert read(workbook(tmp_path / "a.xlsx", f'<c r="A2" {cell}')) == [(text, "f"), *OTHERS]


@pytest.mark.parametrize(
    "place",
    [*("XFD2", "XFD1048576", "XFE1", "ZZZZZ2", "ZZZZZZ1", "zzzzzz1"), *("2A", "A0", "A99999999")],
)
def test_no_place_of_a_cell_is_too_far(place: str, tmp_path: Path) -> None:
    """A cell far from the table, or at no place, is left out, and takes no memory."""
    cell = f'<c r="{place}"><v>1</v></c>'
    for dialect, records in ((STANDARD_DIALECT, OTHERS), (Dialect(names=("age", "sex")), OTHERS)):
        assert read(workbook(tmp_path / "a.xlsx", cell), dialect)[-3:][-2:] == records


@pytest.mark.parametrize("cells", ["<c><v>1</v></c>", '<c r="XFD9"><v>1</v></c><c><v>1</v></c>'])
@pytest.mark.parametrize(
    "number", ["-1", "0", "", "x", "1.5", "1048577", "99999999", "4294967295", "9" * 30]
)
def test_no_place_of_a_row_is_too_far(number: str, cells: str, tmp_path: Path) -> None:
    """A row far below the table, or at no place, has no cells, and ends nothing."""
    path, rows = workbook(tmp_path / "a.xlsx", ""), f'<row r="{number}">{cells}</row>'
    _replace_sheet(path, b"</sheetData>", f"{rows}</sheetData>".encode())
    assert read(path) == read(workbook(tmp_path / "b.xlsx", ""))


def test_rows_without_places_follow_each_other(tmp_path: Path) -> None:
    """A sheet whose rows and cells state no places has all of its cells."""
    path = workbook(tmp_path / "a.xlsx", "")
    cell = "<c t='str'><v>%s</v></c>"
    texts = [("age", "sex", "x", "y"), *((f"{n}", "f", "x", "y") for n in range(9000))]
    rows = "".join(f"<row>{''.join(cell % text for text in row)}</row>" for row in texts)
    _replace_sheet(path, rb"<sheetData>.*</sheetData>", f"<sheetData>{rows}</sheetData>".encode())

    assert read(path) == [row[:2] for row in texts[1:]]


def _replace_sheet(path: Path, old: bytes, new: bytes) -> None:
    """Replace a text of the sheet of a workbook, by a pattern."""
    with zipfile.ZipFile(path) as parts:
        contents = {name: parts.read(name) for name in parts.namelist()}
    with zipfile.ZipFile(path, "w") as parts:
        for name, content in contents.items():
            is_sheet = name.endswith("sheet1.xml")
            parts.writestr(
                name, re.sub(old, lambda _: new, content, flags=re.DOTALL) if is_sheet else content
            )


def test_shared_texts_may_hold_any_reference(tmp_path: Path) -> None:
    """A reference to no character is a replacement character in the list of texts too."""
    path = workbook(tmp_path / "a.xlsx", '<c r="A2" t="s"><v>1</v></c>')
    with zipfile.ZipFile(path, "a") as parts:
        text = b"<sst><si><t>x</t></si><si><t>a&#0;\xff&x</t></si></sst>"
        parts.writestr("xl/sharedStrings.xml", text)
    assert read(path) == [("a\ufffd\ufffd&x", "f"), *OTHERS]


def test_cells_without_places_follow_each_other(tmp_path: Path) -> None:
    """A cell that is left out or blank does not move the next one."""
    cells = '<c t="e"><v>#SPILL!</v></c>'
    assert read(workbook(tmp_path / "a.xlsx", cells)) == [("", "f"), *OTHERS]
