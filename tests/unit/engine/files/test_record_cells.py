"""Records that do not have the cells of the header: no cell of them is taken for another one."""

from __future__ import annotations

import datetime
from pathlib import Path
from random import Random

import pytest

from dpcli.data.characters import BLANKS
from dpcli.data.date_forms import DateForm
from dpcli.data.date_options import Formats
from dpcli.data.dates import DateColumn
from dpcli.data.derived.calendar import time_part_of
from dpcli.data.formats import Dialect
from dpcli.data.kinds import Axis
from dpcli.data.labels import CategoryColumn, IdColumn
from dpcli.engine.cells import Decoder
from dpcli.engine.files import pieces
from dpcli.engine.files.pieces import read_texts
from dpcli.engine.files.record_cells import RecordFitter
from dpcli.engine.files.source import open_dataset
from dpcli.privacy.unit import PersonUnit, RowUnit, Unit
from dpcli.queries.query import LinearQuery
from tests.oracles.opened import cells_of, engine
from tests.oracles.plain import UNSEEN, evaluate, records
from tests.support.rules import for_each

ROWS = LinearQuery()
BY_KIND = LinearQuery(by=(Axis(CategoryColumn("kind", (("x", "x"), ("y", "y")))),))

CELLS = (
    "1",
    "",
    '""',
    '"a,b"',
    " ",
    '"\n"',
    "x",
    '"""" ',
    '" "',
    '"q""q"',
    "\t",
    "é",
    "\u00a0",
    '"\u3000"',
    "\ufeffé",
    "\u00e2",
)

Cells = list[str] | None


def written(random: Random, cells: tuple[str, ...]) -> str:
    """Well-formed text of a few records, and of lines of blanks."""
    lines = [
        random.choice(("", "  ", "\t "))
        if random.random() < 0.15
        else ",".join(
            cell.strip(" \t") for cell in random.choices(cells, k=random.choice((1, 1, 2, 3, 4, 6)))
        )
        for _ in range(random.randrange(6))
    ]
    text = "".join(line + random.choice(("\n", "\r\n")) for line in lines)
    return text.rstrip("\r\n") if random.random() < 0.3 else text


def bare(record: Cells, width: int) -> Cells:
    """The cells of a record without blanks; None if a surplus one has text."""
    if record is None or any(cell.strip(BLANKS) for cell in record[width:]):
        return None
    cells = [""] if record == UNSEEN else record
    return [cell.strip(BLANKS) for cell in (*cells, *[""] * width)][:width]


@for_each(range(1000))
def test_each_record_fits_the_header(number: int) -> None:
    """A broken record keeps its place, blank surplus goes, and so do lines of blanks."""
    random, dialect = Random(number), Dialect(multiline=True)
    text, width = written(random, random.choice((CELLS, ("1", "2", "x")))), random.choice((1, 2, 3))
    fitted, has_broken = RecordFitter(dialect, width).fitted(text.encode(), quoted='"' in text)
    is_row = [one for one in records(text, dialect) if one not in ([], UNSEEN) or width == 1]
    found = list(records(fitted.decode(), dialect))

    assert [bare(record, width) for record in found] == [bare(record, width) for record in is_row]
    assert has_broken == (None in [bare(record, width) for record in is_row])


@pytest.mark.parametrize("cell", ["\0", '"', "x"])
def test_where_no_character_quotes_every_record_is_read_by_itself(
    cell: str, tmp_path: Path
) -> None:
    """Also a NUL, and also among other line ends than those of the first lines."""
    path = tmp_path / "data.csv"
    path.write_text(f"a,b\n{cell},1\r1,f,late\n2,f,late\n", encoding="utf-8", newline="")

    assert read(path, Dialect(quote=None))[1] == [(cell, "1"), ("", ""), ("", "")]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_an_escaped_line_end_stays_in_its_cell(end: str, tmp_path: Path) -> None:
    """One record has one row, whatever line ends are in its cells."""
    path, dialect = tmp_path / "data.csv", Dialect(escape="\\", multiline=True)
    cell = f'"x{end}y",z' if end == "\r" else f"x\\{end}y,z"
    path.write_text(f"a,b{end}{cell}{end}1,2{end}", encoding="utf-8", newline="")

    assert [row[1] for row in read(path, dialect)[1]] == ["z", "2"]


def test_the_cells_of_a_sheet_have_no_names_of_rows(tmp_path: Path) -> None:
    """In a workbook, each cell has a column."""
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("fastexcel")
    path, book = tmp_path / "data.xlsx", openpyxl.Workbook()
    for row in (["a", "b"], ["x", "y"]):
        book.active.append(row)
    book.save(path)

    assert read(path, Dialect(row_names=True))[0] == ("a", "b")


