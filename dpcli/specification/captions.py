"""Captions and number formats: what people read in place of names and digits."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from dpcli.fields.values import Choice, ParsedText, invalid_value
from dpcli.specification.model import Caption
from dpcli.statistics.design import Request
from dpcli.statistics.statistic import Statistic

MAX_TITLE, MAX_UNIT, MAX_NOTE = 120, 40, 1_000
"""Characters of a title, a unit and a note."""

CONTROLS = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories of characters that end a line or cannot be shown."""

DIRECTIONS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
"""Unicode classes of characters that change the order in which a text is shown."""


def _parse_caption(text: str, most: int) -> str:
    plain = text.strip()
    if not 1 <= len(plain) <= most:
        raise invalid_value("bad-caption", count=len(plain), most=most)
    if any(map(_is_refused, plain)) or not any(map(str.isprintable, plain)):
        raise invalid_value("bad-caption.invisible")
    return plain


def _is_refused(character: str) -> bool:
    turns = unicodedata.bidirectional(character) in DIRECTIONS
    return turns or unicodedata.category(character) in CONTROLS


def _caption_type(most: int) -> ParsedText:
    schema = {"type": ["string", "number", "boolean"], "minLength": 1, "maxLength": most}
    return ParsedText(partial(_parse_caption, most=most), schema)


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
    values: Any, request: Request, statistic: Statistic, captions: Mapping[str, Caption]
) -> Caption:
    """The caption of a statistic. Without a unit, its numbers may have the unit of the column."""
    caption = stated_caption(values)
    if caption.unit or request.column is None or not statistic.in_column_unit:
        return caption
    return replace(caption, unit=captions.get(request.column.name, Caption()).unit)
