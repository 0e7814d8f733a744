"""Words on standard error: failures, and tables where a terminal can show them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from shutil import get_terminal_size
from typing import TextIO

from dpcli.cli.terminal import harmless, unguarded
from dpcli.diagnostic import one_line
from dpcli.errors import Failure

MOST_PAGES = 3
"""So many pages are named below the problems; more would not be read."""


def print_failure(failure: Failure) -> None:
    """Every problem of a failure; on a terminal with colour and the page to read."""
    from dpcli.diagnostic import render

    texts = [harmless(render(problem)) for problem in failure.problems]
    if coloured():
        texts = [
            text.replace("error[", "\x1b[1;31merror\x1b[0m[", 1).replace(
                "\nhint:", "\n\x1b[36mhint\x1b[0m:", 1
            )
            for text in texts
        ]
    unguarded(sys.stderr).write("\n\n".join(texts) + "\n")
    if sys.stderr.isatty():
        # Somebody who has just met a code does not know that it has a page.
        codes = list(dict.fromkeys(problem.code for problem in failure.problems))
        gap = "\n" if len(texts) > 1 else ""
        print(f"{gap}more: dpcli explain {' | '.join(codes[:MOST_PAGES])}", file=sys.stderr)


def coloured(out: TextIO | None = None) -> bool:
    """Whether a stream, standard error if none, is a terminal that welcomes colour."""
    return (out or sys.stderr).isatty() and not os.environ.get("NO_COLOR")


def write_table(
    out: TextIO,
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[int],
) -> None:
    """A table, by rich on a terminal, else plain; `right` lists right-aligned columns."""
    title, header = one_line(title), [one_line(name) for name in header]
    rows = [[one_line(text) for text in row] for row in rows]
    plain = plain_table(header, rows, right)
    widest = max(map(len, plain.splitlines()))
    # A table that does not fit is better wrapped by the terminal than cut.
    if not out.isatty() or widest + 2 > get_terminal_size().columns:
        out.write(title + "\n" + plain)
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", box=SIMPLE_HEAD)
    for position, name in enumerate(header):
        table.add_column(Text(name), justify="right" if position in right else "left")
    for row in rows:
        table.add_row(*(Text(text) for text in row))
    Console(file=unguarded(out), highlight=False, no_color=bool(os.environ.get("NO_COLOR"))).print(
        table
    )


def plain_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> str:
    """The table as aligned text."""
    lines = [[one_line(text) for text in line] for line in (header, *rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(header))]
    return "".join(
        "  ".join(
            text.rjust(width) if place in right else text.ljust(width)
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        + "\n"
        for line in lines
    )


def print_json(told: object) -> None:
    """JSON for scripts."""
    sys.stdout.write(json.dumps(told, indent=2) + "\n")
