"""Tables, bars and the progress of work on a terminal, without breaking a word."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from threading import Timer
from typing import Literal, TextIO

from dpcli.cli.console import is_for_programs, raw_stream, width_of, wrapped
from dpcli.engine.progress import Progress
from dpcli.problems.messages import display_width, escape_controls

Row = Mapping[str, str]
"""A line of a table: its texts by their headings."""

COLUMN_GAP = "  "

NUMBER = re.compile(
    r"-?([\d,]+(\.\d+)?(e-?\d+)?%?( to -?[\d.,e-]+)?|\d{1,3}([.'\xa0]\d{3})*([.,]\d+)?)[ *x]*"
)
"""A number or range in a table, perhaps as a spec writes it, with marks of flags."""

NUMBER_PLACEHOLDERS = frozenset({"", "-", "?", "none", "private"})
"""Texts that may stand in place of a number."""

BAR_WIDTH = 24

FULL, SHADE, EMPTY = "\u2588", "\u2592", "\u2591"

BUDGET_BAR_LEGEND = f"{SHADE} spent before  {FULL} this one  {EMPTY} left"


def write_table(
    out: TextIO, title: str, rows: Sequence[Row], spare: Sequence[str] = ()
) -> list[str]:
    """Write rows with the same headings as a table, and return the headings shown.

    Numbers are right-aligned. A terminal shows no empty columns. If the terminal is too narrow,
    the `spare` columns are left out one by one, then cells are wrapped. If a word still does not
    fit, each row becomes a block with a line for each cell. On a terminal, an empty line follows.
    """
    heading = f"{escape_controls(title)}\n" if title else ""
    if not out.isatty() or not rows:
        out.write(heading + plain_table(rows))
        return list(rows[0]) if rows else []
    screen = raw_stream(out)
    width = width_of(screen)
    columns = [column for column in _columns(rows) if any(column[1:])]
    for name in spare:
        if _table_width(_column_widths(columns)) > width:
            columns = [column for column in columns if column[0] != name]
    widths = _fitted_widths(columns, width)
    if widths is None:
        screen.write(wrapped(heading + _as_blocks(columns), width))
        return [name for name, *_ in columns]
    screen.write(heading)
    _print_rich_table(screen, columns, widths)
    return [name for name, *_ in columns]


def write_gap(out: TextIO) -> None:
    """Write the empty line below a table, if it was not written to a terminal."""
    if not out.isatty():
        out.write("\n")


def plain_table(rows: Sequence[Row]) -> str:
    """The table as aligned text."""
    columns = _columns(rows)
    sides = [str.rjust if _is_numeric(column[1:]) else str.ljust for column in columns]
    padded = [
        [side(text, width - display_width(text) + len(text)) for text in column]
        for side, width, column in zip(sides, _column_widths(columns), columns, strict=True)
    ]
    return "".join(f"{COLUMN_GAP.join(line).rstrip()}\n" for line in zip(*padded, strict=True))


def _columns(rows: Sequence[Row]) -> list[list[str]]:
    names = list(rows[0]) if rows else ["none"]
    return [
        [escape_controls(text) for text in (name, *(row[name] for row in rows))] for name in names
    ]


def _column_widths(columns: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(display_width, column)) for column in columns]


def _table_width(widths: Sequence[int]) -> int:
    return sum(widths) + len(COLUMN_GAP) * (len(widths) - 1)


def _print_rich_table(
    screen: TextIO, columns: Sequence[Sequence[str]], widths: Sequence[int]
) -> None:
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415 - slow to load, and for terminals alone
    from rich.console import Console  # noqa: PLC0415 - the same
    from rich.table import Table  # noqa: PLC0415 - the same
    from rich.text import Text  # noqa: PLC0415 - the same

    # The box and the padding add a space each: together, a COLUMN_GAP.
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for (name, *texts), width in zip(columns, widths, strict=True):
        table.add_column(Text(name), justify="right" if _is_numeric(texts) else "left", width=width)
    for row in zip(*(texts for _, *texts in columns), strict=True):
        table.add_row(*map(Text, row))
    # Rich writes bold without color too.
    colors: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    console = Console(file=screen, width=width_of(screen), highlight=False, color_system=colors)
    console.print(table, "")


def _is_numeric(texts: Sequence[str]) -> bool:
    numbers = [text for text in texts if text not in NUMBER_PLACEHOLDERS]
    return bool(numbers) and all(map(NUMBER.fullmatch, numbers))


def _fitted_widths(columns: Sequence[Sequence[str]], limit: int) -> list[int] | None:
    """Each column's width, at least of its longest word; None if they do not fit.

    Headings are wrapped first, then the cells of the widest column.
    """
    widths, bodies = _column_widths(columns), _column_widths([column[1:] for column in columns])
    words = [
        max((display_width(word) for text in column for word in text.split(" ")), default=0)
        for column in columns
    ]
    while _table_width(widths) > limit:
        spare = [max(0, width - word) for width, word in zip(widths, words, strict=True)]
        if not any(spare):
            return None
        _, _, index = max(
            (width > body, width, index)
            for index, (width, body) in enumerate(zip(widths, bodies, strict=True))
            if spare[index]
        )
        widths[index] -= 1
    return widths


def _as_blocks(columns: Sequence[Sequence[str]]) -> str:
    (name, *headings), *rows = zip(*columns, strict=True)
    lines, first = list[str](), ""
    wide = max(map(display_width, headings), default=0)
    for row in rows:
        first = row[0] or first
        lines += ["", f"{name} {first}"]
        for head, text in zip(headings, row[1:], strict=True):
            lines += [f"  {head.ljust(wide)}  {text}".rstrip()] if text else []
    return "\n".join([*lines, "\n"])


def can_draw_bars(out: TextIO) -> bool:
    """Whether a stream is a terminal that can show more than ASCII."""
    if not out.isatty() or os.environ.get("TERM") == "dumb":
        return False
    locales = (os.environ.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    return next(filter(None, locales), "C.UTF-8") not in ("C", "POSIX")


def budget_bar(before: Fraction, now: Fraction, total: Fraction) -> str:
    """A bar of a budget: what was spent, what this release spends, and what is left.

    A loss beyond the budget is cut at the end of the bar; the text next to the bar reports it.
    """
    if total <= 0:
        return ""
    first = min(BAR_WIDTH, max(0, round(before / total * BAR_WIDTH)))
    last = min(BAR_WIDTH, max(first + (now > 0), round((before + now) / total * BAR_WIDTH)))
    first = min(first, last)
    return SHADE * first + FULL * (last - first) + EMPTY * (BAR_WIDTH - last)


def interval_line(ends: Sequence[Fraction | None], low: Fraction, high: Fraction) -> str:
    """A number, its interval's lower and upper end, on a line from `low` to `high`.

    The line is empty if there is no number.
    """
    value, lower, upper = ends
    if value is None or high <= low:
        return ""

    def position(number: Fraction) -> int:
        return round((number - low) / (high - low) * (BAR_WIDTH - 1))

    line = [" "] * BAR_WIDTH
    if lower is not None and upper is not None:
        first, last = position(lower), position(upper)
        line[first : last + 1] = "\u2500" * (last + 1 - first)
        line[first], line[last] = "\u251c", "\u2524"
    line[position(value)] = "\u25cf"
    return "".join(line).rstrip()


DELAY = 0.5

WIDTH = 30


@contextmanager
def shown_progress(*, quiet: bool) -> Iterator[Progress | None]:
    """The progress of the work in the block, drawn on a terminal.

    None without a terminal that can draw it, or if `quiet`.
    """
    plain = is_for_programs(sys.stderr) or os.environ.get("TERM") in ("dumb", "unknown")
    if quiet or plain or not sys.stderr.isatty():
        yield None
        return
    # Imported here and not in the thread that draws: after an interruption during an import of the
    # main thread, the two threads would wait for each other.
    from rich.console import Console, RenderableType  # noqa: PLC0415 - for terminals alone
    from rich.filesize import decimal  # noqa: PLC0415 - the same
    from rich.progress import BarColumn, TextColumn  # noqa: PLC0415 - the same
    from rich.progress import Progress as Bar  # noqa: PLC0415 - the same

    class Shown(Bar):
        def get_renderables(self) -> Iterator[RenderableType]:
            for task in self.tasks:
                done, total = progress.position(), progress.total
                sizes = (decimal(size) for size in (done, total) if size is not None)
                task.description, task.fields["sizes"] = progress.phase, " of ".join(sizes)
                # Without a position, a part of the bar moves back and forth.
                task.completed, task.total = done or 0, None if done is None else total
            yield from super().get_renderables()

    progress = Progress()
    # Standard error is redirected to nothing while records are read.
    with open(os.dup(2), "w", encoding="utf-8") as terminal:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(WIDTH),
            TextColumn("{task.fields[sizes]}", markup=False),
        )
        bar = Shown(*columns, console=Console(file=terminal), transient=True)
        bar.add_task("", total=None, sizes="")
        drawer = Timer(DELAY, bar.start)
        drawer.daemon = True
        drawer.start()
        try:
            yield progress
        finally:
            drawer.cancel()
            drawer.join()
            # A closed terminal ends the bar, but not the work.
            with suppress(OSError, ValueError):
                bar.stop()
