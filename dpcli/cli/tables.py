"""Tables and bars that fit the terminal, with every word whole."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction
from typing import TextIO

from dpcli.cli.console import unguarded, width_of, wrapped
from dpcli.messages import one_line

BAR = 24
"""Characters of a bar."""

EIGHTHS = " \u258f\u258e\u258d\u258c\u258b\u258a\u2589"
"""Blocks of eighths of a character, from none to seven."""

FULL, SHADE, EMPTY = "\u2588", "\u2592", "\u2591"

PER_COLUMN, EDGE = 3, 1
"""Characters that a table of rich has next to each column, and at its end."""


def write_table(
    out: TextIO,
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[int],
) -> None:
    """A table; `right` lists right-aligned columns.

    Plain where it is read by a program. A terminal shows it by rich; if it is too narrow,
    with cells of several lines; and if a word does not fit then, as a block for each row.
    """
    title, header = one_line(title), [one_line(name) for name in header]
    rows = [[one_line(text) for text in row] for row in rows]
    if not out.isatty():
        out.write((f"{title}\n" if title else "") + plain_table(header, rows, right))
        return
    header, rows, right = _filled(header, rows, right)
    widths = _fitted([header, *rows], width_of(unguarded(out)) - EDGE)
    if widths is None:
        unguarded(out).write(_blocks(title, header, rows, width_of(unguarded(out))))
    else:
        _draw(out, title, header, rows, right, widths)


def plain_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> str:
    """The table as aligned text."""
    lines = [[one_line(text) for text in line] for line in (header, *rows)]
    widths = _widths(lines)
    return "".join(
        "  ".join(
            text.rjust(width) if place in right else text.ljust(width)
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        + "\n"
        for line in lines
    )


def _filled(
    header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]
) -> tuple[list[str], list[list[str]], list[int]]:
    """A table without the columns in which no row has a text."""
    kept = [place for place in range(len(header)) if not rows or any(row[place] for row in rows)]
    return (
        [header[place] for place in kept],
        [[row[place] for place in kept] for row in rows],
        [new for new, place in enumerate(kept) if place in right],
    )


def _widths(lines: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*lines, strict=True)]


def natural_width(lines: Sequence[Sequence[str]]) -> int:
    """The columns of a terminal that a table takes if no cell is wrapped."""
    widths = _widths(lines)
    return sum(widths) + PER_COLUMN * len(widths) + EDGE


def _fitted(lines: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """The width of each column, none narrower than its longest word; None if they do not fit."""
    widths = _widths(lines)
    words = [
        max((len(word) for text in column for word in text.split()), default=0)
        for column in zip(*lines, strict=True)
    ]
    over = sum(widths) + PER_COLUMN * len(widths) - room
    while over > 0:
        place = max(range(len(widths)), key=lambda one: (widths[one] > words[one], widths[one]))
        if widths[place] <= words[place]:
            return None
        widths[place] -= 1
        over -= 1
    return widths


def _draw(
    out: TextIO,
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[int],
    widths: Sequence[int],
) -> None:
    """The table by rich, which only a terminal has to wait for."""
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415 - slow to load, and for terminals alone
    from rich.console import Console  # noqa: PLC0415 - the same
    from rich.table import Table  # noqa: PLC0415 - the same
    from rich.text import Text  # noqa: PLC0415 - the same

    table = Table(title=Text(title) if title else None, title_justify="left", box=SIMPLE_HEAD)
    for position, (name, width) in enumerate(zip(header, widths, strict=True)):
        side = "right" if position in right else "left"
        table.add_column(Text(name), justify=side, width=width)  # type: ignore[arg-type] # of two words
    for row in rows:
        table.add_row(*(Text(text) for text in row))
    console = Console(
        file=unguarded(out),
        width=width_of(unguarded(out)),
        highlight=False,
        no_color=bool(os.environ.get("NO_COLOR")),
    )
    console.print(table)


def _blocks(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> str:
    """Each row as its name and, below, its other cells with their headings."""
    lines = [title] if title else []
    name = ""
    for row in rows:
        name = row[0] or name
        lines.append(f"\n{header[0]} {name}".rstrip())
        cells = [
            f"{head} {text}".strip().replace(" ", "\N{NO-BREAK SPACE}")
            for head, text in zip(header[1:], row[1:], strict=True)
            if text
        ]
        # A heading stays with its number, unless both are wider than a line.
        whole = [one if len(one) < width - 2 else one.replace("\xa0", " ") for one in cells]
        lines.append(wrapped("  " + "; ".join(whole), width).replace("\n    ", "\n  "))
    return "\n".join(lines).replace("\xa0", " ") + "\n"


def draws(out: TextIO) -> bool:
    """Whether bars are welcome there: on a terminal that shows more than ASCII."""
    if not out.isatty() or os.environ.get("TERM") == "dumb":
        return False
    named = (os.environ.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    return next(filter(None, named), "C.UTF-8") not in ("C", "POSIX")


def part(amount: Fraction, whole: Fraction, width: int = BAR) -> str:
    """A bar whose length is a part of a whole; the least part shows."""
    if whole <= 0 or amount <= 0:
        return ""
    eighths = max(1, min(width * 8, round(amount / whole * width * 8)))
    full, rest = divmod(eighths, 8)
    return FULL * full + (EIGHTHS[rest] if rest else "")


def budget(before: Fraction, now: Fraction, whole: Fraction) -> str:
    """What was spent before, what comes now, and what is left, as one bar.

    What does not fit is cut at the ends of the bar; the words next to it say so.
    """
    if whole <= 0:
        return ""
    first = min(BAR, max(0, round(before / whole * BAR)))
    last = min(BAR, max(first + (now > 0), round((before + now) / whole * BAR)))
    first = min(first, last)
    return SHADE * first + FULL * (last - first) + EMPTY * (BAR - last)


def interval(
    value: Fraction, ends: tuple[Fraction, Fraction] | None, low: Fraction, high: Fraction
) -> str:
    """A value in its interval, on a line from `low` to `high`."""
    if high <= low:
        return ""

    def place(number: Fraction) -> int:
        return min(BAR - 1, max(0, round((number - low) / (high - low) * (BAR - 1))))

    line = [" "] * BAR
    if ends is not None:
        first, last = (place(end) for end in ends)
        line[first : last + 1] = "\u2500" * (last + 1 - first)
        line[first], line[last] = "\u251c", "\u2524"
    line[place(value)] = "\u25cf"
    return "".join(line).rstrip()
