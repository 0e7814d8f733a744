"""What the sentences about an answer with noise are filled with."""

from __future__ import annotations

from dpcli.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerWords:
    """Texts of numbers and names, for the sentence of one query of a plan.

    `change` is the most that one unit changes all numbers together, in the norm of the noise, and
    `farthest` the most that it changes one. `error` holds in `percent` of 100 cases.
    """

    role: str
    unit: str
    mechanism: str
    noise: str
    scale: str
    change: str
    farthest: str
    error: str
    percent: str
