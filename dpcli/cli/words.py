"""Words of the command line that are checked before anything else is done."""

from __future__ import annotations

import re

from dpcli.errors import UsageError


def checked_day(period: str | None) -> str | None:
    """A period as it was written; UsageError unless it is a day."""
    from dpcli.ledger.balance import period_number

    if period is None:
        return None
    try:
        period_number(period)
    except ValueError:
        raise UsageError.of(
            "not-a-day", f"the period `{period}` is not a day", "write it as YYYY-MM-DD"
        ) from None
    return period


def checked_id(release_id: str | None) -> str | None:
    """A release id as it was written; UsageError unless it is a plain word."""
    if release_id is None or re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}", release_id):
        return release_id
    raise UsageError.of(
        "bad-release-id",
        "the release id is not a plain word",
        "use up to 100 letters, digits, `.`, `_`, `:` and `-`",
    )
