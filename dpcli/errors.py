"""Every failure a user can meet: a code, a sentence, a place and a hint.

A failure is data. It is raised where it is found and printed in one place, the
command line. The tree, with the exit status of each family:

    DpcliError
      UsageError     2   the command line is wrong
      SpecError      3   the spec is wrong or impossible
      DataError      4   the data file does not fit
      BudgetError    5   the budget refuses
      LedgerError    6   the ledger cannot be used
      OutputError    7   an output could not be written
      QualityError   8   the data file failed the quality check of the spec

No message may contain anything read from a record: texts are built from the
spec, the command line and file names alone.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from types import TracebackType
from typing import ClassVar, Self

from dpcli.messages import message_and_hint


@dataclass(frozen=True, slots=True)
class Place:
    """A span on one line of a text the user wrote, counted from one."""

    source: str
    line: int
    column: int
    length: int
    text: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: found, expected, and what to do about it.

    The `status` is that of the failure that it was found in.
    """

    code: str
    message: str
    hint: str = ""
    place: Place | None = None
    status: int = field(default=1, compare=False)


def make_problem(code: str, place: Place | None = None, /, **facts: object) -> Problem:
    """A problem in the words of its template; `code.variant` names a variant of it."""
    return Problem(code.partition(".")[0], *message_and_hint(code, **facts), place)


class DpcliError(Exception):
    """A refusal that the user can act on; carries every problem found."""

    status: ClassVar[int] = 1

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(replace(one, status=self.status) for one in problems)
        super().__init__("; ".join(problem.message for problem in self.problems))

    @classmethod
    def about(cls, code: str, /, **facts: object) -> Self:
        """A failure of this family with a single problem and no place."""
        return cls([make_problem(code, **facts)])


class StoppedBySignal(BaseException):
    """A signal asks the program to end; it unwinds, and ends with the status of the signal."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


class UsageError(DpcliError):
    """The command line is wrong."""

    status = 2


class SpecError(DpcliError):
    """The spec is wrong, or asks for something impossible."""

    status = 3


class DataError(DpcliError):
    """The data file does not fit the spec; never because of a record's value."""

    status = 4


class BudgetError(DpcliError):
    """The budget refuses the release; nothing was read, spent or written."""

    status = 5


class LedgerError(DpcliError):
    """The ledger cannot be used."""

    status = 6


class OutputError(DpcliError):
    """An output could not be written."""

    status = 7

    @classmethod
    def from_system(cls, target: str, error: OSError, again: str) -> Self:
        """A `target` that the system did not let us write, and how to try it `again`."""
        why, fix = describe_system_error(error)
        return cls.about("output-failed", target=target, why=why, fix=fix, again=again)


class QualityError(DpcliError):
    """Noisy counts miss a minimum of the spec; only the quality check was charged."""

    status = 8


def internal_error(error: Exception) -> DpcliError:
    """An unexpected error by its kind and place; its words may quote a record."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else _place_of(trace)
    found = f"a fault of dpcli itself ({type(error).__name__}{where})"
    # Its words are here, because whatever failed may prevent reading a template.
    hint = "report it with the spec; never send the data"
    return DpcliError([Problem("internal-fault", found, hint)])


def _place_of(trace: TracebackType) -> str:
    return f" at {PurePath(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"


_PERMISSIONS = ("permission is denied", "check the permissions of the file and of its folder")
_SYSTEM_ERRORS = {
    errno.ENOENT: ("it does not exist", "check the name"),
    errno.ENOTDIR: ("its folder does not exist", "check the name"),
    errno.EISDIR: ("it is a folder", "name the file itself"),
    errno.EEXIST: ("it exists already", "name another file"),
    errno.ENAMETOOLONG: ("its name is too long", "use a shorter name"),
    errno.ELOOP: ("it is a link, or a chain of links", "name the file itself"),
    errno.EACCES: _PERMISSIONS,
    errno.EPERM: _PERMISSIONS,
    errno.EROFS: ("the disk is read-only", "use another disk"),
    errno.ENOSPC: ("the disk is full", "free space on the disk"),
    errno.EDQUOT: ("the disk quota is used up", "free space on the disk"),
    errno.EFBIG: ("the file would be too large", "use another disk"),
    errno.EIO: ("the disk failed", "check the disk"),
    errno.EBADF: ("it is closed", "open it, or name a file"),
    errno.EPIPE: ("its reader closed it", "read all of it, or name a file"),
    errno.EMFILE: ("too many files are open", "raise the limit of open files"),
}


def describe_system_error(error: Exception) -> tuple[str, str]:
    """What went wrong with a file, and what to do about it; nothing of what it holds."""
    if not isinstance(error, OSError):
        return "it is not a path", "check the name"
    known = _SYSTEM_ERRORS.get(error.errno or 0)
    other = (error.strerror or "input or output error").lower()
    return known or (other, "check the file, its folder and the disk")
