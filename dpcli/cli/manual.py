"""Pages of `--help`, from the texts in `help.md`.

A page is prose in paragraphs, and blocks whose lines are indented, such as examples. The parser
fills paragraphs, and keeps a block that has a mark on the line before.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

KEEP = "\b"
"""The line that tells the parser to keep the lines of a paragraph."""


@cache
def _pages() -> dict[str, str]:
    """The text of each command line; that of `dpcli` alone is the first."""
    text = files("dpcli.cli").joinpath("help.md").read_text(encoding="utf-8")
    parts = (part.partition("\n") for part in ("\n" + text).split("\n# ")[1:])
    return {name: body.strip("\n") for name, _, body in parts}


def page(name: str) -> str:
    """The help of a command line, with its blocks kept."""
    return "\n\n".join(
        f"{KEEP}\n{one}" if any(line.startswith(" ") for line in one.splitlines()) else one
        for one in _pages()[name].split("\n\n")
    )


def brief(name: str) -> str:
    """The first line of a page, which lists of commands show."""
    return _pages()[name].split("\n", 1)[0].rstrip(".")


def examples(text: str) -> list[str]:
    """The lines of a help that can be typed as they are."""
    found = []
    block = False
    for line in text.splitlines():
        block = line.strip() == "Examples:" or (block and bool(line.strip()))
        if block and line.strip() not in {"Examples:", ""} and not line.lstrip().startswith("#"):
            found.append(line.strip().removeprefix("$ "))
    return found
