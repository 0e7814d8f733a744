"""Titles, units and notes for people, and how numbers are written for them."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from dpcli.data.declared_texts import is_invisible
from dpcli.fields.values import Choice, ParsedText, invalid_value
from dpcli.specification.model import Caption
from dpcli.statistics.design import Inputs
from dpcli.statistics.statistic import Statistic

MAX_TITLE, MAX_UNIT, MAX_NOTE = 120, 40, 1_000
"""Characters of a title, a unit and a note."""

DIRECTIONS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
"""Unicode classes of characters that change the order in which a text is shown."""


def _parse_caption(text: str, max_length: int) -> str:
    plain = text.strip()
    if not 1 <= len(plain) <= max_length:
        raise invalid_value("bad-caption", count=len(plain), most=max_length)
    turns = any(unicodedata.bidirectional(character) in DIRECTIONS for character in plain)
    if turns or is_invisible(plain) or not any(map(str.isprintable, plain)):
        raise invalid_value("bad-caption.invisible")
    return plain


def _caption_type(max_length: int) -> ParsedText:
    schema = {"type": ["string", "number", "boolean"], "minLength": 1, "maxLength": max_length}
    return ParsedText(partial(_parse_caption, max_length=max_length), schema)


Title = Annotated[str, _caption_type(MAX_TITLE)]
UnitText = Annotated[str, _caption_type(MAX_UNIT)]
Note = Annotated[str, _caption_type(MAX_NOTE)]


NUMBER_FORMATS = ("1234.5", "1234,5", "1,234.5", "1.234,5", "1 234.5", "1 234,5", "1'234.5")
"""How the number 1234.5 may be written for people."""

NumberFormat = Annotated[
    str,
    Choice("unknown-choice", NUMBER_FORMATS),
    Field(json_schema_extra={"type": ["string", "number"], "enum": [*NUMBER_FORMATS, 1234.5]}),
]


def stated_caption(values: Any) -> Caption:
    """The caption that the fields of a section state."""
    texts = {key: getattr(values, key, None) or "" for key in ("title", "unit", "note")}
    return Caption(**texts)


def entry_caption(
    values: Any, inputs: Inputs, statistic: Statistic, captions: Mapping[str, Caption]
) -> Caption:
    """A statistic's caption; without a unit, its numbers may have that of the column."""
    caption = stated_caption(values)
    if caption.unit or inputs.column is None or not statistic.in_column_unit:
        return caption
    return replace(caption, unit=captions.get(inputs.column.name, Caption()).unit)
