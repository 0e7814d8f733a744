"""`ledger show --fail-below`: a job notices that a budget is nearly used up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Command, written

SPEC = """\
dpcli: 1
dataset: DATASET
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 4, delta: DELTA}}
quality: none
columns: {sex: {type: category, values: [f, m]}}
statistics: [{name: n, statistic: count, by: [sex], epsilon: EPSILON}]
"""


def spend(dpcli: Command, folder: Path, dataset: str, epsilon: str) -> None:
    """Make a release, which opens the account."""
    text = SPEC.replace("DATASET", dataset).replace("EPSILON", epsilon).replace("DELTA", "0")
    spec, data = written(folder, text)[0], folder / "data.csv"
    data.write_text("sex\nf\nm\n", encoding="utf-8")
    dpcli("release", spec, data, "-q", "-o", folder / "out.csv", "--force").succeeded()


@pytest.mark.parametrize(("share", "status"), [("10%", 0), ("0.25", 0), ("26%", 5), ("1", 5)])
def test_an_account_with_too_little_left_is_named(
    dpcli: Command, tmp_path: Path, share: str, status: int
) -> None:
    """The table is printed either way; exactly the share is enough."""
    spend(dpcli, tmp_path, "full", "0.5")
    spend(dpcli, tmp_path, "spent", "3")
    words = ("ledger", "show", "--ledger", tmp_path / "dpcli-ledger.sqlite", "--fail-below", share)
    done = dpcli(*words)
    assert done.status == status
    assert "full" in done.out and "spent" in done.out
    assert ("the account `spent` has epsilon 1 left" in done.err) is (status == 5)
    assert ("the account `full`" in done.err) is (share == "1")
    assert dpcli(*words, "--json").status == status


def test_a_budget_in_rho_counts_as_well(dpcli: Command, tmp_path: Path) -> None:
    """Where rho is nearly used up, much of the epsilon that follows from it may be left."""
    text = SPEC.replace("DATASET", "rho").replace("epsilon: EPSILON", "rho: 0.095")
    text = text.replace("{epsilon: 4, delta: DELTA}", "{rho: 0.1, delta: 1e-6}, composition: zcdp")
    spec, data = written(tmp_path, text)[0], tmp_path / "data.csv"
    data.write_text("sex\nf\nm\n", encoding="utf-8")
    dpcli("release", spec, data, "-q").succeeded()
    words = ("ledger", "show", "--ledger", tmp_path / "dpcli-ledger.sqlite", "--fail-below")
    done = dpcli(*words, "10%")
    assert done.status == 5 and "the account `rho` has rho 0.005" in done.err
    assert dpcli(*words, "5%").status == 0
    (account,) = dpcli(*words, "5%", "--json").succeeded().json
    assert (account["rho"], account["remaining_rho"] < 0.0051) == (0.1, True)


@pytest.mark.parametrize("share", ["ten", "0", "101%", "-1", ""])
def test_other_shares_are_refused(dpcli: Command, tmp_path: Path, share: str) -> None:
    """A share is above zero, and at most the whole budget."""
    spend(dpcli, tmp_path, "full", "1")
    path = tmp_path / "dpcli-ledger.sqlite"
    done = dpcli("ledger", "show", "--ledger", path, "--fail-below", share)
    assert done.status == 2 and "error[bad-option]: `--fail-below` is " in done.err
    assert "write `--fail-below 10%`" in done.err


def test_an_export_names_what_it_wrote(dpcli: Command, tmp_path: Path) -> None:
    """Unless it is to be quiet."""
    spend(dpcli, tmp_path, "full", "1")
    ledger = ["--ledger", tmp_path / "dpcli-ledger.sqlite"]
    (release,) = dpcli("ledger", "history", *ledger, "--json").json
    words = ["ledger", "export", release["release_id"], *ledger]
    words += ["-o", tmp_path / "again.csv", "--force"]
    assert "again.csv" in dpcli(*words).succeeded().err
    assert dpcli(*words, "-q").succeeded().err == ""
