"""How a problem is printed: message, place, source line with a caret, and hint.

Plain text without colour; the command line adds that.
"""

from __future__ import annotations

import unicodedata

from dpcli.errors import Place, Problem
from dpcli.messages import UNSEEN, one_line

WIDTH = 100
"""Longer source lines are cut around the span, to this many terminal columns."""

WIDEST_SPAN, ROOM = 80, 20
"""Columns of the widest caret, and those that are left for what stands before it."""

TAB = 4
ELLIPSIS = "..."


def render(problem: Problem, width: int = WIDTH) -> str:
    """The problem as a person reads it, in a few lines without a final newline.

    About `width` columns of the source line are shown, around the span. Names of files may
    hold line ends; none of them begins a line of its own here.
    """
    lines = [f"error[{problem.code}]: {one_line(problem.message)}"]
    if problem.place is not None:
        lines += _excerpt(problem.place, width)
    if problem.hint:
        lines.append(f"hint: {one_line(problem.hint)}")
    return "\n".join(lines)


def _excerpt(place: Place, width: int) -> list[str]:
    """The arrow, the source line in its gutter, and the caret under the span."""
    number = str(place.line)
    gutter = " " * len(number)
    source = "".join(_shown(character) for character in place.source)
    line, start, length = _window(place, width)
    return [
        f"{gutter}--> {source}:{place.line}:{place.column}",
        f"{gutter} |",
        f"{number} | {line}".rstrip(),
        f"{gutter} | {' ' * start}{'^' * length}",
    ]


def _window(place: Place, width: int) -> tuple[str, int, int]:
    """The part of the line around the span, and the caret's start and length in it."""
    start = max(place.column - 1, 0)
    stop = start + max(place.length, 1)
    text = place.text
    # Far more than is shown is never looked at: a line may be a megabyte long.
    first, last = max(0, start - width), min(len(text), start + 2 * width)
    shown = [_shown(character) for character in text[first:last]]
    before, span, after = (
        shown[: start - first],
        shown[start - first : stop - first],
        shown[stop - first :],
    )
    kept_span = _fitting(span, min(WIDEST_SPAN, width - ROOM))
    span_width = max(1, _width(kept_span))
    room = width - span_width
    total = _width(before) + _width(after)
    left = "".join(before)
    if first or (total > room and _width(before) > room // 2):
        kept = _fitting(before[::-1], max(room // 2, room - _width(after)) - len(ELLIPSIS))[::-1]
        left = ELLIPSIS + "".join(kept) if len(kept) < len(before) or first else left
    middle = "".join(kept_span)
    rest = _fitting(after, max(0, width - _width(list(left)) - span_width))
    if len(kept_span) < len(span):
        rest = []
    cut = len(kept_span) + len(rest) < len(span) + len(after) or last < len(text)
    line = left + middle + "".join(rest) + (ELLIPSIS if cut else "")
    return line, _width(list(left)), span_width


def _fitting(characters: list[str], width: int) -> list[str]:
    """The longest beginning that is no wider than `width`."""
    used = 0
    for position, character in enumerate(characters):
        used += _width([character])
        if used > width:
            return characters[:position]
    return characters


def _shown(character: str) -> str:
    """A character that takes the space it seems to: tabs widened, unseen ones replaced."""
    if character == "\t":
        return " " * TAB
    if unicodedata.category(character) in UNSEEN:
        return "\ufffd"
    return character


def _width(characters: list[str]) -> int:
    """Terminal columns: two for wide characters, none for combining marks."""
    total = 0
    for character in "".join(characters):
        if unicodedata.combining(character) or unicodedata.category(character) == "Me":
            continue
        total += 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
    return total
