"""Many releases at the same time on one account: exactly as many as it can pay for."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from dpcli.ledger.ledger import OpenLedger

SPEC = """\
dpcli: 1
dataset: town
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1}}
columns: {sex: {type: category, values: [f, m]}}
statistics: [{name: n, statistic: count, by: [sex], epsilon: EPSILON}]
"""


def contend(folder: Path, processes: int, epsilon: str) -> Counter[int]:
    """The statuses of a number of releases, all started at the same time without a ledger."""
    (folder / "spec.yaml").write_text(SPEC.replace("EPSILON", epsilon), encoding="utf-8")
    (folder / "data.csv").write_text("sex\nf\nm\n", encoding="utf-8")
    running = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "dpcli", "release", "spec.yaml", "data.csv", "-q"),
                *("-o", f"o{number}.csv", "--release-id", f"r{number}"),
            ],
            cwd=folder,
            stderr=subprocess.PIPE,
        )
        for number in range(processes)
    ]
    errors = [process.communicate()[1] for process in running]
    assert not any(b"Traceback" in text for text in errors)
    return Counter(process.returncode for process in running)


def paid(folder: Path) -> tuple[int, bool]:
    """The number of charged releases, and whether they spent the whole budget."""
    book = OpenLedger.open(folder / "dpcli-ledger.sqlite")
    terms = book.accounts()["town"]
    spent = book.balance(terms).spent
    charged = len(book.releases("town"))
    book.close()
    return charged, spent == terms.budget


@pytest.mark.extended
def test_a_few_at_once(tmp_path: Path) -> None:
    """Of seven releases at the same time, four are charged, and three are refused."""
    assert contend(tmp_path, 7, "0.25") == {0: 4, 5: 3}
    assert paid(tmp_path) == (4, True)
    assert len(list(tmp_path.glob("o*.csv"))) == 4


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
def test_sixty_four_at_once(tmp_path: Path, number: int) -> None:
    """Of sixty-four releases at the same time, exactly ten are charged, in any order."""
    assert contend(tmp_path, 64, "0.1") == {0: 10, 5: 54}
    assert paid(tmp_path) == (10, True)
    assert len(list(tmp_path.glob("o*.csv"))) == 10
