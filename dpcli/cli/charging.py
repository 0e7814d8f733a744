"""A command that charges: reserve, check outputs, make, charge, publish."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

from dpcli.charge import charge_for
from dpcli.cli.accounts import ledger_of, must_exist, open_ledger, sharing_warnings, warn
from dpcli.cli.console import tell
from dpcli.cli.outputs import Outputs
from dpcli.cli.progress import shown_progress
from dpcli.engine.source import drain
from dpcli.errors import Stopped
from dpcli.ledger.charge import Standing, Stored, resolved
from dpcli.ledger.place import is_absent
from dpcli.messages import note
from dpcli.plan.model import Plan


class Charged(Protocol):
    """What was made and charged for: a release or a collection."""

    @property
    def standing(self) -> Standing:
        """Its place in the ledger."""


Made = TypeVar("Made", bound=Charged)


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


def charge_and_publish(
    job: Job,
    outputs: Outputs,
    make: Callable[..., Stored],
    render: Callable[[Made], Mapping[str, bytes]],
) -> tuple[Stored, Made | None, list[str]]:
    """Charge for a job and publish what it makes; the same release id again costs nothing.

    `make` is `dpcli.release.release` or `dpcli.local.randomize.randomize`. Returns what was stored,
    what was made unless it was made before, and warnings. Outputs that must be a mistake are
    refused before a ledger is created or anything is read.
    """
    spec = job.plan.spec
    made: list[Made] = []

    def rendered(one: Made) -> Mapping[str, bytes]:
        made.append(one)
        return render(one)

    again = f"run the command again with --release-id {job.release_id}"
    required, files = must_exist(spec), resolved(job.data)
    # Only a ledger knows which outputs may be there already.
    outputs.require(job.inputs, force=not is_absent(job.path))
    with _interruptible(again), open_ledger(job.ledger, job.spec, must_exist=required) as book:
        charge = charge_for(job.plan, job.release_id, job.period)
        charge = replace(charge, files=files, opens=not required)
        with book.reserve(charge) as slot:
            outputs.require([*job.inputs, *book.store.files()], slot.stored)
            latest = book.latest()
            warned = warn(sharing_warnings(spec.dataset, book.sharing(spec.dataset, files)))
            with shown_progress(quiet=job.quiet) as progress:
                stored = make(job.plan, job.data, slot, rendered, progress=progress)
        outputs.publish(stored, again)
    if charge.created < latest:
        warned += warn([note("notice.clock", latest=latest)])
    if not stored.fresh:
        drain(job.data)
        if not job.quiet:
            what = "responses" if job.plan.is_local else "release"
            tell("again", what=what, name=job.release_id)
        return stored, None, warned
    standing = made[-1].standing
    if standing.first:
        tell("first", dataset=spec.dataset, ledger=standing.ledger)
    return stored, made[-1], warned


@contextmanager
def _interruptible(again: str) -> Iterator[None]:
    """A charge that may be interrupted; `again` says how to ask for the same once more."""
    try:
        yield
    except (KeyboardInterrupt, Stopped):
        tell("interrupted", again=again)
        raise
