"""The command `dpcli` with the toys of `toy_registry`, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run_toy(folder: Path, *words: str, status: int = 0, stdin: str = "", columns: int = 160) -> str:
    """What it prints in a folder, on either stream."""
    command = [sys.executable, "-m", "tests.support.toy_registry", *words]
    environment = {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": str(columns), "PATH": ""}
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
