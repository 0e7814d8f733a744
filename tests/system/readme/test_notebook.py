"""The notebook of the docs runs from top to bottom in a kernel, and says what it should."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import ROOT

NOTEBOOK = ROOT / "docs" / "notebook.ipynb"


def texts(cell: dict[str, Any]) -> str:
    """What the outputs of a cell show as text."""
    shown = [output.get("data", {}).get("text/plain", []) for output in cell["outputs"]]
    return "".join("".join(lines) for lines in shown)


@pytest.mark.extended
def test_the_notebook_runs(tmp_path: Path) -> None:
    """Each cell ends without an error, prints little, and a second release costs nothing."""
    for name in ("specs", "sample_data"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("*.sqlite*"))
    shutil.copy(NOTEBOOK, tmp_path)
    words = ["nbconvert", "--to", "notebook", "--execute", "--output", "out.ipynb"]
    subprocess.run(
        [sys.executable, "-m", *words, NOTEBOOK.name],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        timeout=300,
    )
    made = json.loads((tmp_path / "out.ipynb").read_text("utf-8"))
    cells = [cell for cell in made["cells"] if cell["cell_type"] == "code"]
    shown = [texts(cell) for cell in cells]
    assert shown[0].startswith("Spec of town-2021") and shown[1].startswith("Plan of town-2021")
    assert all(text.count("\n") < 40 for text in shown)
    assert shown[3] == "no problems" and "spent epsilon 1" in shown[4]
    assert "image/png" in cells[6]["outputs"][-1]["data"]
    assert "2021-" in shown[7]
    assert shown[8] == "(False, epsilon 10.5)"
    assert "text/html" in cells[0]["outputs"][0]["data"]


def test_the_notebook_holds_no_outputs() -> None:
    """What is stored is the program alone."""
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    assert not any(cell.get("outputs") for cell in cells)
