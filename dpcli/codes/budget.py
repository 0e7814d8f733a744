"""Error codes of releases that the budget does not allow."""

from __future__ import annotations

from dpcli.codes.base import Code

CODES: tuple[Code, ...] = (
    Code(
        "over-budget-epsilon",
        "budget",
        "The statistics together ask for more epsilon than `privacy: budget:` allows. "
        "Nothing was read, spent or written.",
        "three statistics with epsilon 0.5 and a budget of epsilon 1",
        "Give each statistic less epsilon (and wider intervals), or drop some.",
    ),
    Code(
        "over-budget-delta",
        "budget",
        "The statistics together ask for more delta than `privacy: budget:` allows. Nothing "
        "was read, spent or written.",
        "a gaussian statistic with delta 1e-6 and a budget without delta",
        "Allow some delta, give each less, or use the laplace mechanism.",
    ),
)
