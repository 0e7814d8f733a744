"""The content of a JSON report: its digest, and its usual form.

Two texts have the same content if they differ in white space, in the order of keys, or in how a
number is written. A program that reads JSON may keep a number as a float: of one with more than
`FLOAT_DIGITS` digits, only the nearest float counts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dpcli.report.json import CELLS_PLACE, REPORT_VERSION, JsonNumber, json_text, parsed_json
from dpcli.report.numbers import JSON_COLUMNS, POPULATION, RAW, NumberTable

if TYPE_CHECKING:
    import polars as pl

FLOAT_DIGITS = 15
"""Any decimal of this many digits is the shortest text of its float."""

MAX_EXPONENT = 1000
"""No number of a report is as large or as small as ten to this power."""

SLICE = 1 << 14
"""Numbers that are written or read at a time, to bound the memory."""

OWN_KEY = "content_sha256"
"""The key of the digest, which does not cover itself."""

MARKS = {RAW: "raw", POPULATION: "population"}
"""The JSON key that marks raw or population numbers, by the ending of their name."""

FIRST, LAST = b'"cells": [\n        {"', b"\n      ]"
"""The text around the numbers of a statistic; no JSON string contains it."""

BETWEEN = ",\n        "


def number_text(digits: str) -> str:
    """A JSON number as a plain decimal without zeros at its end.

    Raises ValueError beyond `MAX_EXPONENT`.

    >>> number_text("1.50e-3"), number_text("1.41421356237309504880169")
    ('0.0015', '1.4142135623730951')
    """
    value = Decimal(digits)
    if abs(value.adjusted()) > MAX_EXPONENT:
        raise ValueError("a number is too large or too small")
    if len(value.as_tuple().digits) > FLOAT_DIGITS and abs(value.adjusted()) < 300:
        value = Decimal(repr(float(value)))
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def canonical(value: Any) -> str:
    """Parsed JSON as a text that depends on its content alone."""
    match value:
        case JsonNumber():
            return number_text(value)
        case dict():
            items = (
                f"{json.dumps(key, ensure_ascii=False)}:{canonical(value[key])}"
                for key in sorted(value)
            )
            return "{" + ",".join(items) + "}"
        case list():
            return "[" + ",".join(map(canonical, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def content_digest(stated: str, numbers: Iterable[Sequence[NumberTable]]) -> str:
    """The digest of the canonical JSON of a report, with its numbers.

    `CELLS_PLACE` stands in the JSON for the numbers of each statistic.
    """
    first, *others = canonical(parsed_json(stated)).split(canonical(CELLS_PLACE))
    digest = hashlib.sha256(first.encode())
    for named, following in zip(numbers, others, strict=True):
        before = "["
        for lines in _lines(named):
            digest.update(f"{before}{lines}".encode())
            before = ","
        digest.update(f"{'[]' if before == '[' else ']'}{following}".encode())
    return digest.hexdigest()


def content_of(report: bytes) -> str:
    """The digest of the content of a JSON report, its own digest included.

    Raises ValueError or TypeError for a text that is no report.
    """
    return hashlib.sha256(canonical(parsed_json(report)).encode()).hexdigest()


def _lines(named: Sequence[NumberTable]) -> Iterator[str]:
    """The canonical JSON of the numbers of a statistic, many at a time."""
    for numbers in named:
        for part in numbers.frame.iter_slices(SLICE):
            if len(part):
                yield part.select(_line(numbers, part).str.join(",")).item()


def _line(numbers: NumberTable, part: pl.DataFrame) -> pl.Expr:
    """The canonical JSON of each number of a part of the table."""
    import polars as pl

    labels = sorted((key, f"key{index}") for index, key in enumerate(numbers.keys))
    named = [pl.col(column).alias(key) for key, column in labels]
    item = pl.struct(item=pl.when(pl.col("item") != "").then("item")).struct.json_encode()
    values: dict[str, pl.Expr] = {
        "keys": pl.struct(named).struct.json_encode() if named else pl.lit("{}"),
        "item": item.str.strip_prefix('{"item":').str.strip_suffix("}"),
    }
    values |= {key: pl.lit("true") for ending, key in MARKS.items() if numbers.ending == ending}
    for column in numbers.columns:
        if column not in JSON_COLUMNS:
            continue
        text, is_text = pl.col(column.name), not column.is_number
        if is_text or (numbers.dates and column.in_unit):
            shown = pl.format('"{}"', text)
        else:
            has_point = text.str.contains(".", literal=True)
            shown = (
                pl.when(has_point)
                .then(text.str.strip_chars_end("0").str.strip_suffix("."))
                .otherwise(text)
            )
            # Most texts are too short to have so many digits.
            long = part[column.name].filter(part[column.name].str.len_bytes() > FLOAT_DIGITS)
            if len(long):
                plain = {digits: number_text(digits) for digits in long.unique()}
                shown = pl.when(text.is_in([*plain])).then(text.replace(plain)).otherwise(shown)
        blank = pl.lit(None, pl.String) if column.is_sparse else pl.lit("null")
        values[column.name] = pl.when(text == "").then(blank).otherwise(shown)
    parts = (pl.format(f',"{key}":{{}}', values[key]).fill_null("") for key in sorted(values))
    return pl.format("{{{}}}", pl.concat_str(parts).str.strip_prefix(","))


def usual_form(content: bytes) -> bytes:
    """The content of a report in the form in which it is published.

    Other programs write JSON with other white space, and numbers in other ways. A text in the
    usual form stays as it is, and so does one that an earlier version wrote, and one that is no
    JSON. Raises ValueError or TypeError for numbers of another form.
    """
    written = content.count(b'"cells":')
    if written == content.count(b'"cells": []') + content.count(FIRST):
        return content
    parsed: Any = None
    with suppress(ValueError, RecursionError):
        parsed = _plain(parsed_json(content))
    if not isinstance(parsed, dict) or parsed.get("report_version") != str(REPORT_VERSION):
        return content
    blocks = []
    cells = [cell for one in parsed["statistics"] for cell in one["cells"]]
    if any(isinstance(cell, dict) and not cell.keys() <= {*_ORDER} for cell in cells):
        return content
    for statistic in parsed["statistics"]:
        if not isinstance(statistic["cells"], list):
            raise TypeError("numbers are a list")
        blocks.append(BETWEEN.join(map(_cell_text, statistic["cells"])))
        statistic["cells"] = CELLS_PLACE
    first, *others = json_text(parsed).split(json.dumps(CELLS_PLACE))
    text = [first]
    for block, part in zip(blocks, others, strict=True):
        text += [f"[\n        {block}{LAST.decode()}" if block else "[]", part]
    return "".join(text).encode()


def _plain(value: Any) -> Any:
    """Parsed JSON in which each number is a plain decimal."""
    match value:
        case JsonNumber():
            number_text(value)
            return JsonNumber(format(Decimal(value), "f"))
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list():
            return list(map(_plain, value))
    return value


_ORDER = [*MARKS.values(), "keys", "item", *(column.name for column in JSON_COLUMNS)]


def _cell_text(cell: dict[str, Any]) -> str:
    """A number as one line of JSON, with its keys in the usual order."""
    known = {key: cell[key] for key in _ORDER if key in cell}
    texts = {
        key: value
        if isinstance(value, JsonNumber)
        else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        for key, value in known.items()
    }
    return "{" + ",".join(f'"{key}":{text}' for key, text in texts.items()) + "}"
