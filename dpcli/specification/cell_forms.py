"""Reads how cells of a column are written: source, marks, and formats."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from dpcli.data.cell_formats import (
    LONGEST_AFFIX,
    LONGEST_FORMAT,
    MOST_FORMS,
    NOT_IN_AFFIXES,
    THOUSANDS,
    DateForm,
    DateFormat,
    DateFormatError,
    NumberFormat,
)
from dpcli.data.column import Column
from dpcli.data.csv_dialect import DECIMALS
from dpcli.data.ids import PrivatePartitionColumn
from dpcli.data.labels import LabeledColumn
from dpcli.data.numeric import NumericColumn
from dpcli.fields.section import SectionModel
from dpcli.fields.tree import scalars_of
from dpcli.fields.values import (
    Boolean,
    ByForm,
    Choice,
    ListOrItem,
    Number,
    ParsedText,
    Text,
    Texts,
    invalid_value,
    whole_number,
)
from dpcli.numeric.exact import decimal_places, decimal_text
from dpcli.reference import time_zones
from dpcli.specification.texts import require_distinct_texts

IGNORE = "ignore"

MAX_POSITION = 100_000


class PositionModel(SectionModel):
    """The place of a column in a file, from 1 on."""

    column: Annotated[int, whole_number(MAX_POSITION, "columns from the left")]


def require_few(texts: list[Any]) -> list[Any]:
    """Raise a problem for more texts than become one pattern."""
    if len(texts) > MOST_FORMS:
        raise invalid_value("too-many-forms", at=(MOST_FORMS,), most=MOST_FORMS)
    return texts


def _require_short(text: str, most: int) -> str:
    """Raise a problem for a text that is too long to become a part of a pattern."""
    if len(text) > most:
        raise invalid_value("too-many-forms.long", most=most)
    return text


def _parse_thousands(text: str) -> str:
    mark = next((mark for mark, alike in THOUSANDS.items() if text and text in alike), text)
    if mark in THOUSANDS:
        return mark
    raise invalid_value("unknown-choice", choices=tuple(THOUSANDS))


def _parse_decimal(text: str) -> str:
    if text in DECIMALS:
        return text
    raise invalid_value("unknown-choice", choices=DECIMALS)


def _parse_affix(text: str) -> str:
    bare = text.strip(" \t")
    if not bare or NOT_IN_AFFIXES & set(bare) or bare.casefold() == "e" or "\n" in bare:
        raise invalid_value("affix")
    return _require_short(bare, LONGEST_AFFIX)


def _parse_format(text: str) -> DateForm:
    try:
        return DateForm(_require_short(text, LONGEST_FORMAT))
    except DateFormatError as failure:
        raise invalid_value("date-format", fault=failure.fault) from None


def _parse_zone(text: str) -> str:
    if text in time_zones():
        return text
    words = set(text.casefold().split("/"))
    alike = [zone for zone in time_zones() if not words.isdisjoint(zone.casefold().split("/"))]
    raise invalid_value("unknown-choice.zone", choices=alike)


TEXT = {"type": "string"}
Thousands = Annotated[str, ParsedText(_parse_thousands, TEXT | {"enum": [*THOUSANDS, " "]})]
Decimal = Annotated[str, ParsedText(_parse_decimal, TEXT | {"enum": [*DECIMALS]})]
Affix = Annotated[str, ParsedText(_parse_affix, TEXT)]
Affixes = Annotated[list[Affix], Field(min_length=1), AfterValidator(require_few), ListOrItem()]
Form = Annotated[DateForm, ParsedText(_parse_format, TEXT | {"examples": ["%d/%m/%Y"]})]
Forms = Annotated[list[Form], Field(min_length=1), AfterValidator(require_few), ListOrItem()]
Zone = Annotated[str, ParsedText(_parse_zone, TEXT | {"examples": ["Europe/Rome"]})]
Marks = Annotated[Texts, ListOrItem()]
From = Annotated[Text | PositionModel, ByForm]
Case = Annotated[str, Choice("unknown-choice", (IGNORE,))]


class NumberFormModel(SectionModel):
    """How a column of numbers is written."""

    decimal: Decimal | None = None
    thousands: Thousands | None = None
    affixes: Affixes | None = None
    brackets: Boolean = False
    values: Annotated[dict[str, Number], Field(min_length=1)] | None = None


def with_form(column: Column, section: Any, decimal: str) -> Column:
    """The column with its source, its marks of missing cells, and how its cells are written.

    `decimal` is the decimal mark of columns without their own.
    """
    source = getattr(section, "source", None)
    column = replace(column, source=source.column if isinstance(source, PositionModel) else source)
    match column:
        case NumericColumn():
            form = _date_format(section) or _number_format(section, decimal)
            texts = [text for text, _ in form.values] if isinstance(form, NumberFormat) else []
            _require_values_in_bounds(column, section, texts)
            return replace(column, na=_marks(section, texts), format=form)
        case LabeledColumn():
            texts = [text for text, _ in column.values]
            ignores_case = section.has("case")
            if ignores_case and len({text.lower() for text in texts}) < len(set(texts)):
                raise section.report_key("equal-but-case", "case", column=column.name)
            marks = _marks(section, texts, ignores_case=ignores_case)
            return replace(column, na=marks, ignores_case=ignores_case)
        case PrivatePartitionColumn():
            wrong = next((key for key in ("case", "other") if section.has(key)), None)
            if wrong:
                raise section.report_key("values-needed", wrong, column=column.name)
    return replace(column, na=_marks(section))


def _require_values_in_bounds(column: NumericColumn, section: Any, texts: Iterable[str]) -> None:
    """A stated number outside the bounds would be clamped to another one."""
    if column.bounds is None:
        return
    least, most = (bound * column.step for bound in column.bounds)
    low, high = map(column.text, column.bounds)
    for text in texts:
        if not least <= section.values[text] <= most:
            raise section.report("out-of-bounds.value", "values", text, low=low, high=high)


def _marks(
    section: Any, declared: Iterable[str] = (), *, ignores_case: bool = False
) -> tuple[str, ...]:
    """The texts that mark missing cells, which are not among the declared texts."""
    same = str.lower if ignores_case else str
    scalars, known = scalars_of(section.node.get("na")), set(map(same, declared))
    require_distinct_texts([(scalar, None) for scalar in scalars])
    for scalar in scalars:
        if same(scalar.text) in known:
            raise scalar.span.report("mark-declared", text=scalar.text)
    return tuple(scalar.text for scalar in scalars)


def _number_format(section: Any, decimal: str) -> NumberFormat | None:
    values = section
    if not isinstance(values, NumberFormModel):
        return None
    # Marks of missing cells are compared with the cells of the file, before marks are exchanged.
    needs_own = decimal != DECIMALS[0] and section.has("na")
    if not needs_own and not any(map(section.has, NumberFormModel.model_fields)):
        return None
    mark, thousands = values.decimal or decimal, values.thousands or ""
    if mark == thousands:
        raise section.report_key("equal-marks", "thousands", mark=mark)
    affixes = tuple(values.affixes or ())
    for place, affix in enumerate(affixes):
        if thousands and set(THOUSANDS[thousands]) & set(affix):
            raise section.report("affix", "affixes", place)
    numbers = tuple(
        (text, decimal_text(number, decimal_places(number)))
        for text, number in (values.values or {}).items()
    )
    return NumberFormat(mark, thousands, affixes, values.brackets, numbers)


def _date_format(section: Any) -> DateFormat | None:
    if not section.has("format") and not section.has("zone"):
        return None
    form = DateFormat(tuple(section.format or ()), section.zone)
    with_offset = [one for one in form.forms if one.has("z")]
    if form.zone and form.forms and not with_offset:
        raise section.report_key("date-format.zone", "zone")
    if form.zone and not all(one.has("HI") for one in with_offset):
        raise section.report_key("date-format.zone-time", "zone")
    return form
