"""Writes `man/`: a manual page for each command, from what its `--help` prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from dpcli.cli.commands import PLACES, help_brief
from dpcli.version import __version__

FOLDER = Path(__file__).parent / "man"

TITLES = {"Examples:": "EXAMPLES", "Exit status:": "EXIT STATUS"}
"""Headings of the prose that are sections of a page."""

LISTS = {"Arguments:": "ARGUMENTS", "Options:": "OPTIONS", "Commands:": "COMMANDS"}


def manual() -> dict[str, str]:
    """The text of each page, by its file name."""
    pages = {"dpcli": "Differentially private releases of CSV files"}
    pages |= {f"dpcli {name}": help_brief(name) for name in PLACES if name != "help"}
    return {
        f"{name.replace(' ', '-')}.1": "\n".join(_page(name, brief)) + "\n"
        for name, brief in pages.items()
    }


def _page(name: str, brief: str) -> Iterator[str]:
    words = [sys.executable, "-m", "dpcli", *name.split()[1:], "--help"]
    settings = {**os.environ, "COLUMNS": "80"}
    text = subprocess.run(words, capture_output=True, text=True, check=True, env=settings).stdout
    usage, *blocks = text.strip("\n").split("\n\n")
    title = name.replace(" ", "-").upper()
    yield f'.TH {title} 1 "" "dpcli {__version__}" "dpcli"'
    yield from (".SH NAME", f"{_roff(name.replace(' ', '-'))} \\- {_roff(brief)}")
    yield from (".SH SYNOPSIS", _roff(" ".join(usage.removeprefix("Usage: ").split())))
    yield ".SH DESCRIPTION"
    for block in blocks:
        lines = block.split("\n")
        head = lines[0].strip()
        if head in LISTS:
            yield from (f".SH {LISTS[head]}", *_list(lines[1:]))
        elif head in TITLES:
            yield from (f".SH {TITLES[head]}", *_fixed(lines[1:]))
        elif head.startswith(("Exits ", "See also: ")):
            yield from _paragraph(" ".join(map(str.strip, lines)))
        elif any(line.startswith("   ") for line in lines):
            yield from (".PP", *_fixed(lines))
        else:
            yield from (".PP", *(_roff(line.strip()) for line in lines))


def _paragraph(text: str) -> Iterator[str]:
    """A section of one sentence: the exit status, or what to see."""
    if text.startswith("See also: "):
        yield from (".SH SEE ALSO", _roff(text.removeprefix("See also: ")))
    else:
        yield from (".SH EXIT STATUS", _roff(text))


def _list(lines: list[str]) -> Iterator[str]:
    """Names and meanings in two columns; a meaning may go on in the next lines."""
    for line in lines:
        name, meaning = re.fullmatch(r"  (\S.*?)?(?:   *(\S.*))?", line.rstrip()).groups()  # type: ignore[union-attr]
        if name:
            yield from (".TP", f"\\fB{_roff(name)}\\fR")
        if meaning:
            yield _roff(meaning)


def _fixed(lines: list[str]) -> Iterator[str]:
    """Lines as they are: commands."""
    yield from (".nf", *(_roff(line[2:]) for line in lines), ".fi")


def _roff(text: str) -> str:
    """The text with what has a meaning in roff escaped."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return re.sub(r"(?m)^(?=\.)", r"\\&", text)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.1"):
        old.unlink()
    for file, text in manual().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
