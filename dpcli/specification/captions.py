"""Captions of columns and statistics, and how numbers are written for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from dpcli.fields.values import Choice
from dpcli.specification.model import Caption
from dpcli.statistics.design import Inputs
from dpcli.statistics.statistic import Statistic

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
