"""A day that is probably a mistake is refused before it is charged, unless it is confirmed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpcli import load_spec, plan, release
from dpcli.problems.errors import LedgerError
from tests.support.cli import PEOPLE, Command, history

SPEC = """\
dpcli: 1
dataset: town
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 9}}
quality: none
columns: {age: {type: integer, bounds: [0, 110]}}
statistics: [{name: n, statistic: count, epsilon: 0.1}]
"""

TODAY = "2026-06-15"


@pytest.fixture
def spec(tmp_path: Path, dpcli: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spec with an account for windows of three days, an hour before a fixed midnight."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dpcli.ledger.charge.now", lambda: f"{TODAY}T23:00:00Z")
    path = tmp_path / "spec.yaml"
    path.write_text(SPEC, encoding="utf-8")
    assert dpcli("ledger", "open", "town", "--epsilon", "9", "--window", "3").status == 0
    return path


@pytest.mark.parametrize(
    ("day", "is_refused"),
    [("2026-06-15", False), ("2026-06-16", False), ("2026-06-17", True), ("2062-06-15", True)],
)
def test_a_day_in_the_future_is_refused(
    day: str, is_refused: bool, spec: Path, dpcli: Command, tmp_path: Path
) -> None:
    """In another time zone it may be tomorrow already; later days need to be confirmed."""
    words = ("release", spec, PEOPLE, "-q", "-o", tmp_path / "t.csv", "--period", day)
    forecast = dpcli("plan", spec, "--period", day)
    done = dpcli(*words)

    assert done.status == forecast.status == dpcli("check", spec, "--period", day).status
    assert done.status == (6 if is_refused else 0)
    assert ("error[period-unlikely]" in done.err) is is_refused
    if is_refused:
        assert f"is in the future (today is {TODAY} in UTC)" in forecast.err
        assert history(dpcli, tmp_path) == []
        assert dpcli(*words, "--any-period").status == 0
        assert dpcli("plan", spec, "--period", day, "--any-period").status == 0
    assert len(history(dpcli, tmp_path)) == 1


@pytest.mark.parametrize(("day", "is_refused"), [("2026-06-11", False), ("2026-06-10", True)])
def test_a_day_more_than_a_window_before_the_last_one_is_refused(
    day: str, is_refused: bool, spec: Path, dpcli: Command, tmp_path: Path
) -> None:
    """The last one is the latest day that is not in the future; a stored release is published."""
    words = ("release", spec, PEOPLE, "-q", "-o")
    assert dpcli(*words, "1.csv", "--period", "2026-06-14", "--release-id", "one").status == 0
    assert dpcli(*words, "2.csv", "--period", "2062-01-01", "--any-period").status == 0
    done = dpcli(*words, "3.csv", "--period", day)
    assert done.status == dpcli("plan", spec, "--period", day).status == (6 if is_refused else 0)
    assert dpcli("plan", spec, "--period", day, "--any-period").status == 0
    assert ("(`window: 3`) before 2026-06-14" in done.err) is is_refused
    assert len(history(dpcli, tmp_path)) == (2 if is_refused else 3)
    assert dpcli(*words, "4.csv", "--period", "2026-06-14", "--release-id", "one").status == 0


def test_an_account_is_shown_that_was_charged_for_the_last_day(
    spec: Path, dpcli: Command, tmp_path: Path
) -> None:
    """No day after it has a name, so that none is named on which the window frees itself."""
    words = ("release", spec, PEOPLE, "-q", "--period", "9999-12-31", "--any-period")
    assert dpcli(*words).status == 0
    shown = dpcli("ledger", "show")
    assert shown.status == 0 and "if nothing else is charged" not in shown.out
    (account,) = json.loads(dpcli("ledger", "show", "--json").out)
    assert account["frees"] == [] and account["releases"] == 1
    text = spec.read_text(encoding="utf-8")
    spec.write_text(text.replace("epsilon: 0.1", "epsilon: 8.95"), encoding="utf-8")
    refused = dpcli(*words)
    assert refused.status == 5 and "hint: lower the epsilons to what is left" in refused.err


def test_programs_confirm_a_day_as_well(spec: Path) -> None:
    """`any_period=True` is the option of the command."""
    wanted = plan(load_spec(spec))
    with pytest.raises(LedgerError, match="in the future"):
        release(wanted, PEOPLE, period="2026-06-20", release_id="r")
    assert release(wanted, PEOPLE, period="2026-06-20", any_period=True, release_id="r").charged
