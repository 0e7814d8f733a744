"""Files as other programs write them: titles, two header lines, totals, archives, JSON Lines."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from dpcli.data.formats import STANDARD_DIALECT, UNDECLARED_DIALECT, Dialect
from dpcli.data.labels import CategoryColumn, IdColumn
from dpcli.data.number_columns import IntegerColumn
from dpcli.engine.files import decoding, decompression, json_lines
from dpcli.engine.files.header_check import require_columns
from dpcli.engine.files.header_lines import merged_names
from dpcli.engine.files.pieces import read_texts
from dpcli.engine.files.source import open_dataset
from dpcli.privacy.unit import PersonUnit, RowUnit
from dpcli.problems.errors import DataError
from dpcli.queries.query import LinearQuery
from dpcli.queries.sums import Factor
from tests.oracles.opened import engine
from tests.oracles.plain import evaluate
from tests.support.blocks import read_in_blocks
from tests.support.rules import mostly_extended

AGE = IntegerColumn("age", bounds=(0, 100))
SEX = CategoryColumn("sex", (("F", "F"), ("M", "M")))
ROW = RowUnit()
QUERIES = (LinearQuery(), LinearQuery(factors=(Factor(AGE),)))

Table = tuple[tuple[str, ...], list[tuple[str | None, ...]]]


def texts(path: Path, dialect: Dialect = STANDARD_DIALECT) -> Table:
    """The names of the columns of a file, and its rows as texts, without blank cells."""
    with open_dataset((str(path),), dialect) as dataset:
        (source,) = dataset.sources
        columns = [IdColumn(name, source=place) for place, name in enumerate(source.header, 1)]
        frames = read_texts(dataset, columns)
        rows = [row for frame in frames for row in frame.rows()]
        return source.header, [tuple(cell or None for cell in row) for row in rows]


def code(path: Path, dialect: Dialect = STANDARD_DIALECT) -> str:
    """The code of the only problem of a file."""
    with pytest.raises(DataError) as failure:
        open_dataset((str(path),), dialect)
    (problem,) = failure.value.problems
    return problem.code


def test_lines_before_the_header_are_skipped(tmp_path: Path) -> None:
    """Title lines and blank lines count, and quotes in them mean nothing."""
    path = tmp_path / "a.csv"
    path.write_bytes(b'\xef\xbb\xbfVisits "2024\r\n\r\n"by, day\r\nage,sex\r\n30,F\r\n')
    assert texts(path, Dialect(skip_lines=3)) == (("age", "sex"), [("30", "F")])


def test_names_replace_a_header_that_is_skipped(tmp_path: Path) -> None:
    """With `names`, the records begin after the lines to skip."""
    path = tmp_path / "a.csv"
    path.write_text("What is your age?,Sex\n30,F\n40,M\n", encoding="utf-8")
    dialect = Dialect(skip_lines=1, names=("age", "sex"))
    assert texts(path, dialect) == (("age", "sex"), [("30", "F"), ("40", "M")])


SURVEY = """\
Respondent ID,Start Date,"Which news do
 you read?",,,Age
