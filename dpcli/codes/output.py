"""Error codes of outputs that could not be written."""

from __future__ import annotations

from dpcli.codes.base import Code

CODES: tuple[Code, ...] = (
    Code(
        "output-failed",
        "output",
        "An output could not be written to its end. No half-written file is left behind.",
        "dpcli release spec.yaml data.csv -o /full/noisy.csv",
        "Free space or fix the permissions, then publish again, as the hint says; it costs "
        "nothing.",
    ),
)
