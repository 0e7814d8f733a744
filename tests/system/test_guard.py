"""The check of speed and memory fails if a figure gets worse, and covers what it lists."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.benchmarks import cells, guard
from tests.benchmarks.guard import SIZES, Ratios, all_cases, python, read_figures
from tests.benchmarks.timing import Run


@pytest.mark.parametrize("size", SIZES)
def test_every_case_has_a_figure(
    size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new case has figures from the start, and no figure outlives its case."""
    monkeypatch.setattr(guard, "run", lambda command: Run(0, 0, 0))
    monkeypatch.setattr(cells, "make_file", lambda path, rows: None)
    names = [name for name, _ in all_cases(tmp_path, SIZES[size])]
    assert sorted(names) == sorted(read_figures(size))


def test_every_script_that_is_named_exists() -> None:
    """What a script runs, or the table of commands lists, stands in the folder."""
    folder = guard.FIGURES.parent
    texts = [path.read_text("utf-8") for path in (*folder.glob("*.py"), *folder.glob("*.toml"))]
    table = [
        line for line in (folder / "README.md").read_text("utf-8").splitlines() if line[:3] == "| `"
    ]
    named = re.findall(r"tests[./]benchmarks[./]([a-z_]+)", "\n".join([*texts, *table]))
    assert {"ledger", "workloads"} <= {*named} <= {path.stem for path in folder.glob("*.py")}


def test_the_process_that_measures_is_small() -> None:
    """It imports neither numpy nor polars: the peak of what it starts is at least its own."""
    program = "import sys, tests.benchmarks.guard; print(*sys.modules)"
    found = subprocess.run(
        python(program), capture_output=True, text=True, check=True, cwd=guard.ROOT
    )
    assert "tests.benchmarks.guard" in found.stdout.split()
    assert not {"numpy", "polars", "dpcli"} & set(found.stdout.split())


@pytest.mark.parametrize(
    ("planted", "worse"),
    [("pass", False), ("sum(range(3_000_000))", True), ("b'x' * 40_000_000", True)],
    ids=["nothing", "processor time", "memory"],
)
def test_a_slower_or_larger_command_fails(planted: str, worse: bool) -> None:
    """A command that is equal to its program passes; one with more work, or more memory, fails."""
    # The process is small: what it starts has at least its own peak memory.
    program = f"""
import sys
from tests.benchmarks import guard

def planted_case(folder, size):
    yield "planted", guard.Case(guard.python({planted!r}), guard.python("pass"))

guard.all_cases = planted_case
guard.read_figures = lambda size: {{"planted": guard.Ratios(1.0, 1.0)}}
sys.exit(guard.main([]))
"""
    found = subprocess.run(
        python(program), capture_output=True, text=True, check=False, cwd=guard.ROOT
    )
    assert found.returncode == int(worse), found.stderr
    assert ("Worse than" in found.stdout) == worse


def test_a_ratio_may_exceed_its_figure_by_the_tolerance() -> None:
    """A quarter more is noise; above it, processor time or memory fails, each by itself."""
    figures = Ratios(processor=2.0, memory=4.0)
    assert not Ratios(2.5, 5.0).exceed(figures)
    assert Ratios(2.51, 4.0).exceed(figures)
    assert Ratios(2.0, 5.01).exceed(figures)
