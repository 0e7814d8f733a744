"""`dpcli init` copies no record: a first line that may be one is not shown and not written."""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from tests.support.cli import Command, Outcome

CANARY = "Wilhelmine"

RECORDS = (
    f"{CANARY},34,F",
    f'{CANARY},"1,200",F',
    f"{CANARY},+49 (30) 123-456,F",
    f"{CANARY},,F",
    f"{CANARY},F,F",
    f"{CANARY},\u00e9,e\u0301",
)
"""First lines of each doubt; a unit test has all kinds of values."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The path of the data file."""
    return tmp_path / "people.csv"


def minimal(path: Path, columns: str, more: str = "") -> Path:
    """A spec with these columns."""
    path.write_text(
        "dpcli: 1\ndataset: d\nprivacy: {unit: row, neighbors: add-remove, budget: {epsilon: 90}}\n"
        f"columns: {{{columns}}}\n{more or COUNT}\n",
        encoding="utf-8",
    )
    return path


COUNT = "statistics: [{name: n, statistic: count, epsilon: 1}]"


def notes(outcome: Outcome) -> list[str]:
    """The lines on standard error, without the last, which says what to run next."""
    *lines, last = outcome.err.splitlines()
    assert last.startswith("next: dpcli check SPEC ")
    return lines


