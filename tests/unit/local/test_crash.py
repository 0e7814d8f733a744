"""A collection that is killed at any time is charged once and published whole, or neither."""

from __future__ import annotations

import hashlib
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpcli.local.outbox import ENDING

SPEC = """\
dpcli: 1
model: local
dataset: d
privacy: {unit: row, neighbors: change-one, budget: {epsilon: 1000}}
columns: {x: {type: boolean, missing: false}}
responses: [{column: x, mechanism: randomized_response, epsilon: 1}]
"""


def trials(folder: Path, count: int, seed: int) -> None:
    """Start `count` collections, kill each at a random time, and run it again."""
    chance = random.Random(seed)
    spec, data, out = folder / "s.yaml", folder / "d.csv", folder / "o.csv"
    spec.write_text(SPEC, encoding="utf-8")
    data.write_text("x\n" + "true\nfalse\n" * 20_000, encoding="utf-8")
    start = [sys.executable, "-m", "dpcli", "local", "randomize", str(spec), str(data)]
    began = time.monotonic()
    assert subprocess.run([*start, "-o", str(out), "-q"], check=False).returncode == 0
    usual = time.monotonic() - began
    for trial in range(count):
        command = [*start, "-o", str(out), "--force", "--release-id", f"r{trial}", "-q"]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            # Most of the time passes before the first row is read.
            time.sleep(usual * chance.uniform(0.4, 1.1))
            process.send_signal(signal.SIGKILL)
        again = subprocess.run(command, capture_output=True, check=False)
        assert again.returncode == 0, again.stderr
        content = out.read_bytes()
        assert content.count(b"\n") == 40_001
        report = json.loads((folder / "o.report.json").read_text(encoding="utf-8"))
        assert report["release_id"] == f"r{trial}"
        assert report["responses_sha256"] == hashlib.sha256(content).hexdigest()
        assert not list(folder.glob(f".*{ENDING}"))
    book = str(folder / "dpcli-ledger.sqlite")
    shown = subprocess.run(
        [sys.executable, "-m", "dpcli", "ledger", "history", "--json", "--ledger", book],
        capture_output=True, check=True,
    )  # fmt: skip
    ids = [entry["release_id"] for entry in json.loads(shown.stdout)]
    assert sorted(ids[1:]) == sorted(f"r{trial}" for trial in range(count))


@pytest.mark.extended
def test_a_few_kills(tmp_path: Path) -> None:
    """Each retry finds a charge and its responses, or neither."""
    trials(tmp_path, 4, 1)


@pytest.mark.slow
def test_many_kills(tmp_path: Path) -> None:
    """The same, two hundred times."""
    trials(tmp_path, 200, 2)
