"""How cells write days and times: each form is a class, with its rule.

A spec declares forms, or cells are those of ISO 8601. Each text is read by itself, by native
expressions, as a day or as a part of its time.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Any, Literal

from dpcli.data.characters import ascii_sign
from dpcli.data.polars_text import pl
from dpcli.data.two_digit_years import TwoDigitYears
from dpcli.numeric.days import days_of
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.reference import usual_cells

Part = Literal["day", "hour", "minute"]

FIRST_DAY = -719_162
"""0001-01-01 as days since 1970."""

LAST_DAY = 2_932_896
"""9999-12-31 as days since 1970."""

DAY = 86_400
"""Seconds of a day."""

TIME = "%Y-%m-%d %H:%M:%S"
"""How a program writes a time whose type the file states."""

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip

MONTH = f"(?i:{'|'.join(f'{month[:3]}(?:{month[3:]})?' for month in MONTHS)})"
OFFSET = r" ?(?:[Zz]|(?i:UTC|GMT)|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)"
ODD_OFFSETS = {" ?(?i:UTC|GMT)()": "Z", "( ?[+-][0-9]{2})": "${2}00"}
"""Offsets that polars may not read, each with one that it reads."""

DIRECTIVES = {
    "d": "(?:0?[1-9]|[12][0-9]|3[01])",
    "m": "(?:0?[1-9]|1[0-2])",
    "Y": "[0-9]{4}",
    "y": "[0-9]{2}",
    "b": MONTH,
    "B": MONTH,
    "j": "[0-9]{3}",
    "q": "[1-4]",
    "G": "[0-9]{4}",
    "V": "(?:0?[1-9]|[1-4][0-9]|5[0-3])",
    "u": "[1-7]",
    "H": "(?:[01]?[0-9]|2[0-3])",
    "I": "(?:0?[1-9]|1[0-2])",
    "M": "[0-5]?[0-9]",
    "S": "[0-5]?[0-9]",
    "f": "[0-9]{1,6}",
    "p": "(?i:am|pm)",
    "z": OFFSET,
}
"""The directives of formats, each with the texts that it stands for.

