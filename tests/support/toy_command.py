"""The command `dpcli` with the toys of `toy_registry`, in a process of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.fork_server import fast_dpcli


def run_toy(folder: Path, *words: str, status: int = 0, stdin: str = "", columns: int = 160) -> str:
    """What it prints in a folder, on either stream."""
    command = [fast_dpcli("tests.support.toy_registry"), *words]
    environment = {"NO_COLOR": "1", "COLUMNS": str(columns), "PATH": ""}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr
