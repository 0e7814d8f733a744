"""Turns cells of a declared form into the plain texts that `decode` reads.

Only columns that declare a form, marks of missing cells, or another label take this step. It is
done by native expressions, each cell by itself.
"""

from __future__ import annotations

import polars as pl

from dpcli.cell_formats import (
    AFFIX_BLANKS,
    ISO_TIME,
    PLAIN_NUMBERS,
    DateForm,
    DateFormat,
    NumberFormat,
    number_pattern,
    shortest_number,
)
from dpcli.data.column import Column
from dpcli.data.labels import CategoryColumn
from dpcli.data.numeric import NumericColumn
from dpcli.engine.decode_numbers import BLANKS

FIRST_DAY = -719_162
"""0001-01-01 as days since 1970."""

LONGEST_PATTERN = 1000
"""Letters of numbers that are compared by one pattern, which is faster for few of them."""

LAST_DAY = 2_932_896
"""9999-12-31 as days since 1970."""


def has_form(column: Column) -> bool:
    """Whether a column declares how its cells are written."""
    return needs_plain_text(column) or (
        isinstance(column, NumericColumn) and column.format is not None
    )


def needs_plain_text(column: Column) -> bool:
    """Whether cells of a column must become plain texts first."""
    if isinstance(column, CategoryColumn):
        return bool(column.na) or column.ignores_case or column.other is not None
    return bool(column.na) or (
        isinstance(column, NumericColumn) and isinstance(column.format, NumberFormat)
    )


def strip_blanks(text: pl.Expr) -> pl.Expr:
    """The text without spaces and tabs around it; null if nothing is left."""
    bare = text.str.strip_chars(BLANKS)
    return pl.when(bare != "").then(bare)


def plain_text(cell: pl.Expr, column: Column) -> pl.Expr:
    """The cell as a plain text; null if it is blank, marked as missing, or of another form."""
    plain = _plain(cell, column)
    return pl.when(~is_marked(cell, column)).then(plain) if column.na else plain


def is_marked(cell: pl.Expr, column: Column) -> pl.Expr:
    """Whether a cell is one of the declared marks of missing cells."""
    bare, marks = strip_blanks(cell), pl.Series(column.na, dtype=pl.String)
    if isinstance(column, CategoryColumn) and column.ignores_case:
        bare, marks = bare.str.to_lowercase(), marks.str.to_lowercase()
    marked = bare.is_in(marks.to_list())
    if not isinstance(column, NumericColumn) or column.kind == "date":
        return marked
    shortest = [number for text in column.na if (number := shortest_number(text)) is not None]
    if not shortest:
        return marked
    plain = _plain(cell, column)
    if sum(map(len, shortest)) <= LONGEST_PATTERN:
        is_number = plain.str.contains("|".join(map(number_pattern, shortest)))
    else:
        is_number = _shortest_numbers(plain).is_in(shortest)
    return marked | is_number.fill_null(value=False)


def _shortest_numbers(text: pl.Expr) -> pl.Expr:
    """The shortest texts of plain numbers, as `shortest_number` gives them; null for others."""
    digits = text.str.strip_chars_start("+-0")
    bare = digits.str.strip_chars_end("0").str.strip_chars_end(".")
    digits = pl.when(digits.str.contains(".", literal=True)).then(bare).otherwise(digits)
    is_negative = text.str.starts_with("-") & (digits != "")
    number = pl.when(is_negative).then("-" + digits).otherwise(digits)
    return pl.when(text.str.contains(PLAIN_NUMBERS)).then(number)


def _plain(cell: pl.Expr, column: Column) -> pl.Expr:
    bare = strip_blanks(cell)
    if isinstance(column, CategoryColumn) and column.ignores_case:
        return bare.str.to_lowercase()
    if isinstance(column, NumericColumn) and isinstance(column.format, NumberFormat):
        form = column.format
        usual = _usual_number(cell, form)
        other = _plain_number(strip_blanks(pl.when(usual.is_null()).then(cell)), form)
        number = pl.coalesce(usual, other)
        return pl.coalesce(_declared_number(bare, form), number) if form.values else number
    return bare


def _usual_number(cell: pl.Expr, form: NumberFormat) -> pl.Expr:
    """A number as most cells have it, much faster than by the replacements of every form."""
    around = "".join(form.affixes) + AFFIX_BLANKS
    # The pattern allows nothing of this next to the digits but one affix on each side.
    plain = cell.str.strip_chars(around) if form.affixes else cell
    for mark in form.group_marks:
        plain = plain.str.replace_all(mark, "", literal=True)
    if form.decimal != ".":
        plain = plain.str.replace(form.decimal, ".", literal=True)
    return pl.when(cell.str.contains(form.usual_pattern)).then(plain)