@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize("words", [(), ("--ask",)])
def test_a_record_is_not_copied(
    record: str, words: tuple[str, ...], data: Path, dpcli: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command ends with status 4; no cell is in its messages, and no spec is written."""
    data.write_text(f"{record}\nBob,40,M\n", encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"yes\n" * 9)))
    spec = data.with_name("spec.yaml")
    outcome = dpcli("init", data, "-o", spec, *words)

    assert (outcome.status, outcome.out) == (4, "")
    assert "error[not-column-names]" in outcome.err and "--no-header" in outcome.err
    message = outcome.err.replace(str(data.parent), "")  # Its name may have any number.
    assert not any(cell in message for cell in re.split(r"[,\"]", record) if len(cell) > 1)
    assert not spec.exists()


@pytest.mark.parametrize("record", RECORDS)
def test_an_option_says_whether_a_line_is_a_header(record: str, data: Path, dpcli: Command) -> None:
    """With --no-header a draft has a placeholder for each cell; with --header, the names."""
    for line in (record, "Otto,1,D"):
        data.write_text(f"{line}\nBob,40,M\n", encoding="utf-8")
        counted = dpcli("init", data, "--no-header")
        assert (counted.status, notes(counted)) == (0, [])
        assert "names: [FILL_IN_1, FILL_IN_2, FILL_IN_3]" in counted.out
        assert line.partition(",")[0] not in counted.out

    data.write_text(f"{record}\n", encoding="utf-8")
    asserted = dpcli("init", data, "--header")
    assert (asserted.status, notes(asserted)) == (0, [])
    assert f"{CANARY}: {{type: FILL_IN}}" in asserted.out


def test_usual_headers_are_accepted_as_names(data: Path, dpcli: Command) -> None:
    """They give a draft, and a note that they were read as names."""
    data.write_text('Größe,"a, b",2nd_visit\n1,2,3\n', encoding="utf-8")
    outcome = dpcli("init", data).succeeded()

    assert "was taken as the names of" in outcome.err and "--no-header" in outcome.err
    assert len(notes(outcome)) == 1


REFUSED: dict[str, list[tuple[bytes, str]]] = {
    "": [
        # Marks and bytes that do not fit: the hint names another option.
        ("Anna,f\n".encode("utf-16-le"), "--encoding utf-16`"),
        ("Anna,f\n".encode("utf-16-be"), "--encoding utf-16be"),
        ("Anna,f\n".encode("utf-16"), "--encoding utf-16`"),
        ("Анна,ж\n".encode("utf-16-le"), "--encoding utf-16"),
        ("Ann\xe4,f\n".encode("latin-1"), "--encoding windows-1252"),
        # The other cells of a line that begins with an empty one must be names.
        *((f",{cells}\n1,2,3\n".encode(), "error[not-column-names]")
          for cells in (",F", "34,F", "Anna,Anna", "1990-02-03,F", "NA,F")),
        (b"\n\n", "error[no-header]"),
    ],
    # A delimiter that the header does not have is not overruled.
    "--delimiter ,": [
        (b"Anna;f\n", "--delimiter ';'"),
        (b"Anna\tf\n", "--delimiter tab"),
        (b"Anna|f\n", "--delimiter '|'"),
    ],
    # Some names cannot be declared, whatever the user says.
    "--header": [
        *((line, "error[not-column-names]") for line in (b'""\n', b"a,a\n", b"\x07\n")),
        (b"Ann\xe4,f\n", "error[not-text]"),
        (b"\n\n", "error[no-header]"),
    ],
    "--no-header": [(b"\n\n", "error[no-header]")],
    "--columns=": [(b"a,b\n1,2\n", "error[bad-columns]")],
    '--columns="a': [(b"a,b\n1,2\n", "error[bad-columns]")],
    "--columns=a --no-header": [(b"a,b\n1,2\n", "error[bad-option]")],
}  # fmt: skip
"""Options, and files for which they give no draft, with what the message says."""


@pytest.mark.parametrize("words", REFUSED)
def test_a_file_without_certain_names_gives_no_draft(
    words: str, data: Path, dpcli: Command
) -> None:
    """No cell of a line that may be a record is shown; a wrong list of columns is no command."""
    for content, said in REFUSED[words]:
        data.write_bytes(content)
        outcome = dpcli("init", data, *words.split())

        assert (outcome.status, outcome.out) == (2 if "--columns" in words else 4, ""), content
        assert said in outcome.err
        assert "Ann" not in outcome.err and "\ufffd" not in outcome.err


TABLE = {
    "a semicolon": ("name;age\n{};1,5\n", '{delimiter: ";"}'),
    "a tab": ("name\tage\n", "{delimiter: tab}"),
    "a bar": ("name|age\n{}|a;b;c;d\n", '{delimiter: "|"}'),
    "a title": ('Visits of "2024\n\nname;age\n{};3\n', '{delimiter: ";", skip_lines: 2}'),
    "a padded title": ("Visits,,\nname,age,sex\n{},3,F\n", "{skip_lines: 1}"),
    "titles of several cells": (
        "Report,2024,,\nFrom,2024-01-01,,\n\nname,age,sex,day\n{},3,F,\n",
        "{skip_lines: 3}",
    ),
    "a mark of a spreadsheet": ("sep=;\nname;age\n{};40\n", '{delimiter: ";", skip_lines: 1}'),
}


@pytest.mark.parametrize("kind", TABLE)
def test_the_form_of_a_file_shows_in_its_header(kind: str, data: Path, dpcli: Command) -> None:
    """Delimiter and title lines are in the draft, with the names, and no cell of a record."""
    content, section = TABLE[kind]
    for cell in (CANARY, "x", "1"):
        data.write_text(content.format(cell), encoding="utf-8")
        outcome = dpcli("init", data).succeeded()

        assert f"\ncsv: {section}\n" in outcome.out
        assert "  name: {type: FILL_IN}\n  age: {type: FILL_IN}\n" in outcome.out
        assert CANARY not in outcome.out + outcome.err


@pytest.mark.parametrize(
    "content",
    [
        "comment\n{},b\n",
        "What do you think?\n{}, no, no\n",
        "What do you think?\n{},34\n",
        "What do you think?\n{},{}\n",
        "A title, with a comma\n{},b\n",
        "A title\nname,,day,day\n{},a,b,c\n",
        "name,,day,day\n{},a,b,c\n",
        "name,day,\n{},a,b\n",
        "Which?,,How?,\n{},a,b,c\n",
    ],
)
def test_a_record_below_a_title_is_no_header(content: str, data: Path, dpcli: Command) -> None:
    """In doubt the first line is the header, or is refused."""
    data.write_text(content.format(CANARY, CANARY), encoding="utf-8")
    outcome = dpcli("init", data)

    assert CANARY not in outcome.out + outcome.err
    assert "skip_lines" not in outcome.out


def test_two_lines_are_a_header_if_the_user_says_so(data: Path, dpcli: Command) -> None:
    """With --header-lines 2 both lines make the names; a value among them is doubtful."""
    data.write_text("Id,Which?,,Age\n,Web,Print,\n1,x,,34\n", encoding="utf-8")
    assert dpcli("init", data).status == 4
    outcome = dpcli("init", data, "--header-lines", "2")
    assert "\ncsv: {header_lines: 2}\n" in outcome.out
    assert '  "Which?: Print": {type: FILL_IN}\n  Age: {type: FILL_IN}\n' in outcome.out
    data.write_text(f"Id,Age\n{CANARY},34\n", encoding="utf-8")
    outcome = dpcli("init", data, "--header-lines", "2")
    assert (outcome.status, outcome.out) == (4, "") and "--header" in outcome.err
    assert CANARY not in outcome.err


def test_repeated_and_empty_names_are_proposed_by_position(data: Path, dpcli: Command) -> None:
    """Each column without a name of its own is declared by its position."""
    data.write_text("name,,age,name\n", encoding="utf-8")
    text = dpcli("init", data, "--header").out
    for line in (
        "name_1: {from: {column: 1}, type: FILL_IN}",
        "column_2: {from: {column: 2}, type: FILL_IN}",
        "name_2: {from: {column: 4}, type: FILL_IN}",
    ):
        assert f"\n  {line}\n" in text


@pytest.mark.parametrize("titles", ["", "sales of 2024;;\nfrom the shops;;\n"])
def test_the_delimiter_of_an_asserted_header_is_recognized(
    titles: str, data: Path, dpcli: Command
) -> None:
    """Also below lines that are skipped; a declared delimiter is not overruled."""
    data.write_text(f"{titles}name;age;name\n", encoding="utf-8")
    options = ["--skip-lines", "2"] if titles else []
    text = dpcli("init", data, "--header", *options).out
    assert 'delimiter: ";"' in text and "\n  age: {type: FILL_IN}\n" in text
    text = dpcli("init", data, "--header", "--delimiter", ",", *options).out
    assert '"name;age;name": {type: FILL_IN}' in text


def workbook(path: Path, *rows: list[object]) -> Path:
    """A workbook of one sheet with these rows."""
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("fastexcel")
    path, book = path.with_suffix(".xlsx"), openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_a_workbook_with_a_title_is_recognized(data: Path, dpcli: Command) -> None:
    """Title rows of a sheet are skipped, and its records are in no draft."""
    rows: list[list[object]] = [["Visits of 2024"], [], ["name", "age"], [CANARY, 3], ["Total", 3]]
    outcome = dpcli("init", workbook(data, *rows))
    assert outcome.status == 0 and CANARY not in outcome.out
    assert "\ncsv: {skip_lines: 2}\n" in outcome.out
    assert "  name: {type: FILL_IN}\n  age: {type: FILL_IN}\n" in outcome.out
    assert "line 3 of" in outcome.err


@pytest.mark.parametrize("header", [["name", "day", "day"], ["name", "2023", "2024"]])
def test_a_title_above_a_doubtful_header_is_not_the_only_column(
    header: list[object], data: Path, dpcli: Command
) -> None:
    """Of text and of workbooks: the hint names --skip-lines, and no record is shown."""
    rows: list[list[object]] = [["Visits of 2024"], header, [CANARY, "a", "b"]]
    data.write_text("".join(f"{','.join(map(str, row))}\n" for row in rows), encoding="utf-8")
    for file in (data, workbook(data, *rows)):
        outcome = dpcli("init", file)
        assert (outcome.status, outcome.out) == (4, "")
        assert "has one cell" in outcome.err and CANARY not in outcome.err
        outcome = dpcli("init", file, "--skip-lines", "1", "--header")
        assert outcome.status == 0 and CANARY not in outcome.out
        assert "  name: {type: FILL_IN}\n" in outcome.out


@pytest.mark.parametrize(("names", "encoding"), [("name;age", "windows-1252"), ("naïf;age", None)])
def test_an_encoding_is_proposed_for_titles(
    names: str, encoding: str | None, data: Path, dpcli: Command
) -> None:
    """If they are not UTF-8, and the names of the columns are the same in all encodings."""
    data.write_bytes(b"Visits of the f\xeate\n\n" + f"{names}\n".encode())
    outcome = dpcli("init", data).succeeded()
    assert ("windows-1252" in outcome.out) == (encoding is not None)


@pytest.mark.parametrize("name", ["a.tsv", "a.TSV", "a.tab", "a.tsv.gz"])
def test_the_name_of_a_file_declares_tabs(name: str, tmp_path: Path, dpcli: Command) -> None:
    """Cells of a .tsv file are separated by tabs, in `init` and without a declaration in a spec."""
    content = b"age\tsex\n30\tf\n"
    path, comma = tmp_path / name, tmp_path / "b.csv"
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    comma.write_bytes(content.replace(b"\t", b","))
    columns = "age: {type: integer, bounds: [0, 9]}, sex: {type: category, values: [f]}"
    spec = minimal(tmp_path / "spec.yaml", columns)

    assert "csv: {delimiter: tab" in dpcli("init", path).out
    assert dpcli("check", spec, path, comma).status == 0
    minimal(spec, columns, f"csv: {{delimiter: ','}}\n{COUNT}")
    assert dpcli("check", spec, path).status == 4


def test_an_answer_decides_before_anything_is_shown(
    data: Path, dpcli: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --ask, a first line stays hidden until it is confirmed; else the names are asked for."""
    data.write_text(f"{CANARY},Smith,F\n", encoding="utf-8")

    def dialogue(answers: str, *words: str) -> str:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(answers.encode())))
        outcome = dpcli("init", data, "--ask", *words).succeeded()
        return outcome.out + outcome.err

    answers = "\nrow\n\n\ndone\nyes\n\n\n"
    names = 'first, "last, maiden"\nfirst, first, sex\nfirst, "last, maiden", sex\n'
    for text in (dialogue(f"no\n{names}{answers}"), dialogue(names + answers, "--no-header")):
        assert CANARY not in text and "Smith" not in text
        assert 'names: [first, "last, maiden", sex]' in text
        assert "these are 2 names, and the file has 3 columns" in text
        assert "occurs twice" in text
    assert CANARY in dialogue(f"yes\n{answers}")
    assert CANARY in dialogue(answers, "--header")
    data.write_text("Loans of 2025,,\nas of 2025-11-30,,\ncard,branch,fee\n", encoding="utf-8")
    asked = dialogue(f"yes\n{answers}")
    assert "Line 3 of the file has 3 cells" in asked and "Does line 3 name the columns" in asked


