"""No cell of a file, however malformed, appears in any output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli import Command, remove_ledger

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


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_canary_in_any_cell_appears_nowhere_and_changes_no_status(
    kind: str, dpcli: Command, spec: Path, tmp_path: Path
) -> None:
    """Messages, tables, reports and leftover files contain no cell; the status is as without it."""
    data = tmp_path / "data.csv"
    malformed = MALFORMED[kind]
    # Every other cell of one kind of damage, and the cells between them of the next.
    for place in range(list(MALFORMED).index(kind) % 2, len(ROWS) * len(HEADER), 2):
        row, column = divmod(place, len(HEADER))
        statuses = []
        for word in (CANARY, "plain"):
            table = [HEADER, *(list(cells) for cells in ROWS)]
            table[row + 1][column] = word
            data.write_bytes(malformed(table))
            remove_ledger(tmp_path)
            reports = ["--report", tmp_path / "r.json", "--report", tmp_path / "r.md"]
            outcome = dpcli("release", spec, data, "-o", tmp_path / "o.csv", *reports, "--force")
            statuses.append(outcome.status)
            output = outcome.out + outcome.err
            for path in tmp_path.iterdir():
                if path != data:
                    output += path.read_text(encoding="utf-8", errors="replace")
            assert "ANARY" not in output
        assert statuses == [0, 0]