`%q` is a quarter, `%G`, `%V` and `%u` are year, number and weekday of an ISO week.
"""

NUMERIC, DATED = frozenset("dmYyjqGVuHIMSf"), frozenset("dmYybBjqGVu")

COMPLETIONS = (
    ("Y", "YyG", "1970"),
    ("m", "mbBqjV", "01"),
    ("d", "djV", "01"),
    ("u", "udmbBqj", "1"),
)
"""The directives of a day, those that state the same, and the default text."""

INSTEAD = {
    "s": "; seconds since 1970 are `format: epoch`",
    "Q": "; milliseconds since 1970 are `format: epoch_ms`, and `%q` is a quarter",
    "U": "; weeks are those of ISO, as in `%G-W%V`",
    "W": "; weeks are those of ISO, as in `%G-W%V`",
    "Z": "; `%z` reads an offset, `Z`, `UTC` or `GMT`",
}
"""What to write instead of directives of other programs."""

TOKEN = re.compile("%(.)|([^%])", re.DOTALL)


class DateFormatError(ValueError):
    """A format of dates that cannot be used; `fault` says why."""

    def __init__(self, fault: str) -> None:
        super().__init__(fault)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class DateForm:
    """A format of `strptime` directives, as polars reads it.

    A time alone is one of 1970-01-01. A cell without a day is the first one of its month, quarter,
    week or year. Raises `DateFormatError`.
    """

    text: str

    def __post_init__(self) -> None:
        fault = next(self._faults(), None)
        if fault is not None:
            raise DateFormatError(fault)

    def _faults(self) -> Iterator[str]:
        """Reasons why no day or time can be read."""
        if "%" not in self.text:
            yield "it has no directive such as `%d`, and is not `epoch`, `epoch_ms` or `excel`"
        if "".join(match[0] for match in TOKEN.finditer(self.text)) != self.text:
            yield "it ends with a single `%`"
        used = [directive for directive in self._directives() if directive != "%"]
        for name in used:
            if name not in DIRECTIVES:
                yield f"there is no directive `%{name}`{INSTEAD.get(name, '')}"
        yield from (f"it has `%{name}` twice" for name in used if used.count(name) > 1)
        if re.search(f"%[qz](?:[0-9]|%[{''.join(NUMERIC)}])", self.text):
            yield "a number follows `%q` or `%z` without a sign between them"
        year, month, hour = (sum(map(used.count, group)) for group in ("YyG", "mbBqjV", "HI"))
        yield from self._faults_of_day(year, month)
        if hour > 1 or hour != used.count("M") or used.count("I") != used.count("p"):
            yield "a time needs one hour (`%H`, or `%I` with `%p`) and minutes (`%M`)"
        if not hour and (self.has("S") or not self.has_date):
            yield "it has no day, or seconds without an hour and minutes"
        if "f" in used and "%S.%f" not in self.text:
            yield "`%f` must follow `%S.`"

    def _faults_of_day(self, year: int, month: int) -> Iterator[str]:
        if year > 1:
            yield "it has two years; texts such as `2010/11` are the `values` of a `category`"
        if self.has("V") != self.has("G") or (self.has("u") and not self.has("V")):
            yield "a week has its own year and perhaps a weekday, as in `%G-W%V` or `%G-W%V-%u`"
        if self.has_date and not year:
            yield "it has no year"
        if month > 1 or (self.has("d") and not self.has("mbB")):
            yield "it needs one month (`%m`, `%b`, `%B`), a day of the year (`%j`), or a year alone"
        if self.has("q") and self.has_time:
            yield "a quarter (`%q`) has no time"

    def _directives(self) -> Iterator[str]:
        return (match[1] for match in TOKEN.finditer(self.text) if match[1])

    def has(self, directives: str) -> bool:
        """Whether the format has one of these directives, each a letter."""
        return not set(directives).isdisjoint(self._directives())

    @property
    def has_date(self) -> bool:
        """Whether cells have a day, not a time of day alone."""
        return not DATED.isdisjoint(self._directives())

    @property
    def has_time(self) -> bool:
        """Whether cells have a time of day."""
        return self.has("HI")

    @property
    def is_instant(self) -> bool:
        """Whether cells have a day, a time, and its offset from UTC."""
        return self.has("z") and self.has_date and self.has_time

    @property
    def may_name_zone(self) -> bool:
        """Whether a text could name a zone: by an offset, or a word that is not usual."""
        literals = re.sub("%.", " ", self.text)
        signed = (ascii_sign(literals[at:]) for at in range(len(literals)))
        is_offset = any(re.match("[+\u00b1\u2213-] ?[0-9]", text) for text in signed)
        words = {*re.findall(r"[^\W\d_]+", literals.casefold())}
        is_named = bool(words.difference(usual_cells()["words_of_times"]))
        return self.has_time and not self.has("z") and (is_offset or is_named)

    @property
    def pattern(self) -> str:
        """The regular expression of cells, the same for `re` and polars."""
        return f"^{''.join(self._around(''))}$"

    def parts(self, text: str) -> dict[str, str] | None:
        """The parts of a day and a clock in a text; None if it has another form."""
        found = re.fullmatch("".join(self._around("", grouped=True)), text)
        parts = found.groupdict().items() if found else ()
        return {name.replace("B", "b"): part for name, part in parts if name not in "zfS"} or None

    def _around(self, directive: str, *, grouped: bool = False) -> list[str]:
        """Regular expressions of what is before a directive, and after it."""
        tokens = [(match[1] or "", match[2] or "%") for match in TOKEN.finditer(self.text)]
        is_number = [False, *(name in NUMERIC for name, _ in tokens), False]
        patterns = [""]
        for index, (name, text) in enumerate(tokens):
            part = DIRECTIVES.get(name, re.escape(text))
            if is_number[index + 1] and (is_number[index] or is_number[index + 2]):
                # A first zero is optional, but not next to a number.
                part = re.sub(r"(?<=[0\]])\?", "", part)
            part = f"(?P<{name}>{part})" if grouped and name in DIRECTIVES else part
            if name and name == directive:
                patterns.append("")
            else:
                patterns[-1] += part
        return patterns

    @property
    def for_polars(self) -> str:
        """The format in directives of polars; missing parts of a day are at the end."""
        # Of these directives of polars, `%B` also reads short names, and `%#z` a Z. The number of a
        # quarter is read as that of a month.
        replacements = {"f": "%.f", "z": "%#z", "q": "%m", "b": "%B"}
        text = TOKEN.sub(lambda match: replacements.get(match[1], match[0]), self.text)
        return text.replace(".%.f", "%.f") + "".join(f" %{name}" for name in self._completion)

    @property
    def _completion(self) -> dict[str, str]:
        """The directives of the missing parts of a day, each with its text."""
        others = {name: text for name, same, text in COMPLETIONS if not self.has(same)}
        return others if self.has("V") else {name: others[name] for name in others if name != "u"}

    def days(self, text: pl.Expr, format_: DateFormat) -> pl.Expr:
        """Days since 1970, in the zone if there is one; null for other texts."""
        if format_.zone and self.has("z"):
            days = self.clock(text, format_).dt.date().to_physical()
        else:
            days = self._read_days(self._whole(text))
            days = format_.years.days(days, ordinal=self.has("j")) if self.has("y") else days
        return pl.when(text.str.contains(self.pattern)).then(days)

    def clock(self, text: pl.Expr, format_: DateFormat) -> pl.Expr:
        """The time that is written, or the time of its instant in the zone."""
        if self.has("z") and not format_.zone:
            bare = TOKEN.sub(lambda match: match[0] * (match[1] != "z"), self.text)
            end = f"{OFFSET}({self._around('z')[1]})$"
            return DateForm(bare).clock(text.str.replace(end, "${1}"), format_)
        whole = self._whole(text)
        clock = whole.str.to_datetime(self.for_polars, strict=False, cache=False, time_unit="us")
        if not self.has("z"):
            return clock
        if self.has("y"):
            read = self._read_days(whole)
            clock += pl.duration(days=format_.years.days(read, ordinal=self.has("j")) - read)
        return clock.dt.convert_time_zone(format_.zone or "UTC")

    def _whole(self, text: pl.Expr) -> pl.Expr:
        """The text as polars reads it, with the missing parts of a day."""
        for odd, plain in ODD_OFFSETS.items() if self.has("z") else ():
            pattern = f"^({f'){odd}('.join(self._around('z'))})$"
            usual = text.str.replace(pattern, "${1}" + plain + "${3}")
            text = pl.when(text.str.contains(pattern)).then(usual).otherwise(text)
        end = "".join(f" {part}" for part in self._completion.values())
        return text + pl.lit(end) if end else text

    def _read_days(self, whole: pl.Expr) -> pl.Expr:
        # A cache of texts costs more than to read a date.
        date = whole.str.to_date(self.for_polars, strict=False, cache=False)
        if self.has("q"):
            date = pl.date(date.dt.year(), date.dt.month().clip(1, 4) * 3 - 2, 1)
        return date.to_physical()

    def typed_text(self, moment: pl.Expr, zone: str | None) -> pl.Expr:
        """A time as this form writes it; null if the day may be lost."""
        is_whole = self.has("dju") and self.has("YG")
        if self.has("yz") or (self.has_date and not is_whole):
            return pl.lit(None, pl.String)
        usual = {"f": "0", "B": "%b"}
        return moment.dt.to_string(TOKEN.sub(lambda m: usual.get(m[1], m[0]), self.text))

    def written(self, day: str, hour: int, minute: int = 0) -> str:
        """An ISO date and a time of day in this form, for synthetic data."""
        time = datetime.datetime.fromisoformat(f"{day} {hour:02}:{minute:02}")
        month = MONTHS[time.month - 1]
        values = {letter: time.strftime(f"%{letter}") for letter in "dmyjVuHIMSf"} | {
            "b": month[:3], "B": month, "q": f"{(time.month + 2) // 3}", "Y": f"{time.year:04}",
            "G": f"{time.isocalendar().year:04}", "p": "PM" if hour >= 12 else "AM",
            "z": "+0000", "%": "%",
        }  # fmt: skip
        return TOKEN.sub(lambda match: values[match[1]] if match[1] else match[2], self.text)


EXCEL = "excel"
EPOCHS = {"epoch": 1, "epoch_ms": 1000, "epoch_us": 1_000_000}
"""The words for seconds since 1970 and their parts, with parts a second."""

EXCEL_DAY = 25_569
"""1970-01-01 as a serial day of Excel."""

FICTIONAL_DAY = 60
"""The serial day of 29 February 1900, which did not exist."""

DECIMALS = 12
"""Decimals of serial days that count."""


@dataclass(frozen=True, slots=True)
class NumberForm:
    """Numbers that stand for times: seconds since 1970, or days of Excel.

    The `text` is the word of the spec. Fractions of a second are cut off. The whole part of a
    serial day is the day, from 1900-01-01 on; its decimals are the time of day, rounded to the
    second.
    """

    text: str

    has_date, has_time, may_name_zone = True, True, False
    pattern = r"^([+-]?[0-9]{1,18})(?:\.([0-9]*))?$"

    def has(self, directives: str) -> bool:
        """Whether the form has one of these directives."""
        return False

    def parts(self, text: str) -> dict[str, str] | None:
        """The number in a text; None if it has no time in the calendar."""
        found = re.fullmatch(self.pattern[1:-1], text)
        if not found:
            return None
        is_day = 1 <= int(found[1]) <= LAST_DAY + EXCEL_DAY
        second = int(found[1]) // EPOCHS.get(self.text, 1)
        is_instant = FIRST_DAY * DAY <= second < (LAST_DAY + 1) * DAY
        return {self.text: text} if (is_instant if self.is_instant else is_day) else None

    @property
    def is_instant(self) -> bool:
        """Whether cells are instants, which have a day in each zone."""
        return self.text != EXCEL

    def days(self, text: pl.Expr, format_: DateFormat) -> pl.Expr:
        """Days since 1970, in the zone if there is one; null for other texts."""
        return self.clock(text, format_).dt.date().to_physical()

    def clock(self, text: pl.Expr, format_: DateFormat) -> pl.Expr:
        """The time that a text stands for, in the zone if there is one."""
        part = text.str.extract_groups(self.pattern).struct.field
        whole, decimals = part("1").cast(pl.Int64), part("2").fill_null("")
        if self.is_instant:
            is_below = part("1").str.starts_with("-") & decimals.str.contains("[1-9]")
            seconds = (whole - is_below.cast(pl.Int64)) // EPOCHS[self.text]
        else:
            share = decimals.str.slice(0, DECIMALS).str.pad_end(DECIMALS, "0").cast(pl.Int64)
            second = (share * DAY + 10**DECIMALS // 2) // 10**DECIMALS
            days = whole.clip(0, LAST_DAY * 2) - EXCEL_DAY + (whole < FICTIONAL_DAY).cast(pl.Int64)
            is_day = (whole >= 1) & (whole != FICTIONAL_DAY)
            seconds = pl.when(is_day).then(days * DAY + second.clip(0, DAY - 1))
        is_possible = seconds.is_between(FIRST_DAY * DAY, (LAST_DAY + 1) * DAY - 1)
        clock = (pl.when(is_possible).then(seconds) * 1_000_000).cast(pl.Datetime("us"))
        if not format_.zone or not self.is_instant:
            return clock
        return clock.dt.replace_time_zone("UTC").dt.convert_time_zone(format_.zone)

    def typed_text(self, moment: pl.Expr, zone: str | None) -> pl.Expr:
        """A time as this form writes it, so that a clock in the zone reads it again."""
        if zone and self.is_instant:
            here, later = (
                time.dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
                for time in (moment, moment + datetime.timedelta(hours=1))
            )
            moment = pl.coalesce(here, later)
        text: pl.Expr = self._number(moment.dt.epoch("s")).cast(pl.String)
        return text

    def written(self, day: str, hour: int, minute: int = 0) -> str:
        """An ISO date and a time of day in this form, for synthetic data."""
        return str(self._number(days_of(day) * DAY + hour * 3600 + minute * 60))

    def _number(self, seconds: Any) -> Any:
        """The number of a time, which has a text or is a column of times."""
        if self.is_instant:
            return seconds * EPOCHS[self.text]
        serial = seconds / DAY + EXCEL_DAY
        return serial - (serial < FICTIONAL_DAY + 1)


ISO_TIME = (
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[ T]((?:[01][0-9]|2[0-3]):[0-5][0-9])(:[0-5][0-9])?"
    rf"(?:[.,][0-9]+)?({OFFSET})?)?$"
)
"""ISO dates, perhaps with time; groups: date, hour and minute, seconds, offset."""


def _iso_value(text: pl.Expr, format_: DateFormat) -> pl.Expr:
    """Days, hours or minutes of dates of ISO 8601."""
    date = text.str.slice(0, 10)
    days = date.str.to_date("%Y-%m-%d", strict=False, cache=False).to_physical()
    part = text.str.slice(14 if format_.part == "minute" else 11, 2).cast(pl.Int8, strict=False)
    if format_.zone:
        second = pl.when(text.str.slice(16, 1) == ":").then(text.str.slice(16, 3))
        written = date + " " + text.str.slice(11, 5) + second.fill_null(":00")
        clock = written.str.to_datetime(TIME, strict=False, time_unit="us")
        utc = (clock - _offset(text)).dt.replace_time_zone("UTC")
        there = utc.dt.convert_time_zone(format_.zone)
        days = pl.coalesce(there.dt.date().to_physical(), days)
        part = pl.coalesce(_part_of(there, format_), part)
    is_possible = text.str.contains(ISO_TIME) & days.is_between(FIRST_DAY, LAST_DAY)
    return pl.when(is_possible).then(days if format_.part == "day" else part)


def _offset(text: pl.Expr) -> pl.Expr:
    """The offset from UTC at the end of a text with a time; null without one."""
    signed = text.str.replace(" ?(?i:Z|UTC|GMT)$", "+00").str.extract("([+-][0-9]{2}:?[0-9]*)$")
    number = signed.str.replace(":", "", literal=True).str.pad_end(5, "0").cast(pl.Int64)
    # Hours are cut off exactly: the quotients of such small numbers are far from the next one.
    minutes = number - (number / 100).cast(pl.Int64) * 40
    return (minutes * 60_000_000).cast(pl.Duration("us"))


def _part_of(clock: pl.Expr, format_: DateFormat) -> pl.Expr:
    return clock.dt.minute() if format_.part == "minute" else clock.dt.hour()


Form = DateForm | NumberForm


SAMPLES = ("2024-03-05", "2012-11-10", "2011-02-03", "2010-12-11", "2012-03-11", "1975-06-07")
"""Days of which the numbers are days, months and two digits of years."""


def cell_of_two(first: Form, second: Form) -> str:
    """A cell that two forms read, perhaps as other times; empty if there is none."""
    texts = (form.written(day, 10, 9) for form in (first, second) for day in SAMPLES)
    cells = ((text, first.parts(text), second.parts(text)) for text in texts)
    return next((text for text, one, other in cells if one and other and one != other), "")


def date_form(text: str) -> Form:
    """The form that a text of a spec declares; raises `DateFormatError`."""
    return NumberForm(text) if text == EXCEL or text in EPOCHS else DateForm(text)


@dataclass(frozen=True, slots=True)
class DateFormat:
    """Forms of dates, tried in order; the first that reads a cell decides it.

    Without forms, dates are those of ISO 8601. In a `zone`, a cell with an offset is the day of
    that instant there; otherwise offsets are dropped, and a time is that of the clock. If the
    `part` is the hour or the minute, a cell is that instead, and missing without a time.
    """

    forms: tuple[Form, ...] = ()
    zone: str | None = None
    part: Part = "day"
    years: TwoDigitYears = TwoDigitYears()

    def read(self, text: pl.Expr) -> pl.Expr:
        """Days since 1970, or a part of the time of day; null for other texts."""
        if not self.forms:
            return _iso_value(text, self)
        values: pl.Expr = pl.lit(None, pl.Int32)
        for form in reversed(self.forms):
            days = form.days(text, self)
            value: pl.Expr | None = days
            if self.part != "day":
                # A form that reads a text decides it, also if it has no time.
                value = _part_of(form.clock(text, self), self) if form.has_time else None
            values = pl.when(days.is_between(FIRST_DAY, LAST_DAY)).then(value).otherwise(values)
        return values

    @property
    def has_date(self) -> bool:
        """Whether all cells have a day."""
        return all(form.has_date for form in self.forms)

    @property
    def has_time(self) -> bool:
        """Whether cells may have a time of day."""
        return not self.forms or any(form.has_time for form in self.forms)

    def typed_text(self, plain: pl.Expr) -> pl.Expr:
        """A typed time as the first form writes it; a number stays as it is."""
        if not self.forms:
            return plain
        if not self.has_date:
            plain = plain.str.replace("^[0-9]{2}:", "1970-01-01 ${0}")
        time = plain.str.slice(0, 19).str.to_datetime(TIME, strict=False, cache=False)
        written = self.forms[0].typed_text(time, self.zone)
        return pl.when(plain.str.contains("^[0-9]{4}-")).then(written).otherwise(plain)

    def written(self, day: str, hour: int, minute: int = 0) -> str:
        """An ISO date in the first form, at a time of day, for synthetic data."""
        text = f"{day} {hour:02}:{minute:02}"
        return self.forms[0].written(day, hour, minute) if self.forms else text
