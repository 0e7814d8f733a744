"""Options of columns of dates: their formats, and the zone whose days they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Self

from pydantic import AfterValidator, Field

from dpcli.data.cell_formats import LONGEST_FORMAT, DateForm, DateFormat, DateFormatError
from dpcli.data.column import Column, FormOption, Option, SampledTexts
from dpcli.data.date_guesses import guessed_forms, swapped_form
from dpcli.data.declared_texts import require_few, require_short
from dpcli.data.key_texts import list_text, yaml_text
from dpcli.fields.section import SectionModel
from dpcli.fields.values import ListOrItem, ParsedText, invalid_value
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.reference import time_zones

TEXT = {"type": "string"}


@dataclass(frozen=True, slots=True)
class Formats(FormOption):
    """Formats of dates; the first that reads a cell decides it."""

    forms: tuple[DateForm, ...]

    @staticmethod
    def _parse(text: str) -> DateForm:
        try:
            return DateForm(require_short(text, LONGEST_FORMAT))
        except DateFormatError as failure:
            raise invalid_value("date-format", fault=failure.fault) from None

    key = "format"
    value_type = Annotated[
        list[Annotated[DateForm, ParsedText(_parse, TEXT | {"examples": ["%d/%m/%Y"]})]],
        Field(min_length=1),
        AfterValidator(require_few),
        ListOrItem(),
    ]

    @classmethod
    def stated(cls, value: Sequence[DateForm]) -> Self:
        return cls(tuple(value))

    def in_form(self, form: DateFormat) -> DateFormat:
        return replace(form, forms=self.forms)

    @property
    def value_text(self) -> str:
        return list_text(form.text for form in self.forms)

    @classmethod
    def proposed(cls, column: Column, cells: SampledTexts) -> Sequence[Option | None]:
        declared = column.option(cls)
        known = declared.forms if declared else ()
        texts = Counter(cells.read) + Counter(cells.unread)
        forms = guessed_forms(texts, known) if cells.unread else known
        return [cls(forms) if forms else None]

    def instead(self, declared: Self | None) -> Option | None:
        """Days and months may change places, except in declared formats."""
        declared_forms = declared.forms if declared else ()
        swapped = tuple(
            form if form in declared_forms else swapped_form(form) for form in self.forms
        )
        return None if swapped == self.forms else Formats(swapped)


@dataclass(frozen=True, slots=True)
class Zone(FormOption):
    """The time zone in which a time with an offset has its day."""

    name: str

    @staticmethod
    def _parse(text: str) -> str:
        if text in time_zones():
            return text
        words = set(text.casefold().split("/"))
        alike = [zone for zone in time_zones() if not words.isdisjoint(zone.casefold().split("/"))]
        raise invalid_value("unknown-choice.zone", choices=alike)

    key = "zone"
    value_type = Annotated[str, ParsedText(_parse, TEXT | {"examples": ["Europe/Rome"]})]

    @classmethod
    def stated(cls, value: str) -> Self:
        return cls(value)

    def in_form(self, form: DateFormat) -> DateFormat:
        return replace(form, zone=self.name)

    def require_fit(self, column: Column, section: SectionModel) -> None:
        """A zone needs times with an offset."""
        formats = column.option(Formats)
        with_offset = [form for form in formats.forms if form.has("z")] if formats else []
        if formats and not with_offset:
            raise section.report_key("date-format.zone", self.key)
        if not all(form.has("HI") for form in with_offset):
            raise section.report_key("date-format.zone-time", self.key)

    @property
    def value_text(self) -> str:
        return yaml_text(self.name)


@dataclass(frozen=True, slots=True)
class Hours(FormOption):
    """Cells have the hour of their time instead of their day; a derived column states it."""

    key = "part"
    value_type = None
    for_texts = False

    @classmethod
    def stated(cls, value: object) -> Self:  # noqa: ARG003 - no key states it
        return cls()

    def in_form(self, form: DateFormat) -> DateFormat:
        return replace(form, part="hour")

    @property
    def value_text(self) -> str:
        return "hour"
