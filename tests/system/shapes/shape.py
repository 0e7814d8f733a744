"""What a shape of files is: how it is written, what a person edits, and the true numbers."""

from __future__ import annotations

import calendar
import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

ROWS = 400
"""Records of each file."""

MONTHS = list(calendar.month_name)[1:]

Truth = Mapping[str, Any]
"""By name of a statistic: a number, or a series of pandas with the labels of groups and items."""

ANSWERS = {
    "unit: FILL_IN": "unit: row",
    "neighbors: FILL_IN": "neighbors: add-remove",
    "budget: {epsilon: FILL_IN}": "budget: {epsilon: 1000}",
    "\nepsilon: FILL_IN\n": "\n",
    "min_rows: FILL_IN": f"min_rows: {ROWS // 2}",
}
"""What a person writes for the placeholders that every draft has."""

ROWS_ENTRY = "{name: rows, statistic: count}"

COLUMN = re.compile(r"  (\"(?:[^\"\\]|\\.)*\"|[^\s:#\"][^:]*): \{(.*)type: FILL_IN\}")
"""A line of a draft that declares a column."""


@dataclass(frozen=True)
class Cells:
    """A column: its declaration, a cell as a program writes it, and what pandas reads of all."""

    name: str
    declared: str
    write: Callable[[Random], object]
    read: Callable[[Any], Any]


@dataclass(frozen=True)
class Shape:
    """A file as a program writes it, the edits of its draft, and the numbers of the file.

    `columns` has what replaces the placeholder of a column, or a new column; the other columns of
    the draft are removed. A statistic gets an epsilon of 20.
    """

    name: str
    file: str
    write: Callable[[Path, Random], None]
    columns: Mapping[str, str]
    statistics: Sequence[str]
    truth: Callable[[Path], Truth]
    init: Sequence[str] = ()
    csv: Mapping[str, str] = field(default_factory=dict)
    derive: Sequence[str] = ()

    def edited(self, draft: str) -> str:
        """The draft of `dpcli init` with the edits of a person."""
        # A column that sounds like ids of people: here rows are protected.
        draft = draft.replace("min_people: FILL_IN", "min_rows: FILL_IN")
        draft = draft.replace("{name: people, statistic: count, of: people}", ROWS_ENTRY)
        for question, answer in ANSWERS.items():
            assert question in draft
            draft = draft.replace(question, answer)
        draft = re.sub(r"(?<=^quality: \{epsilon: )[0-9.]+", "20", draft, flags=re.MULTILINE)
        lines = [line for kept in draft.splitlines() for line in self._kept(kept)]
        added = set(self.columns) - {line.strip().partition(": {")[0] for line in lines}
        place = lines.index("columns:") + 1
        lines[place:place] = [f"  {name}: {{{self.columns[name]}}}" for name in sorted(added)]
        if self.csv and not any(line.startswith("csv: ") for line in lines):
            lines.insert(lines.index("privacy:"), f"csv: {{{_fields(self.csv)}}}")
        lines.extend(f"  - {{{entry}, epsilon: 20}}" for entry in self.statistics)
        if self.derive:
            lines += ["derive:", *(f"  {line}" for line in self.derive)]
        return "\n".join([*lines, "confidence: 0.999", ""])

    def _kept(self, line: str) -> Iterable[str]:
        """What becomes of a line of the draft."""
        if declared := COLUMN.fullmatch(line):
            name, source = declared.groups()
            if name in self.columns:
                yield f"  {name}: {{{source}{self.columns[name]}}}"
        elif line.startswith("  - {name: rows, "):
            yield line.replace("statistic: count", "statistic: count, epsilon: 20")
        elif line.startswith("csv: {") and self.csv:
            kept = [
                part
                for part in line[len("csv: {") : -1].split(", ")
                if part.partition(":")[0] not in self.csv
            ]
            yield f"csv: {{{', '.join([*kept, _fields(self.csv)])}}}"
        else:
            yield line


def _fields(fields: Mapping[str, str]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in fields.items())


def write_table(
    path: Path,
    rows: Iterable[Sequence[object]],
    delimiter: str = ",",
    end: str = "\r\n",
    encoding: str = "utf-8",
) -> None:
    """Write rows as most programs do: with quotes where they are needed."""
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=delimiter, lineterminator=end).writerows(rows)


def counts(labels: Any, every: Sequence[str]) -> Any:
    """How often each of the labels occurs."""
    return labels.value_counts().reindex(every, fill_value=0)


def expected_numbers(truth: Truth) -> dict[tuple[str, ...], float]:
    """The true numbers by name of a statistic and labels of a group."""
    numbers: dict[tuple[str, ...], float] = {}
    for name, value in truth.items():
        if not hasattr(value, "items"):
            numbers[name,] = float(value)
            continue
        for labels, number in value.items():
            several = labels if isinstance(labels, tuple) else (labels,)
            numbers[name, *map(str, several)] = float(number)
    return numbers


def published_intervals(table: str) -> dict[tuple[str, ...], tuple[float, float]]:
    """The intervals of a published table by name of a statistic and labels of a group.

    They are stretched threefold. The tails of Laplace noise fall by a factor of a thousand from one
    half-width to the next at this confidence, so noise fails a test less than once in 10^6 runs.
    """
    reader = csv.DictReader(io.StringIO(table))
    names = list(reader.fieldnames or ())
    labels = names[: names.index("value")]
    intervals = {}
    for row in reader:
        assert row["flag"] != "no-information"
        lower, upper = _number(row["lower"]), _number(row["upper"])
        wide = upper - lower
        intervals[tuple(row[name] for name in labels if row[name])] = (lower - wide, upper + wide)
    return intervals


def _number(text: str) -> float:
    """A published number; for a date, the number of its day."""
    return date.fromisoformat(text).toordinal() if text.count("-") == 2 else float(text)
