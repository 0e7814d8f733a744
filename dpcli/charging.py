"""A charge that a program asks for: its data, its ledger, and its errors.

No message of an error quotes a record, and no frame that it leaves holds one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dpcli.engine.memory import MemoryTable
from dpcli.engine.source import Input
from dpcli.errors import DpcliError, internal_error
from dpcli.ledger.charge import StoredRelease, charge_for, resolved
from dpcli.ledger.ledger import Ledger
from dpcli.ledger.open_charge import OpenCharge
from dpcli.ledger.options import NAMED, charged_ledger, checked_day, checked_id, must_exist
from dpcli.planning.plan import Plan
from dpcli.planning.planner import require_plan_fits
from dpcli.releasing import new_release_id
from dpcli.specification.model import Spec

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")

Name = str | os.PathLike[str]
"""The name of a file."""


class ArrowTable(Protocol):
    """A table that offers its columns as an Arrow stream: of pandas, Arrow, and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule with the stream."""


if TYPE_CHECKING:
    Data = Name | Sequence[Name] | pl.DataFrame | pl.LazyFrame | ArrowTable
    """Files, or a table in memory."""


def inputs_of(data: Any) -> tuple[Input, ...]:
    """Files by their names, or a table in memory; TypeError for anything else."""
    if isinstance(data, str | os.PathLike):
        return (os.fsdecode(data),)
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "sink_parquet"):
        return (MemoryTable(data),)
    if isinstance(data, list | tuple) and data:
        return tuple(os.fsdecode(one) for one in data)
    raise TypeError(f"data are names of files or a table, not {type(data).__name__}")


def charge(
    plan: Plan,
    inputs: Sequence[Input],
    make: Callable[[OpenCharge], StoredRelease],
    ledger: Name | Ledger | None,
    release_id: str | None,
    period: str | None,
) -> tuple[StoredRelease, Path]:
    """What is made of the data and charged for, or was before under the same id; and the ledger.

    Raises UsageError for words that the command line refuses, and what `make` raises.
    """
    name, day = checked_id(release_id) or new_release_id(), checked_day(period)
    require_plan_fits(plan)
    files = resolved(one for one in inputs if isinstance(one, str))

    def charged() -> tuple[StoredRelease, Path]:
        may_open = not must_exist(plan.spec)
        with _paying(ledger, plan.spec) as book:
            wanted = charge_for(plan, name, day, files=files, may_open=may_open)
            with OpenCharge(book, wanted) as open_charge:
                return make(open_charge), book.path

    return without_traces(charged)


@contextmanager
def _paying(ledger: Name | Ledger | None, spec: Spec) -> Iterator[Ledger]:
    """The ledger that pays; one that the caller has opened stays open."""
    if isinstance(ledger, Ledger):
        yield ledger
        return
    name = ledger or os.environ.get(NAMED)
    path = Path(name) if name else None
    with charged_ledger(path, spec.folder, must_exist=must_exist(spec)) as opened:
        yield opened


def without_traces(work: Callable[[], T]) -> T:
    """The result of `work`; whatever it raises leaves without the frames and errors behind it.

    They hold records and answers that were not charged, which a notebook or a debugger would
    show. The words of an error that is not ours may quote a record, so that none of them pass.
    """
    failure: BaseException
    try:
        return work()
    except DpcliError as error:
        failure = error
    except KeyboardInterrupt:
        failure = KeyboardInterrupt()
    except Exception as error:  # noqa: BLE001 - reported by its kind and place
        failure = internal_error(error)
    failure.__context__ = None
    raise failure.with_traceback(None)
