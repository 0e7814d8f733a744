"""Writes into a wheel and a source archive which commit of the repository they were built from."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILE = "dpcli/commit.txt"


class CommitHook(BuildHookInterface[Any]):
    """Adds the file with the commit; an editable installation and an unpacked archive have none."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the file to what is built."""
        root = Path(self.root)
        if version == "editable" or not (root / ".git").exists():
            return
        commit = self._git("rev-parse", "HEAD")
        if commit and self._git("status", "--porcelain", "--", "dpcli", "pyproject.toml"):
            commit += " changed"
        self.written = Path(tempfile.mkdtemp()) / "commit.txt"
        self.written.write_text(commit + "\n", encoding="utf-8")
        build_data["force_include"][str(self.written)] = FILE

    def _git(self, *words: str) -> str:
        command = ("git", "-C", self.root, *words)
        # In a hook of git, variables name the repository of the hook.
        outside = {name: value for name, value in os.environ.items() if name[:4] != "GIT_"}
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=outside)
        except OSError:
            return ""
        return done.stdout.strip()
