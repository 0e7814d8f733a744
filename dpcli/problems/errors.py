"""The errors that users see, with codes, messages, hints and places.

An error is data. It is raised where the problem is found, and printed in one place, the command
line, which adds colors to the rendered text. The classes and their exit statuses:

    DpcliError
      UsageError     2   the command line is wrong
      SpecError      3   the spec is wrong or impossible
      DataError      4   the data file does not fit
      BudgetError    5   the budget refuses
      LedgerError    6   the ledger cannot be used
      OutputError    7   an output could not be written
      QualityError   8   the data file failed the quality check of the spec

Privacy: no message may contain anything that was read from a record. Messages contain only texts
of the spec, of the command line, and names of files.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import PurePath
from typing import ClassVar, Self

from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.messages import message_and_hint

MAPPING = "mapping"
"""The source of places in a spec that a program gives as a mapping."""


@dataclass(frozen=True, slots=True)
class Place:
    """A span on one line of a text of the user; lines and columns count from one."""

    source: str
    line: int
    column: int
    length: int
    text: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem: what was found, what was expected, and a hint on how to fix it.

    The `status` is the exit status of the error that the problem belongs to.
    """

    code: str
    message: str
    hint: str = ""
    place: Place | None = None
    status: int = field(default=1, compare=False)


def make_problem(code: str, place: Place | None = None, /, **arguments: object) -> Problem:
    """A problem whose message and hint fill the template of a code or variant."""
    return Problem(code.partition(".")[0], *message_and_hint(code, **arguments), place)


def _texts(problems: Iterable[Problem], part: str) -> Iterator[str]:
    """Each message, or hint, once, with the numbers of its lines in the spec.

    A mapping has no lines that its author knows.
    """
    lines: dict[str, list[str]] = {}
    for problem in problems:
        known = problem.place is not None and problem.place.source != MAPPING
        place = [str(problem.place.line)] if problem.place and known else []
        lines.setdefault(getattr(problem, part), []).extend(place)
    for text, own in lines.items():
        where = f" ({'lines' if len(own) > 1 else 'line'} {', '.join(own)})" if own else ""
        if text:
            yield text + where


class DpcliError(Exception):
    """An error that the user can act on. It contains all problems that were found.

    Its text has each message once, with the numbers of the lines of the spec. Python shows the
    hints below it, as notes.
    """

    status: ClassVar[int] = 1

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(replace(problem, status=self.status) for problem in problems)
        super().__init__("; ".join(_texts(self.problems, "message")))
        for hint in _texts(self.problems, "hint"):
            self.add_note(f"hint: {hint}")

    def __reduce__(self) -> tuple[type[Self], tuple[tuple[Problem, ...]]]:
        """Make copies, such as for another process, from the problems, not the text."""
        return type(self), (self.problems,)

    @classmethod
    def about(cls, code: str, /, **arguments: object) -> Self:
        """An error of this class with a single problem and no place."""
        return cls([make_problem(code, **arguments)])

    @classmethod
    def require_none(cls, problems: Iterable[Problem]) -> None:
        """Raise an error of this class with all of these problems, if there are any."""
        if found := tuple(problems):
            raise cls(found)

    @classmethod
    @contextmanager
    def collected(cls, problems: list[Problem]) -> Iterator[None]:
        """Add the problems of an error of this class to the list instead of raising it."""
        try:
            yield
        except cls as failure:
            problems += failure.problems


class StoppedBySignal(BaseException):
    """A signal ends the program, which cleans up and exits with its status."""

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
    """The data file does not fit the spec; never because of the value of a record."""

    status = 4


class BudgetError(DpcliError):
    """The budget is too small for the release; nothing was read, spent or written."""

    status = 5


class LedgerError(DpcliError):
    """The ledger cannot be used."""

    status = 6


class OutputError(DpcliError):
    """An output could not be written."""

    status = 7

    @classmethod
    def from_system(cls, target: str, error: OSError, again: str) -> Self:
        """An output that could not be written, and the command to try it `again`."""
        why, fix = describe_system_error(error)
        return cls.about("output-failed", target=target, why=why, fix=fix, again=again)

    @classmethod
    @contextmanager
    def translated(cls, target: str, again: str = "run the command again") -> Iterator[None]:
        """Raise this error in place of an OSError in the block."""
        try:
            yield
        except OSError as error:
            raise cls.from_system(target, error, again) from None


class QualityError(DpcliError):
    """Noisy counts are below a minimum; no statistic was answered or charged."""

    status = 8


def internal_error(error: BaseException) -> DpcliError:
    """The error that reports an unexpected one by its type and place in the code.

    Privacy: the message of the error is left out, because it may quote a record.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = ""
    if trace is not None:
        where = f" at {PurePath(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
    found = f"a fault of dpcli itself ({type(error).__name__}{where})"
    # The hint is not a template, because the error may prevent reading templates.
    hint = "report it with the spec; never send the data"
    return DpcliError([Problem("internal-fault", found, hint)])


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
    """What went wrong with a file, and how to fix it; nothing of its content."""
    if not isinstance(error, OSError):
        return "it is not a path", "check the name"
    why = (error.strerror or "input or output error").lower()
    unknown = (why, "check the file, its folder and the disk")
    return _SYSTEM_ERRORS.get(error.errno or 0, unknown)
