"""Totals next to the cells of a table: what they are called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated

from pydantic import Field

from dpcli.data.declared_texts import MAX_TITLE, text_fault
from dpcli.data.kinds import Axis
from dpcli.fields.statistic_fields import FieldFault
from dpcli.fields.values import TEXT_SCHEMA, ParsedText, invalid_value

ALL = "all"
"""The label of a key over which a number is a total, unless a spec names another."""


def _parse_label(text: str) -> str:
    if text_fault(text, published=True) or len(text) > MAX_TITLE:
        raise invalid_value("bad-totals", most=MAX_TITLE)
    return text


TotalsLabel = Annotated[
    str,
    ParsedText(_parse_label, {**TEXT_SCHEMA, "minLength": 1, "maxLength": MAX_TITLE}),
    Field(examples=[ALL, "Total"]),
]


def label_faults(axes: Iterable[Axis], label: str, key: str) -> Iterator[FieldFault]:
    """The fault of a column that has the label of totals."""
    for axis in axes:
        if label in axis.labels:
            yield FieldFault("totals-label", key, label=label, column=axis.column.name)
