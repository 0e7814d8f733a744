"""A table of probabilities: for each input, how likely each output is, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Table:
    """Row i holds the probabilities of all outputs for input i; it sums to one."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    rows: tuple[tuple[Fraction, ...], ...]
