"""A report as data: its facts, its published numbers, and both as JSON.

All other outputs are made from it alone, so a stored report is enough to make them again.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from dpcli.light_dataclasses import dataclass
from dpcli.numeric.number_text import exact_or_up
from dpcli.privacy.loss import Loss
from dpcli.report.json_text import Fact, json_text
from dpcli.report.published_numbers import DATE_UNIT, POPULATION, RAW, PublishedNumbers

if TYPE_CHECKING:
    import polars as pl

ENDS = ("value", "lower", "upper")
"""A number and the ends of its interval."""

SLICE = 1 << 14
"""Numbers that are written or read at a time, to bound the memory."""

BETWEEN = ",\n        "
"""The text between two numbers of a statistic."""

FIRST, LAST = b'"cells": [\n        {"', b"\n      ]"
"""The text before and after the numbers of a statistic; no JSON string contains it."""

FORM = (
    r"(?<named>\{.*)"
    + "".join(f',"{end}":(?<{end}>[^,]*)' for end in ENDS)
    + r',"flag":(?<flag>[^}]*)\},?$'
)
"""The form of a line with a number; no JSON string can end like that."""

MARKS = {RAW: "raw", POPULATION: "population"}
"""The JSON key that marks a number, by the ending of the name of the numbers."""

_CELLS = "\u0000cells"
_PLACE = '"\\u0000cells"'
"""The placeholder for the numbers of a statistic, which no spec can contain, and its JSON."""


@dataclass(frozen=True, slots=True)
class Report:
    """What is stated about a release or collection, and the numbers that it publishes.

    `content` is the JSON of all. In `facts`, numbers are strings of digits, and statistics lack
    their published numbers: `numbers` has those of each statistic.
    """

    content: bytes
    facts: dict[str, Any]
    numbers: tuple[tuple[PublishedNumbers, ...], ...] = ()

    @property
    def percent(self) -> str:
        """The confidence of intervals, in percent."""
        return f"{exact_or_up(Fraction(self.facts['confidence']) * 100)}%"

    @classmethod
    def compose(
        cls, facts: dict[str, Fact], numbers: Sequence[tuple[PublishedNumbers, ...]] = ()
    ) -> Self:
        """The report with these facts, whose statistics publish these numbers."""
        statistics = facts.get("statistics")
        if isinstance(statistics, list):
            facts = facts | {
                "statistics": [{**statistic, "cells": _CELLS} for statistic in statistics]
            }
        text, content = json_text(facts), io.BytesIO()
        *before, last = text.split(_PLACE)
        for part, named in zip(before, numbers, strict=True):
            content.write(part.encode())
            _write(named, content)
        content.write(last.encode())
        parsed = _parsed(text)
        for statistic in parsed.get("statistics", ()):
            del statistic["cells"]
        return cls(content.getvalue(), parsed, tuple(numbers))

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """The report that was written as this JSON.

        Raises KeyError if an earlier version wrote it and a needed fact is absent.
        """
        text, blocks = _split_numbers(content)
        facts = _parsed(text)
        numbers = (tuple(_numbers(statistic, blocks)) for statistic in facts.get("statistics", ()))
        return cls(content, facts, tuple(numbers))


def without_numbers(content: bytes) -> bytes:
    """The JSON of a report without its published numbers, of which there may be millions."""
    return _split_numbers(content)[0]


def _split_numbers(content: bytes) -> tuple[bytes, list[bytes]]:
    """The JSON of a report with indices instead of numbers, and the list of numbers."""
    parts, blocks, place = [b""], [b""], 0
    while 0 <= (start := content.find(FIRST, place)) < (end := content.find(LAST, start)):
        parts += [content[place:start], b'"cells": %d' % len(blocks)]
        blocks.append(content[start + len(FIRST) - 2 : end])
        place = end + len(LAST)
    return b"".join([*parts, content[place:]]), blocks


def loss_of(stated: Mapping[str, str | None]) -> Loss:
    """The loss that a report states."""
    epsilon, delta, rho = (stated[name] for name in ("epsilon", "delta", "rho"))
    return Loss(
        Fraction(epsilon or 0), Fraction(delta or 0), None if rho is None else Fraction(rho)
    )


def _parsed(text: str | bytes) -> Any:
    """Parsed JSON, with numbers as strings of digits."""
    return json.loads(text, parse_float=str, parse_int=str)


def _write(named: Sequence[PublishedNumbers], content: io.BytesIO) -> None:
    """Write the numbers of a statistic as JSON, one on each line."""
    if not any(numbers.frame.height for numbers in named):
        content.write(b"[]")
        return
    content.write(b"[\n        ")
    for numbers in named:
        line = _line(numbers)
        for part in numbers.frame.iter_slices(SLICE):
            part.select(line).write_csv(
                content, include_header=False, quote_style="never", line_terminator=BETWEEN
            )
    # No comma after the last one.
    content.seek(-len(BETWEEN), io.SEEK_CUR)
    content.truncate()
    content.write(b"\n      ]")


def _line(numbers: PublishedNumbers) -> pl.Expr:
    """A number as a JSON object."""
    import polars as pl

    def or_null(text: pl.Expr, name: str) -> pl.Expr:
        return pl.when(pl.col(name) == "").then(pl.lit("null")).otherwise(text)

    labels = [pl.col(f"key{place}").alias(key) for place, key in enumerate(numbers.keys)]
    keys = pl.struct(labels).struct.json_encode() if labels else pl.lit("{}")
    item = pl.struct(pl.when(pl.col("item") != "").then("item")).struct.json_encode()
    marks = [key for ending, key in MARKS.items() if numbers.name.endswith(ending)]
    first = f'{{"{marks[0]}":true,"keys":' if marks else '{"keys":'
    parts: list[str | pl.Expr] = [first, keys, ","]
    parts += [item.str.strip_prefix("{").str.strip_suffix("}")]
    for end in ENDS:
        number = pl.format('"{}"', end) if numbers.dates else pl.col(end)
        parts += [f',"{end}":', or_null(number, end)]
    parts += [',"flag":', or_null(pl.format('"{}"', "flag"), "flag"), "}"]
    return pl.concat_str(pl.lit(part) if isinstance(part, str) else part for part in parts)


def _numbers(statistic: dict[str, Any], blocks: Sequence[bytes]) -> Iterator[PublishedNumbers]:
    """The numbers of a statistic from the block that its facts name, in the order of `MARKS`."""
    import polars as pl

    keys, block = tuple(statistic["by"]), statistic.pop("cells") or "0"
    if not isinstance(block, str):
        raise KeyError("cells")
    lines = pl.read_lines(blocks[int(block)], name="line")
    parts = [_read(part, keys) for part in lines.iter_slices(SLICE)]
    frame = pl.concat([_read(lines.clear(), keys), *parts])
    for ending, key in {"": "", **MARKS}.items():
        # Reports of earlier versions state nothing about populations.
        if not key or statistic.get(key):
            selected = frame.filter(pl.col("ending") == ending).drop("ending")
            layout, name = statistic["layout"], statistic["name"] + ending
            dates = layout.get("unit") == DATE_UNIT
            yield PublishedNumbers(name, keys, selected, layout["chosen"], dates)


def _read(lines: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The numbers of lines that were written; digits stay strings."""
    import polars as pl

    places = [f"key{at}" for at in range(len(keys))]
    labels = pl.Struct(dict.fromkeys(keys, pl.String))
    marks = dict.fromkeys(MARKS.values(), pl.Boolean)
    named = pl.Struct({**marks, "keys": labels, "item": pl.String})
    parts = lines.select(pl.col("line").str.extract_groups(FORM)).unnest("line")
    digits = [
        pl.when(pl.col(end) != "null").then(pl.col(end).str.strip_chars('"')).otherwise(pl.lit(""))
        for end in ENDS
    ]
    flag = pl.col("flag").str.strip_chars('"').replace("null", "")
    read = parts.select((pl.col("named") + "}").str.json_decode(named), *digits, flag)
    group = pl.col("named").struct.field("keys").struct.rename_fields(places).struct.unnest()
    return read.select(
        *([group] if places else []),
        pl.col("named").struct.field("item").fill_null(""),
        *ENDS,
        "flag",
        pl.coalesce(
            *(
                pl.when(pl.col("named").struct.field(key)).then(pl.lit(ending))
                for ending, key in MARKS.items()
            ),
            pl.lit(""),
        ).alias("ending"),
    )