def test_a_parquet_file_names_its_columns(tmp_path: Path, dpcli: Command) -> None:
    """Parquet stores the names apart from the records, so they are certain."""
    path = tmp_path / "a.parquet"
    pl.DataFrame({"2019": [1], "2020": [2]}).write_parquet(path)
    drafted = dpcli("init", path)

    assert (drafted.status, notes(drafted)) == (0, [])
    assert '"2019": {type: FILL_IN}' in drafted.out
    assert "error[bad-option]" in dpcli("init", path, "--no-header").err


@pytest.mark.parametrize("command", ["check", "release"])
def test_no_message_lists_the_names_of_a_header(
    command: str, data: Path, spec: Path, dpcli: Command
) -> None:
    """If declared columns are missing, the message has only names from the spec."""
    for line in (f"{CANARY},Smith,F", f"{CANARY};Smith;F", f"{CANARY},age,age"):
        data.write_text(f"{line}\n1,2,3\n", encoding="utf-8")
        outcome = dpcli(command, spec, data)

        assert outcome.status == 4
        assert CANARY not in outcome.out + outcome.err and "Smith" not in outcome.out + outcome.err


def test_the_mark_of_a_spreadsheet_is_recognized(data: Path, dpcli: Command) -> None:
    """`check` names a line `sep=;` for what it is, and so does `init` with another mark."""
    data.write_text("sep=;\nname;age\nAnn;40\n", encoding="utf-8")
    columns = "name: {type: id}, age: {type: integer, bounds: [0, 99]}"
    spec = minimal(data.with_name("spec.yaml"), columns, f"csv: {{delimiter: ';'}}\n{COUNT}")
    for command in (("init", data, "--delimiter", ","), ("check", spec, data)):
        outcome = dpcli(*command)
        assert outcome.status == 4
        assert "`sep=`" in outcome.err and "delete" in outcome.err


