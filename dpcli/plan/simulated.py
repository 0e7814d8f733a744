"""What a simulation on invented rows found about the limits on people."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Shift:
    """By how much the limits change a number of a statistic on average, before any noise."""

    statistic: str
    item: str
    change: Fraction


@dataclass(frozen=True, slots=True)
class Simulated:
    """The invented rows of a simulation, and what the limits on people changed there.

    `people` is their number where they are the unit, and `above` is how many of them have more
    rows than the limit lets in.
    """

    rows: int
    people: int | None
    above: int | None
    seed: int
    runs: int
    shifts: tuple[Shift, ...]