,,Web,Print,Other (please specify),
101,01/02/2024,Web,,,34
102,01/03/2024,,Print,"a
paper",56
"""


def test_a_header_of_two_lines_joins_both(tmp_path: Path) -> None:
    """An empty cell takes the text to its left, and a name joins both lines."""
    path = tmp_path / "survey.csv"
    path.write_text(SURVEY, encoding="utf-8")
    assert texts(path, Dialect(header_lines=2, multiline=True)) == (
        (
            "Respondent ID",
            "Start Date",
            "Which news do you read?: Web",
            "Which news do you read?: Print",
            "Which news do you read?: Other (please specify)",
            "Age",
        ),
        [
            ("101", "01/02/2024", "Web", None, None, "34"),
            ("102", "01/03/2024", None, "Print", "a\npaper", "56"),
        ],
    )


@pytest.mark.parametrize(
    ("upper", "lower", "expected"),
    [
        (["Sales", "", "Cost"], ["2023", "2024"], ("Sales: 2023", "Sales: 2024", "Cost")),
        (["", "a"], ["x", ""], ("x", "a")),
        (["a"], ["b", "c"], ("a: b", "a: c")),
        (["a", ""], ["", ""], ("a", "")),
    ],
)
def test_names_of_two_lines(
    upper: Sequence[str], lower: Sequence[str], expected: tuple[str, ...]
) -> None:
    """A column without a text in the second line keeps its own text, or has no name."""
    assert merged_names(upper, lower) == expected


@pytest.mark.parametrize(
    "dialect",
    [Dialect(skip_lines=9), Dialect(header_lines=2, multiline=True), Dialect(header_lines=2)],
)
def test_a_file_that_ends_before_its_header_is_refused(dialect: Dialect, tmp_path: Path) -> None:
    """A header that is not there cannot be read."""
    (tmp_path / "a.csv").write_text("title\n\n", encoding="utf-8")
    assert code(tmp_path / "a.csv", dialect) == "no-header"


WORDS = ("", " ", "1", "7", "Total", " Total", "Totals", "total", '"Total"', '" Total,"', '"', "é")


@pytest.mark.extended
@pytest.mark.parametrize("multiline", [True, False])
@pytest.mark.parametrize("seed", mostly_extended(range(8), 0, 1))
def test_all_forms_of_text_agree_with_the_oracle(
    seed: int, multiline: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Skipped lines, headers and footers mean the same as decided one record at a time."""
    random = Random(seed)
    read_in_blocks(monkeypatch, random.choice([1, 7, 1 << 18]))
    dialect = Dialect(
        multiline=multiline,
        skip_lines=random.randrange(3),
        header_lines=random.choice([1, 2]),
        footer=random.choice([(), ("Total",), ("Total ", "é", "1")]),
    )
    titles = "".join(f"{random.choice(WORDS)}\n" for _ in range(dialect.skip_lines))
    header = "sex,age\n" if dialect.header_lines == 1 else "sex,\n,age\n"
    age = replace(AGE, source=None if dialect.header_lines == 1 else "sex: age")
    rows = "".join(
        random.choice(WORDS) + "," + random.choice(WORDS) + random.choice(["\n", "\r\n"])
        for _ in range(60)
    )
    path = tmp_path / "a.csv"
    path.write_bytes((titles + header + rows).encode())
    queries = (LinearQuery(), LinearQuery(factors=(Factor(age),)))
    for unit in (ROW, PersonUnit("sex", 60, 1, 60)):
        expected = evaluate(queries, path.read_bytes(), unit, dialect=dialect)
        assert engine(queries, unit, path, dialect=dialect) == expected


def test_a_footer_is_left_out_also_of_a_file_that_is_read_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The filter holds for large plain files as for small ones, also for a quoted total."""
    read_in_blocks(monkeypatch, 64)
    rows = "".join(f"{place % 5},{place % 90}\n" for place in range(500))
    dialect = Dialect(footer=("Total",))
    for total in ("Total,9\n", '"Total",9\n', " \tTotal of all,9\n"):
        path = tmp_path / "a.csv"
        path.write_text("sex,age\n" + rows + total, encoding="utf-8")
        assert texts(path, dialect)[1][-1] == ("4", "49")
        count, _ = engine(QUERIES, ROW, path, dialect=dialect)
        assert count == [500]


def test_a_row_in_the_tail_pushes_no_row_out(tmp_path: Path) -> None:
    """One more record changes the number of rows by one, wherever it is."""
    dialect = Dialect(footer=("Total", "Source:"))
    lines = ["sex,age\n", "F,1\n", "Total,1\n", "M,2\n", "Source: register,\n"]
    for place in range(1, 6):
        path = tmp_path / f"{place}.csv"
        path.write_text("".join((*lines[:place], "F,3\n", *lines[place:])), encoding="utf-8")
        assert len(texts(path, dialect)[1]) == 3


def test_a_record_with_a_blank_first_cell_is_no_footer(tmp_path: Path) -> None:
    """Only records that begin with a declared text are left out."""
    path = tmp_path / "a.csv"
    path.write_text("sex,age\nF,1\n,2\n \t,3\nTotal,6\n", encoding="utf-8")
    count, _ = engine(QUERIES, ROW, path, dialect=Dialect(footer=("Total",)))
    assert count == [3]


def zipped(path: Path, **members: str) -> Path:
    """An archive with members whose names have `_` for `.`."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_", "."), content)
    return path


