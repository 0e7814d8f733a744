"""What a release will be charged for, and which files it is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dpcli.ledger.balance import Spend, spend
from dpcli.ledger.entry import canonical
from dpcli.ledger.terms import Payload, Terms

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Charge:
    """What a release will be charged for: its parts, and what names it.

    `files` are the data files that it reads, by their absolute paths: the ledger keeps them,
    and no report has them. Unless it `opens`, its account must have been opened before. If it
    was `stopped`, its quality check failed, and its parts are those of the check; there must be
    room for the `reserved` parts all the same, so that a refusal does not depend on the check.
    """

    terms: Terms
    release_id: str
    digest: str
    created: str
    period: str | None
    parts: tuple[Payload, ...]
    files: tuple[str, ...] = ()
    opens: bool = True
    stopped: bool = False
    reserved: tuple[Payload, ...] = ()

    @property
    def spend(self) -> Spend:
        """What the charge adds to what the account has spent."""
        return spend(canonical(self.parts), self.period, self.terms.neighbors)

    @property
    def payload(self) -> Payload:
        """What its entry records besides the parts."""
        files: Payload = {"files": list(self.files)} if self.files else {}
        stopped: Payload = {"stopped": True} if self.stopped else {}
        return {"digest": self.digest, "created": self.created, **files, **stopped}


def resolved(names: Iterable[str]) -> tuple[str, ...]:
    """The absolute paths of data files, without links; not of standard input or pipes."""
    found = set()
    for name in names:
        try:
            if name != STDIN and Path(name).is_file():
                found.add(str(Path(name).resolve()))
        except (OSError, ValueError):
            continue
    return tuple(sorted(found))
