"""What is said around a charge: how to retry it, and that the clock is behind."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcli.ledger.stored import Stored


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