def test_a_zip_archive_with_one_member_is_its_member(tmp_path: Path) -> None:
    """The name of the member states its format; files that macOS adds are no members."""
    path = zipped(tmp_path / "a.zip", data_tsv="age\tsex\n30\tF\n")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("__MACOSX/._data.tsv", b"\0\0")
    assert texts(path, UNDECLARED_DIALECT) == (("age", "sex"), [("30", "F")])
    inner = zipped(tmp_path / "b.zip", a_jsonl='{"age": 1}\n')
    assert texts(inner) == (("age",), [("1",)])


def test_other_archives_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two members, none, a password, damage and bombs are refused."""
    path = zipped(tmp_path / "a.zip", a_csv="age\n" + "1\n" * 1000)
    archived = path.read_bytes()
    encrypted = bytearray(archived)
    encrypted[archived.index(b"PK\x01\x02") + 8] |= 1
    for changed, expected in (
        (b"age\n1\n", "data-not-zip"),
        (archived[:-30], "data-not-zip"),
        (archived[:40] + b"\xff" * 8 + archived[48:], "data-not-zip"),
        (bytes(encrypted), "data-not-zip"),
    ):
        path.write_bytes(changed)
        assert code(path) == expected
    assert code(zipped(tmp_path / "two.zip", a_csv="a\n", b_csv="a\n")) == "data-not-zip"
    assert code(zipped(tmp_path / "none.zip")) == "data-not-zip"
    monkeypatch.setattr(decompression, "LARGEST_UNPACKED", 1 << 10)
    path.write_bytes(archived)
    assert code(path) == "data-too-large"


def test_json_lines_are_rows(tmp_path: Path) -> None:
    """Numbers stay as written; nested values, nulls and lines that are no object are missing."""
    path = tmp_path / "a.jsonl"
    path.write_text(
        '\ufeff{"n": 1.50, "b c": true}\r\n\n  \nnot json\n[1]\n{"b c": "x\\"y\\n", "n": -1E400}\n'
        '{"n": {"m": 1}, "b c": [2]}\n{"n": null, "other": 3}\n{"n": "\\ud800"}\n'
        '{"n": 123456789012345678901234567890, "n": 12345678901234567890.10}\n{"n": 1} x',
        encoding="utf-8",
    )
    none = (None, None)
    assert texts(path) == (
        ("n", "b c"),
        [
            ("1.50", "true"), none, none, ("-1E400", 'x"y\n'), none, none, ("?", None),
            ("12345678901234567890.10", None), none,
        ],
    )  # fmt: skip
    assert texts(path, Dialect(names=("other",)))[1].count(("3",)) == 1
    path.write_bytes('{"é": "ü"}\n'.encode("utf-16"))
    assert texts(path, Dialect(encoding="utf-16")) == (("é",), [("ü",)])


def test_a_json_line_changes_only_its_own_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However odd a line is, the other rows are as without it, in blocks of any size."""
    monkeypatch.setattr(json_lines, "LONGEST_LINE", 100)
    monkeypatch.setattr(json_lines, "ROWS", 3)
    good = [json.dumps({"a": place}) for place in range(5)]
    expected = [(str(place),) for place in range(5)]
    long = json.dumps({"a": "x" * 100})
    path = tmp_path / "a.ndjson"
    for odd in ("{", '{"a":1},{"a":2}', '"', "\0", "[" * 5000, long, '{"a": "\r"}', "\x85"):
        for place, block in ((1, 1), (3, 64), (5, 1 << 18)):
            monkeypatch.setattr(decoding, "BLOCK", block)
            path.write_text("\n".join((*good[:place], odd, *good[place:])), encoding="utf-8")
            rows = texts(path)[1]
            assert rows == [*expected[:place], (None,), *expected[place:]]


@pytest.mark.parametrize("content", ["", "[]\n", "{}\n", "5\n", "x\n"])
def test_a_draft_needs_an_object_with_keys(content: str, tmp_path: Path) -> None:
    """Without keys of a spec, those of the first object are the columns."""
    (tmp_path / "a.jsonl").write_text(content, encoding="utf-8")
    assert code(tmp_path / "a.jsonl") == "no-header"


