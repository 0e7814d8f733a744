"""New ledgers and accounts are announced, and a spec can require that they exist."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

import pytest

from dpcli.ledger.charge import resolved
from tests.support.cli import LOCAL, PEOPLE, Command, edit

ENDINGS = (".json", ".md", ".html", ".yaml")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty environment, and a folder without a ledger."""
    for name in ("DPCLI_LEDGER", "DPCLI_LEDGER_MUST_EXIST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def renamed(spec: Path, dataset: str) -> Path:
    """The same spec for another account."""
    change = ("dataset: town", f"dataset: {dataset}")
    return edit(spec, change, to=spec.with_name(f"{dataset}.yaml"))


def test_a_new_ledger_and_a_new_account_are_announced_even_quietly(
    dpcli: Command, spec: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file when it is created, the account at its first release, nothing after that.

    DPCLI_LEDGER_MUST_EXIST=0 has the same effect as no variable.
    """
    monkeypatch.setenv("DPCLI_LEDGER_MUST_EXIST", "0")
    edit(spec, ("epsilon: 10,", "epsilon: 20,"))
    first = dpcli("release", spec, data, "-q")
    second = dpcli("release", spec, data, "-q")
    other = dpcli("release", renamed(spec, "village"), data, "-q")

    assert "created the ledger" in first.err and "account `town`" in first.err
    assert second.err == ""
    assert "created" not in other.err and "account `village`" in other.err


def test_every_report_states_whether_it_is_the_first(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """All formats state it from the ledger, and a retry states the same."""
    edit(spec, ("epsilon: 10,", "epsilon: 20,"))
    reports = {}
    for name in ("a", "b", "a"):
        paths = [tmp_path / f"{name}{end}" for end in ENDINGS]
        words = [word for path in paths for word in ("--report", path)]
        dpcli("release", spec, data, "-q", "--release-id", name, "--force", *words).succeeded()
        reports[name] = [path.read_text("utf-8") for path in paths]
    line, record = "First release of this account in this ledger", "the first release of the acc"

    for (facts, page, html, entry), first, answer in (
        (reports["a"], True, "yes"),
        (reports["b"], False, "no"),
    ):
        assert json.loads(facts)["ledger"]["first_release"] is first
        assert f"{line}: {answer}" in page and line in html
        assert (record in entry) is first


@pytest.mark.parametrize("by", ["spec", "environment"])
@pytest.mark.parametrize("local", [False, True])
def test_a_required_ledger_is_not_created(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, by: str, local: bool,
) -> None:  # fmt: skip
    """Exit 6 without a file, then without an account; with both, the release succeeds."""
    command = ["local", "randomize"] if local else ["release"]
    if local:
        spec.write_text(LOCAL.read_text("utf-8"), "utf-8")
        data = PEOPLE
    if by == "spec":
        spec.write_text(spec.read_text("utf-8") + "\nledger: must-exist\n", "utf-8")
    else:
        monkeypatch.setenv("DPCLI_LEDGER_MUST_EXIST", "1")
    before = sorted(tmp_path.iterdir())
    refused = dpcli(*command, spec, data, "-q")
    assert (refused.status, sorted(tmp_path.iterdir())) == (6, before)
    assert "error[ledger-must-exist]" in refused.err
    assert dpcli("ledger", "init", "dpcli-ledger.sqlite").status == 0
    empty = dpcli(*command, spec, data, "-q")
    assert empty.status == 6 and "error[account-must-exist]" in empty.err
    # The hint is the command that opens the account on the terms of the spec.
    (hint,) = re.findall("`dpcli (ledger open .*?)`", empty.err)
    dpcli(*shlex.split(hint)).succeeded()
    assert dpcli(*command, spec, data, "-q").status == 0


def test_opening_an_account_announces_the_ledger_that_it_creates(
    dpcli: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ledger open` in a folder without one reports the new file, also where one is required."""
    monkeypatch.setenv("DPCLI_LEDGER_MUST_EXIST", "1")
    opened = [dpcli("ledger", "open", name, "--epsilon", "1").succeeded().err for name in "ab"]
    assert "created the ledger" in opened[0] and opened[1] == ""
    assert dpcli("ledger", "init", "other.sqlite").status == 0


def test_two_accounts_for_one_file_give_a_warning(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """Releases, plans and checks compare resolved paths in the ledger; no report shows it."""
    assert "warning" not in dpcli("release", spec, data, "-q").err
    village = renamed(spec, "village")
    link = tmp_path / "link.csv"
    link.symlink_to(data)
    assert "warning" not in dpcli("plan", village).err
    assert "account `town`" in dpcli("check", village, link).err
    report = tmp_path / "r.json"
    second = dpcli("release", village, link, "-q", "--report", report)
    assert "warning: the account `town` paid for releases of `data.csv` as well" in second.err
    assert "give all specs about the same people one `dataset:`" in " ".join(second.err.split())
    for path, name in ((spec, "village"), (village, "town")):
        assert f"account `{name}`" in dpcli("plan", path).err
        facts = dpcli("plan", path, "--json").json
        assert facts["account"]["shares_files_with"] == [name]
    assert str(data) not in report.read_text("utf-8")


def test_the_warning_of_two_accounts_is_given_once(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """A pair of accounts is warned of at the first shared file, and not every night."""
    village, other = renamed(spec, "village"), tmp_path / "other.csv"
    other.write_bytes(data.read_bytes())

    def warned(path: Path, *files: Path) -> bool:
        done = dpcli("release", path, *files, "-q")
        assert done.status in (0, 5)
        return "paid for releases" in done.err

    for text in (spec, village):
        cheap = re.sub("epsilon: 1([,}])", r"epsilon: 0.01\1", text.read_text("utf-8"))
        text.write_text(cheap, "utf-8")
    assert [warned(spec, data), warned(village, data)] == [False, True]
    nights = [warned(path, data) for _ in range(3) for path in (spec, village)]
    assert not any(nights)
    # Each night has a file of its own.
    assert not any([warned(spec, other), warned(village, other), warned(village, data, other)])
    # A third account makes another pair with each of them.
    hamlet = edit(village, ("dataset: village", "dataset: hamlet"), to=tmp_path / "hamlet.yaml")
    assert [warned(hamlet, other), warned(hamlet, data), warned(spec, data)] == [True, False, False]
    accounts = dpcli("ledger", "show", "--json").json
    assert [account["shares_files_with"] for account in accounts] == [
        ["hamlet", "village"], ["hamlet", "town"], ["town", "village"],
    ]  # fmt: skip
    shown = " ".join(dpcli("ledger", "show").out.split())
    assert "town: the accounts `hamlet` and `village` paid for releases of" in shown


def test_other_files_and_standard_input_give_no_warning(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """Copies are other files, and the ledger records nothing about standard input."""
    copy = tmp_path / "copy.csv"
    copy.write_bytes(data.read_bytes())
    assert dpcli("release", spec, data, "-q").status == 0
    assert "warning" not in dpcli("release", renamed(spec, "village"), copy, "-q").err
    os.mkfifo(tmp_path / "pipe")
    assert resolved(["-", str(tmp_path / "pipe"), "/dev/null", "absent", "a\0b"]) == ()
    assert resolved([str(copy), str(data), str(data)]) == (str(copy), str(data))


def test_files_that_were_written_are_named(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """Releases, retries and collections name them; with `-q` nothing is reported."""
    words = ["release", spec, data, "-o", tmp_path / "o.csv", "--release-id", "r"]
    for _ in range(2):
        done = dpcli(*words)
        for name in ("o.csv", "o.report.json"):
            assert f"wrote `{tmp_path / name}`\n" in done.err
    assert dpcli(*words, "-q").err == ""
    assert "wrote" not in dpcli("release", spec, data, "--release-id", "r").err
    survey = tmp_path / "survey.yaml"
    survey.write_text(LOCAL.read_text("utf-8"), "utf-8")
    local = dpcli("local", "randomize", survey, PEOPLE, "-o", tmp_path / "responses.csv")
    assert f"wrote `{tmp_path / 'responses.csv'}`\n" in local.err


def test_check_reports_the_account_and_the_header_together(
    dpcli: Command, spec: Path, data: Path
) -> None:
    """A refusal of the ledger hides no problem of the file; the status is that of the ledger."""
    data.write_text("age,income\n", "utf-8")
    outcome = dpcli("check", spec, data, "--ledger", "none.sqlite", "--json")
    codes = [problem["code"] for problem in outcome.json["problems"]]

    assert outcome.status == 6
    assert codes[0] == "ledger-missing" and len(codes) > 1
    assert "`sex`" in outcome.err


def test_an_account_is_named_without_an_option(dpcli: Command, spec: Path, data: Path) -> None:
    """For a wrong name and for a wrong option, the hint has the right command."""
    assert dpcli("release", spec, data, "-q").status == 0
    assert "did you mean `town`?" in dpcli("ledger", "history", "twon").err
    refused = dpcli("ledger", "history", "--dataset", "town")
    assert refused.status == 2
    assert "give it without an option: `dpcli ledger history DATASET`" in refused.err


@pytest.fixture
def fixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, in which no file can be created."""
    tmp_path.chmod(0o555)
    # No permission stops root, so the answer of the system is replaced as well.
    monkeypatch.setattr(os, "access", lambda _path, mode: not mode & os.W_OK)
    return tmp_path


PLANS = (("plan", "S"), ("plan", "S", "--json"), ("check", "S", "D"))


@pytest.mark.parametrize("words", [*PLANS, ("release", "S", "D", "--dry-run")])
def test_no_ledger_is_needed_to_plan(
    dpcli: Command, spec: Path, data: Path, fixed: Path, words: tuple[str, ...]
) -> None:
    """Where none can be created, plan, check and a dry run say so, and exit 0; a release exits 6.

    Scripts find the note in the warnings.
    """
    before = sorted(fixed.iterdir())
    outcome = dpcli(*({"S": spec.name, "D": data}.get(word, word) for word in words)).succeeded()

    assert f"could not create its ledger here: the ledger `{fixed}/dpcli-ledger" in outcome.err
    assert "--ledger PATH" in outcome.err and "DPCLI_LEDGER" in outcome.err
    assert "which it creates" not in outcome.out
    warnings = dpcli("check", spec, data, "--json").json["warnings"]
    assert any("could not create its ledger" in warning for warning in warnings)
    assert dpcli("release", spec, data).status == 6
    assert sorted(fixed.iterdir()) == before
    spec.write_text(LOCAL.read_text("utf-8"), "utf-8")
    assert f"a collection could not create `{fixed}" in dpcli("plan", spec).succeeded().out


def test_a_ledger_that_exists_or_must_exist_is_asked(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A named, required, lost or unreadable ledger ends plan and check with status 6."""
    ledger = tmp_path / "dpcli-ledger.sqlite"
    commands = [("plan", spec), ("check", spec, data), ("release", spec, data, "--dry-run")]
    assert dpcli("release", spec, data, "-q").status == 0
    ledger.unlink()
    monkeypatch.setattr(os, "access", lambda _path, mode: not mode & os.W_OK)
    for words in commands:
        # Its anchor says that there was one.
        assert "error[ledger-in-doubt]" in dpcli(*words).err
    ledger.with_name("dpcli-ledger.sqlite.anchor").unlink()
    for words in commands:
        assert dpcli(*words).status == 0
        assert dpcli(*words, "--ledger", "none.sqlite").status == 6
    monkeypatch.setenv("DPCLI_LEDGER_MUST_EXIST", "1")
    assert [dpcli(*words).status for words in commands] == [6, 6, 6]
    ledger.write_text("not a ledger", "utf-8")
    assert [dpcli(*words).status for words in commands] == [6, 6, 6]


def test_a_report_names_the_last_releases_before_it(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """Page 1 has the last five with day and loss, and the number of the others."""
    edit(spec, ("epsilon: 10,", "epsilon: 100,"))
    report = tmp_path / "r.json"
    for name in "abcdefg":
        words = ("--report", report, "--report", tmp_path / "r.md", "--force")
        dpcli("release", spec, data, "-q", "--release-id", name, *words).succeeded()

    stated = json.loads(report.read_text("utf-8"))
    assert [one["release_id"] for one in stated["ledger"]["earlier"]] == [*"fedcb"]
    assert stated["ledger"]["earlier_more"] == 1
    losses = [one["loss"]["epsilon"] for one in stated["ledger"]["earlier"]]
    assert losses == [stated["privacy"]["spent"]["epsilon"]] * 5
    page = (tmp_path / "r.md").read_text("utf-8")
    assert "Released before: f (" in page and "; b (" in page and ", and 1 more." in page
