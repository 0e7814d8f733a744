"""Small bars of text for a terminal: parts of a whole, and values in intervals."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import TextIO

WIDTH = 24
"""Characters of a bar."""

EIGHTHS = " \u258f\u258e\u258d\u258c\u258b\u258a\u2589"
"""Blocks of so many eighths of a character."""

FULL, SHADE, EMPTY = "\u2588", "\u2592", "\u2591"


def draws(out: TextIO) -> bool:
    """Whether bars are welcome there: on a terminal that shows more than ASCII."""
    if not out.isatty() or os.environ.get("TERM") == "dumb":
        return False
    named = (os.environ.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    return next(filter(None, named), "C.UTF-8") not in ("C", "POSIX")


def part(amount: Fraction, whole: Fraction, width: int = WIDTH) -> str:
    """A bar whose length is a part of a whole; the least part shows."""
    if whole <= 0 or amount <= 0:
        return ""
    eighths = max(1, min(width * 8, round(amount / whole * width * 8)))
    full, rest = divmod(eighths, 8)
    return FULL * full + (EIGHTHS[rest] if rest else "")


def budget(before: Fraction, now: Fraction, whole: Fraction, width: int = WIDTH) -> str:
    """What was spent before, what comes now, and what is left, as one bar.

    What does not fit is cut at the ends of the bar; the words beside tell of it.
    """
    if whole <= 0:
        return ""
    first = min(width, max(0, round(before / whole * width)))
    last = min(width, max(first + (now > 0), round((before + now) / whole * width)))
    first = min(first, last)
    return SHADE * first + FULL * (last - first) + EMPTY * (width - last)


def interval(
    value: Fraction, ends: tuple[Fraction, Fraction] | None, low: Fraction, high: Fraction
) -> str:
    """A value in its interval, on a line from `low` to `high`."""
    if high <= low:
        return ""

    def place(number: Fraction) -> int:
        return min(WIDTH - 1, max(0, round((number - low) / (high - low) * (WIDTH - 1))))

    line = [" "] * WIDTH
    if ends is not None:
        first, last = (place(end) for end in ends)
        for at in range(first, last + 1):
            line[at] = "\u2500"
        line[first], line[last] = "\u251c", "\u2524"
    line[place(value)] = "\u25cf"
    return "".join(line).rstrip()
