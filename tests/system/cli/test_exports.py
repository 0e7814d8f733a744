"""Exports as programs write them: from `init`, edited as its comments say, to right numbers."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.support.cli import Command

AGES = [20 + place * 7 % 50 for place in range(400)]
NEWS = [("Web", "Print", "")[place % 3] for place in range(400)]

ANSWERS = {
    "unit: FILL_IN": "unit: row",
    "neighbors: FILL_IN": "neighbors: add-remove",
    "budget: {epsilon: FILL_IN}": "budget: {epsilon: 20}",
    "min_rows: FILL_IN": "min_rows: 300",
    "dataset: FILL_IN": "dataset: export",
    "min_readable: 0.8": "min_readable: 0.1",
}
"""What a steward writes for the placeholders."""

TYPES = {
    "Age": "{type: integer, bounds: [0, 100]}",
    "News": "{type: category, values: [Web, Print]}",
    "News?: Web": "{type: category, values: [Web]}",
}
"""The declarations of columns that are used; the others are removed."""


def as_csv(rows: Sequence[Sequence[object]], delimiter: str = ",", end: str = "\r\n") -> str:
    """Rows as spreadsheet programs write them."""
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator=end).writerows(rows)
    return text.getvalue()


def spreadsheet_csv(path: Path) -> None:
    """Semicolons, a title that is padded to the width of the table, a total and a source."""
    rows: list[list[object]] = [["Readers in 1 town", "", ""], [""] * 3, ["Id", "Age", "News"]]
    rows += [[place, age, news] for place, (age, news) in enumerate(zip(AGES, NEWS, strict=True))]
    rows += [["Total", sum(AGES), ""], ["Source: survey", "", ""]]
    path.write_bytes(b"\xef\xbb\xbf" + as_csv(rows, ";").encode())


def workbook(path: Path) -> None:
    """A workbook with a title, a blank row, a table and a total."""
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("fastexcel")
    book = openpyxl.Workbook()
    for row in (["Readers of the town"], [], ["Id", "Age", "News"]):
        book.active.append(row)
    for place, (age, news) in enumerate(zip(AGES, NEWS, strict=True)):
        book.active.append([place, age, news or None])
    book.active.append(["Total", f"=SUM(B4:B{len(AGES) + 3})"])
    book.save(path)


def survey(path: Path) -> None:
    """Two header lines, as survey tools write a question with a column for each answer."""
    rows: list[list[object]] = [["Id", "News?", "", "Age"], ["", "Web", "Print", ""]]
    for place, (age, news) in enumerate(zip(AGES, NEWS, strict=True)):
        answers = [word if word == news else "" for word in ("Web", "Print")]
        rows.append([place, *answers, age])
    path.write_text(as_csv(rows), encoding="utf-8")


def json_lines(path: Path) -> None:
    """An object in each line, as data bases write them."""
    rows = [
        json.dumps({"Id": place, "Age": age, "News": news or None, "tags": [place]})
        for place, (age, news) in enumerate(zip(AGES, NEWS, strict=True))
    ]
    path.write_text("\n".join(rows), encoding="utf-8")


def archive(path: Path) -> None:
    """A zip archive with a file whose cells are separated by tabs."""
    rows: list[list[object]] = [["Id", "Age", "News"]]
    rows += [[place, age, news] for place, (age, news) in enumerate(zip(AGES, NEWS, strict=True))]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("readers.txt", as_csv(rows, "\t", "\n"))


@pytest.mark.parametrize(
    ("name", "write", "options"),
    [
        ("readers.csv", spreadsheet_csv, ()),
        ("readers.xlsx", workbook, ()),
        ("readers.csv", survey, ("--header-lines", "2")),
        ("readers.jsonl", json_lines, ()),
        ("readers.zip", archive, ()),
    ],
    ids=["spreadsheet", "workbook", "survey", "json", "archive"],
)
def test_an_export_is_released(
    name: str,
    write: Callable[[Path], None],
    options: tuple[str, ...],
    tmp_path: Path,
    dpcli: Command,
) -> None:
    """The draft needs only the answers and a footer; the intervals contain the true numbers."""
    data, spec = tmp_path / name, tmp_path / "spec.yaml"
    write(data)
    draft = dpcli("init", data, *options)
    assert draft.status == 0, draft.err
    spec.write_text(_edited(draft.out, "News?: Web" if options else "News"), encoding="utf-8")
    assert dpcli("check", spec, data).status == 0
    released = dpcli("release", spec, data, "-q")
    assert released.status == 0, released.err
    numbers = {
        (row["statistic"], row["News"]): [float(row[key]) for key in ("lower", "upper")]
        for row in csv.DictReader(io.StringIO(released.out.replace("News?: Web", "News")))
    }
    for entry, expected in (
        (("rows", ""), len(AGES)),
        (("ages", ""), sum(AGES)),
        (("news", "Web"), NEWS.count("Web")),
    ):
        lower, upper = numbers[entry]
        # Four times the interval of 95%, so that chance does not fail the test.
        assert abs(expected - (lower + upper) / 2) <= 2 * (upper - lower) + 1


def _edited(draft: str, news: str) -> str:
    """The draft with the answers, the used columns and three statistics."""
    for question, answer in ANSWERS.items():
        draft = draft.replace(question, answer)
    head, _, tail = draft.partition("columns:\n")
    if "\ncsv: {" in head:
        head = head.replace("\ncsv: {", '\ncsv: {footer: [Total, "Source:"], ')
    else:
        head = head.replace("\nprivacy:", "\ncsv: {footer: Total}\n\nprivacy:")
    columns = "".join(f"  {json.dumps(column)}: {TYPES[column]}\n" for column in ("Age", news))
    _, _, examples = tail.partition("\n\n")
    entries = f"""\
  - {{name: rows, statistic: count, epsilon: 5}}
  - {{name: ages, statistic: sum, column: Age, epsilon: 5}}
  - {{name: news, statistic: count, by: [{json.dumps(news)}], epsilon: 5}}
"""
    comments, _, _ = examples.partition("statistics:\n")
    return f"{head}columns:\n{columns}\n{comments}statistics:\n{entries}"
