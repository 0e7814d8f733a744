"""Many releases at the same time: exactly as many as an account and its parent can pay for."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from dpcli.ledger.balance import AccountTerms
from dpcli.ledger.ledger import OpenLedger, create_ledger
from dpcli.privacy.loss import Loss
from tests.support.fork_server import fast_dpcli

SPEC = """\
dpcli: 1
dataset: town
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1}}
columns: {sex: {type: category, values: [f, m]}}
statistics: [{name: n, statistic: count, by: [sex], epsilon: EPSILON}]
"""


PARTS = ("visits", "taxes")
"""Datasets of one population."""


def contend(
    folder: Path, processes: int, epsilon: str, datasets: Sequence[str] = ("town",)
) -> Counter[int]:
    """The statuses of a number of releases of each dataset, all started at the same time."""
    joint = "part_of: population\n" if len(datasets) > 1 else ""
    for dataset in datasets:
        text = SPEC.replace("EPSILON", epsilon).replace("town", dataset)
        (folder / f"{dataset}.yaml").write_text(text + joint, encoding="utf-8")
    (folder / "data.csv").write_text("sex\nf\nm\n", encoding="utf-8")
    running = [
        subprocess.Popen(
            [
                *(fast_dpcli(), "release", f"{dataset}.yaml", "data.csv", "-q"),
                *("-o", f"o{dataset}{number}.csv", "--release-id", f"r{number}"),
            ],
            cwd=folder,
            stderr=subprocess.PIPE,
        )
        for number in range(processes)
        for dataset in datasets
    ]
    errors = [process.communicate()[1] for process in running]
    assert not any(b"Traceback" in text for text in errors)
    return Counter(process.returncode for process in running)


def paid(folder: Path, account: str = "town") -> tuple[int, bool]:
    """The number of charged releases, and whether they spent the whole budget."""
    with closing(OpenLedger.open(folder / "dpcli-ledger.sqlite")) as book:
        terms = book.accounts()[account]
        assert not book.all_faults()
        return len(book.charged(account)), book.balance(terms).spent == terms.budget


def contend_for_a_population(folder: Path, each: int, fit: int) -> None:
    """Contending releases of two datasets of a population that can pay for `fit` of them."""
    with closing(create_ledger(folder / "dpcli-ledger.sqlite")) as book:
        budget = Loss(Fraction(fit, 16))
        terms = AccountTerms("population", "row", "add-remove", "sequential", budget)
        book.open_account(terms, "2027-01-01T00:00:00Z")
    assert contend(folder, each, "0.0625", PARTS) == {0: fit, 5: 2 * each - fit}
    assert paid(folder, "population") == (fit, True)
    assert len(list(folder.glob("o*.csv"))) == fit


def test_two_datasets_contend_for_their_population(tmp_path: Path) -> None:
    """Of six releases of two datasets at the same time, exactly those that fit both are charged."""
    contend_for_a_population(tmp_path, 3, 2)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
def test_sixteen_of_each_contend_for_their_population(tmp_path: Path, number: int) -> None:
    """Of sixteen releases of each dataset, the parent's budget is spent exactly, never more."""
    contend_for_a_population(tmp_path, 16, 5 + number % 8)


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
