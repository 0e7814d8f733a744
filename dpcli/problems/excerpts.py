"""Problems as text: message, hint, and the source line with a caret below it."""

from __future__ import annotations

import unicodedata

from dpcli.problems.errors import Place, Problem
from dpcli.problems.messages import INVISIBLE_CATEGORIES, display_width, escape_controls

WIDTH = 100
"""Longer source lines are cut around the span to this number of terminal columns."""

WIDEST_SPAN, ROOM = 80, 20
"""Columns of the widest caret, and columns that remain for the text around it."""

TAB = 4
ELLIPSIS = "..."


def render_problem(problem: Problem, width: int = WIDTH) -> str:
    """The problem in a few lines, without a final newline.

    About `width` columns of the source line are shown around the span. Line ends in names of files
    are escaped, so that no name can add a line.
    """
    lines = [f"error[{problem.code}]: {escape_controls(problem.message)}"]
    if problem.place is not None:
        lines += _excerpt(problem.place, width)
    if problem.hint:
        lines.append(f"hint: {escape_controls(problem.hint)}")
    return "\n".join(lines)


def _excerpt(place: Place, width: int) -> list[str]:
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
    """The part of the line around the span, and the caret's start and length there."""
    start = max(place.column - 1, 0)
    # A line may be a megabyte long, so only the part that could be shown is processed.
    first, last = max(0, start - width), start + 2 * width
    cells = [_shown(character) for character in place.text[first:last]]
    start -= first
    stop = start + max(place.length, 1)
    before, span, after = cells[:start], cells[start:stop], cells[stop:]
    kept = _fitting(span, min(WIDEST_SPAN, width - ROOM))
    length = max(1, display_width(kept))
    room = width - length
    if first or (
        display_width(before) + display_width(after) > room and display_width(before) > room // 2
    ):
        fitting = max(room // 2, room - display_width(after)) - len(ELLIPSIS)
        left = _whole_words(before[::-1], fitting)[::-1]
        before = [ELLIPSIS, *left] if first or len(left) < len(before) else before
    following = (
        _whole_words(after, max(0, room - display_width(before))) if len(kept) == len(span) else []
    )
    is_cut = len(kept) + len(following) < len(span) + len(after) or last < len(place.text)
    line = "".join([*before, *kept, *following, ELLIPSIS * is_cut])
    return line, display_width(before), length


def _whole_words(characters: list[str], width: int) -> list[str]:
    """The characters that fit, cut after a word if one ends near the cut."""
    fitting = _fitting(characters, width)
    end = fitting[-ROOM:][::-1]
    if (
        " " not in end
        or " " in characters[len(fitting) : len(fitting) + 1]
        or fitting == characters
    ):
        return fitting
    return fitting[: len(fitting) - end.index(" ")]


def _fitting(characters: list[str], width: int) -> list[str]:
    used = 0
    for position, character in enumerate(characters):
        used += display_width([character])
        if used > width:
            return characters[:position]
    return characters


def _shown(character: str) -> str:
    """A tab as spaces, and an invisible character as a replacement character."""
    if character == "\t":
        return " " * TAB
    if unicodedata.category(character) in INVISIBLE_CATEGORIES:
        return "\ufffd"
    return character
