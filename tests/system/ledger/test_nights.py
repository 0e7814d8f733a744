"""Fifteen nights of a job that meets mishaps: nothing wrong is published unnoticed."""

from __future__ import annotations

import datetime
import gzip
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.cli import Command, Outcome, digits
from tests.support.fork_server import fast_dpcli

SPEC = """\
dpcli: 1
dataset: nightly
privacy:
  unit: {column: person}
  neighbors: add-remove
  budget: {epsilon: 3.5, window: 3}
quality: {epsilon: 0.25, min_people: 1950, min_readable: 0.97}
period: {column: visit}
columns:
  person: {type: id}
  visit:  {type: date}
  age:    {type: integer, bounds: [0, 110]}
people: {oldest: {max: age}}
statistics:
  - {name: people, statistic: count, of: people, epsilon: 0.25}
  - {name: ages, statistic: mean, column: oldest, epsilon: 0.5}
"""

PEOPLE, NIGHTS = 2_000, 15

LOST, FULL = 5, 9
"""The nights without a table: yesterday's file, and a budget that was spent otherwise."""


@dataclass
class Job:
    """The job of the nights before today, in the working folder."""

    dpcli: Command
    first: datetime.date = field(
        default_factory=lambda: (
            datetime.datetime.now(datetime.UTC).date() - datetime.timedelta(days=NIGHTS)
        )
    )

    def day(self, night: int) -> str:
        """The day that a night is about, in UTC."""
        return str(self.first + datetime.timedelta(days=night))

    def rows(self, night: int, people: int = PEOPLE, age: str = "{}") -> str:
        """The file of a night."""
        ages = (age.format(18 + person * 7 % 60) for person in range(people))
        lines = (f"p{person},{self.day(night)},{years}" for person, years in enumerate(ages))
        return "\n".join(["person,visit,age", *lines, ""])

    def words(self, night: int, *more: str, data: str = "visits.csv") -> list[str]:
        """The command line of the job."""
        day = self.day(night)
        named = ("-o", f"nightly-{day}.csv", "--period", day, "--release-id", day)
        return ["release", "nightly.yaml", data, "-q", *named, *more]

    def run(self, night: int, *more: str, data: str = "visits.csv") -> Outcome:
        """What the job does in the night."""
        return self.dpcli(*self.words(night, *more, data=data))

    def start(self, night: int, *before: str, **variables: str) -> subprocess.Popen[bytes]:
        """The same in a process of its own, with words before the command."""
        words = [*before, sys.executable, "-m", "dpcli", *self.words(night)]
        return subprocess.Popen(words, env=os.environ | variables, stderr=subprocess.PIPE)

    def charges(self, night: int) -> list[tuple[str, str]]:
        """What was charged for the day of a night: ids and epsilons."""
        found = digits(self.dpcli("ledger", "history", "--json").out)
        entries = [entry for entry in found if entry["period"] == self.day(night)]
        return [(entry["release_id"], entry["epsilon"]) for entry in entries]

    def refused(self, night: int, status: int, *more: str, data: str = "visits.csv") -> str:
        """Run it, which ends with this status, and writes no table."""
        before = self.charges(night)
        done = self.run(night, *more, data=data)
        assert done.status == status, f"night {night}: {done.err}"
        assert "error[" in done.err
        assert not Path(f"nightly-{self.day(night)}.csv").exists()
        assert status == 8 or self.charges(night) == before
        return done.err


@pytest.fixture
def job(tmp_path: Path, dpcli: Command, monkeypatch: pytest.MonkeyPatch) -> Job:
    """The job, in a folder with its spec."""
    monkeypatch.chdir(tmp_path)
    Path("nightly.yaml").write_text(SPEC, "utf-8")
    return Job(dpcli)


def limited(size: int) -> tuple[str, ...]:
    """Words before a command whose files may have at most this many bytes."""
    limit = f"import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))"
    # Modules that are compiled under the limit would be cut off for other processes.
    compiles = "os.environ['PYTHONDONTWRITEBYTECODE'] = '1'"
    return sys.executable, "-c", f"{limit}; {compiles}; os.execv(sys.argv[1], sys.argv[1:])"


