"""The command line in this process, for whole runs."""

from __future__ import annotations

from tests.cli.conftest import dpcli

__all__ = ["dpcli"]
