"""Public numbers by labels, such as populations of regions or sizes of groups."""

from __future__ import annotations

from fractions import Fraction

from dpcli.numeric.exact import readable_text
from dpcli.problems.light_dataclasses import dataclass

SHOWN = 8
"""Plans and reports show this number of public numbers."""


@dataclass(frozen=True, slots=True)
class PublicNumbers:
    """Public numbers by the labels of some columns, such as a population by region."""

    keys: tuple[str, ...]
    numbers: tuple[tuple[tuple[str, ...], Fraction], ...]

    def __str__(self) -> str:
        shown = [readable_text(number) for _, number in self.numbers[:SHOWN]]
        more = len(self.numbers) - len(shown)
        return ", ".join(shown) + f" and {more:,} more" * bool(more)