UNNAMED = "the first column of"


def written_by_pandas(path: Path) -> None:
    """A table as `to_csv()` writes it, with the numbers of rows in a column without a name."""
    frame = pd.DataFrame({"name": ["Anna", "Ben"] * 100, "age": [30, 41] * 100})
    frame.to_csv(path)
    assert path.read_text("utf-8").startswith(",name,age\n0,Anna,30\n")


def test_row_numbers_without_a_name_are_left_out_of_a_draft(data: Path, dpcli: Command) -> None:
    """What pandas writes gives a draft of the named columns, and a note on the first column."""
    written_by_pandas(data)
    outcome = dpcli("init", data)

    assert outcome.status == 0 and UNNAMED in outcome.err
    assert "columns:\n  name: {type: FILL_IN}\n  age: {type: FILL_IN}\n" in outcome.out
    assert "# column 1 has no name" in outcome.out
    assert "\n  column_1:" not in outcome.out


def test_a_single_column_may_follow_row_numbers(data: Path, dpcli: Command) -> None:
    """What pandas writes of one column is no title; what precedes longer lines is."""
    pd.DataFrame({"age": [30, 41]}).to_csv(data)
    outcome = dpcli("init", data)
    assert outcome.status == 0 and UNNAMED in outcome.err
    assert "columns:\n  age: {type: FILL_IN}\n" in outcome.out

    data.write_text(",Report\nid,name,age\n1,2,3\n", encoding="utf-8")
    below_title = dpcli("init", data)
    assert below_title.status == 0 and UNNAMED not in below_title.err
    assert "skip_lines: 1" in below_title.out and "\n  id: {type: FILL_IN}\n" in below_title.out


