"""`dpcli ledger`, as a person or a cron job uses it."""

from __future__ import annotations

import datetime
import json
import os
import re
import resource
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from dpcli.ledger.ledger import OpenLedger
from dpcli.version import this_build
from tests.support.cli import Command, data, digits, dpcli, edit, remove_ledger, reported, spec
from tests.support.rules import mostly_extended

__all__ = ["data", "dpcli", "spec"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of a person."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_retry_publishes_the_same_bytes_for_any_data(
    dpcli: Command, folder: Path, spec: Path, data: Path
) -> None:
    """The same id is free and byte-identical, even if the data changed or are missing."""
    first = dpcli("release", spec, data, "-o", "a.csv", "--release-id", "night")
    data.unlink()
    again = dpcli("release", spec, data, "-o", "b.csv", "--release-id", "night")

    assert first.status == again.status == 0
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()
    assert (folder / "a.report.json").read_bytes() == (folder / "b.report.json").read_bytes()
    assert "nothing charged" in again.err


def test_a_repeated_release_and_an_export_show_the_numbers_again(
    dpcli: Command, folder: Path, spec: Path, data: Path
) -> None:
    """Who lost the first summary sees the same table, without a balance; never under `-q`."""
    first = dpcli("release", spec, data, "-o", "a.csv", "--release-id", "night").succeeded().err
    again = dpcli("release", spec, data, "-o", "a.csv", "--release-id", "night").succeeded().err
    exported = dpcli("ledger", "export", "night", "-o", "b.csv").succeeded().err
    quiet = dpcli("ledger", "export", "night", "-o", "c.csv", "-q").succeeded().err
    table = first[first.index("release night of") : first.index("\nspent ")]

    assert len(table.splitlines()) > 3
    assert table in again and table in exported
    assert "spent" not in again + exported and quiet == ""


