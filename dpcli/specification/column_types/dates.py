"""The type of columns of days."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from dpcli.data.dates import DateColumn
from dpcli.data.declared_texts import DROP
from dpcli.fields.values import Day, ParsedText, parse_day
from dpcli.specification.column_types.model import TEXT_SCHEMA, taking_options
from dpcli.specification.column_types.numbers import NumericColumnModel


def _parse_day_or_drop(text: str) -> Fraction | None:
    return None if text == DROP else Fraction(parse_day(text))


MissingDay = Annotated[Fraction | None, ParsedText(_parse_day_or_drop, TEXT_SCHEMA)]


@taking_options
class DateColumnModel(NumericColumnModel):
    """Days within bounds."""

    kind = "date"
    column_class = DateColumn
    type: Literal["date"]
    bounds: Annotated[list[Day], Field(min_length=2, max_length=2)] | None = None
    missing: MissingDay = None
