"""What a page is: a word of specs or of the command line, explained once.

`dpcli explain` prints pages; the JSON Schema takes what editors show from the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import Literal

Kind = Literal["key", "type", "idea", "command line"]

WIDTH = 78
"""Columns of a page: it fits on a terminal of eighty."""

TITLES: dict[Kind, str] = {
    "key": "key of a spec",
    "type": "type of a column",
    "idea": "word of a spec",
    "command line": "word of the command line",
}
"""How a page says what kind of word it is about."""


@dataclass(frozen=True, slots=True)
class Use:
    """What a key means at some places of a spec: the sentence that an editor shows.

    A place is the thing whose key it is: `spec`, `privacy`, `statistic`, a type of column
    and so on. The example is a line of YAML; without one it is that of the page.
    """

    places: tuple[str, ...]
    says: str
    example: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """One word: what it means, what it may be, an example, and what is so without it.

    Pages of keys list their uses. `see` names other words that `dpcli explain` knows.
    """

    name: str
    kind: Kind
    meaning: str
    values: str
    example: str
    absent: str
    see: tuple[str, ...]
    uses: tuple[Use, ...] = ()

    def use(self, place: str) -> Use | None:
        """What the key means at a place."""
        return next((use for use in self.uses if place in use.places), None)

    def text(self) -> str:
        """The whole page, as plain text."""
        parts = [f"{self.name} ({TITLES[self.kind]})", fill(self.meaning, WIDTH)]
        if len(self.uses) > 1:
            parts.append("\n".join(_use(use) for use in self.uses))
        told = (
            ("Allowed", self.values),
            ("Example", self.example),
            ("If absent", self.absent),
            ("See also", "dpcli explain " + " | ".join(self.see)),
        )
        parts.append("\n".join(_line(label, text) for label, text in told if text))
        return "\n\n".join(parts) + "\n"


def _use(use: Use) -> str:
    """One use, moved in under its places."""
    places = ", ".join(use.places)
    return fill(f"in {places}: {use.says}", WIDTH, initial_indent="  ", subsequent_indent="      ")


def _line(label: str, text: str) -> str:
    """A labelled text; lines of an example stay as they are."""
    if label == "Example":
        # It is copied as it is, so it stays on one line.
        return f"{label + ':':<11}{text}" if len(text) < WIDTH - 11 else f"{label}:\n  {text}"
    return fill(f"{label + ':':<11}{text}", WIDTH, subsequent_indent=" " * 11)
