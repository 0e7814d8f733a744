"""What flags mean, in the words of every report."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpcli.report.numbers import Fact, exact_or_up, number
from dpcli.report.table import Cell
from dpcli.statistics.flags import UNRELIABLE, Flag


def meaning_of(flag: Flag, confidence: Fraction) -> str:
    """What a flag means, in a sentence that begins with it."""
    if flag is Flag.UNRELIABLE:
        return (
            f"{flag.value}: half the width of the {exact_or_up(confidence * 100)}% interval is "
            f"more than {exact_or_up(UNRELIABLE)} of the value"
        )
    if flag is Flag.NO_INFORMATION:
        return (
            f"{flag.value}: the interval covers all that is possible, so the number says nothing "
            "about the data"
        )
    return (
        f"{flag.value}: left out because of its noisy value or of its interval, as the "
        "post-processing says, never because of the exact value"
    )


def flag_meanings(confidence: Fraction) -> list[str]:
    """What every flag means."""
    return [meaning_of(flag, confidence) for flag in Flag if flag]


def flags_of(cells: Sequence[Cell]) -> list[Flag]:
    """The flags that some of these numbers have."""
    found = {cell.flag for cell in cells}
    return [flag for flag in Flag if flag and flag in found]


def flag_facts(confidence: Fraction) -> dict[str, Fact]:
    """What every flag means, and the share of the value from which numbers are unreliable."""
    return {
        "unreliable_above": number(UNRELIABLE),
        **{flag.value: meaning_of(flag, confidence) for flag in Flag if flag},
    }
