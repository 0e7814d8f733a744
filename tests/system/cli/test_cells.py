"""`dpcli check --cells` on messy files: after its hints, every column can be read."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from tests.support.cli import Command, written
from tests.support.terminal import Screen, on_terminal

ROWS = 400

SPEC = """\
dpcli: 1
dataset: export
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 9}}
quality: {epsilon: 1, min_rows: 100, min_readable: {Day: 0.8, Sex: 0.8}}
csv: {delimiter: ";"}
columns:
  Day: {type: date, bounds: [2024-01-01, 2024-12-31]}
  Paid: {type: number, bounds: [0, 100000], step: 0.01}
  Balance: {type: number, bounds: [-10000, 10000], step: 0.01}
  Age: {type: integer, bounds: [18, 110]}
  Town: {type: category, values: [Zürich, Genève]}
  Sex: {type: category, values: [female, male]}
  Agreed: {type: boolean}
statistics:
  - {name: rows, statistic: count, epsilon: 1}
"""

HINTS = {
    "delimiter:": "encoding: windows-1252",
    "delimiter: ": "footer: [Total]",
    "Day: {": 'format: "%m/%d/%Y %I:%M %p"',
    "Paid: {": 'thousands: "."` and `decimal: ","',
    "Balance: {": 'thousands: ","` and `affixes: "$"` and `brackets: true',
    "Age: {": 'values: {"85+": 85}` and `na: NA',
    "Sex: {": "case: ignore",
    "Agreed: {": "values: [Unchecked, Checked]",
}
"""What the check says of each section or column, which is what has to be added."""


def messy_rows() -> list[list[str]]:
    """Rows as a spreadsheet program of several countries writes them."""
    chosen = random.Random(1)
    rows = []
    for _ in range(ROWS):
        number = f"{chosen.randint(1, 9):,},{chosen.randint(100, 999)}.{chosen.randint(10, 99)}"
        age = chosen.choice(["85+", "NA", *(str(age) for age in range(20, 36))])
        rows.append(
            [
                f"{chosen.randint(1, 12)}/{chosen.randint(1, 28)}/2024 9:05 PM",
                number.translate(str.maketrans(",.", ".,")),
                chosen.choice([f"${number}", f"({number})"]),
                age,
                chosen.choice(["Zürich", "Genève"]),
                chosen.choice(["Female", "MALE"]),
                chosen.choice(["Checked", "Unchecked"]),
            ]
        )
    return rows


NAMES = ["Day", "Paid", "Balance", "Age", "Town", "Sex", "Agreed"]


def cells_table(spec: Path, data: Path) -> tuple[dict[str, list[str]], str]:
    """The line of each column, and the whole text, of a terminal of 80 columns."""
    screen = on_terminal("check", spec, data, "--cells", columns=80, cwd=spec.parent, NO_COLOR="1")
    assert screen.status == 0, screen.text
    lines = [line.split() for line in screen.lines]
    table = {line[0]: line[1:] for line in lines if line[:1] and line[0] in NAMES}
    # A bar of the progress may come before it.
    return table, screen.text[screen.text.index("CONFIDENTIAL") :]


def edited(spec: str, hints: dict[str, str]) -> str:
    """The spec with the keys of the hints at the start of their sections."""
    for place, hint in hints.items():
        start = place.strip(" {") if place.startswith("delimiter") else place
        key = hint.replace("` and `", ", ")
        added = f"{key}, {start}" if start.startswith("delimiter") else f"{start}{key}, "
        spec = spec.replace(start, added, 1)
    return spec


def test_hints_make_every_column_readable(tmp_path: Path, dpcli: Command) -> None:
    """In Windows-1252 with a total; the spec edited as the check says is released."""
    data, spec = tmp_path / "export.csv", tmp_path / "spec.yaml"
    lines = [";".join(cells) for cells in [NAMES, *messy_rows(), ["Total", "1", *[""] * 5]]]
    data.write_bytes(("\r\n".join(lines) + "\r\n").encode("windows-1252"))
    spec.write_text(SPEC, encoding="utf-8")
    table, text = cells_table(spec, data)
    for hint in HINTS.values():
        assert f"{hint}" in " ".join(text.split()), text
    assert "a release would be stopped" in " ".join(text.split())
    assert dpcli("release", spec, data, "-q").status == 8

    spec.write_text(edited(SPEC, HINTS).replace("dataset: export", "dataset: fixed"), "utf-8")
    table, text = cells_table(spec, data)
    assert {line[2] for line in table.values()} == {"none"}, text
    assert "would read" not in text.partition("note:")[0]
    assert dpcli("release", spec, data, "-q").status == 0


def as_parquet(path: Path) -> None:
    """The texts in columns of Parquet."""
    pl.DataFrame(messy_rows(), NAMES, orient="row").write_parquet(path)


def as_json_lines(path: Path) -> None:
    """The texts in objects."""
    rows = [json.dumps(dict(zip(NAMES, cells, strict=True))) for cells in messy_rows()]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def as_workbook(path: Path) -> None:
    """The texts in the cells of a sheet."""
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("fastexcel")
    book = openpyxl.Workbook()
    for cells in [NAMES, *messy_rows()]:
        book.active.append(cells)
    book.save(path)


FORMATS: dict[str, Callable[[Path], None]] = {
    "a.parquet": as_parquet,
    "a.jsonl": as_json_lines,
    "a.xlsx": as_workbook,
}


@pytest.mark.extended
def test_all_formats_have_the_same_hints(tmp_path: Path) -> None:
    """What is said of the columns does not depend on the format of the file."""
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC.replace('csv: {delimiter: ";"}\n', ""), encoding="utf-8")
    plain = tmp_path / "a.csv"
    pl.DataFrame(messy_rows(), NAMES, orient="row").write_csv(plain)
    one, text = cells_table(spec, plain)
    assert 'thousands: "."' in text
    for name, write in FORMATS.items():
        write(tmp_path / name)
        other, same = cells_table(spec, tmp_path / name)
        assert (one, text) == (other, same), name


CSV = "dpcli: 1\ndataset: d\nprivacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1}}\n"
COUNT = "statistics: [{name: n, statistic: count, epsilon: 0.5}]\n"


def checked(folder: Path, declared: str, content: str | bytes, columns: int = 80) -> Screen:
    """What a check of cells shows of a file `a.csv`."""
    data, spec = folder / "a.csv", folder / "spec.yaml"
    data.write_bytes(content if isinstance(content, bytes) else content.encode())
    head = "" if "privacy:" in declared else CSV
    spec.write_text(f"{head}{declared}\n{COUNT}", encoding="utf-8")
    return on_terminal("check", spec, data, "--cells", columns=columns, cwd=folder, NO_COLOR="1")


@pytest.mark.parametrize(
    ("declared", "content", "words"),
    [
        ("csv: {multiline: true}", 'a,b\n1,2\n1,"2\n3",4\n', "records of a wrong length"),
        ("", "a,b\n1,2\n1,2,3\n", "some records have more cells than the header"),
        ("", "a,b\nx,1,2\ny,1,2\n", "`csv: {row_names: true}` would read them, as `write.table`"),
        (
            "",
            "a,b\nx,1,2\ny,1,2\n",
            "unquoted decimal commas, or delimiters in texts, look the same",
        ),
        ("csv: {row_names: true}", "a,b\nx,1,2\ny,1,2\n", ""),
        ("csv: {row_names: true}", "a,b\nx,1,2\ny,1,2,3\n", "or another delimiter is right b:"),
        ("", "a,b\n1,'Rue B, 12'\n2,'Rue C, 12'\n", '`csv: {quote: "\'"}` would read them'),
        ("", 'a,b\n1,"say \\"hi\\""\n', '`csv: {escape: "\\\\"}` would read them'),
        ("", 'a,b\n1,"C:\\"\n2,"D:\\"\n', ""),
        ("", 'a,b\n1,"x \\"y\\", z"\n', "escape"),
        ("", "a,b\n# a note, or two, or three\n1,Köln\n", 'comment: "#"'),
        ("", "a,b\n1,2,  \n   \n", ""),
        ("", "a,b\n1,2,\n1,2,\n", ""),
        ("", "a,b\n1,2\n1\n", "fewer cells than the header"),
        ("", "a,b\n1,2\nTotals,3\n", "`csv: {footer: [Total]}`"),
        ("", "a,b\n1,2\nGRAND TOTAL:,3\n", "`csv: {footer: [GRAND TOTAL]}`"),
        ("", "a,b\n1,2\nSumme 2023,3\nQuelle: Amt,\n", "`csv: {footer: [Summe, Quelle]}`"),
        ("", "a,b\n1,2\nTotal g\u00e9n\u00e9ral,3\n", "`csv: {footer: [Total g\u00e9n\u00e9ral]}`"),
        ("csv: {footer: Total}", "a,b\n1,2\nTotals,3\n", ""),
        ("", 'a,b\n1,"2\n3"\n', "`csv: {multiline: true}`"),
        ("", "a,b\n1,Zürich\n".encode("windows-1252"), "`csv: {encoding: windows-1252}`"),
        ("", "a,b\n1,Köln\n".encode("macintosh"), "`csv: {encoding: macintosh}`"),
        ("csv: {encoding: windows-1252}", "a,b\n1,Köln\n", "`csv: {encoding: utf-8}`"),
        ("csv: {encoding: windows-1252}", "a,b\n1,Köln\n".encode("windows-1252"), ""),
        ("", "a,b\n1,Köln\n", ""),
    ],
)
def test_faults_of_records_are_named(
    declared: str, content: str | bytes, words: str, tmp_path: Path
) -> None:
    """Records of a wrong length, open quotes, totals and encodings; nothing of a plain file."""
    columns = "columns: {a: {type: integer}, b: {type: category, values: [Köln, Berlin]}}"
    said = " ".join(checked(tmp_path, f"{declared}\n{columns}", content).text.split())
    assert words in said
    assert ("a.csv" in said) == bool(words)


@pytest.mark.parametrize(
    ("comment", "lines", "words"),
    [
        ("#", ["#1,2", "#2,3", "3,4"], "some lines begin with `#`, have as many cells as records"),
        ("#", ["# made by x", "1,2", '"#2",3', " #3,4"], ""),
        ("#", ["#1,2", *["1,2"] * 20], "few lines begin with `#`"),
        ("", ["1,2", "# by x, y, z", "# end"], '`csv: {comment: "#"}` would leave out lines'),
        ("", ["#1,2", "#2,3", "# end"], "fewer cells than the header, and the others are blank"),
    ],
)
def test_comments_that_may_be_records_are_named(
    comment: str, lines: list[str], words: str, tmp_path: Path
) -> None:
    """Raw lines are judged: a blank or a quote before the mark makes a record."""
    declared = f'csv: {{comment: "{comment}"}}\n' if comment else ""
    content = "a,b\n" + "".join(f"{line}\n" for line in lines * 3)
    columns = "columns: {a: {type: id}, b: {type: integer, bounds: [0, 9]}}"
    said = " ".join(checked(tmp_path, declared + columns, content, columns=200).text.split())
    assert words in said
    assert ("a.csv" in said) == bool(words)
    assert comment or ("{comment" in words) == ("{comment" in said)


def test_the_text_of_a_packed_file_shows_its_encoding(tmp_path: Path) -> None:
    """The bytes that gzip makes of it say nothing about it."""
    columns = "columns: {a: {type: integer}, b: {type: category, values: [K\u00f6ln, Berlin]}}"
    spec, data = tmp_path / "spec.yaml", tmp_path / "a.csv.gz"
    spec.write_text(f"{CSV}{columns}\n{COUNT}", encoding="utf-8")
    for encoding in ("windows-1252", "macintosh"):
        data.write_bytes(gzip.compress("a,b\n1,K\u00f6ln\n".encode(encoding) * 9))
        shown = on_terminal("check", spec, data, "--cells", columns=200, cwd=tmp_path)
        assert f"csv: {{encoding: {encoding}}}" in shown.text


@pytest.mark.parametrize("tick", ["x", "X", "\N{CHECK MARK}"])
def test_a_column_of_ticks_can_be_read(tmp_path: Path, tick: str) -> None:
    """Both hints together read it: a text for true, and what a blank cell means."""
    content, declared = "a,b\n" + f"{tick},1\n,2\n,3\n" * 9, "columns: {{a: {{type: boolean{}}}}}"
    shown = checked(tmp_path, declared.format(""), content, columns=200).text
    written = tick if tick.isascii() else f'"{tick}"'
    assert f"`values: [no, {written}]` would read them" in shown
    assert "a blank cell may mean false: then declare `missing: false`" in shown
    added = f", values: [no, {written}], missing: false"
    shown = checked(tmp_path, declared.format(added), content, columns=200).text
    assert "a       some" in shown and "never occurs: no" in shown and "blank cell may" not in shown


@pytest.mark.parametrize("columns", [90, 120, 200])
def test_a_wide_terminal_fills_its_lines(tmp_path: Path, columns: int) -> None:
    """A line is broken only where its next word would not fit; prose has at most 100 columns."""
    content = "a,b\n" + "p,1\n" * 30 + "Total: 30\n"
    lines = checked(tmp_path, "columns: {b: {type: integer}}", content, columns=columns).lines
    (first,) = (number for number, line in enumerate(lines) if "a.csv: the" in line)
    for line, after in pairwise(lines[first:]):
        if not after.startswith("  "):
            break
        assert len(f"{line} {after.split()[0]}") > min(columns, 100)
    assert "look at the file" in line


def test_numbers_outside_the_bounds_are_named(tmp_path: Path) -> None:
    """Codes of missing answers among them, and declared marks and affixes that never occur."""
    columns = (
        "columns:\n  a: {type: number, bounds: [0, 100], step: 1, na: [NA], affixes: [$]}\n"
        "  b: {type: integer, bounds: [0, 9]}"
    )
    screen = checked(tmp_path, columns, "a,b\n" + "-99,1\n" * 20 + "5,1\n" * 60 + "99.6,1\n")
    lines = [line.split() for line in screen.lines]
    assert ["a", "all", "none", "none", "some"] in lines
    assert ["b", "all", "none", "none", "none"] in lines
    for words in ("declare `na: [-99]`", "never occurs: NA, $", "all readable cells have the same"):
        assert words in screen.text


@pytest.mark.parametrize(
    ("declared", "cells", "is_doubtful"),
    [
        ("integer", "20.000 30.000 500", True),
        ("integer", "7.000 0.000 0.000 1500.000", False),
        ("integer", "20 30", False),
        ("number, step: 5, decimal: ','", "20,000 30,000 500", True),
        ("number, step: 0.01, affixes: EUR", "20.000EUR -1.500EUR", True),
        ("number, step: 0.01", "20.125 3.5 1.25", False),
        ("number, step: 0.001", "20.125 1.500", False),
    ],
)
def test_three_digits_after_a_mark_are_doubted(
    declared: str, cells: str, is_doubtful: bool, tmp_path: Path
) -> None:
    """Readable numbers that may be thousands are doubted where the step has fewer decimals."""
    columns = f"columns:\n  a: {{type: {declared}, bounds: [-10000, 100000]}}"
    rows = "a,b\n" + "".join(f'"{cell}",1\n' for cell in cells.split() * 20)
    shown = checked(tmp_path, columns, rows, columns=200).text
    assert ("may be thousands or decimals: look at the file" in shown) == is_doubtful


def test_texts_that_look_like_declared_ones_are_said(tmp_path: Path) -> None:
    """Cells with letters of another script are among the others, and the check says so."""
    columns = "columns:\n  a: {type: category, values: [Aa, b], other: rest}"
    rows = "a,b\nAa,1\nb,1\n" * 9
    assert "look like" not in checked(tmp_path, columns, rows, columns=200).text
    shown = checked(tmp_path, columns, f"{rows}\u0410a,1\n", columns=200).text
    assert "- some cells look like declared texts, with other characters: look at" in shown


def test_what_may_mean_something_else_is_said(tmp_path: Path) -> None:
    """Units of different sizes are named and not proposed, and other orders of days are named.

    A label for every other text is no advice where no text is a declared one.
    """
    columns = (
        "columns:\n  a: {type: number, bounds: [0, 100], step: 1}\n"
        "  b: {type: date, bounds: [2024-01-01, 2024-12-31]}\n"
        "  c: {type: category, values: [one, two]}"
    )
    rows = "a,b,c\n" + "5 kg,01/02/2024,x\n7 lb,03/02/2024,y\n" * 10
    shown = checked(tmp_path, columns, rows, columns=200).text
    assert "- `kg` and `lb` may change the size of numbers: look at the file" in shown
    assert "affixes" not in shown and "other: LABEL" not in shown
    assert '`format: "%d/%m/%Y"` would read them' in shown
    assert '`format: "%m/%d/%Y"` would read them as well, as other values: look at' in shown


def test_a_missing_file_is_reported_before_a_ledger_is_made(dpcli: Command, tmp_path: Path) -> None:
    """Neither a new nor an exhausted account changes what is said about a mistyped name."""
    text = CSV + "columns: {a: {type: integer}}\n" + COUNT.replace("0.5", "1")
    spec, data = written(tmp_path, text, "a\n1\n")
    first = dpcli("release", spec, tmp_path / "b.csv")
    assert (first.status, "created" in first.err) == (4, False)
    assert not list(tmp_path.glob("dpcli-ledger*"))
    assert dpcli("release", spec, data, "-q", "--release-id", "one").status == 0
    data.unlink()
    for words in ((), ("--dry-run",)):
        refused = dpcli("release", spec, data, *words)
        assert refused.status == 4
        assert "error[data-missing]" in refused.err
    # What is stored needs no data.
    assert dpcli("release", spec, data, "-q", "--release-id", "one").status == 0


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("1,x\n1,x\n1,5\n", {"fewer cells of", "ids: some rows are beyond"}),
        ("1,5\n1,x\n2,5\n", set()),
        ("1,5\n2,x\n3,5\n", {"ids: no id has"}),
    ],
)
def test_minimums_of_derived_columns_and_rows_of_ids_are_checked(
    rows: str, words: set[str], tmp_path: Path
) -> None:
    """What would stop a release is named, and whether `max_rows` leaves rows out."""
    spec = (
        CSV.replace("unit: row", "unit: {column: p, max_rows: 2}")
        + "columns: {p: {type: id}, a: {type: integer, bounds: [0, 9]}}\n"
        + "derive: {twice: {sum: [a, a], bounds: [0, 18]}}\n"
        + "quality: {epsilon: 0.5, min_rows: 2, min_readable: {twice: 0.5}}"
    )
    shown = checked(tmp_path, spec, "p,a\n" + rows).text
    possible = ("fewer cells of", "ids: some rows are beyond", "ids: no id has")
    assert {said for said in possible if said in shown} == words


def test_columns_are_looked_at_in_the_encoding_that_fits(tmp_path: Path) -> None:
    """Where the sign of the euro is no UTF-8, the other hints are those of the right encoding."""
    rows = "1.234,56 €;Offen\n" * 20 + "k.A.;bezahlt\n-;Verzug\n" * 10
    declared = (
        "csv: {delimiter: ;, skip_lines: 1}\n"
        "columns:\n  x: {type: number, bounds: [0, 5000], step: 0.01}\n"
        "  y: {type: category, values: [offen, bezahlt]}"
    )
    shown = checked(tmp_path, declared, ("Title\nx;y\n" + rows).encode("windows-1252"), 100).text
    for words in (
        "`csv: {encoding: windows-1252}`",
        '`thousands: "."` and `decimal: ","` and `affixes: "€"` and `na: [k.A., "-"]` would read',
        "`case: ignore` would read some of them",
        "`other: LABEL`",
    ):
        assert words in shown
