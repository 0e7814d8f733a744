"""The content of a JSON report: its digest, and its usual form.

Two texts have the same content if they differ in white space, in the order of keys, or in how a
number is written. A program that reads JSON may keep a number as a float: of one with more than
`FLOAT_DIGITS` digits, only the nearest float counts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from operator import itemgetter
from typing import Any

from dpcli.data.polars_text import pl
from dpcli.fields.json import CELLS_PLACE, REPORT_VERSION, JsonNumber, json_text, parsed_json
from dpcli.report.numbers import JSON_COLUMNS, POPULATION, RAW, NumberTable

FLOAT_DIGITS = 15
"""Any decimal of this many digits is the shortest text of its float."""

MAX_EXPONENT = 1000
"""No number of a report is as large or as small as ten to this power."""

SLICE = 1 << 12
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


def content_of(report: bytes) -> str:
    """The digest of the content of a JSON report, its own digest included.

    Raises ValueError or TypeError for a text that is no report.
    """
    return hashlib.sha256(canonical(parsed_json(report)).encode()).hexdigest()


def numbers_json(named: Sequence[NumberTable]) -> Iterator[tuple[str, str]]:
    """The JSON of the numbers of a statistic: as in reports, and canonical.

    Many numbers at a time.
    """
    none, between = ("[\n        ", "["), (BETWEEN, ",")
    before = none
    for numbers in named:
        rewritten = _rewritten(numbers)
        for part in numbers.frame.iter_slices(SLICE):
            if len(part):
                usual, hashed = _lines(numbers, part, rewritten)
                yield before[0] + usual, before[1] + hashed
                before = between
    yield ("[]", "[]") if before is none else (LAST.decode(), "]")


def _rewritten(numbers: NumberTable) -> set[str]:
    """The columns in which a number may not yet be canonical."""
    text = pl.col([column.name for column in JSON_COLUMNS if column in numbers.columns])
    is_odd = text.str.contains(".", literal=True) | (text.str.len_bytes() > FLOAT_DIGITS)
    found = numbers.frame.select(is_odd.any())
    return {name for name in found.columns if found[name].item()}


def _lines(numbers: NumberTable, part: pl.DataFrame, rewritten: Container[str]) -> tuple[str, str]:
    """The JSON of each number of a part of the table: as in reports, and canonical."""
    columns = [column for column in JSON_COLUMNS if column in numbers.columns]
    sparse = {column.name for column in columns if column.is_sparse}
    item = pl.struct(item=pl.when(pl.col("item") != "").then("item")).struct.json_encode()
    usual = {key: pl.lit("true") for ending, key in MARKS.items() if numbers.ending == ending}
    usual["keys"] = _keys(enumerate(numbers.keys))
    usual["item"] = item.str.strip_prefix('{"item":').str.strip_suffix("}")
    hashed = dict[str, pl.Expr]()
    if list(numbers.keys) != sorted(numbers.keys):
        hashed["keys"] = _keys(sorted(enumerate(numbers.keys), key=itemgetter(1)))
    for column in columns:
        text, is_blank = pl.col(column.name), pl.col(column.name) == ""
        blank = pl.lit(None, pl.String) if column.is_sparse else pl.lit("null")
        if not column.is_number or (numbers.dates and column.in_unit):
            text = pl.format('"{}"', text)
        elif column.name in rewritten:
            plain = _canonical_numbers(part[column.name])
            hashed[column.name] = pl.when(is_blank).then(blank).otherwise(plain)
        usual[column.name] = pl.when(is_blank).then(blank).otherwise(text)
    # What both have in common is made once.
    texts = part.select(**usual, **{f"{key} hashed": text for key, text in hashed.items()})
    found = {key: pl.col(f"{key} hashed" if key in hashed else key) for key in sorted(usual)}
    lines = _line({key: pl.col(key) for key in usual}, sparse), _line(found, sparse)
    first, second = texts.select(
        usual=lines[0].str.join(BETWEEN), hashed=lines[1].str.join(",")
    ).row(0)
    return first, second


def _keys(named: Iterable[tuple[int, str]]) -> pl.Expr:
    """The JSON of the group of a number, from the positions and names of its keys."""
    keys = [pl.col(f"key{index}").alias(name) for index, name in named]
    return pl.struct(keys).struct.json_encode() if keys else pl.lit("{}")


def _line(texts: Mapping[str, pl.Expr], sparse: Container[str]) -> pl.Expr:
    """A JSON object of texts by key; nulls of `sparse` keys are left out."""
    parts, comma = [pl.lit("{")], False
    for key, text in texts.items():
        name = f'"{key}":'
        if key in sparse:
            # The comma stands on the side of a key that is never absent.
            parts.append(pl.format(f",{name}{{}}" if comma else f"{name}{{}},", text))
        else:
            parts += [pl.lit(f",{name}" if comma else name), text]
            comma = True
    return pl.concat_str(*parts, pl.lit("}"), ignore_nulls=True)


def _canonical_numbers(texts: pl.Series) -> pl.Expr:
    """`number_text` of plain decimals."""
    text = pl.col(texts.name)
    short = text.str.strip_chars_end("0").str.strip_suffix(".")
    shown = pl.when(text.str.contains(".", literal=True)).then(short).otherwise(text)
    # Most texts are too short to have so many digits.
    plain = {
        digits: number_text(digits)
        for digits in texts.filter(texts.str.len_bytes() > FLOAT_DIGITS).unique()
    }
    if not plain:
        return shown
    return pl.when(text.is_in([*plain])).then(text.replace(plain)).otherwise(shown)


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
        parsed = parsed_json(content, _plain)
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


def _plain(digits: str) -> JsonNumber:
    """A JSON number as a plain decimal with all digits."""
    number_text(digits)
    return JsonNumber(format(Decimal(digits), "f"))


_ORDER = [*MARKS.values(), "keys", "item", *(column.name for column in JSON_COLUMNS)]


def _cell_text(cell: dict[str, Any]) -> str:
    """A number as one line of JSON, with its keys in the usual order."""
    return json_text({key: cell[key] for key in _ORDER if key in cell}, indent=None)