def test_a_time_of_day_in_a_sheet_is_no_day(tmp_path: Path) -> None:
    """It has no date, as it has none in other files; its hours can be read."""
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("fastexcel")
    path, book = tmp_path / "data.xlsx", openpyxl.Workbook()
    for row in (["x"], [datetime.time(18, 30)], [datetime.date(2021, 5, 5)]):
        book.active.append(row)
    book.save(path)
    day = DateColumn("x", bounds=(18_000, 19_000))
    hour = time_part_of(DateColumn("x", options=(Formats((DateForm("%H:%M:%S"),)),)), "hour")
    with open_dataset((str(path),)) as dataset:
        (texts,) = read_texts(dataset, [day, hour])

    assert Decoder((day,)).decode(texts).rows() == [(None,), (18_752,)]
    assert Decoder((hour,)).decode(texts).rows() == [(18,), (None,)]


FIVE_HUNDRED = "".join(f"{row},p7,x,extra\n" for row in range(500))


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("unclosed", [False, True])
def test_no_person_adds_more_rows_by_broken_records(
    each: bool, unclosed: bool, tmp_path: Path
) -> None:
    """Without a known person, a record is no row, also where each row without an id is one."""
    unit = PersonUnit("who", 2, 2, 2, singletons_without_id=each)
    broken = '"p7,x\n' * 500 if unclosed else FIVE_HUNDRED
    path = tmp_path / "data.csv"
    for content, rows in (("p1,x\n,y\n", 1 + each), ("p1,x\n,y\n" + broken, 1 + each)):
        path.write_text("who,kind\n" + content, encoding="utf-8")
        assert cells_of(engine([ROWS], unit, path, dialect=Dialect())[0]) == [rows]


@pytest.mark.parametrize("footer", [(), ("Total",)])
def test_where_rows_are_protected_a_broken_record_is_a_row_of_missing_cells(
    footer: tuple[str, ...], tmp_path: Path
) -> None:
    """So the number of rows, which may be public, does not depend on what a record says."""
    path, dialect = tmp_path / "data.csv", Dialect(footer=footer)
    path.write_text('kind\nx\ny,x\nx,\n"x\nTotal,3,4\nx\n', encoding="utf-8")

    counts = engine([ROWS, BY_KIND], RowUnit(), path, dialect=dialect)
    assert list(map(cells_of, counts)) == [[6 - bool(footer)], [3, 0]]


def test_a_footer_is_compared_in_the_form_of_texts(tmp_path: Path) -> None:
    """In any Unicode form, with any blanks; a last blank of the declared text counts."""
    path = tmp_path / "data.csv"
    dialect = Dialect(footer=("Total g\u00e9n", "Sum ", "\u00a0"))
    lines = [
        "Total ge\u0301n",
        "Total\u00a0ge\u0301n\u00e9ral",
        "\u200bSum 2",
        "To\u00adtal g\u00e9n",
    ]
    lines += ["Sums", "x"]
    path.write_text("kind,y\n" + "".join(f"{line},1\n" for line in lines), "utf-8")
    assert cells_of(engine([ROWS], RowUnit(), path, dialect=dialect)[0]) == [2]
    assert evaluate([ROWS], path.read_bytes(), RowUnit(), dialect=dialect) == [[2]]


@pytest.mark.parametrize("blank", ["\u00ad", "\u200e", "\u180e", "\u200b", "\u00a0", "\u2066"])
def test_unseen_characters_in_surplus_cells_break_no_record(blank: str, tmp_path: Path) -> None:
    """A surplus cell, or a line, of which nothing is seen has no text."""
    path = tmp_path / "data.csv"
    path.write_text(f"kind,y\nx,1,{blank}\nx,2, {blank}{blank}\n{blank} \n\nx,3,a\n", "utf-8")
    queries = [ROWS, BY_KIND]
    assert [*map(cells_of, engine(queries, RowUnit(), path, dialect=Dialect()))] == [[3], [2, 0]]
    assert evaluate(queries, path.read_bytes(), RowUnit(), dialect=Dialect()) == [[3], [2, 0]]


