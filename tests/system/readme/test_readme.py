"""Every command of the README and of the pages in `docs/` runs as it is written."""

from __future__ import annotations

import datetime
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import pytest

from dpcli.cli.commands import COMMANDS
from dpcli.ledger.charge import charge_for
from dpcli.ledger.ledger import OpenLedger
from dpcli.planning.planner import make_plan
from dpcli.specification.load import read_central_spec
from tests.support.cli import ROOT, Command, Outcome, digits, table
from tests.support.fork_server import fast_dpcli

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted(set((ROOT / "docs").glob("*.md")) - {ROOT / "docs/spark.md"})]
"""What is typed from top to bottom, the README first; there is no cluster for Spark."""

STAND_INS = Path(__file__).parent / "stand_ins"
"""Commands of recipes that need a server, which answer from `sample_data/`."""

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
INSTALLING = "python3 -m venv .venv && "
"""What the commands begin with that `.ci/run` executes."""

SCHEDULE = re.compile(r"^(\S+\s+){5}")


@dataclass(frozen=True)
class Block:
    """Lines of a shell, and where they stand."""

    page: str
    line: int
    script: str


def blocks() -> Iterator[Block]:
    """Every block of commands, page by page."""
    for page in PAGES:
        yield from blocks_of(page.name, page.read_text(encoding="utf-8"))


