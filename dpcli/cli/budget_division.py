"""How `dpcli init --ask` divides the budget of a release."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dpcli.cli.interview_choices import choices_of
from dpcli.number_syntax import parse_number
from dpcli.numeric.exact import plain_text, short_down
from dpcli.spec_values import MAX_EPSILON

QUALITY_SHARE = Fraction(1, 10)
"""The part of the budget of a release that the quality check gets."""

CHOICE_SHARE, CHOICES_SHARE = Fraction(1, 10), Fraction(3, 10)
"""The part that one choice of bounds or a limit gets, and all choices together at most."""

DIGITS = 3
"""The significant digits to which each epsilon is rounded down."""


def divide_budget(tree: dict[str, Any], releases: int) -> dict[str, Any]:
    """Divide the budget of each release in the spec; returns what every part gets.

    The choices, the quality check and then the statistics, which get equal parts of what is left.
    """
    entries, quality, choices = tree["statistics"], tree["quality"], choices_of(tree)
    budget = Fraction(parse_number(tree["budget"]["epsilon"])) / releases
    check = QUALITY_SHARE * budget if quality else Fraction(0)
    choice = min(CHOICE_SHARE, CHOICES_SHARE / max(len(choices), 1)) * budget
    left = budget - check - len(choices) * choice
    parts = {"each": left / len(entries), "check": check, "choice": choice}
    texts = {
        key: plain_text(short_down(min(epsilon, MAX_EPSILON), DIGITS))
        for key, epsilon in parts.items()
    }
    for entry in entries.values():
        entry["epsilon"] = texts["each"]
    for mapping in choices:
        mapping["epsilon"] = texts["choice"]
    if quality:
        quality["epsilon"] = texts["check"]
    return {"count": len(entries), "choices": len(choices), "releases": releases, **texts}
