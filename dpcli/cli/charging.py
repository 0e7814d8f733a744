"""What is said around a charge: how to retry it, and what deserves a second look."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcli.ledger.charge import Stored


@contextmanager
def charging(again: str) -> Iterator[None]:
    """A charge that may be interrupted; `again` says how to ask for the same once more."""
    from dpcli.errors import Stopped

    try:
        yield
    except (KeyboardInterrupt, Stopped):
        print(f"interrupted; {again}, which charges it once at most", file=sys.stderr)
        raise


def warn_of_clock(created: str, latest: str) -> None:
    """Say so if a release is dated before the last one in its ledger."""
    if created < latest:
        print(f"warning: the clock is behind the last release, of {latest}", file=sys.stderr)


def require_quality(stored: Stored) -> None:
    """Raise QualityError if the quality check stopped a release, with every reason."""
    from dpcli.errors import Problem, QualityError

    if stored.stopped:
        hint = (
            "see `dpcli check SPEC DATA --cells` and `dpcli ledger export "
            f"{stored.release_id} --report check.md`; then correct the spec or the file, and "
            "release it under a new --release-id"
        )
        *others, last = stored.stopped
        raise QualityError(
            [
                *(Problem("quality-failed", reason) for reason in others),
                Problem("quality-failed", last, hint),
            ]
        )


def warn_of_sharing(dataset: str, others: Sequence[str]) -> None:
    """Say so if other accounts were charged for a file of this one: each has its own budget."""
    if others:
        names = ", ".join(f"`{name}`" for name in others)
        print(
            f"warning: a file of `{dataset}` was charged to the account{'s' * (len(others) > 1)} "
            f"{names} as well: their losses add up for the people in it, and no budget bounds the "
            "sum; give all specs about the same people one `dataset:`",
            file=sys.stderr,
        )


def announce_account(dataset: str, ledger: str) -> None:
    """Say that this was the first release of an account in its ledger."""
    print(
        f"first release of the account `{dataset}` in the ledger {ledger}: nothing was charged "
        "to it before",
        file=sys.stderr,
    )
