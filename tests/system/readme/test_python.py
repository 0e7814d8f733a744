"""The page about Python runs from top to bottom, as a notebook would."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.cli import ROOT
from tests.system.readme.test_readme import FENCE

PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


def test_the_page_runs_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every block runs after those above it, and all of them again in the same folder."""
    for name in ("specs", "sample_data"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("*.sqlite*"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DPCLI_LEDGER", raising=False)
    blocks = [match["text"] for match in FENCE.finditer(PAGE) if match["language"] == "python"]
    for _ in range(2):
        names: dict[str, object] = {"__name__": "page"}
        for block in blocks:
            exec(compile(block, "docs/python.md", "exec"), names)

    assert len(blocks) >= 5
    assert "data-missing" in capsys.readouterr().out
    assert "<html" in (tmp_path / "town.html").read_text(encoding="utf-8")
