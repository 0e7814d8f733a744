"""A lost or restored ledger is charged for what published reports prove, and never for less."""

from __future__ import annotations

import datetime
import json
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dpcli import __version__
from tests.support.cli import Command, digits, dpcli
from tests.support.report_keys import version_1, without_version_3
from tests.support.rules import mostly_extended

__all__ = ["dpcli"]

SPEC = """\
dpcli: 1
dataset: {dataset}
privacy: {{unit: row, neighbors: add-remove, budget: {budget}, composition: {rule}}}
columns: {{age: {{type: integer, bounds: [0, 100]}}}}
statistics:
  - {{name: n, statistic: count, epsilon: {epsilon}}}
  - {{name: ages, statistic: mean, column: age, epsilon: 0.1{mechanism}}}
"""

RULES = ("sequential", "advanced", "zcdp", "pld")
LEDGER, ANCHOR = "dpcli-ledger.sqlite", "dpcli-ledger.sqlite.anchor"

Release = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of a person, with a data file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("age\n30\n50\n", "utf-8")
    return tmp_path


@pytest.fixture
def release(dpcli: Command, folder: Path) -> Release:
    """Make a release, and return its report."""
    count = 0

    def once(
        dataset: str = "town",
        epsilon: str = "0.2",
        rule: str = "zcdp",
        *words: str,
        gaussian: bool = False,
    ) -> Path:
        nonlocal count
        count += 1
        text = SPEC.format(
            dataset=dataset,
            epsilon=epsilon,
            rule=rule,
            budget="{epsilon: 9, delta: 1e-6}",
            # To calibrate Gaussian noise takes most of the time of a release.
            mechanism=", mechanism: gaussian, delta: 1e-9" * gaussian,
        )
        spec = folder / f"{dataset}.yaml"
        spec.write_text(text, "utf-8")
        outcome = dpcli("release", spec, "data.csv", "-q", "-o", f"{count}.csv",
                     "--release-id", f"r{count}", *words)  # fmt: skip
        assert outcome.status == 0, outcome.err
        return folder / f"{count}.report.json"

    return once


def balances(dpcli: Command) -> dict[str, Any]:
    """What every account has spent; reports do not state the files that accounts share."""
    balances = digits(dpcli("ledger", "show", "--json").out)
    return {account["dataset"]: account | {"shares_files_with": []} for account in balances}


def restore(folder: Path, backup: Path | None) -> None:
    """Put the ledger of the backup in place, or none."""
    (folder / LEDGER).unlink()
    if backup is not None:
        shutil.copy(backup, folder / LEDGER)


def edited(report: Path, change: Callable[[Any], None], version: str = "0.1.0") -> Path:
    """A changed copy of a report, by default of one of an earlier version."""
    facts = json.loads(report.read_text("utf-8"))
    facts["dpcli_version"] = version
    change(facts)
    copy = report.with_name(f"edited-{report.name}")
    copy.write_text(json.dumps(facts), "utf-8")
    return copy