@pytest.mark.parametrize("surplus", ["x", "", '"x"', " ,x", '""', "x,y"])
@pytest.mark.parametrize("unit", [RowUnit(), PersonUnit("who", 999, 9, 999)])
def test_large_files_with_surplus_cells_are_read_by_the_written_rule(
    surplus: str, unit: Unit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if they are read in place, and if few records have such cells."""
    monkeypatch.setattr(pieces, "PIECE", 1000)
    path = tmp_path / "data.csv"
    for every in (2, 97):
        lines = (
            f"p{row % 50},{'xy'[row % 3 > 0]}{f',{surplus}' if row % every == 1 else ''}\n"
            for row in range(400)
        )
        path.write_text("who,kind\n" + "".join(lines), encoding="utf-8")
        expected = evaluate([ROWS, BY_KIND], path.read_bytes(), unit, dialect=Dialect())
        if surplus.strip(' "'):
            assert engine([ROWS, BY_KIND], unit, path, dialect=Dialect()) == expected
        assert sum(cells_of(engine([BY_KIND], RowUnit(), path, dialect=Dialect())[0])) == (
            400 if not surplus.strip(' "') else 400 - len(range(1, 400, every))
        )


def read(path: Path, dialect: Dialect) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The names of the columns, and all rows as texts without blanks."""
    with open_dataset((str(path),), dialect) as dataset:
        header = dataset.sources[0].header
        columns = [IdColumn(str(at), source=at + 1) for at in range(len(header))]
        frames = list(read_texts(dataset, columns))
    rows = (row for frame in frames for row in frame.rows())
    return header, [tuple((cell or "").strip() for cell in row) for row in rows]


@pytest.mark.parametrize(
    ("content", "dialect", "expected"),
    [
        # Escapes, as Spark, MySQL and PostgreSQL write them.
        (r'a,b|1,"x\"y, z"|2,"\\"|3,x\,y', Dialect(escape="\\"), ['x"y, z', "\\", "x,y"]),
        (r"a,b|1,\N |2,\n|3,C:\new|4,\\N", Dialect(escape="\\"), ["", "\\n", "C:\\new", "\\N"]),
        (r'a,b|1,"\N"|2, "\N" |3,"\\N"|4,"x\N"', Dialect(escape="\\"), ["", "", "\\N", "x\\N"]),
        (r"a,b|1,'\N'|2,x", Dialect(quote="'", escape="\\"), ["", "x"]),
        ('  |a,\t"b"|1,\t"x, y"|  |2,z', Dialect(escape="\\"), ["x, y", "z"]),
        ('a,b|1,"x"|2,y', Dialect(escape="\\", multiline=True), ["x", "y"]),
        ('a,b|1,"x\\"|2,"y"', Dialect(escape="\\"), ["", "y"]),
        ('a\tb|1\tx\\\ty|2\t"q', Dialect("\t", None, escape="\\"), ["x\ty", '"q']),
        ('a,b|1,"x\\\ny"|2,z', Dialect(escape="\\", multiline=True), ["x\ny", "z"]),
        # Comments, also before the header, and with quotes in them.
        ('# by "x|a,b|# 3,4|1,x|#|2,y', Dialect(comment="#"), ["x", "y"]),
        ("//|a,b|1,// no comment|", Dialect(comment="//"), ["// no comment"]),
        # Names of rows.
        ('a,b|"1",1,x|"2",2,y', Dialect(row_names=True), ["x", "y"]),
        (",a,b|1,1,x|2,2,y", Dialect(row_names=True), ["x", "y"]),
        # Blanks around quotes, lines of blanks, blanks around names.
        ('  | a\t,"b "|1, "x, y" |2,\t"z"', Dialect(), ["x, y", "z"]),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_dialects_are_read_as_programs_write_them(
    content: str, dialect: Dialect, expected: list[str], end: str, tmp_path: Path
) -> None:
    """The last cell of each record, in the column `b`."""
    path = tmp_path / "data.csv"
    path.write_text(content.replace("|", end), encoding="utf-8", newline="")
    header, rows = read(path, dialect)

    assert header[-2:] == ("a", "b")
    assert [row[-1] for row in rows] == expected


@pytest.mark.parametrize(
    "codec", ["utf-16-le", "utf-16-be", "utf-16", "utf-32-le", "utf-32-be", "utf-32"]
)
def test_wide_encodings_need_no_mark(codec: str, tmp_path: Path) -> None:
    """The header shows the order of bytes if the text begins with no mark."""
    path = tmp_path / "data.csv"
    path.write_bytes("a,b\né,ü\n".encode(codec))

    assert read(path, Dialect(encoding=codec[:6])) == (("a", "b"), [("é", "ü")])


@pytest.mark.parametrize("name", [" a", "\u200ba\ufeff", "\u00a0a\t", '" a "', "\u202aa\u202c"])
def test_what_is_unseen_around_a_name_is_no_part_of_it(name: str, tmp_path: Path) -> None:
    """The column has the name that a person sees."""
    path = tmp_path / "data.csv"
    path.write_text(f"{name},b\n1,2\n", encoding="utf-8")

    assert read(path, Dialect()) == (("a", "b"), [("1", "2")])
