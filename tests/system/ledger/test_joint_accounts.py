"""Accounts of several datasets, recipients and windows, as commands and specs use them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from dpcli.ledger import forecast
from dpcli.ledger.balance import period_number
from tests.support.cli import Command, digits

SPEC = """\
dpcli: 1
dataset: DATASET
privacy: {unit: row, neighbors: add-remove, budget: BUDGET}
quality: none
columns: {sex: {type: category, values: [f, m]}}
statistics: [{name: n, statistic: count, by: [sex], epsilon: 0.25}]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with two specs of one population and a data file."""
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("sex\nf\nm\n", "utf-8")
    for dataset in ("visits", "taxes"):
        spec(dataset, "{epsilon: 2}", "part_of: population\n")
    return tmp_path


def spec(dataset: str, budget: str, more: str = "") -> None:
    """Write the spec of a dataset."""
    text = SPEC.replace("DATASET", dataset).replace("BUDGET", budget)
    Path(f"{dataset}.yaml").write_text(text + more, "utf-8")


def release(dpcli: Command, dataset: str, release_id: str, *words: str) -> Any:
    """Make a release of a dataset."""
    named = ("-o", f"{dataset}-{release_id}.csv", "--release-id", release_id, "-q")
    return dpcli("release", f"{dataset}.yaml", "data.csv", *named, *words)


def accounts(dpcli: Command, *words: str) -> dict[str, Any]:
    """All accounts, by dataset."""
    return {each["dataset"]: each for each in digits(dpcli("ledger", "show", "--json", *words).out)}


def test_two_datasets_share_a_population(dpcli: Command, folder: Path) -> None:
    """Plan, release, show and report state both accounts; shared files are no warning there."""
    first = release(dpcli, "visits", "a")
    assert first.status == 6 and "`dpcli ledger open population --epsilon 2" in first.err
    assert "account-must-exist" in dpcli("plan", "visits.yaml").err
    dpcli("ledger", "open", "population", "--epsilon", "0.8").succeeded()
    planned = dpcli("plan", "visits.yaml", "--times", "5")
    assert planned.status == 5 and "3 fit" in planned.out
    assert "the account `population`: epsilon 0.8 left before this release, epsilon 0.55" in (
        planned.out
    )
    release(dpcli, "visits", "a").succeeded()
    done = release(dpcli, "taxes", "a", "--report", "r.md")
    assert "no budget bounds the sum" not in done.succeeded().err
    text = Path("r.md").read_text("utf-8")
    assert "parts add up" in text and "0.5 spent of epsilon 0.8" in text.replace("`", "")
    release(dpcli, "taxes", "b").succeeded()
    for dataset in ("visits", "taxes"):
        refused = dpcli("plan", f"{dataset}.yaml")
        assert refused.status == 5 and "the account `population` has epsilon 0.05" in refused.err
        assert release(dpcli, dataset, "c").status == 5
    shown = accounts(dpcli, "--spec", "visits.yaml")
    assert (shown["visits"]["more_runs"], shown["visits"]["part_of"]) == ("0", "population")
    shown = accounts(dpcli)
    spent = {name: account["spent_epsilon"] for name, account in shown.items()}
    assert spent == {"population": "0.75", "visits": "0.25", "taxes": "0.5"}
    assert "a part of the account population" in dpcli("ledger", "show").out
    assert "part of the account population" in dpcli("ledger", "show", "--html").out
    dpcli("ledger", "verify").succeeded()


def test_a_population_is_recovered_from_the_reports_of_its_parts(
    dpcli: Command, folder: Path
) -> None:
    """All accounts have their terms again, with recipients and windows, and are charged."""
    words = ("--epsilon", "1.5", "--window", "9", "--recipient", "ministry=1")
    dpcli("ledger", "open", "population", *words).succeeded()
    budget = "{epsilon: 2, recipients: {ministry: 0.75, press: 0.5}}"
    spec("visits", budget, "part_of: population\n")
    day = ("--period", "2026-11-20")
    release(dpcli, "visits", "a", "--recipient", "ministry", *day).succeeded()
    dpcli("ledger", "open", "taxes", "--epsilon", "2", "--part-of", "population").succeeded()
    release(dpcli, "taxes", "a", *day).succeeded()
    release(dpcli, "visits", "b", *day).succeeded()
    before = accounts(dpcli)
    shutil.rmtree(folder / "lost", ignore_errors=True)
    for file in folder.glob("dpcli-ledger*"):
        file.unlink()
    reports = sorted(folder.glob("*.report.json"))
    dpcli("ledger", "recover", "--from", *reports).succeeded()
    after = accounts(dpcli)
    different = {"shares_files_with"}
    for name, account in before.items():
        same = {key: value for key, value in account.items() if key not in different}
        assert {key: after[name][key] for key in same} == same
    dpcli("ledger", "verify", "--against", *reports).succeeded()
    assert "nothing is missing" in dpcli("ledger", "recover", "--from", *reports).out


def test_a_spec_opens_an_account_with_its_window(dpcli: Command, folder: Path) -> None:
    """A new machine has the same window; another window than that of the account is an error."""
    spec("nightly", "{epsilon: 0.75, window: 3}")
    assert "period-required" in release(dpcli, "nightly", "a").err
    assert "period-required" in dpcli("plan", "nightly.yaml").err
    planned = dpcli("plan", "nightly.yaml", "--times", "365", "--period", "2026-11-01")
    assert "at least 1,000,000 fit" in planned.succeeded().out
    future = release(dpcli, "nightly", "a", "--period", "2126-11-01")
    assert future.status == 6 and "period-unlikely" in future.err
    for day in range(1, 7):
        release(dpcli, "nightly", f"d{day}", "--period", f"2026-11-0{day}").succeeded()
    assert accounts(dpcli)["nightly"]["window"] == "3"
    assert release(dpcli, "nightly", "again", "--period", "2026-11-06").status == 5
    for budget, said in (("{epsilon: 0.75, window: 4}", "4"), ("{epsilon: 0.75}", None)):
        spec("nightly", budget)
        planned = dpcli("plan", "nightly.yaml", "--period", "2026-11-07")
        assert planned.status == (6 if said else 0)
        assert ("its window is 3, the spec says 4" in planned.err) is bool(said)
    dpcli("ledger", "open", "forever", "--epsilon", "0.75").succeeded()
    spec("forever", "{epsilon: 0.75, window: 3}")
    refused = release(dpcli, "forever", "a", "--period", "2026-11-01")
    assert refused.status == 6 and "its window is none, the spec says 3" in refused.err
    dpcli("ledger", "open", "named", "--epsilon", "0.75", "--window", "3").succeeded()
    spec("named", "{epsilon: 0.75, window: 3}")
    release(dpcli, "named", "a", "--period", "2026-11-01").succeeded()


def test_recipients_are_shown_beside_the_whole(dpcli: Command, folder: Path) -> None:
    """The loss to each is stated, and that all together are bounded, as they may share."""
    spec("visits", "{epsilon: 2, recipients: {ministry: 0.5, press: 1}}", "recipient: press\n")
    differs = release(dpcli, "visits", "a", "--recipient", "ministry")
    assert differs.status == 2 and "`recipient: press` of the spec" in differs.err
    release(dpcli, "visits", "a", "--report", "r.html").succeeded()
    assert "Recipients may share what they get" in Path("r.html").read_text("utf-8")
    spec("visits", "{epsilon: 2, recipients: {ministry: 0.5, press: 1}}")
    release(dpcli, "visits", "b").succeeded()
    release(dpcli, "visits", "c", "--recipient", "ministry").succeeded()
    assert release(dpcli, "visits", "d", "--recipient", "ministry").status == 5
    shown = dpcli("ledger", "show").out
    assert "what ministry gets has spent epsilon 0.5, epsilon 0 left" in shown
    assert "what press gets has spent epsilon 0.5, epsilon 0.5 left" in shown
    assert "may share what they get: the budget of the account bounds all together" in shown
    (account,) = accounts(dpcli).values()
    assert account["spent_epsilon"] == "0.75"
    assert [each["remaining"]["epsilon"] for each in account["recipients"]] == ["0", "0.5"]
    assert "ministry" in dpcli("ledger", "history").out
    spec("visits", "{epsilon: 2, recipients: {ministry: 2}}")
    assert "its recipients is ministry 0.5, press 1" in release(dpcli, "visits", "e").err


@pytest.mark.parametrize("given", ["ministry", "ministry=x", "=1", "ministry=0", "a b=1"])
def test_wrong_recipients_are_refused(dpcli: Command, folder: Path, given: str) -> None:
    """A recipient has a plain name and a budget."""
    refused = dpcli("ledger", "open", "visits", "--epsilon", "1", "--recipient", given)
    assert refused.status == 2 and not list(folder.glob("*.sqlite"))


def test_a_release_warns_of_what_is_left(dpcli: Command, folder: Path) -> None:
    """On standard error and in the JSON, for each budget with less than the share, and charged."""
    dpcli("ledger", "open", "population", "--epsilon", "1").succeeded()
    spec("visits", "{epsilon: 10, warn_below: 0.5}", "part_of: population\n")
    for number, warned in enumerate((False, False, True)):
        done = release(dpcli, "visits", f"r{number}", "--json").succeeded()
        text = "the account `population` has epsilon 0.25 left of epsilon 1, less than"
        assert (text in done.err, text in str(done.json["warnings"])) == (warned, warned)
        assert "the account `visits`" not in "".join(done.json["warnings"])
    assert "`population` has" not in release(dpcli, "visits", "r2", "--force").succeeded().err


def test_the_day_on_which_a_budget_ends_is_stated(
    dpcli: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Releases of the last 30 days are repeated until one does not fit, by its day."""
    spec("visits", "{epsilon: 2}")
    days = {name: period_number(name) for name in ("2026-11-01", "2026-11-11", "2026-11-21")}
    for number, name in enumerate(days):
        monkeypatch.setattr("dpcli.ledger.charge.now", lambda name=name: f"{name}T04:00:00Z")
        release(dpcli, "visits", f"r{number}").succeeded()
    for today, (spent, year), ends in (
        # Eight fit: three repeat every 25 days, the ninth on 10 January.
        ("2026-11-25", ("0.75", "0.75"), "2027-01-10"),
        ("2026-12-05", ("0.5", "0.75"), "2027-02-19"),
        ("2026-12-15", ("0.25", "0.75"), None),
        ("2027-11-05", ("0", "0.5"), None),
    ):
        monkeypatch.setattr(forecast, "today", lambda today=today: period_number(today))
        timeline = accounts(dpcli)["visits"]["timeline"]
        assert timeline["last_30_days"]["epsilon"] == spent
        assert timeline["last_365_days"]["epsilon"] == year
        assert timeline["ends"] == ends
        shown = dpcli("ledger", "show").out
        assert f"spent in the last 30 days: epsilon {spent}" in shown
        assert ("the budget ends on" in shown) is bool(ends)
