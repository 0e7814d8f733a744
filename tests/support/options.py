"""Options of columns, as tests declare them."""

from __future__ import annotations

from dpcli.data.cell_options import Case, MissingMarks
from dpcli.data.column import Option
from dpcli.data.date_forms import DateFormat
from dpcli.data.date_options import CenturyFrom, Formats, TimePart, Zone
from dpcli.data.formats import NumberFormat
from dpcli.data.number_options import (
    Affixes,
    Brackets,
    Decimal,
    Factors,
    MinusAfter,
    NumberValues,
    Thousands,
)


def options(
    form: NumberFormat | DateFormat | None = None,
    na: tuple[str, ...] = (),
    *,
    any_case: bool = False,
) -> tuple[Option, ...]:
    """The options of a column whose cells are written in a form, with marks of missing cells."""
    stated: list[Option] = [Case()] if any_case else []
    if isinstance(form, NumberFormat):
        stated += [Thousands(form.thousands)] if form.thousands else []
        stated += [Decimal(form.decimal)]
        stated += [Affixes(form.affixes)] if form.affixes else []
        stated += [Factors(form.factors)] if form.factors else []
        stated += [MinusAfter()] if form.minus_after else []
        stated += [Brackets()] if form.brackets else []
        stated += [NumberValues(form.values)] if form.values else []
    if isinstance(form, DateFormat):
        stated += [Formats(form.forms)]
        stated += [Zone(form.zone)] if form.zone else []
        stated += [CenturyFrom(form.years.first)] if form.years.first else []
        stated += [TimePart(form.part)] if form.part != "day" else []
    return (*stated, *([MissingMarks(na)] if na else []))
