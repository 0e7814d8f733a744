"""Options of dates: their formats, also guessed, and the zone of their days."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Annotated, Self

from pydantic import AfterValidator, Field

from dpcli.data.column import Column, FormOption, Option, Proposal, SampledTexts
from dpcli.data.declared_texts import list_text, require_few, require_short, yaml_text
from dpcli.data.formats import LONGEST_FORMAT, DateForm, DateFormat, DateFormatError
from dpcli.data.grid_columns import require_numeric
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
    def proposed(cls, column: Column, cells: SampledTexts) -> Iterator[Proposal[Option | None]]:
        """The declared formats and those of other texts, in all orders of their directives."""
        declared = column.option(cls)
        read = [] if declared else guessed_forms(cells.read)
        known = declared.forms if declared else tuple(forms[0] for forms in read)
        found = guessed_forms(cells.unread)[: max(0, MAX_FORMS - len(known))]
        bounds = require_numeric(column).bounds or (-1, 0)
        is_certain = CENTURY[0] <= bounds[0] <= bounds[1] <= CENTURY[1]
        is_short = not is_certain and any(forms[0].has("y") for forms in found)
        is_month = any(forms[0].has("my") and not forms[0].has("d") for forms in found)
        for new in product(*found):
            forms = (*known, *new)
            shapes = {re.sub("%[bdmy]", "%d", form.text) for form in forms}
            proposal = Proposal(cls(forms) if new else declared).doubt_if(is_short, CENTURIES)
            proposal = proposal.doubt_if(len(shapes) < len(forms), SEVERAL_ORDERS)
            yield proposal.doubt_if(is_month, PERIODS)


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

MIN_SHARE = 0.01
"""A format must read this share of the rows."""

TIME_PARTS = (
    (r"[+-][0-9]{2}:?[0-9]{2}$|Z$", "%z"),
    (r"[0-9]{1,2}:[0-9]{2}(?=.*[AP]M)", "%I:%M"),
    (r"[0-9]{1,2}:[0-9]{2}", "%H:%M"),
    (r":[0-9]{2}(\.[0-9]{1,6})?", r":%S\1"),
    (r"\.[0-9]+", ".%f"),
    (r"[AP]M", "%p"),
)
"""Patterns of the parts of a time, each with its directives."""

TIME = re.compile(r"((T|, | )%[HI]:%M(:%S(\.%f)?)?( ?%p)?( ?%z)?)?", re.IGNORECASE)
"""A format of a time after a day, or nothing."""

DAY = re.compile(
    r"[0-9]{6}|[0-9]{8}|[0-9]+([./_-] ?| )[0-9]+(?:\1[0-9]+)?\.?|[0-9]{4}:[0-9]{2}:[0-9]{2}"
    r"|(?=.*[^\W\d_])(?:[0-9]+|[^\W\d_]+)(?:[./, -]{1,2}(?:[0-9]+|[^\W\d_]+)){1,2}"
)
"""A day of digits, perhaps with one mark between them, or with a word."""

PART = re.compile(r"[0-9]+|[^\W\d_]+")

ORDERS = ("Ymd", "dmY", "mdY", "Ydm", "Ym", "mY", "dmy", "mdy", "ymd", "ydm", "my", "ym")
"""Orders of directives, the most likely first; `m` may be the name of a month."""

CENTURY = (0, 36_524)
"""The first and the last day of the years that two digits mean: 1970 to 2069."""

SEVERAL_ORDERS = "days of one form have several orders"
CENTURIES = "years of two digits may be of another century"
PERIODS = "what is read as a month may be a quarter, a week, a day or a school year"


def guessed_forms(texts: Mapping[str, int]) -> list[list[DateForm]]:
    """Formats that read most of the texts, each with all others that read the same texts."""
    found, candidates = list[list[DateForm]](), list[DateForm]()
    left = Counter(texts)
    min_rows = max(1, MIN_SHARE * left.total())
    for marks, time in dict.fromkeys(filter(None, map(_marks_and_time, left))):
        for order, month in product(ORDERS, "mbB"):
            # All digits without marks are one part.
            after = marks if len(marks) > 1 else marks * len(order)
            if len(order) == len(after):
                names = order.replace("m", month)
                parts = (f"%{name}{mark}" for name, mark in zip(names, after, strict=True))
                candidates.append(DateForm("".join(parts) + time))
    while candidates:
        unread = {form: _unread(left, form) for form in candidates}
        best = min(candidates, key=lambda form: unread[form].total())
        if left.total() - unread[best].total() < min_rows:
            break
        found.append([form for form in unread if unread[form] == unread[best]])
        left = unread[best]
    return found


def _marks_and_time(text: str) -> tuple[tuple[str, ...], str] | None:
    """The marks after the parts of a day, and the format of a time; None if it is no day."""
    day, mark, time = re.split(r"((?:[ T]|, )(?=[0-9]+:)|$)", text, maxsplit=1)
    for pattern, directive in TIME_PARTS:
        time = re.sub(pattern, directive, time, count=1, flags=re.IGNORECASE)
    is_day = DAY.fullmatch(day) and TIME.fullmatch(mark + time)
    return (tuple(PART.split(day)[1:]), mark + time) if is_day else None


def _unread(texts: Mapping[str, int], form: DateForm) -> Counter[str]:
    pattern = re.compile(form.pattern)
    return Counter({text: rows for text, rows in texts.items() if not pattern.match(text)})
