"""How Python shows specs, plans and releases: as text, or as a page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

MAX_LINES, MAX_WIDTH, MAX_ROWS = 15, 100, 100
"""Lines of a text, columns of each, and rows of a table on a page."""

Table = Sequence[Sequence[str]]


def as_text(title: str, table: Table, notes: Sequence[str] = ()) -> str:
    """At most `MAX_LINES` lines: a title, a table with its headings, and sentences."""
    heading, *rows = table
    room = MAX_LINES - 2 - len(notes)
    more = []
    if len(rows) > room:
        more = [f"and {len(rows) - room + 1:,} more"]
        rows = rows[: room - 1]
    widths = [max(map(len, column)) for column in zip(heading, *rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (heading, *rows)
    ]
    lines = [title, *lines, *more, *notes]
    return "\n".join(
        line if len(line) <= MAX_WIDTH else f"{line[: MAX_WIDTH - 3]}..." for line in lines
    )


def as_html(title: str, table: Table, notes: Sequence[str] = ()) -> str:
    """A table with its title and the sentences below; texts are escaped."""
    heading, *rows = (list(map(escape, row)) for row in table)
    cells = "".join(f"<th>{cell}</th>" for cell in heading)
    lines = "".join(
        f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows[:MAX_ROWS]
    )
    more = [f"and {len(rows) - MAX_ROWS:,} more"] if len(rows) > MAX_ROWS else []
    below = "".join(f"<p>{escape(note)}</p>" for note in (*more, *notes))
    return (
        f"<p><b>{escape(title)}</b></p>"
        f"<table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>{below}"
    )
