"""A command that charges: reserve, check outputs, make, charge, publish."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dpcli.cli.accounts import ledger_of, must_exist, open_ledger, sharing_warnings, warn
from dpcli.cli.console import tell
from dpcli.cli.outputs import Outputs
from dpcli.cli.progress import shown_progress
from dpcli.engine.source import drain
from dpcli.errors import Stopped
from dpcli.ledger.charge import Charge, Stored, charge_for, resolved
from dpcli.ledger.place import is_absent
from dpcli.messages import note
from dpcli.plan.model import Plan


@dataclass(frozen=True, slots=True)
class Job:
    """What a command line asks to be charged for: a plan, its data, and its account.

    `inputs` are the files that it reads, which no output may replace.
    """

    plan: Plan
    spec: Path
    data: tuple[str, ...]
    inputs: tuple[Path, ...]
    release_id: str
    ledger: Path | None
    period: str | None
    quiet: bool

    @property
    def path(self) -> Path:
        """The ledger."""
        return ledger_of(self.ledger, self.spec)

    @property
    def charge(self) -> Charge:
        """What it will be charged for, now."""
        return charge_for(
            self.plan,
            self.release_id,
            self.period,
            files=resolved(self.data),
            opens=not must_exist(self.plan.spec),
        )


def charge_and_publish(
    job: Job, outputs: Outputs, make: Callable[..., Stored], render: Callable[..., object]
) -> tuple[Stored, list[str]]:
    """Charge for a job and publish what it makes; the same release id again costs nothing.

    `make` is `dpcli.release.release` or `dpcli.local.randomize.randomize`. Returns what was stored
    and warnings. Outputs that must be a mistake are refused before a ledger is created or anything
    is read.
    """
    spec = job.plan.spec
    again = f"run the command again with --release-id {job.release_id}"
    # Only a ledger knows which outputs may be there already.
    outputs.require(job.inputs, exist_ok=not is_absent(job.path))
    demanded = must_exist(spec)
    with _interruptible(again), open_ledger(job.ledger, job.spec, must_exist=demanded) as book:
        charge = job.charge
        with book.reserve(charge) as slot:
            outputs.require([*job.inputs, *book.files()], slot.stored)
            latest = book.latest()
            warned = warn(sharing_warnings(book.sharing(spec.dataset, charge.files)))
            with shown_progress(quiet=job.quiet) as progress:
                stored = make(job.plan, job.data, slot, render, progress=progress)
        outputs.publish(stored, again)
    if charge.created < latest:
        warned += warn([note("notice.clock", latest=latest)])
    if stored.standing is None:
        drain(job.data)
        if not job.quiet:
            what = "responses" if job.plan.is_local else "release"
            tell("again", what=what, name=job.release_id)
    elif stored.standing.first:
        tell("first", dataset=spec.dataset, ledger=stored.standing.ledger)
    return stored, warned


@contextmanager
def _interruptible(again: str) -> Iterator[None]:
    """A charge that may be interrupted; `again` says how to ask for the same once more."""
    try:
        yield
    except (KeyboardInterrupt, Stopped):
        tell("interrupted", again=again)
        raise
