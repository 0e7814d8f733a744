"""How much the ridge of a perturbed objective shrinks slopes."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from dpcli.messages import note
from dpcli.numeric.exact import exact_or_up, short_up
from dpcli.statistics.moments import TYPICAL_VARIANCE

SHARES = {"half": Fraction(1, 2), "tenth": Fraction(1, 10), "hundredth": Fraction(1, 100)}
"""The parts by which slopes are too small, for which plans state a number of rows."""


def rows_of_shrinkage(ridge: Fraction, share: Fraction) -> Fraction:
    """The number of rows with which slopes are too small by this share of themselves.

    `ridge` is in rows: it adds to the objective as much curvature as this number of rows with an
    input of one. For inputs that do not depend on each other and have the variance v, n rows have
    the curvature n v around their mean, so slopes are n v/(n v + ridge) of those without a ridge.
    """
    return ridge / Fraction(TYPICAL_VARIANCE) * (1 - share) / share


def ridge_notes(key: str, ridge: Fraction) -> tuple[str, str]:
    """How heavy a ridge is, in rows, and how much it shrinks slopes: facts of spec and noise."""
    rows = {
        name: f"{ceil(short_up(rows_of_shrinkage(ridge, share), 2)):,}"
        for name, share in SHARES.items()
    }
    weight = exact_or_up(short_up(ridge, 2))
    return note(f"designs.{key}", rows=weight), note(f"designs.{key}_shrinks", **rows)
