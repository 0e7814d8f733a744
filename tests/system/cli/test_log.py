"""`--log-format json`: lines of JSON for log collectors, which reveal no duration."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dpcli.cli import console
from dpcli.releasing import run, steps
from tests.support.cli import LOCAL, PEOPLE, Command, data, dpcli, edit, remove_ledger, spec

__all__ = ["data", "dpcli", "spec"]

STEPS = ["open", "open", "aggregate", "answer", "commit", "publish", "end"]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that shows another time whenever it is read."""
    times = iter(f"2026-01-01T00:00:{second:02}Z" for second in range(60))
    monkeypatch.setattr(console, "log_time", lambda: next(times))


def lines(text: str) -> list[Any]:
    """The objects on the lines of standard error."""
    return [json.loads(line) for line in text.splitlines()]


def test_each_step_of_a_release_is_a_line(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """With release, dataset, loss and files; all have the time of the start, and no duration."""
    out = tmp_path / "o.csv"
    words = ("release", spec, data, "-o", out, "--release-id", "r")
    done = lines(dpcli(*words, "--log-format", "json").succeeded().err)
    steps = [line for line in done if line["message"].split(" ")[0] not in ("created", "first")]

    assert [line["step"] for line in steps] == STEPS
    assert {line["time"] for line in done} == {"2026-01-01T00:00:00Z"}
    assert not any("seconds" in line for line in done)
    assert {(line["level"], line["release"], line["dataset"]) for line in done} == {
        ("notice", "r", "town")
    }
    (commit,) = [line for line in done if line["step"] == "commit"]
    assert (commit["charged"], commit["remaining"]) == (
        "epsilon 6, delta 1e-6", "epsilon 4, delta 9e-6",
    )  # fmt: skip
    assert steps[-2]["files"] == [str(out), str(tmp_path / "o.report.json")]
    again = lines(dpcli("--log-format=json", *words).succeeded().err)
    assert "aggregate" not in [line["step"] for line in again]
    assert "r published again, nothing charged" in str(again)


def test_a_log_does_not_depend_on_records(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the same text for other records, and however long they take."""
    header, record, *_ = data.read_text("utf-8").splitlines()
    texts, real = [], steps.aggregate_data
    for rows in (1, 300):
        remove_ledger(tmp_path)
        data.write_text("\n".join([header, *[record] * rows, ""]), "utf-8")

        def delayed(*given: Any, seconds: float = rows / 1000) -> Any:
            time.sleep(seconds)
            return real(*given)

        monkeypatch.setattr(run, "aggregate_data", delayed)
        monkeypatch.setattr(console, "log_time", lambda: "2026-01-01T00:00:00Z")
        words = ("release", spec, data, "--release-id", "r", "--log-format", "json")
        texts.append(dpcli(*words).succeeded().err)
    assert texts[0] == texts[1]


def test_the_end_of_a_step_that_reads_waits_for_the_next_line(
    dpcli: Command, spec: Path, data: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """A collector that stamps lines when they arrive does not see how long it took."""
    seen, real = [], steps.estimate_statistic

    def estimate(*given: Any) -> Any:
        seen.append(capfd.readouterr().err)
        return real(*given)

    monkeypatch.setattr(run, "estimate_statistic", estimate)
    later = dpcli("release", spec, data, "--log-format", "json").succeeded().err
    arrived = [line["message"] for text in seen for line in lines(text)]
    assert arrived[0] == "started" and "data added up" not in arrived
    assert "data added up" in later


CHOSEN = """
dpcli: 1
dataset: chosen
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 10}}
quality: none
columns:
  age: {type: integer, bounds: {choose: powers-of-2, up_to: 128, epsilon: 1}}
statistics:
  - {name: m, statistic: mean, column: age, epsilon: 2}
"""


def test_a_choice_is_a_step_and_a_part_of_the_charge(
    dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Its first reading shows no end either, and the log states what the release costs in all."""
    spec, rows, seen = tmp_path / "s.yaml", tmp_path / "d.csv", list[str]()
    spec.write_text(CHOSEN, "utf-8")
    rows.write_text("age\n" + "40\n" * 500, "utf-8")
    real = steps.estimate_statistic

    def estimate(*given: Any) -> Any:
        seen.append(capfd.readouterr().err)
        return real(*given)

    monkeypatch.setattr(run, "estimate_statistic", estimate)
    words = ("release", spec, rows, "-o", tmp_path / "o.csv", "--release-id", "r")
    done = lines(dpcli(*words, "--log-format", "json").succeeded().err)
    before = [line["message"] for text in seen for line in lines(text)]

    assert before[-1] == "checked before rows are read"
    assert [line["step"] for line in done] == [
        "choose", "choose", "aggregate", "answer", "commit", "publish", "publish", "end",
    ]  # fmt: skip
    (commit,) = [line for line in done if line["step"] == "commit"]
    assert (commit["charged"], commit["remaining"]) == ("epsilon 3", "epsilon 7")


