"""How good a published number is, judged by the number and its interval alone.

A flag is a function of published digits and of public knowledge, so it is post-processing and
a reader of the table can recompute it. The same measure decides what `withhold` leaves out.
"""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction

from dpcli.privacy.decimals import rounded
from dpcli.statistics.base import Estimate

UNRELIABLE = Fraction(1, 2)
"""Half-width, as a share of the value, above which a number is flagged.

Half the width of a 95% interval is about twice the standard error, so this is a coefficient of
variation of about 25%. The Australian Bureau of Statistics marks estimates from 25% on "to be used
with caution" (catalogue 6239.0, technical note 1); Statistics Canada does so from 16.6% to 33.3%,
and suppresses estimates above (release guidelines of the Canadian Community Health Survey).
"""


class Flag(StrEnum):
    """What a reader must know of a number."""

    NONE = ""
    UNRELIABLE = "unreliable"
    NO_INFORMATION = "no-information"
    SUPPRESSED = "suppressed"


def flag_of(estimate: Estimate) -> Flag:
    """The flag of a number as it is printed.

    A number without an interval has none, unless that is because nothing bounds its
    noise-free value; choices among candidates never have one.
    """
    if estimate.value is None:
        return Flag.SUPPRESSED
    if estimate.boundless:
        return Flag.NO_INFORMATION
    if estimate.lower is None or estimate.upper is None or estimate.lower == estimate.upper:
        return Flag.NONE
    low, high = estimate.within
    if low is not None and high is not None and estimate.lower <= low and estimate.upper >= high:
        return Flag.NO_INFORMATION
    return Flag.UNRELIABLE if wider_than(estimate, UNRELIABLE) else Flag.NONE


def wider_than(estimate: Estimate, share: Fraction) -> bool:
    """Whether half the width of the interval is more than a share of the value's size.

    Both are taken as they are printed. An interval that knows no bound is wider than any share.
    """
    if estimate.boundless:
        return True
    if estimate.value is None or estimate.lower is None or estimate.upper is None:
        return False
    value, lower, upper = (
        rounded(number, estimate.places)
        for number in (estimate.value, estimate.lower, estimate.upper)
    )
    return upper - lower > 2 * share * abs(value)
