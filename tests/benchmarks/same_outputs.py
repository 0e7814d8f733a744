"""Whether two checkouts say the same: `python -m tests.benchmarks.same_outputs OLD [SPECS [SEED]]`.

Random specs of all forms, and those of `specs/` and of the tests, are planned by each checkout in
a process of its own, as text and as JSON. A random spec, whose units and relations are drawn too,
is also released from random cells, with the same bytes in place of entropy. Plans, tables and
reports must be equal byte by byte, but for the version. What differs is printed.

`mutated_specs` compares what is said of wrong specs.
"""

from __future__ import annotations

import difflib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random

import pytest

ROOT = Path(__file__).parents[2]

ROWS = 40
"""Rows of the files of random cells."""

SHOWN = 5
"""The most differences that are printed."""

REPORTS = ("r.json", "r.md", "r.html", "r.yaml")


def cases(count: int, seed: int) -> Iterator[tuple[str, str, str]]:
    """The folder of a spec, its text, and a file of cells, or nothing."""
    from tests.support.random_specs import random_spec

    for path in sorted([*(ROOT / "specs").glob("*.yaml"), *ROOT.glob("tests/system/**/*.yaml")]):
        yield str(path.parent), path.read_text(encoding="utf-8"), ""
    for number in range(seed * count, (seed + 1) * count):
        text, cells = random_spec(number)
        random = Random(number)
        rows = [[random.choice(cells[name]) for name in cells] for _ in range(ROWS)]
        yield "", text, "\n".join(map(",".join, [list(cells), *rows])) + "\n"


def outputs(folder: str, text: str, data: str, work: Path) -> dict[str, str]:
    """What this checkout says of one spec, by the name of the output."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    (work / "spec.yaml").write_text(text, encoding="utf-8")
    (work / "data.csv").write_text(data, encoding="utf-8")
    for path in Path(folder).glob("*.csv") if folder else ():
        shutil.copy(path, work)
    found = {"plan": _command(work, "plan", "spec.yaml")}
    found["plan.json"] = _command(work, "plan", "spec.yaml", "--json")
    if data:
        reports = [word for name in REPORTS for word in ("--report", name)]
        words = ("release", "spec.yaml", "data.csv", "-o", "t.csv", *reports)
        found["release"] = _command(work, *words, "--release-id", "same", "-q")
        for name in ("t.csv", *REPORTS):
            path = work / name
            found[name] = path.read_text(encoding="utf-8") if path.exists() else ""
        if found[REPORTS[0]]:
            # The first entry of a ledger is random.
            head = json.loads(found[REPORTS[0]])["ledger"]["head"]
            found = {name: text.replace(head, "HEAD") for name, text in found.items()}
    return found


def _command(work: Path, *words: str) -> str:
    """The status, the output and the messages of a command."""
    from dpcli.cli.main import run
    from dpcli.noise import entropy
    from tests.support.priorities import freeze_priorities
    from tests.support.streams import Stream

    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, chdir(work):
        patch.setenv("COLUMNS", "100")
        patch.setattr(sys, "argv", ["dpcli", *words])
        patch.setattr(entropy, "source", Stream("same"))
        patch.setattr("dpcli.ledger.charge.now", lambda: "2026-01-01T00:00:00Z")
        freeze_priorities(patch)
        with redirect_stdout(out), redirect_stderr(err):
            status = run()
    return f"{status}\n{out.getvalue()}\n{err.getvalue()}"


def answers(checkout: Path, file: Path) -> Iterator[dict[str, str]]:
    """What a checkout says of each case in a file."""
    command = [sys.executable, str(Path(__file__).resolve()), "--read", str(file)]
    path = os.pathsep.join([str(checkout), str(ROOT)])
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=checkout,
        env=os.environ | {"PYTHONPATH": path},
    ) as done:  # fmt: skip
        assert done.stdout is not None
        yield from map(json.loads, done.stdout)
    assert done.returncode == 0, f"{checkout} failed"


def main(old: Path, count: int, seed: int) -> int:
    """Print what differs; the number of cases that do."""
    drawn, different, refused = list(cases(count, seed)), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cases.jsonl"
        file.write_text("".join(json.dumps(case) + "\n" for case in drawn), encoding="utf-8")
        pairs = zip(drawn, answers(old, file), answers(ROOT, file), strict=True)
        for (_, text, _), before, after in pairs:
            refused += not after["plan"].startswith("0")
            names = [name for name in after if before[name] != after[name]]
            different += bool(names)
            if names and different <= SHOWN:
                lines = (before[names[0]].splitlines(), after[names[0]].splitlines())
                print(f"---\n{text}\n{names[0]} of {names}:")
                print("\n".join([*difflib.unified_diff(*lines, lineterm="", n=1)][:40]))
    print(f"{len(drawn)} specs, {refused} of them refused, {different} with other outputs")
    return different


if __name__ == "__main__":
    if sys.argv[1] == "--read":
        from dpcli import __version__

        with Path(sys.argv[2]).open(encoding="utf-8") as lines, tempfile.TemporaryDirectory() as at:
            for line in lines:
                folder, text, data = json.loads(line)
                found = outputs(folder, text, data, Path(at) / "work")
                print(json.dumps(found).replace(__version__, "VERSION"))
    else:
        count, seed = [*sys.argv[2:], *("1000", "0")[len(sys.argv) - 2 :]]
        sys.exit(main(Path(sys.argv[1]).resolve(), int(count), int(seed)) > 0)