def _plain_number(bare: pl.Expr, form: NumberFormat) -> pl.Expr:
    changes = form.replacements
    plain = bare.str.replace_many(list(changes), list(changes.values()), leftmost=True)
    return pl.when(bare.str.contains(form.pattern)).then(plain)


def _declared_number(bare: pl.Expr, form: NumberFormat) -> pl.Expr:
    texts, numbers = zip(*form.values, strict=True)
    return bare.replace_strict(list(texts), list(numbers), default=None, return_dtype=pl.String)


def formatted_dates(text: pl.Expr, form: DateFormat) -> pl.Expr:
    """Days since 1970, or hours of the day, in the declared form; null for all other texts."""
    if not form.forms:
        return _iso_dates(text, form)
    if form.part == "day":
        return pl.coalesce(_days_in_form(text, one, form.zone) for one in form.forms)
    # The first form that reads a text decides it, also if it has no time.
    hours = pl.lit(None, pl.Int8)
    for one in reversed(form.forms):
        reads = _days_in_form(text, one, form.zone).is_not_null()
        hours = pl.when(reads).then(_hours(text, one, form.zone)).otherwise(hours)
    return hours


def _days_in_form(text: pl.Expr, form: DateForm, zone: str | None) -> pl.Expr:
    if zone and form.has("z"):
        days = _clock(text, form, zone).dt.date().to_physical()
    else:
        # A cache of texts costs more than to read a date.
        whole = _with_day(text, form)
        days = whole.str.to_date(form.for_polars, strict=False, cache=False).to_physical()
    is_possible = days.is_between(FIRST_DAY, LAST_DAY)
    return pl.when(text.str.contains(form.pattern) & is_possible).then(days)


def _hours(text: pl.Expr, form: DateForm, zone: str | None) -> pl.Expr:
    if not form.has("HI"):
        return pl.lit(None, pl.Int8)
    if zone or not form.has("z"):
        return _clock(text, form, zone).dt.hour()
    hour = text.str.extract(form.pattern_with_group("H" if form.has("H") else "I")).cast(pl.Int8)
    if form.has("H"):
        return hour
    is_late = text.str.extract(form.pattern_with_group("p")).str.to_lowercase() == "pm"
    return hour % 12 + pl.when(is_late).then(12).otherwise(0).cast(pl.Int8)


def _with_day(text: pl.Expr, form: DateForm) -> pl.Expr:
    return text if form.has("dj") else text + pl.lit(" 01")


def _clock(text: pl.Expr, form: DateForm, zone: str | None) -> pl.Expr:
    """The written time, or for texts with an offset, the time of that instant in the zone."""
    whole = _with_day(text, form)
    clock = whole.str.to_datetime(form.for_polars, strict=False, cache=False, time_unit="us")
    return clock.dt.convert_time_zone(zone) if zone and form.has("z") else clock


def _iso_dates(text: pl.Expr, form: DateFormat) -> pl.Expr:
    date = text.str.slice(0, 10)
    days = date.str.to_date("%Y-%m-%d", strict=False, cache=False).to_physical()
    hours = text.str.slice(11, 2).cast(pl.Int8, strict=False)
    if form.zone:
        second = pl.when(text.str.slice(16, 1) == ":").then(text.str.slice(16, 3))
        written = date + " " + text.str.slice(11, 5) + second.fill_null(":00")
        clock = written.str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False, time_unit="us")
        there = (clock - _offset(text)).dt.replace_time_zone("UTC").dt.convert_time_zone(form.zone)
        days = pl.coalesce(there.dt.date().to_physical(), days)
        hours = pl.coalesce(there.dt.hour(), hours)
    is_possible = text.str.contains(ISO_TIME) & days.is_between(FIRST_DAY, LAST_DAY)
    return pl.when(is_possible).then(days if form.part == "day" else hours)


def _offset(text: pl.Expr) -> pl.Expr:
    """The offset from UTC at the end of a text; null without one."""
    found = text.str.extract(r"(Z|[+-][0-9]{2}:?[0-9]{2})$")
    hours, minutes = (
        part.cast(pl.Int32, strict=False) for part in (found.str.slice(1, 2), found.str.slice(-2))
    )
    size = pl.duration(hours=hours, minutes=minutes)
    return (
        pl.when(found == "Z")
        .then(pl.duration(hours=0))
        .when(found.str.starts_with("-"))
        .then(-size)
        .otherwise(size)
    )
