"""Options of dates: their formats, also guessed, and the zone of their days."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Self

from pydantic import AfterValidator, Field

from dpcli.data.column import Column, FormOption, Option, SampledTexts
from dpcli.data.declared_texts import list_text, require_few, require_short, yaml_text
from dpcli.data.formats import LONGEST_FORMAT, MONTHS, DateForm, DateFormat, DateFormatError
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
        """The formats with day and month exchanged in those that are not declared.

        None if no format changes.
        """
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

    def in_form(self, form: DateFormat) -> DateFormat:
        return replace(form, zone=self.name)

    def require_fit(self, column: Column, section: SectionModel) -> None:
        """Record and raise a problem if declared formats have no time with an offset."""
        formats = column.option(Formats)
        with_offset = [form for form in formats.forms if form.has("z")] if formats else []
        if (formats and not with_offset) or not all(form.has("HI") for form in with_offset):
            raise section.report_key("date-format.zone", self.key)

    @property
    def value_text(self) -> str:
        return yaml_text(self.name)


@dataclass(frozen=True, slots=True)
class Hours(FormOption):
    """Cells have the hour of their time, not their day; a derived column states it."""

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


MAX_FORMS = 4
"""The most formats proposed for a column; a file with more is better corrected."""

MAX_TEXTS = 500
"""The most texts from which formats are guessed: the most frequent ones."""

MIN_SHARE = 0.01
"""A format must read this share of the rows."""

TIME = re.compile(
    r"(?P<before>[ T]|, )(?P<hour>[0-9]{1,2}):[0-9]{2}(?P<second>:[0-9]{2})?(?P<part>\.[0-9]{1,6})?"
    r"(?P<half> ?(?:am|pm))?(?P<zone> ?[+-][0-9]{2}:?[0-9]{2}|Z)?",
    re.IGNORECASE,
)
"""A time of day after a date."""

TOKEN = re.compile(r"[0-9]+|[A-Za-z]+|[^0-9A-Za-z]+")

ORDERS = {0: ("",), 1: ("d", "m"), 2: ("dm", "md", "my", "dy"), 3: ("dmy", "mdy", "ymd")}
"""Orders of the directives of zero to three short numbers, preferred ones first."""

AFTER_YEAR = ("md", "dm")
"""Orders of directives of two short numbers after a year, preferred one first."""


def guessed_forms(
    texts: Mapping[str, int], declared: Iterable[DateForm] = ()
) -> tuple[DateForm, ...]:
    """The declared formats, then those that read most of the other texts, by rows."""
    forms = list(declared)
    left = Counter(dict(Counter(texts).most_common(MAX_TEXTS)))
    min_texts = MIN_SHARE * left.total()
    candidates = list(dict.fromkeys(form for text in left for form in _forms(text)))
    for form in forms:
        left = _unread(left, form)
    while len(forms) < MAX_FORMS and left and candidates:
        unread = {form: _unread(left, form) for form in candidates}
        best = min(candidates, key=lambda form: unread[form].total())
        if left.total() - unread[best].total() < max(min_texts, 1):
            break
        forms.append(best)
        left = unread[best]
    return tuple(forms)


def swapped_form(form: DateForm) -> DateForm:
    """The format with day and month exchanged."""
    if not form.has("d") or not form.has("m"):
        return form
    swapped = {"%d": "%m", "%m": "%d"}
    return DateForm(re.sub("%.", lambda match: swapped.get(match[0], match[0]), form.text))


def _unread(texts: Counter[str], form: DateForm) -> Counter[str]:
    pattern = re.compile(form.pattern)
    return Counter({text: rows for text, rows in texts.items() if not pattern.match(text)})


def _forms(text: str) -> Iterator[DateForm]:
    """All formats in which a text may be a date."""
    time = TIME.search(text)
    if time is not None and time.end() != len(text):
        return
    day, after = (text, "") if time is None else (text[: time.start()], _time_format(time))
    tokens = TOKEN.findall(day)
    fields = [_field(token) for token in tokens]
    short = sum(field == "?" for field in fields)
    is_after_year = short == 2 and "%Y" in fields[: fields.index("?")]
    for order in AFTER_YEAR if is_after_year else ORDERS.get(short, ()):
        letters = iter(order)
        parts = [f"%{next(letters)}" if field == "?" else field for field in fields]
        try:
            yield DateForm("".join(parts) + after)
        except DateFormatError:
            continue


def _field(token: str) -> str:
    """The directive for a part of a date, `?` for a short number, or the part itself."""
    if token.isdigit():
        return {1: "?", 2: "?", 4: "%Y", 6: "%Y%m", 8: "%Y%m%d"}.get(len(token), token)
    names = [month.lower() for month in MONTHS]
    if token.lower() in names and len(token) > len("may"):
        return "%B"
    return "%b" if token.lower() in (name[:3] for name in names) else token.replace("%", "%%")


def _time_format(time: re.Match[str]) -> str:
    half, zone = time["half"] or "", time["zone"] or ""
    return "".join(
        (
            time["before"],
            "%I:%M" if half else "%H:%M",
            ":%S" if time["second"] else "",
            ".%f" if time["part"] else "",
            re.sub("[A-Za-z]+", "%p", half),
            re.sub("[0-9:+-]+|[Zz]", "%z", zone),
        )
    )