def test_lines_that_wait_are_written_at_the_end(
    dpcli: Command, spec: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release that is interrupted says so, after the steps that it finished."""

    def stop(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "estimate_statistic", stop)
    done = lines(dpcli("release", spec, data, "--log-format", "json").err)
    assert [line["message"].split(";")[0] for line in done[-2:]] == ["data added up", "interrupted"]


@pytest.mark.parametrize("last", ["started", "data added up", "answered with noise", "stored"])
def test_a_log_that_breaks_loses_no_release(
    last: str, spec: Path, data: Path, tmp_path: Path
) -> None:
    """A collector that ends while noise is drawn, or before files are written, stops nothing."""
    out = tmp_path / "o.csv"
    words = ["release", str(spec), str(data), "-o", str(out), "--log-durations"]
    command = [sys.executable, "-m", "dpcli", *words, "--log-format", "json"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while last not in process.stderr.readline():
            pass
        process.stderr.close()
    assert process.returncode == 0 and out.exists()


def test_an_export_has_no_numbers_in_a_log(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """It names the files; a table is no line of a log."""
    dpcli("release", spec, data, "-q", "--release-id", "r").succeeded()
    ledger = ("--ledger", tmp_path / "dpcli-ledger.sqlite", "--log-format", "json")
    done = dpcli("ledger", "export", "r", "-o", tmp_path / "o.csv", *ledger).succeeded()
    assert [line["message"][:5] for line in lines(done.err)] == ["wrote", "wrote"]


def test_durations_are_written_on_request(dpcli: Command, spec: Path, data: Path) -> None:
    """Real times and seconds; the help says that such a log is confidential."""
    done = lines(
        dpcli("--log-durations", "release", spec, data, "--log-format", "json").succeeded().err
    )
    assert len({line["time"] for line in done}) == len(done)
    assert all(line["seconds"] >= 0 for line in done if line["step"] == "aggregate")
    assert "confidential as the data" in " ".join(dpcli("--help").out.split())


def test_a_quiet_log_has_warnings_and_errors_alone(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """An error has code, hint and status as with `--error-format json`, and its step."""
    first = dpcli("release", spec, data, "-q", "--log-format", "json").succeeded()
    created = [line["message"].split(" ")[0] for line in lines(first.err)]
    (refused,) = lines(dpcli("release", spec, data, "-q", "--log-format", "json").err)
    (plain,) = lines(dpcli("release", spec, data, "-q", "--error-format", "json").err)

    assert created == ["created", "first"]
    assert refused["step"] == "open" and refused["status"] == 5 and refused["dataset"] == "town"
    assert {name: refused[name] for name in plain} == plain


def test_a_release_that_its_check_stops_is_not_called_done(
    dpcli: Command, spec: Path, data: Path
) -> None:
    """The check is charged, and its error is the last line."""
    edit(spec, ("quality: none", "quality: {epsilon: 0.1, min_rows: 1000000}"))
    done = dpcli("release", spec, data, "--log-format", "json")
    found = {line["step"]: line for line in lines(done.err)[:-1]}
    assert done.status == 8 and found["commit"]["charged"] == "epsilon 0.1"
    assert found["end"]["message"] == "stopped by its quality check"
    assert lines(done.err)[-1]["code"] == "quality-failed"


def test_a_collection_is_logged(dpcli: Command, tmp_path: Path) -> None:
    """Its records are read and charged for in one step."""
    local = tmp_path / "local.yaml"
    local.write_bytes(LOCAL.read_bytes())
    words = ("local", "randomize", local, PEOPLE, "-o", tmp_path / "r.csv")
    done = lines(dpcli(*words, "--log-format", "json").succeeded().err)
    assert [*dict.fromkeys(line["step"] for line in done)] == ["open", "commit", "publish", "end"]


@pytest.mark.parametrize(
    "words",
    [
        ["--log-format", "json", "--error-format", "json"],
        ["--log-format", "xml"],
        ["--log-durations"],
        ["--log-format", "text", "--log-durations"],
    ],
)
def test_a_log_has_one_format(words: list[str], dpcli: Command) -> None:
    """Two formats of one stream, an unknown one, and durations without a log are refused."""
    done = dpcli("ledger", "show", *words)
    assert done.status == 2 and "--log-format json" in done.err
