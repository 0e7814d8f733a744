"""What an error code is: a stable word, what it means and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import Literal

WIDTH = 78
"""Columns of a page: it fits on a terminal of eighty."""

Family = Literal["spec", "plan", "data", "budget", "ledger", "output", "usage", "internal"]


@dataclass(frozen=True, slots=True)
class Code:
    """One error code, as `dpcli explain` tells it.

    `example` is a text that produces it, or a situation in words; `mend` says what
    to do instead. Names are kebab-case and never change their meaning.
    """

    name: str
    family: Family
    meaning: str
    example: str
    mend: str

    def page(self) -> str:
        """The whole explanation as plain text."""
        example = "\n".join(f"    {line}" for line in self.example.splitlines())
        meaning = fill(self.meaning, WIDTH, break_on_hyphens=False)
        mend = fill(f"To mend it: {self.mend}", WIDTH, break_on_hyphens=False)
        return (
            f"{self.name} ({self.family} error)\n\n{meaning}\n\n"
            f"For example:\n\n{example}\n\n{mend}\n"
        )
