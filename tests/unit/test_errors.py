"""Errors of the operating system in plain words."""

from __future__ import annotations

import errno
import os
import pickle
import traceback

from dpcli.problems.errors import OutputError, Place, Problem, SpecError, describe_system_error
from tests.support.rules import for_each


@for_each(sorted(errno.errorcode))
def test_every_system_error_is_described(number: int) -> None:
    """Each error has a reason and a fix, and neither contains the name of a file."""
    why, fix = describe_system_error(OSError(number, os.strerror(number), "secret"))
    assert why
    assert fix
    assert "secret" not in why + fix


def test_an_error_without_a_number_is_described() -> None:
    """An unknown error, or one that is not of the system, has a plain message too."""
    assert describe_system_error(OSError())[0] == "input or output error"
    assert describe_system_error(ValueError("embedded null byte"))[0] == "it is not a path"


def test_a_full_disk_is_a_problem_of_the_output() -> None:
    """The message names the output, the reason, and what to do."""
    failure = OutputError.from_system("`t.csv`", OSError(errno.ENOSPC, ""), "try again")
    assert failure.status == 7
    assert str(failure) == "`t.csv` could not be written: the disk is full"
    assert failure.problems[0].hint == "free space on the disk, then try again"


def test_an_error_is_copied_for_another_process() -> None:
    """A pool of processes stands still if the error of one cannot be read by another."""
    failure = OutputError.from_system("`t.csv`", OSError(errno.ENOSPC, ""), "try again")
    copied = pickle.loads(pickle.dumps(failure))
    assert type(copied) is OutputError
    assert (copied.problems, str(copied)) == (failure.problems, str(failure))


def test_the_text_of_an_error_says_each_problem_once() -> None:
    """It names the lines of the spec; a problem without a place has none."""
    at = [Place("spec.yaml", line, 3, 1, "column: b") for line in (7, 9)]
    missing, other = ("`b` is not a declared column", "the budget is too small")
    problems = [Problem("unknown-column", missing, place=place) for place in at]
    error = SpecError([problems[0], Problem("over-budget", other), problems[1]])

    assert str(error) == f"{missing} (lines 7, 9); {other}"
    assert str(SpecError(problems[:1])) == f"{missing} (line 7)"
    assert len(error.problems) == 3


def test_python_shows_the_hints_of_an_error() -> None:
    """Each hint is a note below the text, once, with the lines of the spec that it is about."""
    at = [Place("spec.yaml", line, 3, 1, "column: b") for line in (7, 9)]
    problems = [Problem("unknown-column", "not declared", "write `a`", place) for place in at]
    error = SpecError(
        [*problems, Problem("over-budget", "too small", "spend less"), Problem("x", "y")]
    )

    assert error.__notes__ == ["hint: write `a` (lines 7, 9)", "hint: spend less"]
    assert pickle.loads(pickle.dumps(error)).__notes__ == error.__notes__
    assert "hint: spend less" in "".join(traceback.format_exception(error))