def files(folder: Path) -> dict[str, bytes]:
    """The bytes of the ledger and its anchor."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob(f"{LEDGER}*"))}


@pytest.mark.parametrize("rule", mostly_extended(RULES, RULES[0]))
@pytest.mark.parametrize("kept", ["backup", "backup and its anchor", "anchor", "nothing"])
def test_all_that_was_spent_is_charged_again(
    dpcli: Command, folder: Path, release: Release, rule: str, kept: str
) -> None:
    """By every composition, the account has spent the same, and the ledger can be used."""
    release(rule=rule, gaussian=True)
    for name in (LEDGER, ANCHOR):
        shutil.copy(folder / name, folder / f"backup-{name}")
    reports = [release(epsilon=epsilon, rule=rule, gaussian=True) for epsilon in ("0.1", "0.3")]
    before = balances(dpcli)["town"]
    restore(folder, folder / f"backup-{LEDGER}" if "backup" in kept else None)
    if kept == "backup and its anchor":
        shutil.copy(folder / f"backup-{ANCHOR}", folder / ANCHOR)
    if kept == "nothing":
        (folder / ANCHOR).unlink()
    if "anchor" in kept or kept == "nothing":
        reports.insert(0, folder / "1.report.json")
    if kept == "backup":
        assert dpcli("plan", "town.yaml").status == 6
    done = dpcli("ledger", "recover", "--from", *reports)
    again = dpcli("ledger", "recover", "--from", *reports)

    assert (done.status, again.status) == (0, 0), done.err + again.err
    assert "nothing is missing" in again.out
    after = balances(dpcli)["town"]
    assert {key: after[key] for key in before} == before
    assert dpcli("ledger", "verify", "--against", *reports).status == 0
    release(epsilon="0.1", rule=rule, gaussian=True)
    assert dpcli("ledger", "verify").status == 0


def test_the_outputs_of_a_recovered_release_are_missing(
    dpcli: Command, folder: Path, release: Release
) -> None:
    """Export and a retry report it, and nothing is charged."""
    report = release()
    restore(folder, None)
    assert dpcli("ledger", "recover", "--from", report).status == 0
    before = files(folder)
    same = ["release", "town.yaml", "data.csv", "--release-id", "r1"]
    for words in (["ledger", "export", "r1"], same):
        refused = dpcli(*words)
        assert refused.status == 6
        assert "error[release-recovered]" in refused.err
    assert files(folder) == before


def test_missing_reports_are_refused_or_close_every_account(
    dpcli: Command, folder: Path, release: Release
) -> None:
    """An entry that the anchor records and no report proves always counts as a charge."""
    release()
    shutil.copy(folder / LEDGER, folder / "backup")
    reports = [release(), release("village"), release("village")]
    restore(folder, folder / "backup")
    before = files(folder)
    refused = dpcli("ledger", "recover", "--from", *reports[:-1])
    assert refused.status == 6 and "no report proves 1 of the entries" in refused.err
    assert files(folder) == before
    # Without any of its reports, the opening of the village is unproven too.
    assert "`--unproven 3`" in dpcli("ledger", "recover", "--from", reports[0]).err
    assert files(folder) == before
    closed = dpcli("ledger", "recover", "--from", reports[0], "--unproven", "3")
    assert closed.status == 0
    assert dpcli("ledger", "recover", "--from", reports[0]).status == 0
    assert balances(dpcli)["town"]["remaining_epsilon"] == "0"
    assert balances(dpcli)["town"]["closed"] is True
    assert dpcli("release", "town.yaml", "data.csv").status == 5
    assert "account-closed" in dpcli("plan", "town.yaml").err
    # The village may have spent any amount: no release may open it.
    assert "account-must-exist" in dpcli("release", "village.yaml", "data.csv").err


def test_a_missing_ledger_without_its_anchor_shows_gaps(
    dpcli: Command, folder: Path, release: Release
) -> None:
    """Numbers of entries that no report names are missing releases."""
    reports = [release(), release(), release()]
    for name in (LEDGER, ANCHOR):
        (folder / name).unlink()
    refused = dpcli("ledger", "recover", "--from", reports[0], reports[2])
    assert refused.status == 6 and "no report proves 1 of the entries" in refused.err
    assert not files(folder).get(LEDGER)
    outcome = dpcli("ledger", "recover", "--from", *reports)
    assert outcome.status == 0 and "no anchor showed" in outcome.err


def test_a_ledger_without_its_anchor_is_accepted_only_if_asked(
    dpcli: Command, folder: Path, release: Release
) -> None:
    """A missing anchor is not treated as one that agrees."""
    reports = [release(), release()]
    (folder / ANCHOR).unlink()
    assert "error[anchor-lost]" in dpcli("ledger", "recover", "--from", *reports).err
    assert dpcli("ledger", "recover", "--anchor-lost", "--from", *reports).status == 0
    assert dpcli("ledger", "verify").status == 0


def test_an_anchor_in_another_folder_is_found(
    dpcli: Command, folder: Path, release: Release
) -> None:
    """A lost ledger leaves a pointer to its anchor; if that is lost too, an option says so."""
    (folder / "safe").mkdir()
    assert dpcli("ledger", "init", LEDGER, "--anchor", "safe/anchor").status == 0
    reports = [release(), release()]
    (folder / LEDGER).unlink()
    assert (
        "no report proves 1 of the entries" in dpcli("ledger", "recover", "--from", reports[0]).err
    )
    (folder / "safe" / "anchor").rename(folder / "hidden")
    refused = dpcli("ledger", "recover", "--from", *reports)
    assert "error[anchor-lost]" in refused.err and not (folder / LEDGER).exists()
    (folder / "hidden").rename(folder / "safe" / "anchor")
    assert dpcli("ledger", "recover", "--from", *reports).status == 0
    (folder / LEDGER).unlink()
    (folder / "safe" / "anchor").unlink()
    assert dpcli("ledger", "recover", "--anchor-lost", "--from", *reports).status == 0
    assert dpcli("ledger", "verify").status == 0


def lower(facts: Any) -> None:
    """Less epsilon everywhere, except in the text of the spec."""
    facts["statistics"][0]["epsilon"] = facts["statistics"][0]["queries"][0]["epsilon"] = 0.01
    facts["privacy"]["requested"]["epsilon"] = facts["privacy"]["spent"]["epsilon"] = 0.11


CHANGES: dict[str, tuple[Callable[[Any], None], str]] = {
    "the spec": (
        lambda facts: facts["spec"].update(text=facts["spec"]["text"].replace("0.2", "0.1")),
        "report-changed",
    ),
    "the sum": (lambda facts: facts["privacy"]["requested"].update(epsilon=0.01), "report-changed"),
    "the account": (
        lambda facts: facts["ledger"].update(
            window={"periods": 7, "period": "2026-01-01"}
        ),
        "report-disagrees",
    ),
    "the id": (lambda facts: facts.update(release_id="r1"), "report-disagrees"),
    "whether it is the first": (
        lambda facts: facts["ledger"].update(first_release=True), "report-disagrees"
    ),
    "what was spent before": (
        lambda facts: facts["privacy"]["before"].update(epsilon=5), "report-disagrees"
    ),
    "no entry": (lambda facts: facts["ledger"].pop("entry"), "not-a-report"),
    "no number": (lambda facts: facts["privacy"]["requested"].update(epsilon="x"), "not-a-report"),
    "below zero": (lambda facts: facts["privacy"]["requested"].update(epsilon=-1), "not-a-report"),
    "an exponent": (
        lambda facts: facts["privacy"]["requested"].update(epsilon=1e300), "not-a-report"
    ),
    "another head": (lambda facts: facts["ledger"].update(head="x"), "not-a-report"),
    "a huge entry": (lambda facts: facts["ledger"].update(entry=10**15), "releases-unproven"),
}  # fmt: skip
"""What may be changed in a report, and what it is refused for."""


def test_a_changed_report_is_refused(dpcli: Command, folder: Path, release: Release) -> None:
    """The code names the fault, and the ledger is not changed."""
    release(gaussian=True)
    shutil.copy(folder / LEDGER, folder / "backup")
    report = release(gaussian=True)
    restore(folder, folder / "backup")
    before = files(folder)
    for change, (how, code) in CHANGES.items():
        refused = dpcli("ledger", "recover", "--from", edited(report, how))
        assert f"error[{code}]" in refused.err, (change, refused.err)
        assert files(folder) == before, change


def test_a_report_of_this_version_states_what_its_spec_gives(
    dpcli: Command, folder: Path, release: Release
) -> None:
    """Numbers that differ from the plan of this version were changed, and are refused."""
    report = release()
    restore(folder, None)
    changed = edited(report, lambda facts: facts.update(statistics=[]), __version__)
    refused = dpcli("ledger", "recover", "--from", changed)

    assert refused.status == 6
    assert "error[report-changed]" in refused.err


def test_a_report_that_says_less_than_its_spec_is_charged_by_the_spec(
    dpcli: Command, folder: Path, release: Release
) -> None:
    """If plan and report differ, the greater sum is charged: epsilon 0.3, not 0.11."""
    report = release(rule="sequential")
    restore(folder, None)
    done = dpcli("ledger", "recover", "--from", edited(report, lower), "--json")
    assert json.loads(done.out)["recovered"][0]["exact"] is False
    assert balances(dpcli)["town"]["spent_epsilon"] == "0.3"


@pytest.mark.parametrize("rule", RULES)
def test_what_this_version_plans_otherwise_costs_no_less(
    dpcli: Command, folder: Path, release: Release, rule: str
) -> None:
    """A report with other noise is charged the plain sum: by no composition less epsilon."""
    report = release(rule=rule, gaussian=True)
    before = balances(dpcli)["town"]
    restore(folder, None)

    def other(facts: Any) -> None:
        facts["statistics"][1]["queries"][0]["mechanism"]["scale"] = 12345

    done = dpcli("ledger", "recover", "--from", edited(report, other), "--json")
    assert json.loads(done.out)["recovered"][0]["exact"] is False
    after = balances(dpcli)["town"]
    # The optimal bound of `advanced` is a little less than the plain sum, at a greater delta.
    least = float(before["spent_epsilon"]) * (1 - 1e-5)
    assert float(after["spent_epsilon"]) >= least
    # Other compositions spend the delta of the budget on a smaller epsilon, where that pays.
    assert rule != "sequential" or after["spent_delta"] == before["spent_delta"]


@pytest.mark.parametrize("rule", RULES)
def test_a_report_with_keys_of_version_1_proves_the_same(
    dpcli: Command, folder: Path, release: Release, rule: str
) -> None:
    """Its events are those of the lost entry, and the account has spent the same."""
    report = release(rule=rule, gaussian=True)
    before = balances(dpcli)["town"]
    restore(folder, None)
    former = version_1(without_version_3(report.read_text("utf-8")))
    report.write_text(former, "utf-8")
    done = dpcli("ledger", "recover", "--from", report, "--json")

    assert '"hazards"' in former and "report_version" not in former
    assert json.loads(done.out)["recovered"][0]["exact"] is True
    assert balances(dpcli)["town"] == before


def test_reports_of_another_ledger_are_refused(
    dpcli: Command, folder: Path, release: Release
) -> None:
    """Their account of the same name is on other terms, or their entries lack what came before."""
    ours = release()
    (folder / "other").mkdir()
    for name in (LEDGER, ANCHOR):
        (folder / name).rename(folder / "other" / name)
    theirs = [release(rule="sequential"), release("village", rule="sequential")]
    for name in (LEDGER, ANCHOR):
        shutil.move(folder / "other" / name, folder / name)
    refused = dpcli("ledger", "recover", "--from", ours, theirs[0])
    assert refused.status == 6 and "another composition" in refused.err
    both = dpcli("ledger", "recover", "--ledger", "new.sqlite", "--from", ours, *theirs)
    assert both.status == 6 and "another composition" in both.err
    assert not (folder / "new.sqlite").exists()


WAYS = ("the ledger", "a copy of the backup", "no ledger")
"""What a person has of the ledger that was restored."""


def fork(folder: Path, release: Release, same_id: bool, dataset: str = "town") -> list[Path]:
    """Two releases, a restored backup of what was before, and another release; all reports."""
    reports = [release()]
    for name in (LEDGER, ANCHOR):
        shutil.copy(folder / name, folder / f"backup-{name}")
    reports += [release(dataset, "0.1"), release(dataset, "0.3")]
    for name in (LEDGER, ANCHOR):
        shutil.copy(folder / f"backup-{name}", folder / name)
    words = ("--release-id", "r2") if same_id else ()
    return [*reports, release(dataset, "0.4", "zcdp", *words)]


@pytest.mark.parametrize(
    ("way", "dataset", "same_id"),
    mostly_extended(
        product(WAYS, ("town", "village"), (False, True)),
        (WAYS[0], "town", True),
        (WAYS[1], "village", True),
        (WAYS[2], "village", False),
        (WAYS[1], "town", False),
        unpack=True,
    ),
)
def test_both_histories_of_a_restored_ledger_are_charged(
    way: str, dataset: str, same_id: bool, dpcli: Command, folder: Path, release: Release
) -> None:
    """Whichever copy is recovered, the releases before and after the restoration are charged."""
    reports = fork(folder, release, same_id, dataset)
    if way == "a copy of the backup":
        for name in (LEDGER, ANCHOR):
            shutil.copy(folder / f"backup-{name}", folder / name)
    if way == "no ledger":
        for name in (LEDGER, ANCHOR):
            (folder / name).unlink()
    done = dpcli("ledger", "recover", "--json", "--from", *reports)
    assert done.status == 0, done.err
    assert json.loads(done.out)["forked"]
    kept = files(folder)
    again = dpcli("ledger", "recover", "--from", *reports)
    assert again.status == 0 and "nothing is missing" in again.out
    assert files(folder) == kept
    assert dpcli("ledger", "verify", "--against", *reports).status == 0
    history = json.loads(dpcli("ledger", "history", "--json").out)
    losses = sorted(float(entry["epsilon"]) for entry in history)
    assert losses == sorted(alone(report) for report in reports)
    release(dataset, "0.1")
    assert dpcli("ledger", "verify").status == 0


def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows is a second or more after what was before."""
    now = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=2)
    monkeypatch.setattr("dpcli.ledger.charge.now", lambda: f"{now:%Y-%m-%dT%H:%M:%SZ}")