@pytest.mark.parametrize("first", ["", "[]\n", "{}\n", "5\n", "x\n", '{"b": 1}\n', '{"a": 1}\n'])
def test_no_object_decides_which_columns_json_lines_have(first: str, tmp_path: Path) -> None:
    """With the keys of a spec, a first line of any kind is a row, and so are the next ones."""
    path = tmp_path / "a.jsonl"
    path.write_text(f'{first}{{"c": 3, "a": 7}}\n', encoding="utf-8")
    columns, rows = texts(path, Dialect(keys=("a", "c")))
    assert columns == ("a", "c")
    assert rows[bool(first) :] == [("7", "3")]
    assert rows[0] in [("7", "3"), ("1", None), (None, None)]


def workbook(path: Path, *rows: Sequence[object], first_column: int = 1, sheet: str = "S") -> Path:
    """A workbook with a sheet of these rows."""
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("fastexcel")
    book = openpyxl.Workbook()
    book.active.title = sheet
    for row, cells in enumerate(rows, 1):
        for column, cell in enumerate(cells, first_column):
            book.active.cell(row, column, cell)
    book.create_sheet("Other")["A1"] = "z"
    book.save(path)
    return path


def test_a_sheet_is_read_as_text(tmp_path: Path) -> None:
    """Whole numbers have no point, dates are ISO dates, and rows are counted from row 1."""
    import datetime

    day, time = datetime.date(2024, 1, 31), datetime.datetime(2024, 1, 31, 9, 5)  # noqa: DTZ001
    path = workbook(
        tmp_path / "a.xlsx",
        ["Sales report"],
        [],
        ["Product", "Price", "Day", "Time", "Paid", "Text"],
        ["a", 3.0, day, time, True, "007"],
        ['q"\n', 0.1, None, None, False, "1,5"],
        [],
        ["Total", 3.1],
    )
    dialect = Dialect(skip_lines=2, footer=("Total",))
    expected = (
        ("Product", "Price", "Day", "Time", "Paid", "Text"),
        [
            ("a", "3", "2024-01-31 00:00:00", "2024-01-31 09:05:00", "true", "007"),
            ('q"\n', "0.1", None, None, "false", "1,5"),
        ],
    )
    assert texts(path, dialect) == expected
    assert texts(path, Dialect(sheet="Other")) == (("z",), [])
    assert code(path, Dialect(sheet="other")) == "sheet-missing"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(path, "a.xlsx")
    (tmp_path / "a.zip").write_bytes(packed.getvalue())
    assert texts(tmp_path / "a.zip", dialect) == expected


@pytest.mark.parametrize("names", [(), ("place", "age")])
def test_no_record_moves_the_columns_of_a_sheet(names: tuple[str, ...], tmp_path: Path) -> None:
    """A cell beside the table changes the position of no column."""
    table: list[list[object]] = [[None, "sex", "age"], [None, "F", 1], [None, "M", 2]]
    plain = workbook(tmp_path / "a.xlsx", *table)
    odd = workbook(tmp_path / "b.xlsx", *table, ["stray", "F", 3, "stray"])
    dialect = Dialect(names=names, skip_lines=bool(names))
    assert texts(odd, dialect)[0] == texts(plain, dialect)[0]
    assert texts(odd, dialect)[1][:2] == texts(plain, dialect)[1]


def test_what_is_no_workbook_is_refused(tmp_path: Path) -> None:
    """A web page or a text under the name .xlsx is refused, and so is a workbook named .csv."""
    path = workbook(tmp_path / "a.xlsx", ["age"], [1])
    path.rename(tmp_path / "a.csv")
    path.write_text("<html>", encoding="utf-8")
    assert code(path) == "not-xlsx"
    assert code(tmp_path / "a.csv") == "not-csv"


def test_columns_are_required_by_the_joined_names(tmp_path: Path) -> None:
    """A declared column is found under its joined name."""
    (tmp_path / "a.csv").write_text("q,\na,b\n1,2\n", encoding="utf-8")
    column = IntegerColumn("x", bounds=(0, 9), source="q: b")
    with open_dataset((str(tmp_path / "a.csv"),), Dialect(header_lines=2)) as dataset:
        require_columns(dataset, [column])
