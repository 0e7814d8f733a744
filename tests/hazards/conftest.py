"""The command line in this process."""

from __future__ import annotations

from tests.cli.conftest import dpcli

__all__ = ["dpcli"]
