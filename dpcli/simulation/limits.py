"""The numbers that simulations and audits take."""

from __future__ import annotations

NUMBERS = {
    "rows": (1, 10_000_000), "runs": (1, 10_000), "seed": (0, 2**53 - 1),
    "draws": (1, 10_000_000), "seconds": (1, 3_600),
}  # fmt: skip
"""The least and the largest of each.

More rows or runs would take long: noise does not grow with rows, and the errors would not change
in a significant digit. Every JSON reader represents seeds up to the largest exactly.
"""

RUNS = 100
"""Enough to estimate errors to about 10%; they take a few seconds."""
