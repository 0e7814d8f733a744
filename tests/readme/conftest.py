"""The command line in this process, for jobs that run many times."""

from __future__ import annotations

from tests.cli.conftest import dpcli

__all__ = ["dpcli"]
