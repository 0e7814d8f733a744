"""The exact answers, recomputed one cell at a time from the written rules.

Slow on purpose and free of dataframes: it shares the declarations of columns and
queries with dpcli, and no code that reads, parses, rounds or adds. Tests only.
"""

from __future__ import annotations

import csv
import datetime
import io
import re
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import floor

from dpcli.columns import CategoryColumn, Column, IdColumn, NumericColumn
from dpcli.queries import Key, LinearQuery

NUMBER = re.compile(r"([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(?:[eE]([+-]?[0-9]+))?")
INFINITY = re.compile(r"([+-]?)(?:inf|infinity)", re.IGNORECASE | re.ASCII)
DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ].*)?", re.DOTALL)


def evaluate(queries: Sequence[LinearQuery], data: bytes) -> list[list[int]]:
    """The noise-free integers of every query, cell by cell, the last axis fastest."""
    header, rows = table(data)
    columns = {column for query in queries for column in query.columns}
    place = {column: header.index(column.name) for column in columns}
    answers = [[0] * query.cells for query in queries]
    for row in rows:
        values = {
            column: value(column, row[at] if at < len(row) else "") for column, at in place.items()
        }
        for query, answer in zip(queries, answers, strict=True):
            _add(query, values, answer)
    return answers


def table(data: bytes) -> tuple[list[str], list[list[str]]]:
    """The header and the records of a file; `ValueError` when it has no header."""
    text = data.decode("utf-8-sig", errors="replace")
    limit = csv.field_size_limit(sys.maxsize)
    try:
        lines = list(csv.reader(io.StringIO(text, newline="")))
    finally:
        csv.field_size_limit(limit)
    while lines and not lines[0]:
        del lines[0]
    if not lines:
        raise ValueError("no header")
    header, *records = lines
    if len(header) == 1:
        # The only cell of a record is missing where its line is blank.
        return header, [record or [""] for record in records]
    return header, [record for record in records if record]


def value(column: Column, cell: str) -> int | None:
    """The whole number that stands for a cell, or None when it is missing."""
    found = _present(column, cell.strip(" \t"))
    return column.missing if found is None else found


def _present(column: Column, text: str) -> int | None:
    """The value of a stripped cell, before `missing` is considered."""
    if text == "":
        return None
    if isinstance(column, IdColumn):
        return 0
    if isinstance(column, CategoryColumn):
        matches = [label for declared, label in column.values if declared == text]
        return column.labels.index(matches[0]) if matches else None
    if column.kind == "date":
        return _date(column, text)
    return _number(column, text)


def _date(column: NumericColumn, text: str) -> int | None:
    """Days since 1970-01-01, within the bounds; the time of day is ignored."""
    match = DATE.fullmatch(text)
    if match is None:
        return None
    try:
        day = datetime.date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return None
    return _clamped(column, (day - datetime.date(1970, 1, 1)).days)


def _number(column: NumericColumn, text: str) -> int | None:
    """The nearest whole number of steps, halves upwards, within the bounds."""
    infinite = INFINITY.fullmatch(text)
    if infinite is not None:
        return column.lower if infinite[1] == "-" else column.upper
    match = NUMBER.fullmatch(text)
    if match is None:
        return None
    sign = -1 if match[1] == "-" else 1
    decimals = match[4] or match[3] or ""
    digits = _integer((match[2] or "") + decimals)
    power = _integer(match[5] or "0") - len(decimals)
    if digits == 0:
        return _clamped(column, 0)
    # 10**(size - 1) <= |number| < 10**size, so that 1e999999999 is never written out.
    size = len(((match[2] or "") + decimals).lstrip("0")) + power
    farthest = (max(abs(column.lower), abs(column.upper)) + 1) * column.step
    if size - 1 > len(str(floor(farthest))):
        return column.lower if sign < 0 else column.upper
    if -size > len(str(2 * column.step.denominator)):
        return _clamped(column, 0)
    number = sign * digits * Fraction(10) ** power
    return _clamped(column, floor(number / column.step + Fraction(1, 2)))


def _integer(text: str) -> int:
    """The integer that a text of any length writes."""
    total = 0
    for start in range(0, len(text.lstrip("+-")), 1000):
        piece = text.lstrip("+-")[start : start + 1000]
        total = total * 10 ** len(piece) + int(piece)
    return -total if text.startswith("-") else total


def _clamped(column: NumericColumn, steps: int) -> int:
    """The nearest whole number of steps within the bounds."""
    return min(max(steps, column.lower), column.upper)


def _add(query: LinearQuery, values: dict[Column, int | None], answer: list[int]) -> None:
    """Adds one row to the cell of `answer` in which it lies, if any."""
    known = {column: values[column] for column in query.columns}
    row = {column: found for column, found in known.items() if found is not None}
    if len(row) < len(known):
        return
    for condition in query.where:
        if not any(low <= row[condition.column] <= high for low, high in condition.ranges):
            return
    cell = 0
    for key in query.by:
        position = next(_positions(key, row[key.column]), None)
        if position is None:
            return
        cell = cell * len(key) + position
    term = 1
    for factor in query.factors:
        term *= row[factor.column] - factor.offset
    answer[cell] += term


def _positions(key: Key, found: int) -> Iterator[int]:
    """Where a value lies along an axis: at one place, or at none."""
    if isinstance(key.column, CategoryColumn):
        yield found
        return
    last = len(key.edges) - 2
    for position in range(last + 1):
        low, high = key.edges[position], key.edges[position + 1]
        if low <= found < high or (position == last and found == high):
            yield position
