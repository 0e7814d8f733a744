"""No cell of a file, however malformed, appears in any output."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest

from tests.support.cli import Command, remove_ledger
from tests.support.rules import mostly_extended

CANARY = "CANARY7f3a"
HEADER = ["age", "income", "sex", "since", "note"]
ROWS = [
    ["30", "1000.5", "f", "2020-03-01", "plain"],
    ["41", "-20", "m", "2020-07-09", "more"],
    ["77", "4999.75", "f", "2020-12-31", "last"],
]

Table = list[list[str]]


def lines(table: Table, end: str = "\n") -> str:
    """A table as plain text."""
    return end.join(",".join(row) for row in table) + end


MALFORMED: dict[str, Callable[[Table], bytes]] = {
    "well formed": lambda table: lines(table).encode(),
    "CRLF": lambda table: lines(table, "\r\n").encode(),
    "CR": lambda table: lines(table, "\r").encode(),
    "mark of UTF-8": lambda table: b"\xef\xbb\xbf" + lines(table).encode(),
    "short rows": lambda table: lines([table[0], *(row[:3] for row in table[1:])]).encode(),
    "long rows": lambda table: lines([table[0], *(row * 2 for row in table[1:])]).encode(),
    "blank lines": lambda table: lines(table, "\n\n").encode(),
    "no end": lambda table: lines(table).rstrip("\n").encode(),
    "unclosed quote": lambda table: lines(
        [table[0], *(['"' + r[0], *r[1:]] for r in table[1:])]
    ).encode(),
    "open quote at the end": lambda table: lines(table).encode() + b'"' + table[1][0].encode(),
    "quote inside": lambda table: lines(
        [table[0], *([f'{c[:1]}"{c[1:]}' for c in row] for row in table[1:])]
    ).encode(),
    "text after quote": lambda table: lines(
        [table[0], *([f'"{c}"{c}' for c in row] for row in table[1:])]
    ).encode(),
    "quoted": lambda table: lines(
        [table[0], *([f'"{c}"' for c in row] for row in table[1:])]
    ).encode(),
    "NUL": lambda table: lines([table[0], *([c + "\0" for c in r] for r in table[1:])]).encode(),
    "Latin-1": lambda table: lines(
        [table[0], *([c + "é" for c in row] for row in table[1:])]
    ).encode("latin-1"),
    "half a pair": lambda table: lines(table).encode().replace(b"41", b"\xed\xa0\x80"),
    "long cells": lambda table: lines(
        [table[0], *([c * 9000 for c in r] for r in table[1:])]
    ).encode(),
}


@pytest.mark.parametrize("kind", mostly_extended(MALFORMED, "unclosed quote"))
def test_a_canary_in_any_cell_appears_nowhere_and_changes_no_status(
    kind: str, dpcli: Command, spec: Path, tmp_path: Path
) -> None:
    """Messages, tables, reports and leftover files contain no cell; the status is always zero."""
    data = tmp_path / "data.csv"
    malformed = MALFORMED[kind]
    # A cell of each column; another kind of damage takes other rows.
    for place in range(list(MALFORMED).index(kind) % 3, len(ROWS) * len(HEADER), 3):
        row, column = divmod(place, len(HEADER))
        table = [HEADER, *(list(cells) for cells in ROWS)]
        table[row + 1][column] = CANARY
        data.write_bytes(malformed(table))
        remove_ledger(tmp_path)
        reports = ["--report", tmp_path / "r.json", "--report", tmp_path / "r.md"]
        outcome = dpcli("release", spec, data, "-o", tmp_path / "o.csv", *reports, "--force")
        assert outcome.status == 0
        output = outcome.out + outcome.err
        for path in tmp_path.iterdir():
            if path != data:
                output += path.read_text(encoding="utf-8", errors="replace")
        assert "ANARY" not in output


FORMS_SPEC = """
dpcli: 1
dataset: survey
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 10}}
csv: {skip_lines: 1, footer: [Total]}
columns:
  age: {type: integer, bounds: [0, 100], na: [".", -9]}
  income:
    {type: number, bounds: [-50, 5000], step: 0.5, affixes: [$], thousands: ",", brackets: true}
  sex: {type: category, values: [f, m], case: ignore, other: x}
  since: {type: date, bounds: [2020-01-01, 2020-12-31], format: ["%Y-%m-%d", "%d %b %Y"]}
  note: {type: category, values: [plain, more], na: ["-"]}
