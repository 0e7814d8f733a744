"""Options of dates: formats, also guessed, months, centuries and zones."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Annotated

from pydantic import AfterValidator, Field

from dpcli.data.column import Column, FormOption, Option, Proposal, SampledTexts, TextOption
from dpcli.data.date_forms import (
    DIRECTIVES,
    MONTHS,
    DateForm,
    DateFormat,
    DateFormatError,
    Form,
    Part,
    date_form,
)
from dpcli.data.declared_texts import list_text, require_distinct_texts, require_few, require_short
from dpcli.data.formats import LONGEST_FORMAT
from dpcli.data.grid_columns import require_numeric
from dpcli.data.polars_text import pl
from dpcli.data.two_digit_years import years_are_ambiguous
from dpcli.fields.section import SectionModel
from dpcli.fields.tree import scalars_of
from dpcli.fields.values import ExactNumber, ListOrItem, ParsedText, Texts, invalid_value
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.messages import quote
from dpcli.problems.reference import time_zones

TEXT = {"type": "string"}


@dataclass(frozen=True, slots=True)
class Formats(FormOption):
    """Formats of dates; the first that reads a cell decides it."""

    forms: tuple[Form, ...]

    @staticmethod
    def _parse(text: str) -> Form:
        try:
            return date_form(require_short(text, LONGEST_FORMAT))
        except DateFormatError as failure:
            raise invalid_value("date-format", fault=failure.fault) from None

    key = "format"
    value_type = Annotated[
        list[Annotated[Form, ParsedText(_parse, TEXT | {"examples": ["%d/%m/%Y"]})]],
        Field(min_length=1),
        AfterValidator(require_few),
        ListOrItem(),
    ]

    def in_form(self, form: DateFormat) -> DateFormat:
        return replace(form, forms=self.forms)

    def require_fit(self, column: Column, section: SectionModel) -> None:
        """Require days if there are bounds, and bounds or a key that decide years."""
        bounds = require_numeric(column).bounds
        if bounds is None:
            return
        if not all(form.has_date for form in self.forms):
            raise section.report_key("date-format.bounds", "bounds")
        has_two_digits = any(form.has("y") for form in self.forms)
        if has_two_digits and not column.option(CenturyFrom) and years_are_ambiguous(*bounds):
            raise section.report_key("date-format.century", self.key)

    @property
    def value_text(self) -> str:
        return list_text(form.text for form in self.forms)

    @classmethod
    def proposed(cls, column: Column, cells: SampledTexts) -> Iterator[Proposal[Option | None]]:
        """The declared formats and those of other texts, in all orders."""
        declared = column.option(cls)
        read = [] if declared else guessed_forms(cells.read)
        known = declared.forms if declared else tuple(forms[0] for forms in read)
        found = guessed_forms(cells.unread)[: max(0, MAX_FORMS - len(known))]
        bounds, century = require_numeric(column).bounds, column.option(CenturyFrom)
        has_century = century or (bounds is not None and not years_are_ambiguous(*bounds))
        # No key that reads these years could be pasted alone.
        open_ = [] if has_century else [forms[0] for forms in found if forms[0].has("y")]
        found = [forms for forms in found if forms[0] not in open_]
        years = (
            f"{quote(cls(tuple(open_)).words)} with `century_from` would read years of two digits"
        )
        firsts = [forms[0] for forms in found]
        is_number = any(form.text in NUMBERS for form in firsts)
        # The name of a month is certain, except among days.
        months = "myb" if any(form.has("d") for form in (*known, *firsts)) else "my"
        without_day = [form for form in firsts if not form.has("d")]
        is_period = any(form.text == "%Y" or form.has(months) for form in without_day)
        is_foreign = not column.option(Months) and any(map(OTHER_MONTH.fullmatch, cells.unread))
        for new in product(*found):
            forms = (*known, *new)
            shapes = {re.sub("%[bdmy]", "%d", form.text) for form in forms}
            proposal = Proposal(cls(forms) if new else declared)
            is_mixed = len(shapes) < len(forms) or _may_be_swapped(forms, cells)
            proposal = proposal.doubt_if(is_mixed, "orders are mixed")
            proposal = proposal.doubt_if(is_period, PERIODS).doubt_if(is_number, UNITS)
            yield proposal.doubt_if(open_, years).doubt_if(is_foreign, LANGUAGE)


@dataclass(frozen=True, slots=True)
class Months(TextOption):
    """Names of the twelve months, which are read as the English ones."""

    names: tuple[str, ...]

    key = "months"
    value_type = Annotated[Texts, Field(min_length=12, max_length=12)]
    for_texts = True

    def changed(self, text: pl.Expr) -> pl.Expr:
        names = self._english()
        return text.str.replace_many(
            list(names), list(names.values()), ascii_case_insensitive=True, leftmost=True
        )

    def _english(self) -> dict[str, str]:
        """The names with and without a last point, in usual cases, longest first."""
        names = {
            unicodedata.normalize(form, case(text)): month[:3]
            for name, month in zip(self.names, MONTHS, strict=True)
            for text in (name, name.rstrip("."))
            for case in (str.lower, str.upper, str.capitalize, _turkish_upper)
            for form in ("NFC", "NFD")
        }
        return dict(sorted(names.items(), key=lambda pair: -len(pair[0])))

    def require_fit(self, column: Column, section: SectionModel) -> None:
        """Require different names, and a format with one of them."""
        require_distinct_texts([(name, None) for name in scalars_of(section.node.value(self.key))])
        if len({name.rstrip(".").upper() for name in self.names}) < len(set(self.names)):
            raise section.report_key("date-format.months", self.key)
        _require_directive("bB", "%B", column, section, self.key)

    def listed(self, text: str) -> str:
        """A text with listed names in place of the English ones."""
        for name, month in zip(self.names, MONTHS, strict=True):
            text = re.sub(f"{month}|{month[:3]}", lambda _: name, text)  # noqa: B023 - called here
        return text


@dataclass(frozen=True, slots=True)
class CenturyFrom(FormOption):
    """The first of the 100 years that two digits can mean."""

    year: int

    key = "century_from"
    value_type = Annotated[
        int, ExactNumber("not-in-range.year", min_value=1000, max_value=9900, whole=True)
    ]

    def in_form(self, form: DateFormat) -> DateFormat:
        return replace(form, years=replace(form.years, first=self.year))

    def require_fit(self, column: Column, section: SectionModel) -> None:
        """Require a format with years of two digits."""
        _require_directive("y", "%y", column, section, self.key)


def _turkish_upper(text: str) -> str:
    return text.replace("i", "\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}").upper()


def _require_directive(
    letters: str, directive: str, column: Column, section: SectionModel, key: str
) -> None:
    formats = column.option(Formats)
    if not formats or not any(form.has(letters) for form in formats.forms):
        raise section.report_key("date-format.unneeded", key, key=key, directive=directive)


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

    def require_fit(self, column: Column, section: SectionModel) -> None:
        """Require times with an offset, and no zone as a literal text."""
        formats = column.option(Formats)
        forms = formats.forms if formats else ()
        has_instants = any(form.is_instant for form in forms)
        if forms and (not has_instants or any(f.has("z") and not f.is_instant for f in forms)):
            raise section.report_key("date-format.zone", self.key)
        for form in forms:
            if form.may_name_zone:
                raise section.report_key("date-format.literal-zone", "format", text=form.text)


@dataclass(frozen=True, slots=True)
class TimePart(FormOption):
    """Cells have a part of their time, not their day; a derived column states it.

    `twice_middle` is the sum of the bounds of the date, by which years of two digits are read.
    """

    part: Part
    twice_middle: int | None = None

    key = "part"
    value_type = None
    for_texts = False

    def in_form(self, form: DateFormat) -> DateFormat:
        years = replace(form.years, twice_middle=self.twice_middle)
        return replace(form, part=self.part, years=years)

    @property
    def value_text(self) -> str:
        return self.part


MAX_FORMS = 4
"""The most formats proposed for a column; a file with more is better corrected."""

TIME_PARTS = (
    (r"[+-][0-9]{2}(:?[0-9]{2})?$|Z$|UTC$|GMT$", "%z"),
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
    r"|[0-9]*[^\W\d_]{3,}[0-9]+"
    r"|(?=.*[^\W\d_])(?:[0-9]+|[^\W\d_]+)(?:[./, -]{1,2}(?:[0-9]+|[^\W\d_]+)){1,2}"
)
"""A day of digits, perhaps with one mark between them, or with a word."""

OTHER_MONTH = re.compile(
    r"[0-9]{1,2}(?:\.|er|º|ª)?[ /-](?:de )?"
    rf"(?!{DIRECTIVES['b']}\b)[^\W\d_]{{3,}}[.,]?[ /-](?:de )?[0-9]{{2,4}}",
    re.IGNORECASE,
)
"""A day, a word that is no English month, and a year."""

PART = re.compile(r"[0-9]+|[^\W\d_]+")

ORDERS = ("Ymd", "dmY", "mdY", "Ydm", "Ym", "mY", "dmy", "mdy", "ymd", "ydm", "my", "ym")
"""Orders of directives, the most likely first; `m` may be the name of a month."""

LITERAL = (
    "%YQ%q", "%Y-Q%q", "%Y Q%q", "Q%q %Y", "Q%q-%Y", "Q%q/%Y", "%G-W%V", "%G-W%V-%u", "%Y",
    *(f"%Y%m%d{mark}%H%M{end}" for mark in ("", "T") for end in ("", "%S", "%S%z")),
)  # fmt: skip
"""Formats of quarters, ISO weeks, years alone, and times without marks."""

NUMBERS = {
    "epoch": r"^1[0-9]{9}(\.[0-9]+)?$",
    "epoch_ms": r"^1[0-9]{12}(\.[0-9]+)?$",
    "excel": r"^[234][0-9]{4}(\.[0-9]+)?$",
}
"""Numbers that are usual as times of this century, by their form."""

UNITS = "numbers may be no times, or those of another place than UTC"
PERIODS = "what is read as a month or a year may be a quarter, a week, a day or a school year"
LANGUAGE = '`months: [...]` with `format: "%d %B %Y"` may read names in other languages'


def guessed_forms(texts: Mapping[str, int]) -> list[list[Form]]:
    """Formats that read most texts, each with all others that read the same."""
    found, candidates = list[list[Form]](), list(map(date_form, (*LITERAL, *NUMBERS)))
    left = Counter(texts)
    for marks, time in dict.fromkeys(filter(None, map(_marks_and_time, left))):
        for order, month in product(ORDERS, "mb"):
            # All digits without marks are one part.
            after = marks if len(marks) > 1 else marks * len(order)
            if len(order) == len(after):
                names = order.replace("m", month)
                parts = (f"%{name}{mark}" for name, mark in zip(names, after, strict=True))
                candidates.append(DateForm("".join(parts) + time))
    while candidates:
        unread = {form: _unread(left, form) for form in candidates}
        best = min(candidates, key=lambda form: unread[form].total())
        if unread[best] == left:
            break
        found.append([form for form in unread if unread[form] == unread[best]])
        left = unread[best]
    return found


def _may_be_swapped(forms: Sequence[Form], cells: SampledTexts) -> bool:
    """Whether each day of a form could be a month, and none of another form."""
    texts, kinds = (*cells.read, *cells.unread), []
    for form in forms:
        if form.has("d") and form.has("m"):
            swapped = DateForm(form.text.translate(str.maketrans("dm", "md"))).pattern
            days = filter(re.compile(form.pattern).match, texts)
            kinds.append({bool(re.match(swapped, text)) for text in days})
    return {True} in kinds and {False} in kinds


def _marks_and_time(text: str) -> tuple[tuple[str, ...], str] | None:
    """The marks after parts of a day, and the format of a time; or None."""
    day, mark, time = re.split(r"((?:[ T]|, )(?=[0-9]+:)|$)", text, maxsplit=1)
    for pattern, directive in TIME_PARTS:
        time = re.sub(pattern, directive, time, count=1, flags=re.IGNORECASE)
    is_day = DAY.fullmatch(day) and TIME.fullmatch(mark + time)
    return (tuple(PART.split(day)[1:]), mark + time) if is_day else None


def _unread(texts: Mapping[str, int], form: Form) -> Counter[str]:
    pattern = re.compile(NUMBERS.get(form.text, form.pattern))
    return Counter({text: rows for text, rows in texts.items() if not pattern.match(text)})