def test_a_file_with_row_numbers_is_checked_and_released(
    data: Path, tmp_path: Path, dpcli: Command
) -> None:
    """A spec reads such a file, and may name the first column by its position."""
    written_by_pandas(data)
    spec = minimal(
        tmp_path / "spec.yaml",
        "age: {type: integer, bounds: [0, 110]}, "
        "number: {from: {column: 1}, type: integer, bounds: [0, 1000]}",
        "statistics:\n"
        "  - {name: adults, statistic: count, where: {age: {min: 41}}, epsilon: 20}\n"
        "  - {name: late, statistic: count, where: {number: {min: 150}}, epsilon: 20}\n",
    )
    assert dpcli("check", spec, data).status == 0
    released = dpcli("release", spec, data, "-q").succeeded()
    assert [line.split(",")[:3] for line in released.out.splitlines()[1:]] == [
        ["adults", "", "100"],
        ["late", "", "50"],
    ]


def test_a_draft_for_chosen_columns_has_them_in_their_order(data: Path, dpcli: Command) -> None:
    """`--columns` drafts for these columns alone, and its names say which line is the header."""
    data.write_text('id,"income, net",sex,2020\n1,2,3,4\n', encoding="utf-8")
    outcome = dpcli("init", data, "--columns", '2020, "income, net",id')

    assert (outcome.status, notes(outcome)) == (0, [])
    columns = outcome.out.partition("\ncolumns:\n")[2].splitlines()[:4]
    assert columns == [
        '  "2020": {type: FILL_IN}',
        '  "income, net": {type: FILL_IN}',
        "  id: {type: FILL_IN}",
        "  # of 4 columns, as `--columns` asks",
    ]


def test_a_chosen_column_that_is_not_there_is_an_error_with_near_names(
    data: Path, dpcli: Command
) -> None:
    """Every unknown name is reported, with a similar one; of a doubtful line none is shown."""
    data.write_text("person_id,income,sex\n1,2,3\n", encoding="utf-8")
    outcome = dpcli("init", data, "--columns", "Income,person,height,sex")

    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.count("error[unknown-columns]") == 3
    assert "did you mean `income`?" in outcome.err and "did you mean `person_id`?" in outcome.err
    assert "its columns are `person_id`, `income` and `sex`" in outcome.err

    data.write_text(f"{CANARY},34,F\n1,2,3\n", encoding="utf-8")
    refused = dpcli("init", data, "--columns", CANARY.lower())
    assert refused.status == 4 and CANARY not in refused.err
