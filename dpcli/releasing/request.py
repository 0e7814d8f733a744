"""The request for a release: its data, the ledger that pays, and messages.

The command line and programs charge by the same call. In a program, no error of this call quotes a
record, and no frame of its traceback holds one.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import wraps
from inspect import signature
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar

from dpcli.ledger.balance import period_number
from dpcli.ledger.charge import Charge, charge_for, resolved, today
from dpcli.ledger.ledger import OpenLedger, open_or_create_ledger
from dpcli.ledger.options import (
    NAMED,
    checked_day,
    checked_id,
    created_text,
    is_absent,
    ledger_of,
    must_exist,
    new_release_id,
)
from dpcli.planning.plan import PlanT
from dpcli.problems.errors import (
    DpcliError,
    LedgerError,
    StoppedBySignal,
    UsageError,
    internal_error,
)
from dpcli.problems.light_dataclasses import dataclass

if TYPE_CHECKING:
    import polars as pl

    from dpcli.engine.files.source import Input
    from dpcli.releasing.steps import Engine

T = TypeVar("T")
P = ParamSpec("P")


class ArrowTable(Protocol):
    """A table with the Arrow stream interface, such as one of pandas or Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule with the stream."""


if TYPE_CHECKING:
    from dpcli.ledger.public import FileName, Ledger

    Data = FileName | Sequence[FileName] | pl.DataFrame | pl.LazyFrame | ArrowTable
    """Files, or a table in memory."""


class WrongTypeError(TypeError):
    """An argument of another type than what was expected."""


def require_type(name: str, value: object, expected: str, *kinds: type | UnionType) -> None:
    """Raise TypeError, naming what was expected, for an argument of another type."""
    if not isinstance(value, kinds):
        raise WrongTypeError(f"`{name}` is of type {type(value).__name__}, expected {expected}")


def require_parameters(call: Callable[..., object], *args: object, **kwargs: object) -> None:
    """Raise TypeError unless a function takes these arguments."""
    try:
        signature(call).bind(*args, **kwargs)
    except TypeError as error:
        raise WrongTypeError(f"{call.__name__}(): {error}") from None


def file_name(name: str, value: object) -> str:
    """The name of a file as text; TypeError for anything else."""
    require_type(name, value, "the name of a file, as text or as a path", str, os.PathLike)
    return os.fsdecode(value)  # type: ignore[arg-type]


def inputs_of(data: Any) -> tuple[Input, ...]:
    """Files by their names, or a table in memory; TypeError for anything else."""
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "sink_parquet"):
        # The engine loads more than a command needs that reads no row.
        from dpcli.engine.files.source import MemoryTable

        return (MemoryTable(data),)
    if isinstance(data, list | tuple) and data:
        return tuple(file_name("data", item) for item in data)
    expected = "names of files or a table: of polars, pandas or Arrow"
    require_type("data", data, expected, str, os.PathLike)
    return (os.fsdecode(data),)


@dataclass(slots=True)
class Messages:
    """Messages about a charge: `warnings`, and what was `done`.

    Each is shown when it is known, with whether it is usual, so that a quiet command omits it.
    """

    show: Callable[[str, bool], None] = lambda _text, _usual: None
    warnings: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)

    def warn(self, texts: Iterable[str]) -> None:
        """Add warnings."""
        for text in texts:
            self.warnings.append(text)
            self.show(f"warning: {text}", False)

    def add(self, text: str, *, usual: bool = False) -> None:
        """Add a message of what was done."""
        self.done.append(text)
        self.show(text, usual)


@dataclass(frozen=True, slots=True)
class ReleaseRequest(Generic[PlanT]):
    """What to charge for: a plan, its data, what reads them, and the paying account.

    The ledger is a file or an open ledger; if None, the ledger next to the spec. With
    `check_again`, a release whose quality check failed is checked and charged again, and
    `after_check` names the failed attempt; an attempt that did not fail is published. With
    `any_period`, the period may be a day that is probably a mistake.
    """

    plan: PlanT
    data: tuple[Input, ...]
    release_id: str
    ledger: Path | Ledger | None
    period: str | None
    engine: Engine = "local"
    check_again: bool = False
    any_period: bool = False
    after_check: str = ""

    @classmethod
    def of(
        cls,
        plan: PlanT,
        data: tuple[Input, ...],
        ledger: FileName | Ledger | None,
        release_id: str | None,
        period: str | datetime.date | None,
        engine: Engine = "local",
        *,
        check_again: bool = False,
        any_period: bool = False,
    ) -> ReleaseRequest[PlanT]:
        """The request of a program, after a check of its arguments.

        Without a ledger, the environment names it, as for commands. Raises TypeError or UsageError
        for an argument that is no name or day, and for a table in memory without a `release_id`.
        """
        from dpcli.ledger.public import Ledger

        require_type("release_id", release_id, "text", str, type(None))
        require_type("period", period, "a day", str, datetime.date, type(None))
        day = f"{period:%Y-%m-%d}" if isinstance(period, datetime.date) else period
        if not isinstance(ledger, Ledger):
            named = os.environ.get(NAMED) or None if ledger is None else ledger
            ledger = None if named is None else Path(file_name("ledger", named))
        if check_again and release_id is None:
            raise check_again_error()
        # A cell of a notebook that runs twice would pay twice, and nothing would say that.
        if release_id is None and not all(isinstance(item, str) for item in data):
            raise UsageError.about("release-id-required")
        name = checked_id(release_id) or new_release_id()
        return cls(plan, data, name, ledger, checked_day(day), engine, check_again, any_period)

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
            self.plan, self.release_id, self.period, files=files, may_open=may_open,
            after_check=self.after_check,
        )  # fmt: skip

    def attempt(self, ledger: OpenLedger) -> ReleaseRequest[PlanT]:
        """The request with the name of its entry, which `check_again` changes."""
        if not self.check_again:
            return self
        dataset = self.plan.spec.dataset
        name, failed = ledger.next_attempt(self.release_id, dataset, self.period)
        return replace(self, release_id=name, after_check=failed)

    def require_likely_period(self, ledger: OpenLedger) -> None:
        """Raise LedgerError if the period is probably a mistake, unless `any_period`."""
        if not self.any_period and self.period is not None:
            account = ledger.account(self.plan.spec.dataset)
            account.require_likely_period(period_number(self.period), today())

    def require_attempt(self) -> None:
        """Raise LedgerError if a release is to be checked again, and there is no ledger.

        This must be called before a ledger is created.
        """
        is_open = not isinstance(self.ledger, Path | None)
        if self.check_again and not is_open and is_absent(self.path):
            raise LedgerError.about("nothing-to-check-again", name=self.release_id, path=self.path)

    @contextmanager
    def opened(self, messages: Messages) -> Iterator[OpenLedger]:
        """The ledger that pays; one that the caller has opened stays open."""
        if not isinstance(self.ledger, Path | None):
            from dpcli.ledger.public import opened_ledger

            yield opened_ledger(self.ledger)
            return
        spec = self.plan.spec
        with open_or_create_ledger(self.ledger, spec.folder, must_exist=must_exist(spec)) as ledger:
            if ledger.created:
                messages.add(created_text(ledger.path))
            yield ledger


def _without_words(error: BaseException) -> BaseException:
    """The error without its arguments; SystemExit keeps only a numeric status."""
    if isinstance(error, SystemExit):
        return SystemExit(error.code if isinstance(error.code, int | None) else 1)
    if not isinstance(error, StoppedBySignal):
        error.args = ()
        error.__dict__.clear()
    return error


def redacted(call: Callable[P, T]) -> Callable[P, T]:
    """A call of the public API whose errors hold no record, nor frames with records.

    Frames hold rows and answers that were not charged, which a notebook or a debugger would show.
    The message of an error that dpcli did not raise may quote a record, so it is removed.
    """

    @wraps(call)
    def without_records(*args: P.args, **kwargs: P.kwargs) -> T:
        failure: BaseException
        try:
            require_parameters(call, *args, **kwargs)
            return call(*args, **kwargs)
        except (DpcliError, WrongTypeError) as error:
            failure = error
        except KeyboardInterrupt:
            failure = KeyboardInterrupt()
        except Exception as error:  # noqa: BLE001 - reported by its kind and place
            failure = internal_error(error)
        except BaseException as error:  # noqa: BLE001 - of a signal, or of the caller's table
            failure = _without_words(error)
        # This frame is shown as well, and a table in memory is an argument.
        del args, kwargs
        failure.__context__ = failure.__cause__ = None
        raise failure.with_traceback(None)

    return without_records


def check_again_error() -> UsageError:
    """The error for a quality check to be repeated without a release id."""
    fix = "`--release-id ID`, as `dpcli ledger history` lists it"
    other = "the id of the release that its check stopped"
    return UsageError.about("bad-option.needs", given="`--check-again`", other=other, fix=fix)