def test_an_entry_and_its_report_state_what_made_them(
    dpcli: Command, folder: Path, spec: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Versions, the platform and the commit; a later build exports the same bytes."""
    (folder / "commit.txt").write_text("0123abcd changed\n", encoding="utf-8")
    monkeypatch.setattr("dpcli.version.COMMIT", folder / "commit.txt")
    words = ("--report", "r.json", "--report", "r.html", "--release-id", "night", "-q")
    dpcli("release", spec, data, "-o", "a.csv", *words).succeeded()
    stated = this_build()._asdict()
    with closing(sqlite3.connect("dpcli-ledger.sqlite")) as ledger:
        ((payload,),) = ledger.execute("SELECT payload FROM entries WHERE kind = 'release'")
    monkeypatch.setattr("dpcli.version.__version__", "99.0")
    dpcli("ledger", "export", "night", "-o", "b.csv", "--report", "s.json", "-q").succeeded()

    assert stated["commit"] == "0123abcd changed"
    assert stated == json.loads(payload)["build"] == reported(Path("r.json"))["ledger"]["build"]
    assert "(commit 0123abcd changed), Python 3." in Path("r.html").read_text("utf-8")
    assert Path("r.json").read_bytes() == Path("s.json").read_bytes()


def test_the_account_refuses_another_spec_another_budget_and_what_is_not_left(
    dpcli: Command, folder: Path, spec: Path, data: Path
) -> None:
    """Exit 6 for a taken id and a changed budget; 5 for 6 of a budget of 10 a second time.

    Nothing is written or read, and the messages state what is left.
    """
    dpcli("release", spec, data, "-q", "--release-id", "night").succeeded()
    data.write_bytes(b"\x00")
    second = dpcli("release", spec, data, "-o", "b.csv")
    edit(spec, ("dpcli: 1", "dpcli: 1  # changed"))
    other = dpcli("release", spec, data, "-o", "b.csv", "--release-id", "night")
    edit(spec, ("epsilon: 10", "epsilon: 1000"))
    richer = dpcli("release", spec, data, "-o", "b.csv")

    assert second.status == 5
    assert "has epsilon 4, delta 9e-6 left" in second.err
    assert other.status == richer.status == 6
    assert "release-id-taken" in other.err
    assert "its budget is epsilon 10, delta 1e-5, the spec says epsilon 1000" in richer.err
    assert not (folder / "b.csv").exists()


def test_a_named_ledger_must_exist(dpcli: Command, folder: Path, spec: Path, data: Path) -> None:
    """--ledger never creates a ledger; `ledger init` does."""
    words = ["release", spec, data, "-q", "--ledger", "books/l.sqlite"]
    (folder / "books").mkdir()
    assert dpcli(*words).status == 6
    assert dpcli("ledger", "init", "books/l.sqlite", "--anchor", "anchor").status == 0
    assert dpcli(*words).status == 0
    assert (folder / "anchor").exists()
    assert dpcli("ledger", "init", "books/l.sqlite").status == 6


def test_the_environment_names_a_ledger(
    dpcli: Command, folder: Path, spec: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DPCLI_LEDGER has the meaning of --ledger."""
    monkeypatch.setenv("DPCLI_LEDGER", "l.sqlite")
    assert dpcli("release", spec, data, "-q").status == 6
    dpcli("ledger", "init", "l.sqlite")
    assert dpcli("release", spec, data, "-q").status == 0
    assert not (folder / "dpcli-ledger.sqlite").exists()


def test_balances_and_history_for_people_and_scripts(
    dpcli: Command, folder: Path, spec: Path, data: Path
) -> None:
    """show and history have the same content in a table and in JSON."""
    dpcli("release", spec, data, "-q", "--release-id", "night")
    (account,) = dpcli("ledger", "show", "--json", "--spec", spec).json
    (entry,) = dpcli("ledger", "history", "--json").json

    assert (account["spent_epsilon"], account["remaining_epsilon"]) == (6, 4)
    assert account["more_runs"] == 0
    assert (entry["release_id"], entry["epsilon"], len(entry["parts"])) == ("night", 6, 6)
    assert "town" in dpcli("ledger", "show").out
    assert "night" in dpcli("ledger", "history").out
    assert dpcli("ledger", "history", "village", "--json").status == 6


def test_balances_in_json_are_numbers_as_in_a_release(
    dpcli: Command, folder: Path, spec: Path, data: Path
) -> None:
    """Digit by digit; what no decimal writes is rounded, to the side that states more spent."""
    budget = "budget: {epsilon: 7.1, delta: 1e-5}"
    spec.write_text(re.sub("budget: {.*}", budget, spec.read_text("utf-8")), encoding="utf-8")
    done = digits(dpcli("release", spec, data, "-q", "-o", "t.csv", "--json").out)
    (account,) = digits(dpcli("ledger", "show", "--json").out)
    for amount, measures in (("spent", done["cost"]), ("remaining", done["remaining"])):
        for measure in ("epsilon", "delta"):
            found, expected = account[f"{amount}_{measure}"], measures[measure]
            assert Fraction(found) == Fraction(expected)
    assert account["remaining_epsilon"] == "1.1"
    assert account["spent_rho"] is None
    (plain,) = dpcli("ledger", "show", "--json").json
    assert plain["remaining_epsilon"] > 1 and plain["spent_delta"] > 0


def test_the_number_of_runs_that_fit(dpcli: Command, folder: Path, data: Path) -> None:
    """A budget of 1 allows ten runs of 0.1, and then nine."""
    spec = folder / "spec.yaml"
    spec.write_text(
        "dpcli: 1\ndataset: d\n"
        "privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1}}\n"
        "columns: {}\nstatistics: [{name: n, statistic: count, epsilon: 0.1}]\n",
        encoding="utf-8",
    )
    dpcli("ledger", "open", "d", "--epsilon", "1")
    for runs in (10, 9):
        (account,) = dpcli("ledger", "show", "--json", "--spec", spec).json
        assert account["more_runs"] == runs
        dpcli("release", spec, data, "-q")


def test_a_window_renews_the_budget_and_the_report_explains_it(
    dpcli: Command, folder: Path, spec: Path, data: Path
) -> None:
    """Two runs of 6 from 10 do not fit in one week, but in two."""
    opened = ["ledger", "open", "town", "--epsilon", "10", "--delta", "1e-5", "--window", "7"]
    assert dpcli(*opened).status == 0
    assert dpcli("release", spec, data, "-q").status == 6
    assert dpcli("release", spec, data, "-q", "--period", "someday").status == 2
    days = {"2026-03-01": 0, "2026-03-07": 5, "2026-03-08": 0, "2026-02-24": 5, "2026-02-22": 0}
    for day, status in days.items():
        words = ["release", spec, data, "-o", f"{day}.csv", "--period", day, "--any-period"]
        assert dpcli(*words).status == status
    report = reported(folder / "2026-03-08.report.json")
    window = report["ledger"]["window"]

    assert (window["periods"], window["period"]) == (7, "2026-03-08")
    assert window["per_window"]["epsilon"] == 6
    assert window["lifetime"]["epsilon"] == 12
    assert window["per_year_at_most"]["epsilon"] == 530
    assert "every window" in window["does_not_protect"]


def test_export_publishes_any_layout_and_report(
    dpcli: Command, folder: Path, spec: Path, data: Path
) -> None:
    """Whichever was written first; a table on standard output only if nothing else is named."""
    first = dpcli("release", spec, data, "-q", "--release-id", "night")
    export = ("ledger", "export", "night")
    assert dpcli(*export).out == first.out
    alone = dpcli(*export, "--report", "r.html")
    assert (alone.status, alone.out) == (0, "")
    dpcli(*export, "-o", "w.csv", "--layout", "wide", "--report", "r.md").succeeded()
    names = {path.name for path in folder.iterdir()}
    assert {"w.total.csv", "w.sex.csv", "w.age.csv", "r.md", "r.html"} <= names
    assert dpcli("ledger", "export", "day").status == 6


def test_the_account_of_a_spec_is_shown_alone(
    dpcli: Command, folder: Path, spec: Path, data: Path
) -> None:
    """`--spec` shows the account that pays for the spec, or that there is none."""
    dpcli("ledger", "open", "village", "--epsilon", "1")
    none = dpcli("ledger", "show", "--spec", spec)
    dpcli("release", spec, data, "-q")

    assert "`town` has no account yet" in none.out and "village" not in none.out
    (account,) = dpcli("ledger", "show", "--spec", spec, "--json").json
    assert account["dataset"] == "town"


def windowed(folder: Path, epsilon: str) -> Path:
    """A spec of one count, for an account of epsilon 1 in any three days."""
    path = folder / "nights.yaml"
    path.write_text(
        "dpcli: 1\ndataset: nights\nquality: none\n"
        "privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1}}\n"
        f"columns: {{}}\nstatistics: [{{name: n, statistic: count, epsilon: {epsilon}}}]\n",
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize(
    ("charged", "asked", "day", "free"),
    [
        # Two thirds are free when the first day leaves the windows, and all when the last does.
        ({"2026-03-01": "0.6", "2026-03-03": "0.4"}, ("2026-03-03", "0.1"), "2026-03-04", "0.6"),
        ({"2026-03-01": "0.6", "2026-03-03": "0.4"}, ("2026-03-03", "0.9"), "2026-03-06", "1"),
        ({"2026-03-01": "0.6", "2026-03-03": "0.4"}, ("2026-03-02", "0.1"), "2026-03-04", "0.6"),
        ({"2026-03-03": "0.95"}, ("2026-03-01", "0.1"), "2026-03-06", "1"),
    ],
)
def test_a_full_window_says_when_it_frees_itself(
    charged: dict[str, str], asked: tuple[str, str], day: str, free: str,
    dpcli: Command, folder: Path, data: Path,
) -> None:  # fmt: skip
    """The first day of data for which the release fits, and how much is left there."""
    dpcli("ledger", "open", "nights", "--epsilon", "1", "--window", "3")
    words = ("release", folder / "nights.yaml", data, "-q", "--any-period", "--period")
    for other, epsilon in charged.items():
        windowed(folder, epsilon)
        assert dpcli(*words, other).status == 0
    windowed(folder, asked[1])
    refused, plan = dpcli(*words, asked[0]), dpcli("plan", words[1], *words[4:], asked[0])

    assert refused.status == plan.status == 5
    assert f"for data of {day} and later days, epsilon {free} is left" in refused.err
    assert f"for data of {day} and later days, epsilon {free} is left" in plan.err
    before = datetime.date.fromisoformat(day) - datetime.timedelta(days=1)
    assert dpcli(*words, str(before)).status == 5
    assert dpcli(*words, day).status == 0


def test_show_says_when_a_window_frees_itself(dpcli: Command, folder: Path, data: Path) -> None:
    """The next day on which more is left, and the one on which all is; none without charges."""
    dpcli("ledger", "open", "nights", "--epsilon", "1", "--window", "3")
    assert dpcli("ledger", "show", "--json").json[0]["frees"] == []
    for day, epsilon in (("2026-03-01", "0.6"), ("2026-03-03", "0.3")):
        dpcli("release", windowed(folder, epsilon), data, "-q", "--period", day)
    shown = dpcli("ledger", "show").out
    (account,) = digits(dpcli("ledger", "show", "--json").out)

    assert "nights: for data of 2026-03-04 and later days, epsilon 0.7 is left" in shown
    assert "nights: for data of 2026-03-06 and later days, epsilon 1 is left" in shown
    found = [(one["from"], one["remaining"]["epsilon"]) for one in account["frees"]]
    assert found == [("2026-03-04", "0.7"), ("2026-03-06", "1")]


def test_verify_compares_with_published_reports(
    dpcli: Command, folder: Path, spec: Path, data: Path
) -> None:
    """Several at once; a report from a ledger that was replaced by an empty one is detected."""
    verify = ["ledger", "verify", "--against", "a.report.json"]
    dpcli("release", spec, data, "-o", "a.csv")
    edit(folder / "a.report.json", to=folder / "copy.json")
    assert "1 published report agrees" in dpcli(*verify).succeeded().out
    assert "2 published reports agree" in dpcli(*verify, "copy.json").succeeded().out
    edit(folder / "copy.json", ('"entry": 2', '"entry": 1'))
    refused = dpcli(*verify, "copy.json")
    assert refused.status == 6 and "`copy.json`" in refused.err
    remove_ledger(folder)
    dpcli("release", spec, data, "-o", "b.csv")
    outcome = dpcli(*verify, "--against", "b.report.json")

    assert outcome.status == 6
    assert "`a.report.json` was published from another entry 2" in outcome.err
    assert "b.report.json" not in outcome.err


def test_outputs_cannot_replace_the_ledger(
    dpcli: Command, folder: Path, spec: Path, data: Path
) -> None:
    """Not by name, not through a link, not with --force."""
    dpcli("release", spec, data, "-q")
    before = (folder / "dpcli-ledger.sqlite").read_bytes()
    (folder / "link.csv").symlink_to("dpcli-ledger.sqlite")
    for name in ("dpcli-ledger.sqlite", "dpcli-ledger.sqlite.anchor", "link.csv"):
        assert dpcli("release", spec, data, "-o", name, "--force").status == 2
    assert (folder / "dpcli-ledger.sqlite").read_bytes() == before


def test_a_read_only_ledger_is_refused(
    dpcli: Command, folder: Path, spec: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger that cannot be written ends a release with status 6."""
    dpcli("ledger", "init", "dpcli-ledger.sqlite")
    (folder / "dpcli-ledger.sqlite").chmod(stat.S_IRUSR)
    if os.geteuid() == 0:
        # No permission stops root, so SQLite itself must refuse.
        connect = sqlite3.connect
        monkeypatch.setattr(
            sqlite3, "connect", lambda name, **words: connect(f"{name[:-2]}ro", **words)
        )
    assert dpcli("release", spec, data, "-q", "--release-id", "x").status == 6


def test_devices_are_written_to_and_not_replaced(
    dpcli: Command, folder: Path, spec: Path, data: Path
) -> None:
    """A full device ends with status 7, and the same id costs nothing afterwards."""
    words = ["release", spec, data, "-q", "--release-id", "r", "--report", "r.json"]
    if not Path("/dev/full").exists():
        pytest.skip("no full device here")
    full = dpcli(*words, "-o", "/dev/full")
    null = dpcli(*words, "-o", "/dev/null", "--force")

    assert (full.status, null.status) == (7, 0)
    assert "--release-id r, which costs nothing" in full.err
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)
    assert len(dpcli("ledger", "history", "--json").json) == 1


@pytest.mark.parametrize("kilobytes", mostly_extended((1, 8, 16, 40), 16))
def test_a_file_size_limit_is_all_or_nothing(
    kilobytes: int, dpcli: Command, folder: Path, spec: Path, data: Path
) -> None:
    """Under any limit, the status is documented, and a retry without the limit succeeds."""
    words = ["release", str(spec), str(data), "-q", "--force", "--release-id", "r"]
    words += ["-o", f"{kilobytes}.csv"]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1024, kilobytes * 1024))

    limited = subprocess.run(
        # -B: modules that are compiled under the limit would be cut off for other processes.
        [sys.executable, "-B", "-m", "dpcli", *words],
        preexec_fn=limit,
        capture_output=True,
        check=False,
    )
    assert limited.returncode in {0, 6, 7}
    assert b"Traceback" not in limited.stderr
    assert dpcli(*words).status == 0
    with closing(OpenLedger.open(folder / "dpcli-ledger.sqlite")) as book:
        assert not book.all_faults()
        assert len(book.names()) == 1


def test_an_anchor_that_cannot_be_written_stops_releases(
    dpcli: Command, folder: Path, spec: Path, data: Path
) -> None:
    """An older copy of the ledger would pass the check, so nothing more is charged."""
    dpcli("release", spec, data, "-q", "--release-id", "one")
    anchor = folder / "dpcli-ledger.sqlite.anchor"
    before = anchor.read_bytes()
    anchor.unlink()
    anchor.mkdir()
    refused = dpcli("release", spec, data, "-q", "--release-id", "two")
    anchor.rmdir()
    anchor.write_bytes(before)

    assert (refused.status, refused.out) == (6, "")
    assert len(dpcli("ledger", "history", "--json").json) == 1


def test_a_network_drive_is_refused_unless_it_is_allowed(
    dpcli: Command, folder: Path, spec: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No ledger is created or used on a drive of another machine without an option."""
    number = folder.stat().st_dev
    mounts = folder / "mounts"
    mounts.write_text(
        f"30 1 {os.major(number)}:{os.minor(number)} / / rw - nfs4 server:/home rw\n", "utf-8"
    )
    monkeypatch.setattr("dpcli.ledger.options.MOUNTS", mounts)
    refused = dpcli("release", spec, data, "-q")
    created = dpcli("ledger", "init", "shared.sqlite", "--network")
    allowed = dpcli("release", spec, data, "-q", "--ledger", "shared.sqlite")

    assert (refused.status, created.status, allowed.status) == (6, 0, 0)
    assert "ledger-on-network" in refused.err
    assert "nfs4" in refused.err
    assert not (folder / "dpcli-ledger.sqlite").exists()


@pytest.mark.parametrize("name", ["dpcli-ledger.sqlite", "dpcli-ledger.sqlite.anchor", "."])
def test_a_ledger_that_all_may_write_gives_a_warning(
    name: str, dpcli: Command, folder: Path, spec: Path, data: Path
) -> None:
    """The command that it names ends that; groups may share it, and sticky folders are safe."""
    place = folder / name
    assert "every user" not in dpcli("release", spec, data, "-q").err
    mode = stat.S_IMODE(place.stat().st_mode)
    for shared in (mode | 0o020, *([mode | 0o1002] if name == "." else [])):
        place.chmod(shared)
        assert "every user" not in dpcli("release", spec, data, "-q", "--release-id", "r").err
    place.chmod(mode | 0o002)
    for words in (("plan", spec), ("check", spec), ("release", spec, data, "-q")):
        done = dpcli(*words)
        assert "warning: every user of this machine may write the ledger" in done.err
    (command,) = re.findall("run `(chmod [^`]+)`", done.err)
    subprocess.run(["sh", "-c", command], check=True)
    assert "every user" not in dpcli("plan", spec).err


def test_a_link_to_a_ledger_that_all_may_replace_gives_a_warning(
    dpcli: Command, folder: Path, spec: Path, data: Path
) -> None:
    """The ledger is safe where it is, but the name that the release uses is not."""
    assert dpcli("release", spec, data, "-q").status == 0
    (shared := folder / "shared").mkdir()
    link = shared / "link.sqlite"
    link.symlink_to(folder / "dpcli-ledger.sqlite")
    words = ("release", spec, data, "-q", "--ledger", link)
    assert "every user" not in dpcli(*words).err
    shared.chmod(0o777)
    assert f"run `chmod o-w {shared}`" in dpcli(*words).err
