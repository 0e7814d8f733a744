"""Releases of unchanged specs with repeatable noise, and what they are compared to.

The folders in `tests/system/frozen/` were written by version 0.2.0. `people.csv` has a vertical
tab for each line end within a cell, because every line is one record now, and 58 for ages of 57.5,
because the cell of a whole number has no fraction. Their values do not change (version 0.5 added
columns, and widened intervals to their values); the words of `plan.txt`, `report.md`, `page.txt`
and `record.txt` may, which are kept for two specs.
`UPDATE_FROZEN=1 python -m pytest tests/system/test_frozen.py` rewrites those files alone.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

FROZEN = Path(__file__).parents[1] / "system" / "frozen"
SPECS = sorted(path.parent.name for path in FROZEN.glob("*/spec.yaml"))
NUMBERS = ("table.csv", "wide.sha256", "report.json", "entries.json")
"""Outputs that are kept for every spec."""
WORDS = ("plan.txt", "report.md", "page.txt", "record.txt")
"""Outputs whose words may change."""
COMPLETE = frozenset({"open-data", "local-survey"})
"""Specs of which plans and pages are kept, too."""


def kept_outputs(spec: str) -> tuple[str, ...]:
    """The outputs of a spec that are compared."""
    return (*NUMBERS, "plan.json", *WORDS) if spec in COMPLETE else NUMBERS


PROSE = "(prose)"
"""What stands for a sentence in JSON."""


def without_prose(value: Any) -> Any:
    """A JSON value with a mark in place of each text of several words."""
    if isinstance(value, dict):
        return {key: without_prose(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_prose(item) for item in value]
    if isinstance(value, str) and len(value.split()) > 2:
        return PROSE
    return value


def known_keys(value: Any, frozen: Any) -> Any:
    """A JSON value without the keys and sentences that later versions have added.

    Only lists of nothing but sentences may have more of them.
    """
    if isinstance(value, list) and isinstance(frozen, list) and "risk" in str(frozen[:1]):
        known = [risk["risk"] for risk in frozen]
        value = [risk for risk in value if risk["risk"] in known]
    if isinstance(value, dict) and isinstance(frozen, dict):
        return {key: known_keys(part, frozen[key]) for key, part in value.items() if key in frozen}
    if isinstance(value, list) and isinstance(frozen, list) and len(value) == len(frozen):
        return [known_keys(part, other) for part, other in zip(value, frozen, strict=True)]
    is_added = isinstance(value, list) and isinstance(frozen, list) and len(value) > len(frozen)
    if is_added and frozen and {*map(str, value), *map(str, frozen)} == {PROSE}:
        return frozen
    return value


WIDTH = 100
"""The longest line of JSON with several values."""


def as_text(value: Any) -> str:
    """Readable JSON: what fits on a line stands on one."""
    return "\n".join(_json_lines(value)) + "\n"


def _json_lines(value: Any, before: str = "", indent: str = "") -> list[str]:
    """The lines of a value, the first one after some text."""
    line = indent + before + json.dumps(value, ensure_ascii=False)
    if len(line) <= WIDTH or not value or not isinstance(value, dict | list):
        return [line]
    if isinstance(value, dict):
        parts = [(f"{json.dumps(key)}: ", item) for key, item in value.items()]
    else:
        parts = [("", item) for item in value]
    inner = [_json_lines(item, key, indent + " ") for key, item in parts]
    lines = [line for part in inner[:-1] for line in [*part[:-1], part[-1] + ","]] + inner[-1]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return [indent + before + opening, *lines, indent + closing]


def entries_of(ledger: Path) -> list[Any]:
    """The entries of the ledger without their random parts: identity, seals and links."""
    with sqlite3.connect(ledger) as connection:
        rows = connection.execute(
            "SELECT number, kind, dataset, release_id, period, parts, payload FROM entries"
        ).fetchall()
    return [[*row[:5], json.loads(row[5]), _steady(json.loads(row[6]))] for row in rows]


def _steady(payload: dict[str, Any]) -> dict[str, Any]:
    """A payload without the folder of the data, the build, salts, and digests of outputs."""
    changing = {"files", "outputs", "identity", "build", "salt"}
    return {key: value for key, value in payload.items() if key not in changing}


class _Text(HTMLParser):
    """The visible text of a page, one piece per line."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in {"style", "script"}

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in {"style", "script"}

    def handle_data(self, data: str) -> None:
        if not self.hidden and data.strip():
            self.lines.append(" ".join(data.split()))


def visible_text(page: str) -> str:
    """The visible text of an HTML page, code in backticks."""
    parser = _Text()
    parser.feed(re.sub("</?code>", "`", page))
    return "\n".join(parser.lines) + "\n"


Outputs = dict[str, str]
Run = Callable[..., Any]
