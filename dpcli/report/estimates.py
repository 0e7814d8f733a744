"""The table of estimates: frequencies and means with their standard errors."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, log10
from typing import TYPE_CHECKING

from dpcli.privacy.decimals import decimal_text
from dpcli.report.table import csv_text
from dpcli.spec.responses import RESERVED

if TYPE_CHECKING:
    from dpcli.local.estimate import Estimated

BEYOND = 3
"""Digits that are printed beyond the first one of the standard error."""


def estimates_table(rows: Sequence[Estimated]) -> bytes:
    """One line per estimate, as CSV in UTF-8."""
    return csv_text(estimate_lines(rows))


def estimate_lines(rows: Sequence[Estimated]) -> list[list[str]]:
    """The header, and one line per estimate."""
    keys = list(dict.fromkeys(name for row in rows for name, _ in row.group))
    return [[*RESERVED[:2], *keys, *RESERVED[2:]], *(_line(row, keys) for row in rows)]


def _line(row: Estimated, keys: Sequence[str]) -> list[str]:
    """One estimate as texts; blank where there are no records."""
    group = dict(row.group)
    named = [row.column, "frequency" if row.item else "mean"]
    named += [group.get(key, "") for key in keys]
    if row.value is None:
        return [*named, row.item, "0", "", "", "", ""]
    places = max(0, BEYOND - ceil(log10(row.error))) if row.error > 0 else 6
    numbers = (row.value, Fraction(row.error), row.lower, row.upper)
    return [*named, row.item, str(row.records), *(decimal_text(one, places) for one in numbers)]
