"""The request for a release: its plan, its data, and the ledger that pays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Generic

from dpcli.ledger.balance import day_number, terms_from_spec
from dpcli.ledger.charge import STDIN, Charge, charge_for, resolved, today
from dpcli.ledger.ledger import OpenLedger
from dpcli.ledger.options import is_absent, ledger_of, must_exist
from dpcli.planning.plan import PlanT
from dpcli.problems.errors import LedgerError, UsageError
from dpcli.problems.light_dataclasses import dataclass

if TYPE_CHECKING:
    from dpcli.engine.files.source import Input
    from dpcli.ledger.public import Ledger
    from dpcli.releasing.steps import Engine


@dataclass(frozen=True, slots=True)
class ReleaseRequest(Generic[PlanT]):
    """What to charge for: a plan, its data, what reads them, and the paying account.

    The ledger is a file or an open ledger; if None, the ledger next to the spec. With
    `check_again`, a release whose quality check failed is checked and charged again, and
    `after_check` names the failed attempt; an attempt that did not fail is published. With
    `any_period`, the period may be a day that is probably a mistake. With `corrected`, the data
    replace those of the period in series that have it already. The data files must have these
    `sha256`, in order, if any are declared.
    """

    plan: PlanT
    data: tuple[Input, ...]
    release_id: str
    ledger: Path | Ledger | None
    engine: Engine = "local"
    check_again: bool = False
    any_period: bool = False
    after_check: str = ""
    corrected: bool = False
    sha256: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The data files by their names, without tables in memory."""
        return tuple(item for item in self.data if isinstance(item, str))

    @property
    def path(self) -> Path:
        """The file of the ledger."""
        if isinstance(self.ledger, Path | None):
            return ledger_of(self.ledger, self.plan.spec.folder)
        return self.ledger.path

    @property
    def charge(self) -> Charge:
        """The charge for the request, created now."""
        may_open = not must_exist(self.plan.spec)
        files = resolved(self.files)
        return charge_for(
            self.plan, self.release_id, files=files, may_open=may_open,
            after_check=self.after_check,
        )  # fmt: skip

    def attempt(self, ledger: OpenLedger) -> ReleaseRequest[PlanT]:
        """The request with the name of its entry, which `check_again` changes."""
        if not self.check_again:
            return self
        dataset = self.plan.spec.dataset
        name, failed = ledger.next_attempt(self.release_id, dataset, self.plan.spec.period)
        return replace(self, release_id=name, after_check=failed)

    def require_likely_period(self, ledger: OpenLedger) -> None:
        """Raise LedgerError if the period is probably a mistake, unless `any_period`."""
        if not self.any_period:
            terms = terms_from_spec(self.plan.spec)
            account = ledger.account(terms.dataset, part_of=terms.part_of)
            account.require_likely_period(terms, day_number(self.plan.spec.period), today())

    def require_attempt(self) -> None:
        """Raise LedgerError if a release is to be checked again, and there is no ledger.

        This must be called before a ledger is created.
        """
        is_open = not isinstance(self.ledger, Path | None)
        if self.check_again and not is_open and is_absent(self.path):
            named = {"name": self.release_id, "dataset": self.plan.spec.dataset}
            raise LedgerError.about("nothing-to-check-again", path=self.path, **named)


def check_again_error() -> UsageError:
    """The error for a quality check to be repeated without a release id."""
    fix = "`--release-id ID`, as `dpcli ledger history` lists it"
    other = "the id of the release that its check stopped"
    return UsageError.about("bad-option.needs", given="`--check-again`", other=other, fix=fix)


def checked_sha256(
    declared: Sequence[str], data: Sequence[Input], reads: Engine
) -> tuple[str, ...]:
    """Declared checksums in lower case; UsageError unless there is one for each file.

    Only files that this process opens by their names can be compared before they are read.
    """
    words = tuple(map(str.lower, declared))
    is_whole = all(re.fullmatch("[0-9a-f]{64}", word) for word in words)
    by_name = reads == "local" and all(
        isinstance(name, str) and name != STDIN and not Path(name).is_fifo() for name in data
    )
    if not (is_whole and by_name and len(words) == len(data)):
        raise UsageError.about("bad-option.sha256", files=len(data))
    return words