def write(text: str) -> Path:
    """Write the file of the night."""
    path = Path("visits.csv")
    path.write_text(text, "utf-8")
    return path


def missing(job: Job, night: int) -> None:
    """The file is not there, and comes later."""
    Path("visits.csv").unlink()
    assert "data-missing" in job.refused(night, 4)


def half_a_file(job: Job, night: int) -> None:
    """The file is cut in the middle of a line; retries read nothing."""
    text = job.rows(night)
    write(text[: len(text) // 2])
    assert "quality-failed" in job.refused(night, 8)
    write(text)
    assert "no file was read" in job.refused(night, 8)


def empty(job: Job, night: int) -> None:
    """The file has no byte, and then only a header."""
    write("")
    assert "no-header" in job.refused(night, 4)


def renamed_header(job: Job, night: int) -> None:
    """A column has another name."""
    write(job.rows(night).replace("age", "years", 1))
    assert "age" in job.refused(night, 4)


def file_of_yesterday(job: Job, night: int) -> None:
    """The file of the night before still lies there; this night is given up."""
    write(job.rows(night - 1))
    assert "quality-failed" in job.refused(night, 8)


def twice_at_once(job: Job, night: int) -> None:
    """Two processes make the same release: one is charged, and both publish it."""
    write(job.rows(night))
    words = [fast_dpcli(), *job.words(night)]
    running = [subprocess.Popen(words, stderr=subprocess.PIPE) for _ in range(2)]
    errors = [process.communicate()[1] for process in running]
    assert [process.returncode for process in running] == [0, 0], errors


def disk_full(job: Job, night: int) -> None:
    """No byte can be written; nothing is charged, and the job is tried again under its id."""
    write(job.rows(night))
    process = job.start(night, *limited(0))
    error = process.communicate()[1]
    assert process.returncode == 6, error
    assert b"Traceback" not in error
    assert job.charges(night) == [] and not Path(f"nightly-{job.day(night)}.csv").exists()


def another_time_zone(job: Job, night: int) -> None:
    """A machine on the other side of the world names the same day in UTC."""
    write(job.rows(night))
    process = job.start(night, TZ="Pacific/Kiritimati")
    assert process.communicate()[1] == b"" and process.returncode == 0


def budget_at_its_end(job: Job, night: int) -> None:
    """Something else was released for the day: the job is refused until the window has moved."""
    write(job.rows(night))
    text = SPEC.replace("name: people", "name: all").replace("epsilon: 0.5", "epsilon: 0.6")
    Path("other.yaml").write_text(text, "utf-8")
    words = ("-o", "other.csv", "--release-id", "other", "--period", job.day(night), "-q")
    job.dpcli("release", "other.yaml", "visits.csv", *words).succeeded()
    error = job.refused(night, 5)
    assert "account-exhausted" in error and f"for data of {job.day(night + 1)}" in error
    assert job.dpcli("plan", "nightly.yaml", "--period", job.day(night)).status == 5


def killed(job: Job, night: int) -> None:
    """It is killed at three instants, and then tried again."""
    write(job.rows(night))
    for seconds in (0.3, 0.7, 1.1):
        process = job.start(night)
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert len(job.charges(night)) <= 1


def cut_gzip(job: Job, night: int) -> None:
    """A packed file is cut, has bytes after its end, or is damaged inside."""
    whole = gzip.compress(job.rows(night).encode())
    for wrong in (whole[:-1], whole[: len(whole) // 2], whole + b"rest", whole[:-8] + b"\0" * 8):
        Path("visits.csv.gz").write_bytes(wrong)
        assert "data-not-gzip" in job.refused(night, 4, data="visits.csv.gz")


def wrong_checksum(job: Job, night: int) -> None:
    """It is not the file that its sender declared; the message is the same, whatever differs."""
    text = job.rows(night)
    declared = hashlib.sha256(text.encode()).hexdigest()
    errors = set()
    for wrong in (text.replace("p7,", "p8,", 1), text + "\n", job.rows(night - 1), "odd\n"):
        write(wrong)
        errors.add(job.refused(night, 4, "--sha256", declared))
    (error,) = errors
    assert "data-changed" in error and declared not in error
    job.refused(night, 4, "--sha256", declared.upper())
    write(text)
    job.run(night, "--sha256", declared.upper()).succeeded()


def a_twentieth_missing(job: Job, night: int) -> None:
    """One person in twenty is not in the file."""
    write(job.rows(night, PEOPLE * 19 // 20))
    assert "quality-failed" in job.refused(night, 8)


def cells_in_another_form(job: Job, night: int) -> None:
    """The ages are written with a word, so that none can be read."""
    write(job.rows(night, age="{} years"))
    assert "quality-failed" in job.refused(night, 8)


def test_a_disk_that_is_full_after_noise_leaves_the_night_to_be_tried_again(job: Job) -> None:
    """What was answered is not kept, and the error may depend on its check, which is charged."""
    write(job.rows(0))
    job.run(0).succeeded()
    write(job.rows(1))
    ledger, failed = Path("dpcli-ledger.sqlite"), list[tuple[str, str]]()
    for _ in range(2):
        # The pages that are there may have room for the charge of the check, not for outputs.
        process = job.start(1, *limited(ledger.stat().st_size))
        error = process.communicate()[1]
        assert process.returncode == 6 and b"`dpcli ledger history` shows both" in error, error
        assert not Path(f"nightly-{job.day(1)}.csv").exists()
        failed = job.charges(1)
    assert {epsilon for _, epsilon in failed} <= {"0.25"}
    assert all(name.startswith(f"{job.day(1)}+unstored-") for name, _ in failed)
    for _ in range(2):
        job.run(1).succeeded()
    assert job.charges(1) == [*failed, (job.day(1), "1")]
    job.dpcli("ledger", "verify").succeeded()


MISHAPS: list[Callable[[Job, int], None] | None] = [
    None, missing, half_a_file, empty, renamed_header, file_of_yesterday, twice_at_once, disk_full,
    another_time_zone, budget_at_its_end, killed, cut_gzip, wrong_checksum, a_twentieth_missing,
    cells_in_another_form,
]  # fmt: skip


def test_nothing_wrong_is_published_unnoticed(job: Job) -> None:
    """Each mishap is noticed, each good file is published, and nothing is charged twice."""
    failed = {half_a_file, file_of_yesterday, a_twentieth_missing, cells_in_another_form}
    for night, mishap in enumerate(MISHAPS):
        if mishap is not None:
            mishap(job, night)
        day, checked = job.day(night), mishap in failed
        if night in (LOST, FULL):
            assert job.charges(night) == ([(day, "0.25")] if checked else [("other", "1.1")])
            continue
        write(job.rows(night))
        for _ in range(2):
            job.run(night, *(["--check-again"] if checked else [])).succeeded()
        expected = [(day, "0.25"), (f"{day}+2", "1")] if checked else [(day, "1")]
        assert job.charges(night) == expected, mishap

    tables = {path.name: path for path in Path().glob("nightly-*.csv")}
    nights = [night for night in range(NIGHTS) if night not in (LOST, FULL)]
    assert sorted(tables) == [f"nightly-{job.day(night)}.csv" for night in nights]
    for night in nights:
        text = tables[f"nightly-{job.day(night)}.csv"].read_text("utf-8")
        release_id, _ = job.charges(night)[-1]
        assert job.dpcli("ledger", "export", release_id).succeeded().out == text
        people = next(line.split(",") for line in text.splitlines() if line.startswith("people,"))
        # Noise of epsilon 0.25 is further off than this once in ten million nights.
        assert any(abs(float(cell) - PEOPLE) < 65 for cell in people if cell.isdigit()), people
    job.dpcli("ledger", "verify").succeeded()
    (account,) = digits(job.dpcli("ledger", "show", "--json").out)
    assert float(account["spent_epsilon"]) <= 3.5
    assert account["lifetime_epsilon"] == "15.1"
