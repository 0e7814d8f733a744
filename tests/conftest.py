"""The command line in this process, with noise and time that tests can freeze.

Where the variable CI is set, a test that would be skipped fails: what it needs must be there.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import hypothesis
import pytest

from tests.support.cli import dpcli, freeze, remove_ledger_of_samples
from tests.support.streams import stream

__all__ = ["dpcli", "freeze", "remove_ledger_of_samples", "stream"]

# How long an example takes depends on what else the machine does.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")


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
