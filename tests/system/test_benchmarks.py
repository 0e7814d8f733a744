"""The benchmarks on small files, so that those on large files work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.timing import run
from tests.benchmarks.workloads import WORKLOADS, commands_of, make_file


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_and_its_queries_run(name: str, tmp_path: Path) -> None:
    """Each command succeeds and uses some memory."""
    make_file(tmp_path / "data.csv", 1000)
    for command in commands_of(name, tmp_path, tmp_path / "data.csv").values():
        assert run(command).megabytes > 0