def alone(report: Path) -> float:
    """The epsilon of a release by itself, as its report states it."""
    return float(json.loads(report.read_text("utf-8"))["privacy"]["spent"]["epsilon"])


def two_histories(
    folder: Path, release: Release, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[Path], list[Path]]:
    """A release, and two more with the ledger and two with a restored copy of it; their reports.

    The copy was restored a second later, and its releases cost more.
    """
    release()
    for name in (LEDGER, ANCHOR):
        shutil.copy(folder / name, folder / f"backup-{name}")
    first = [release(epsilon=epsilon) for epsilon in ("0.1", "0.2")]
    for name in (LEDGER, ANCHOR):
        shutil.copy(folder / f"backup-{name}", folder / name)
    later(monkeypatch)
    second = [release(epsilon=epsilon) for epsilon in ("0.3", "0.4")]
    return first, second


@pytest.mark.parametrize("kept", ["backup", None], ids=["a copy", "no ledger"])
def test_both_histories_are_charged_if_an_anchor_remembers_one(
    kept: str | None,
    dpcli: Command,
    folder: Path,
    release: Release,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two reports name each lost entry; all reports prove all that is missing."""
    first, second = two_histories(folder, release, monkeypatch)
    reports = [folder / "1.report.json", *first, *second]
    restore(folder, folder / f"backup-{LEDGER}" if kept else None)
    kept_files = files(folder)
    refused = dpcli("ledger", "recover", "--from", *reports[:-1])
    assert refused.status == 6 and "no report proves 1 of the entries" in refused.err
    assert files(folder) == kept_files
    assert dpcli("ledger", "recover", "--from", *reports).status == 0
    assert dpcli("ledger", "verify", "--against", *reports).status == 0
    assert len(json.loads(dpcli("ledger", "history", "--json").out)) == len(reports)
    assert not balances(dpcli)["town"]["closed"]


def test_a_report_of_another_history_proves_no_lost_entry(
    dpcli: Command, folder: Path, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the number of a lost entry, but it was made before the entry that precedes that."""
    release()
    for name in (LEDGER, ANCHOR):
        shutil.copy(folder / name, folder / f"backup-{name}")
    other = [release(epsilon=epsilon) for epsilon in ("0.1", "0.2")]
    for name in (LEDGER, ANCHOR):
        shutil.copy(folder / f"backup-{name}", folder / name)
    later(monkeypatch)
    release(epsilon="0.3")
    shutil.copy(folder / LEDGER, folder / "copy")
    last = release(epsilon="0.4")
    restore(folder, folder / "copy")
    refused = dpcli("ledger", "recover", "--from", *other)
    assert refused.status == 6 and "no report proves 1 of the entries" in refused.err
    assert dpcli("ledger", "recover", "--from", *other, last).status == 0
    assert len(json.loads(dpcli("ledger", "history", "--json").out)) == 5


def test_a_lost_report_of_another_history_closes_the_accounts(
    dpcli: Command, folder: Path, release: Release
) -> None:
    """An entry between those of the other history that no report proves is not forgotten."""
    release()
    for name in (LEDGER, ANCHOR):
        shutil.copy(folder / name, folder / f"backup-{name}")
    old = [release(epsilon=epsilon) for epsilon in ("0.1", "0.2", "0.3")]
    for name in (LEDGER, ANCHOR):
        shutil.copy(folder / f"backup-{name}", folder / name)
    release(epsilon="0.4")
    before = files(folder)
    words = ("ledger", "recover", "--from", old[0], old[2])
    refused = dpcli(*words)
    assert refused.status == 6 and "no report proves 1 of the entries" in refused.err
    assert files(folder) == before
    assert dpcli(*words, "--unproven", "1").status == 0
    assert "account-closed" in dpcli("release", "town.yaml", "data.csv").err


def test_a_crash_before_the_anchor_is_written_is_repaired(
    dpcli: Command, folder: Path, release: Release
) -> None:
    """The ledger agrees with its old anchor, and the next command updates it."""
    release()
    shutil.copy(folder / LEDGER, folder / "backup")
    report = release()
    anchor = (folder / ANCHOR).read_bytes()
    restore(folder, folder / "backup")
    assert dpcli("ledger", "recover", "--from", report).status == 0
    (folder / ANCHOR).write_bytes(anchor)
    assert dpcli("ledger", "verify").status == 0
    release()
    assert dpcli("ledger", "verify").status == 0
    # An older copy is still detected: the anchor was updated.
    shutil.copy(folder / "backup", folder / LEDGER)
    assert dpcli("plan", "town.yaml").status == 6


def test_a_changed_ledger_is_not_recovered(dpcli: Command, folder: Path, release: Release) -> None:
    """Recovery extends a ledger, and changes no recorded entry."""
    report = release()
    content = (folder / LEDGER).read_bytes()
    (folder / LEDGER).write_bytes(content.replace(b"r1", b"r9"))
    refused = dpcli("ledger", "recover", "--from", report)
    assert refused.status == 6 and "ledger-in-doubt" in refused.err


def test_windows_and_local_collections_are_recovered(
    dpcli: Command, folder: Path, release: Release
) -> None:
    """A release counts on the day that its report names, a collection like its responses."""
    opened = ["ledger", "open", "town", "--epsilon", "9", "--delta", "1e-6", "--window", "3",
              "--composition", "zcdp"]  # fmt: skip
    assert dpcli(*opened).status == 0
    reports = [release("town", "0.2", "zcdp", "--period", f"2026-03-0{day}") for day in (1, 5)]
    spec = folder / "local.yaml"
    spec.write_text(
        "dpcli: 1\nmodel: local\ndataset: survey\n"
        "privacy: {unit: row, neighbors: change-one, budget: {epsilon: 3}}\n"
        "columns: {age: {type: integer, bounds: [0, 100], missing: 40}}\n"
        "responses: [{column: age, mechanism: laplace, epsilon: 1}]\n",
        "utf-8",
    )
    words = ["local", "randomize", spec, "data.csv", "-q", "-o", "l.csv", "--release-id", "l"]
    assert dpcli(*words).status == 0
    before = balances(dpcli)
    for name in (LEDGER, ANCHOR):
        (folder / name).unlink()
    assert dpcli("ledger", "recover", "--from", *reports, "l.report.json").status == 0
    after = balances(dpcli)
    assert after == before and after["town"]["closed"] is False
    refused = dpcli("local", "randomize", spec, "data.csv", "--release-id", "l")
    assert "release-recovered" in refused.err


@pytest.mark.parametrize("seed", mostly_extended(range(12), 0, 1, 2))
def test_no_recovery_lowers_what_was_spent(
    dpcli: Command, folder: Path, release: Release, seed: int
) -> None:
    """For any remainder of ledger and reports: as much spent as before, closed, or refused."""
    random = Random(seed)
    count, at = random.randint(2, 5), random.randint(1, 4)
    reports = []
    for number in range(count):
        reports.append(release(random.choice(["town", "village"]), random.choice(["0.1", "0.2"])))
        if number + 1 == at:
            shutil.copy(folder / LEDGER, folder / "backup")
    before = balances(dpcli)
    backup = folder / "backup"
    restore(folder, backup if backup.exists() and random.random() < 0.7 else None)
    named = [report for report in reports if random.random() < 0.8]
    extra = ["--unproven", "20"] if random.random() < 0.5 else []
    done = dpcli("ledger", "recover", *extra, "--from", *(named or reports[:1]))
    if done.status:
        assert dpcli("plan", "town.yaml" if "town" in before else "village.yaml").status == 6
        return
    after = balances(dpcli)
    for dataset, account in before.items():
        if dataset not in after:
            assert "account-must-exist" in dpcli("plan", f"{dataset}.yaml").err
        elif after[dataset]["remaining_epsilon"] != "0":
            assert float(after[dataset]["spent_rho"]) >= float(account["spent_rho"])


@pytest.mark.parametrize("rows", [2, 500])
def test_releases_with_a_quality_check_are_charged_again_as_they_were(
    dpcli: Command, folder: Path, rows: int
) -> None:
    """A release that its check stopped costs the check alone again; a passed one costs all."""
    text = SPEC.format(
        dataset="town", epsilon="0.2", rule="zcdp", budget="{epsilon: 9, delta: 1e-6}", mechanism=""
    ).replace("columns:", "quality: {epsilon: 1, min_rows: 200}\ncolumns:")
    (folder / "town.yaml").write_text(text, "utf-8")
    (folder / "data.csv").write_text("age\n" + "30\n" * rows, "utf-8")
    status = 8 if rows == 2 else 0
    assert dpcli("release", "town.yaml", "data.csv", "-q", "-o", "t.csv").status == status
    before = balances(dpcli)["town"]
    restore(folder, None)
    done = dpcli("ledger", "recover", "--from", "t.report.json", "--json")

    assert done.status == 0, done.err
    assert [one["exact"] for one in json.loads(done.out)["recovered"]] == [True]
    after = balances(dpcli)["town"]
    assert {key: after[key] for key in before} == before
