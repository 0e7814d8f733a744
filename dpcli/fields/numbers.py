"""Parses numbers, dates and probabilities of a spec exactly."""

from __future__ import annotations

import re
from fractions import Fraction

from dpcli.numeric.days import days_of
from dpcli.numeric.exact import plain_text
from dpcli.problems.reference import texts

NUMBER = re.compile(r"(-?)([0-9]{1,18})(?:\.([0-9]{1,18}))?(?:e(-?[0-9]{1,3}))?")
MAX_EXPONENT = 60
"""A larger exponent is a mistake, and would make a number of very many digits."""

PERCENT = r"([0-9]{1,18}(?:\.[0-9]{1,18})?) ?%"
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
FRACTION = re.compile(r"([0-9]{1,18})/([1-9][0-9]{0,17})")


class NumberSyntaxError(ValueError):
    """The text is not a number, date or probability; has an error code and advice."""

    def __init__(self, code: str, advice: str) -> None:
        self.code, self.advice = code, advice
        super().__init__(advice)


def parse_number(text: str) -> Fraction:
    """The value of a decimal such as 12, -0.5 or 1e-6; raises `NumberSyntaxError`."""
    match = NUMBER.fullmatch(text)
    if not match:
        raise NumberSyntaxError("not-a-number", _advice(text))
    sign, whole, decimals, exponent = match.groups()
    if len(whole) > 1 and whole.startswith("0"):
        advice = f"a leading zero is ambiguous: write `{whole.lstrip('0') or '0'}`"
        raise NumberSyntaxError("not-a-number", advice)
    if exponent and abs(int(exponent)) > MAX_EXPONENT:
        advice = f"an exponent is between -{MAX_EXPONENT} and {MAX_EXPONENT}"
        raise NumberSyntaxError("not-a-number", advice)
    digits = decimals or ""
    value = Fraction(int(whole + digits), 10 ** len(digits)) * Fraction(10) ** int(exponent or 0)
    return -value if sign else value


def is_year(text: str) -> bool:
    """Whether a text has four digits, as a year where a day is expected."""
    return len(text) == 4 and text.isascii() and text.isdigit()


def parse_day(text: str) -> int:
    """The days from 1970-01-01 to a date such as 2010-01-31; raises `NumberSyntaxError`."""
    if is_year(text):
        advice = f"write a day, as in `{text}-01-31`, or derive the year: `{{part: year, of: ...}}`"
        raise NumberSyntaxError("not-a-date", advice)
    if not DATE.fullmatch(text):
        raise NumberSyntaxError("not-a-date", "write year, month and day as in `2010-01-31`")
    try:
        return days_of(text)
    except ValueError:
        raise NumberSyntaxError("not-a-date", "the calendar has no such day") from None


def parse_probability(text: str) -> Fraction:
    """The value of a probability such as 0.25 or 1/3; raises `NumberSyntaxError`."""
    match = FRACTION.fullmatch(text)
    try:
        value = Fraction(int(match[1]), int(match[2])) if match else parse_number(text)
    except NumberSyntaxError as failure:
        raise NumberSyntaxError("not-a-probability", failure.advice) from None
    if 0 <= value <= 1:
        return value
    advice = "a probability lies between 0 and 1; write one such as `3/4`"
    raise NumberSyntaxError("not-a-probability", advice)


ANY_NUMBER, WHOLE_NUMBER = (
    "write a number such as `0.5`, `10` or `1e-6`",
    "write a whole number such as `1000`",
)
"""The advice for a text that no pattern of `syntax_advice.toml` fits."""


def _advice(text: str) -> str:
    short = text[:100]
    if percent := re.fullmatch(PERCENT, short):
        hundredth = plain_text(Fraction(percent[1]) / 100)
        return f"write `{hundredth}`: a number has no percent sign"
    for pattern, advice in texts("syntax_advice")["numbers"].items():
        if re.fullmatch(pattern, short):
            return advice
    return ANY_NUMBER
