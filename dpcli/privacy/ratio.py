"""The worst ratio of a table of probabilities: how well outputs tell inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpcli.privacy.decimals import short_up
from dpcli.privacy.interval import log_up


@dataclass(frozen=True, slots=True)
class Worst:
    """The output that tells two inputs apart best, and its probability under each.

    Positions count rows (inputs) and columns (outputs) of the table from zero.
    """

    output: int
    likely: int
    unlikely: int
    most: Fraction
    least: Fraction

    @property
    def ratio(self) -> Fraction | None:
        """How many times as likely; None if it is infinite."""
        return self.most / self.least if self.least else None

    @property
    def epsilon(self) -> Fraction | None:
        """The logarithm of the ratio, rounded up; None if it is infinite."""
        return None if self.ratio is None else epsilon_of(self.ratio)


def epsilon_of(ratio: Fraction) -> Fraction:
    """The logarithm of a ratio of at least one, rounded up to a short decimal."""
    return Fraction(0) if ratio == 1 else short_up(log_up(ratio))


def worst_ratio(rows: Sequence[Sequence[Fraction]]) -> Worst:
    """Over all outputs and all pairs of inputs, the greatest ratio of probabilities.

    Row i holds the probabilities of the outputs for input i. A mechanism with these
    probabilities is epsilon-private just for epsilon at least the logarithm of that ratio
    (Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith 2011). An output that no input
    gives tells nothing.
    """
    worst = Worst(0, 0, 0, Fraction(1), Fraction(1))
    for output, column in enumerate(zip(*rows, strict=True)):
        most, least = max(column), min(column)
        # Zero over zero is no output at all; anything over zero is worse than all else.
        if most and worst.least and (not least or most / least > worst.most / worst.least):
            worst = Worst(output, column.index(most), column.index(least), most, least)
    return worst
