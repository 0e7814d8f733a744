"""The commit that a build writes into a wheel."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.cli import ROOT

MODULE = "hatchling.builders.hooks.plugin.interface"


class Interface:
    """The interface of hooks, which needs no backend for builds here."""

    root: str

    def __class_getitem__(cls, _: object) -> type[Interface]:
        return cls


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The hook, for the folder `root` of it."""
    parts = MODULE.split(".")
    for end in range(1, len(parts) + 1):
        monkeypatch.setitem(sys.modules, ".".join(parts[:end]), ModuleType(parts[end - 1]))
    monkeypatch.setattr(sys.modules[MODULE], "BuildHookInterface", Interface, raising=False)
    return runpy.run_path(str(ROOT / ".ci" / "commit_hook.py"))["CommitHook"]()


def repository(folder: Path) -> str:
    """A repository with one commit, and its name."""
    (folder / "dpcli").mkdir(parents=True)
    (folder / "dpcli" / "a.py").write_text(f"# {folder.name}\n", encoding="utf-8")
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    named = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return named.stdout.strip()


def written(hook: Any, folder: Path, version: str = "standard") -> list[str]:
    """What the hook adds to a build of a folder."""
    data: dict[str, dict[str, str]] = {"force_include": {}}
    hook.root = str(folder)
    hook.initialize(version, data)
    return [Path(name).read_text("utf-8") for name in data["force_include"]]


def test_the_commit_is_that_of_what_is_built(
    hook: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in a hook of another repository; a change that is not committed is named."""
    commit = repository(tmp_path / "built")
    repository(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    assert written(hook, tmp_path / "built") == [f"{commit}\n"]
    (tmp_path / "built" / "dpcli" / "b.py").write_text("", encoding="utf-8")
    assert written(hook, tmp_path / "built") == [f"{commit} changed\n"]
    assert written(hook, tmp_path / "built", "editable") == []
    (tmp_path / "archive").mkdir()
    assert written(hook, tmp_path / "archive") == []