def blocks_of(page: str, text: str) -> Iterator[Block]:
    """The blocks of commands of a page, those of a crontab as cron would run them."""
    for match in FENCE.finditer(text):
        if match["language"] not in ("sh", "crontab"):
            continue
        indent = match["indent"]
        script = "".join(
            line.removeprefix(indent) for line in match["text"].splitlines(keepends=True)
        )
        if match["language"] == "crontab":
            script = SCHEDULE.sub("", script).replace("\\%", "%")
        if not script.startswith(INSTALLING):
            yield Block(page, text.count("\n", 0, match.start()) + 2, script)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sample files, and a `dpcli` that is this one."""
    folder = tmp_path_factory.mktemp("readme")
    for name in ("specs", "sample_data"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.sqlite*"))
    command = folder / "bin" / "dpcli"
    command.parent.mkdir()
    command.symlink_to(fast_dpcli())
    for stand_in in STAND_INS.iterdir():
        shutil.copy(stand_in, command.parent)
    return folder


def typed(script: str, place: Path) -> subprocess.CompletedProcess[str]:
    """What a shell in that folder makes of some lines."""
    path = (
        f"{place / 'bin'}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    environment = {"PATH": path, "HOME": str(place), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.extended
def test_every_command_runs_twice(place: Path) -> None:
    """A newcomer who types each in order, and again, gets through without one failing."""
    run = 0
    for block in blocks():
        for time in ("first", "second"):
            done = typed(block.script, place)
            output = f"{block.page} line {block.line}, {time} time: {done.stdout}\n{done.stderr}"
            assert done.returncode == 0, output
        run += 1
    assert run >= 10
    written = {path.name for path in place.iterdir()}
    assert {"survey.csv", "survey.html", "survey.json", "again.csv", "collected.csv"} <= written
    assert "people," in (place / "people.txt").read_text(encoding="utf-8")


def test_the_first_command_shows_good_numbers_twice(place: Path) -> None:
    """The release that follows the installation works again, and its numbers say something."""
    installed = README.split("<!-- first command -->\n```sh\n")[1].splitlines()[0]
    release = installed.rsplit("&& .venv/bin/", 1)[1]
    for _ in range(2):
        done = typed(release, place)
        rows = table(done.stdout)

        assert done.returncode == 0, done.stderr
        assert len(rows) > 10
        assert {row["flag"] for row in rows} == {""}
        # All visits count. Noise hides that in one of some hundred releases.
        assert {row["complete"] for row in rows} <= {"yes", "unknown"}


YESTERDAY = "$(date -u -d yesterday +%F)"
"""What the nightly job names, as the README writes it."""


@dataclass(frozen=True)
class NightlyJob:
    """The job of the README in this folder, on days that tests choose."""

    dpcli: Command
    set_clock: Callable[[datetime.date], None]
    job: str
    repair: str

    def write_visits(self, day: datetime.date, *, of: datetime.date | None = None) -> None:
        """Write the file of a day, with visits `of` this day or another one."""
        sample = Path("sample_data/people.csv").read_text(encoding="utf-8")
        visits = re.sub("2021-..-..", str(of or day), sample)
        Path("visits.csv").write_text(visits, encoding="utf-8")

    def run(self, day: datetime.date, script: str = "", later: int = 1) -> Outcome:
        """What cron runs in the night after a day; or another script, some days `later`."""
        self.set_clock(day + datetime.timedelta(days=later))
        text = (script or self.job).replace(YESTERDAY, str(day)).replace("$day", str(day))
        *settings, command = re.split(r"[;\n]", text.strip())
        assert [line.partition("#")[0].strip() for line in settings] == [f"day={day}"]
        return self.dpcli(*shlex.split(command)[1:])

    def history(self) -> list[dict[str, Any]]:
        """What the account was charged for."""
        found: list[dict[str, Any]] = digits(
            self.dpcli("ledger", "history", "town-nightly", "--json").out
        )
        return found


FIRST = datetime.date(2027, 1, 1)
"""The first day of the data of the nightly job."""


@pytest.fixture
def nightly(tmp_path: Path, dpcli: Command, monkeypatch: pytest.MonkeyPatch) -> NightlyJob:
    """The nightly job, after what the README types before it."""
    monkeypatch.chdir(tmp_path)
    Path("sample_data").mkdir()
    shutil.copy(ROOT / "sample_data" / "people.csv", "sample_data/people.csv")
    every = [block.script for block in blocks() if block.page == "README.md"]
    (spec,) = (script for script in every if script.startswith("cat > survey.yaml"))
    (before,) = (script for script in every if "period: {column: visit}" in script)
    (job,) = (script for script in every if "nightly-$day" in script and "--check" not in script)
    (repair,) = (script for script in every if "--check-again" in script)

    def set_clock(day: datetime.date) -> None:
        monkeypatch.setattr("dpcli.ledger.charge.now", lambda: f"{day}T04:30:00Z")

    set_clock(FIRST + datetime.timedelta(days=1))
    for line in [spec, *before.splitlines()]:
        if line.startswith("dpcli "):
            words = shlex.split(line.replace(YESTERDAY, str(FIRST)), comments=True)
            assert dpcli(*words[1:]).status == 0
        else:
            subprocess.run(["bash", "-euc", line], check=True)
    return NightlyJob(dpcli, set_clock, job, repair)


def charge_nights(job: NightlyJob, nights: range) -> None:
    """Charge for nights as the job does, without its tables."""
    plan = make_plan(read_central_spec(Path("nightly.yaml")))
    with closing(OpenLedger.open(Path("dpcli-ledger.sqlite"))) as book:
        book.connection.execute("PRAGMA synchronous = OFF")
        for night in nights:
            day = FIRST + datetime.timedelta(days=night)
            job.set_clock(day + datetime.timedelta(days=1))
            book.commit(charge_for(plan.about(str(day)), str(day)), lambda _: {"table": b""})


BETWEEN = [0, pytest.param(388, marks=pytest.mark.extended)]
"""Nights that are only charged: also more than a year, so that nothing lasts for a year alone."""


@pytest.mark.parametrize("between", BETWEEN)
def test_the_nightly_job_never_runs_out(between: int, nightly: NightlyJob, dpcli: Command) -> None:
    """Night after night, the job exits 0 and writes a new table."""
    nights = 12 + between
    for night in [*range(6), *range(6 + between, nights)]:
        if night == 6 + between:
            charge_nights(nightly, range(6, night))
        day = FIRST + datetime.timedelta(days=night)
        nightly.write_visits(day)
        done = nightly.run(day)
        assert done.status == 0, f"{day}: {done.err}"
        assert Path(f"nightly-{day}.csv").is_file()
    assert nightly.run(day).status == 0
    shown = dpcli("ledger", "show", "--json", "--spec", "nightly.yaml").json

    (account,) = (entry for entry in shown if entry["dataset"] == "town-nightly")
    assert account["releases"] == nights


@pytest.mark.parametrize("zone", ["America", "Europe", "Africa", "Asia", "Australia", "Pacific"])
def test_the_nightly_job_runs_once_for_each_day(zone: str) -> None:
    """In no time zone do clocks skip or repeat its hour, or two nights have one yesterday."""
    schedule = re.search(r"```crontab\n(\d+) (\d+) \* \* \*", README)
    assert schedule is not None
    time = datetime.time(int(schedule[2]), int(schedule[1]))
    names = [name for name in available_timezones() if name.startswith(f"{zone}/")]
    nights = [FIRST + datetime.timedelta(days=night) for night in range(366)]
    assert names
    for name in names:
        runs = [datetime.datetime.combine(night, time, ZoneInfo(name)) for night in nights]
        assert all(run.utcoffset() == run.replace(fold=1).utcoffset() for run in runs), name
        days = [run.astimezone(datetime.UTC).toordinal() for run in runs]
        assert days == list(range(days[0], days[0] + len(days))), name


BAD, LATE = 4, 7
"""Nights whose file is wrong: one is repaired the next day, the other after eight days."""

HEADER = (ROOT / "sample_data" / "people.csv").read_text(encoding="utf-8").partition("\n")[0] + "\n"
"""What is left of a file that is cut off."""


def test_a_failed_night_is_repaired_and_charged(nightly: NightlyJob) -> None:
    """Fifteen nights, with one file cut off and one old: both are repaired as the README says."""
    for night in range(15):
        day = FIRST + datetime.timedelta(days=night)
        fails = night in (BAD, LATE)
        # The other file is that of the night before, which still lies there.
        nightly.write_visits(day, of=day - datetime.timedelta(days=1) if night == LATE else None)
        if night == BAD:
            Path("visits.csv").write_text(HEADER, encoding="utf-8")
        done = nightly.run(day)
        assert done.status == (8 if fails else 0), f"{day}: {done.err}"
        assert Path(f"nightly-{day}.csv").exists() is not fails
        if fails:
            # A retry of the job after the repair reads nothing, and says so.
            nightly.write_visits(day)
            again = nightly.run(day)
            assert again.status == 8
            assert "no file was read" in again.err and "`--check-again`" in again.err
        if night == BAD:
            for _ in range(2):
                repaired = nightly.run(day, nightly.repair)
                assert repaired.status == 0, repaired.err
                assert Path(f"nightly-{day}.csv").exists()
    late = FIRST + datetime.timedelta(days=LATE)
    nightly.write_visits(late)
    refused = nightly.run(late, nightly.repair, later=10)
    assert refused.status == 6 and "`--any-period`" in refused.err
    confirmed = nightly.run(late, nightly.repair.rstrip() + " --any-period", later=10)
    assert confirmed.status == 0, confirmed.err

    charged = [(entry["release_id"], entry["epsilon"]) for entry in nightly.history()]
    nights = [str(FIRST + datetime.timedelta(days=night)) for night in range(15)]
    expected = [(day, "0.25" if at in (BAD, LATE) else "1") for at, day in enumerate(nights)]
    expected.insert(BAD + 1, (f"{nights[BAD]}+2", "1"))
    assert charged == [*expected, (f"{nights[LATE]}+2", "1")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_stand_where_they_are_run(page: Path) -> None:
    """A line that begins with `dpcli` is in a block that this test runs, or in a spec."""
    text = page.read_text(encoding="utf-8")
    rest = FENCE.sub("", text)

    assert not re.findall(rf"^\s*\$? ?dpcli ({'|'.join(COMMANDS)}) ", rest, re.MULTILINE)
    for match in FENCE.finditer(text):
        # `test_recipes.py` runs the jobs of schedulers.
        if match["language"] not in ("sh", "crontab", "python") and page.name != "recipes.md":
            assert "dpcli " not in match["text"]


def test_continuous_integration_runs_the_two_others() -> None:
    """Both commands that install are taken from the README by `.ci/run`."""
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    for marker in ("first command", "test command"):
        assert f"<!-- {marker} -->\n```sh\n{INSTALLING}" in README
        assert marker in run


def test_pictures_are_there() -> None:
    """Every picture that the README shows is in the repository, and is a picture."""
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)

    assert shown
    for name in shown:
        assert (ROOT / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("anchor", sorted(set(re.findall(r"\]\(#([^)]+)\)", README))) or [""])
def test_links_within_lead_somewhere(anchor: str) -> None:
    """Each link to a section leads to a heading."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", README), re.MULTILINE)
    slugs = {re.sub(r"[^\w -]", "", text).strip().lower().replace(" ", "-") for text in headings}

    assert not anchor or anchor in slugs