derive:
  month: {part: month, of: since}
  yearly: {product: [age, income], bounds: [0, 100000]}
statistics:
  - {name: people, statistic: count, by: [sex], where: {not: {note: {starts_with: pl}}}, epsilon: 1}
  - {name: months, statistic: count, by: [month], epsilon: 1}
  - {name: total, statistic: sum, column: yearly, epsilon: 1}
  - {name: blank, statistic: count_missing, columns: [note], epsilon: 1}
  - {name: share, statistic: proportion, column: sex, values: [f], epsilon: 1}
"""


def json_lines(table: Table) -> str:
    """A table as JSON Lines."""
    header, *rows = table
    return "".join(json.dumps(dict(zip(header, row, strict=False))) + "\n" for row in rows)


def cut_off(text: str) -> bytes:
    """JSON Lines without the ends of objects."""
    return text.replace("}", "").encode()


def odd_json(table: Table) -> str:
    """A line that names the columns, then lines that are cut off, nested, or no JSON."""
    header, first, second, third = table
    names = json.dumps(dict.fromkeys(header)) + "\n"
    nested = json_lines([header, second]).replace(': "', ': ["').replace('",', '"],')
    return names + json_lines([header, first])[:-3] + "\n" + nested + ",".join(third)


def tabs(table: Table) -> str:
    """A table with a title, a totals row, and tabs between cells."""
    return "Survey\n" + "".join("\t".join(row) + "\n" for row in [*table, ["Total", "3"]])


def zipped(table: Table) -> bytes:
    """An archive with one tab-separated member."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("survey.tsv", tabs(table))
    return file.getvalue()


def workbook(table: Table) -> bytes:
    """A workbook with a title above the header, and a totals row."""
    book, file = openpyxl.Workbook(), io.BytesIO()
    assert book.active is not None
    for row in [["Survey"], *table, ["Total", 3]]:
        book.active.append(row)
    book.save(file)
    return file.getvalue()


FORMS: dict[str, tuple[str, int, Callable[[Table], bytes]]] = {
    "tabs": ("data.tsv", 0, lambda table: tabs(table).encode()),
    "packed": ("data.tsv.gz", 0, lambda table: gzip.compress(tabs(table).encode())),
    "cut off": ("data.tsv.gz", 4, lambda table: gzip.compress(tabs(table).encode())[:-9]),
    "archive": ("data.zip", 0, zipped),
    "workbook": ("data.xlsx", 0, workbook),
    "JSON": ("data.jsonl", 0, lambda table: json_lines(table).encode()),
    "odd JSON": ("data.jsonl", 0, lambda table: odd_json(table).encode()),
    "JSON without ends": ("data.jsonl", 0, lambda table: cut_off(json_lines(table))),
    "JSON in lists": ("data.jsonl", 0, lambda table: json.dumps(table[1:]).encode() + b"\n"),
    "no JSON": ("data.jsonl", 0, lambda table: lines(table).encode()),
}
"""Forms of files: the name that states it, and the status of a release."""


@pytest.mark.parametrize("kind", mostly_extended(FORMS, "odd JSON"))
def test_a_canary_in_any_form_of_file_appears_nowhere_and_changes_no_status(
    kind: str, dpcli: Command, tmp_path: Path
) -> None:
    """Packed files, workbooks and JSON, and cells of every declared form, reveal nothing."""
    name, status, write = FORMS[kind]
    spec, data = tmp_path / "forms.yaml", tmp_path / name
    is_json = name.endswith("jsonl")
    spec.write_text(FORMS_SPEC.replace("skip_lines: 1, ", "") if is_json else FORMS_SPEC)
    # A cell of each column; another form takes other rows.
    for place in range(list(FORMS).index(kind) % 3, len(ROWS) * len(HEADER), 3):
        row, column = divmod(place, len(HEADER))
        for word in (CANARY, f"${CANARY}", "7"):
            table = [HEADER, *(list(cells) for cells in ROWS)]
            table[row + 1][column] = word
            data.write_bytes(write(table))
            remove_ledger(tmp_path)
            outcome = dpcli("release", spec, data, "-o", tmp_path / "o.csv", "--force")
            assert outcome.status == status
            output = outcome.out + outcome.err
            for path in tmp_path.iterdir():
                if path != data:
                    output += path.read_text(encoding="utf-8", errors="replace")
            assert "ANARY" not in output
