"""The command line in this process, with noise and time that tests can freeze.

Where the variable CI is set, a test that would be skipped fails: what it needs must be there.
"""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Generator
from pathlib import Path

import hypothesis
import pytest

from tests.support.cli import dpcli, freeze, remove_ledger_of_samples
from tests.support.streams import stream

__all__ = ["dpcli", "freeze", "remove_ledger_of_samples", "stream"]

# How long an example takes depends on what else the machine does.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")

MEMORY = Path("/dev/shm")
"""A folder in memory on Linux, where a ledger that is committed waits for no disk."""

FREE = 4 * 2**30
"""How many bytes must be free in memory before tests make their files there."""


def _folders_in_memory() -> bool:
    """Whether tests can make their files in memory, and start those that are programs."""
    return (
        MEMORY.is_dir()
        and os.access(MEMORY, os.W_OK)
        and shutil.disk_usage(MEMORY).free >= FREE
        and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
    )


if "TMPDIR" not in os.environ and _folders_in_memory():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# Tests start many processes, of which each would compile all modules again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# No test is garbage: all of them are made first, and stay.
gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage from now on, but not among the tests."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In continuous integration a skipped test is a failed one."""
    report = yield
    _fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """In continuous integration a skipped module is a failed one."""
    report = yield
    _fail_if_skipped(report)
    return report


def _fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip into a failure, unless it is an expected failure."""
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"nothing may be skipped where CI is set: {reason}"
