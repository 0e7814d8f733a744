"""`quality:` and `check --cells` detect files that do not fit before the budget is spent."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from random import Random

import pytest

from dpcli import load_spec, plan, release
from dpcli.data.column import FREQUENT
from dpcli.ledger.charge import StoredRelease, charge_for
from dpcli.ledger.ledger import OpenLedger
from dpcli.ledger.options import DEFAULT
from dpcli.ledger.transaction import LedgerTransaction
from dpcli.planning.planner import make_plan
from dpcli.planning.quality_check import QualityResult
from dpcli.problems.errors import LedgerError, Problem, QualityError, UsageError
from dpcli.releasing.steps import check_quality
from dpcli.specification.load import parse_central_spec
from tests.support.cli import Command, digits, edit, remove_ledger, reported
from tests.support.rules import mostly_extended
from tests.support.terminal import Screen, on_terminal

ROWS = 3_000

SPEC = """\
dpcli: 1
dataset: shop
privacy: {{unit: row, neighbors: add-remove, budget: {{epsilon: 3}}}}
quality: {{epsilon: 0.1, min_rows: 2000, min_readable: 0.8}}
columns:
  {column}
statistics:
  - {{name: n, statistic: count, epsilon: 1}}
  - {{name: probe, {statistic}, epsilon: 1}}
"""
MONEY = "{type: number, bounds: [0, 100000], step: 1}"
SEX = "{type: category, values: [male, female]}"
AGE = "{type: integer, bounds: [0, 110]}"

FILES: dict[str, tuple[str, str, Callable[[Random], str]]] = {
    "letters for words": (f"sex: {SEX}", "statistic: count, by: [sex]", lambda r: r.choice("MF")),
    "open-ended ages": (
        f"age: {AGE}",
        "statistic: mean, column: age",
        lambda r: r.choice(["85+", "<18", "18-24", "unknown"]),
    ),
    "percent": (
        f"rate: {MONEY}",
        "statistic: mean, column: rate",
        lambda r: f"{r.randint(1, 99)}%",
    ),
    "constants in the place of unreadable cells": (
        "age: {type: integer, bounds: [0, 110], missing: 40}",
        "statistic: mean, column: age",
        lambda _: "n/a",
    ),
}
"""A column, a statistic about it, and cells that cannot be read as declared."""


def write(folder: Path, name: str, rows: int = ROWS) -> tuple[Path, Path]:
    """The spec and the file of a case."""
    column, statistic, cell = FILES[name]
    (spec := folder / "spec.yaml").write_text(
        SPEC.format(column=column, statistic=statistic), encoding="utf-8"
    )
    random = Random(name)
    return spec, fill(folder, column.split(":")[0], *(cell(random) for _ in range(rows)))


def fill(folder: Path, *lines: str) -> Path:
    """The data file of a case with other lines."""
    (data := folder / "data.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return data


def repair(data: Path) -> None:
    """Make every cell of a file with percentages a number."""
    fill(data.parent, "rate", *["5"] * ROWS)


def failed(dpcli: Command, folder: Path, *words: str | Path) -> tuple[list[str | Path], Path]:
    """The words of a release `r` whose quality check failed, and its data file."""
    spec, data = write(folder, "percent")
    command = ["release", spec, data, "--release-id", "r", "-q", *words]
    assert dpcli(*command).status == 8
    return command, data


def readable(folder: Path, rows: int = ROWS) -> tuple[Path, Path]:
    """A spec about ages, and a file that fits it."""
    spec, _ = write(folder, "open-ended ages")
    random = Random(1)
    return spec, fill(folder, "age", *(str(random.randint(0, 110)) for _ in range(rows)))


def history(dpcli: Command, folder: Path) -> list[dict[str, object]]:
    """What the ledger of a folder was charged for."""
    outcome = dpcli("ledger", "history", "--json", "--ledger", folder / DEFAULT)
    entries: list[dict[str, object]] = digits(outcome.out)
    return entries


@pytest.mark.parametrize("name", [*FILES, 0, 1, 200])
def test_a_file_that_does_not_fit_stops_the_release(
    name: str | int, dpcli: Command, tmp_path: Path
) -> None:
    """Exit 8, no table, a report with the reason, and the epsilon of the check alone.

    A column cannot be read; or there is a header, one row, or an incomplete upload.
    """
    spec, data = write(tmp_path, name) if isinstance(name, str) else readable(tmp_path, name)
    outcome = dpcli("release", spec, data, "-o", tmp_path / "t.csv", "--release-id", "r")
    report = reported(tmp_path / "t.report.json")

    assert (outcome.status, outcome.out) == (8, "")
    assert "error[quality-failed]" in outcome.err
    # A row whose cell cannot be read is none without a fault, so both minimums are missed.
    assert "and `min_rows` is 2,000" in outcome.err
    assert ("can be read as declared" in outcome.err) is isinstance(name, str)
    assert not (tmp_path / "t.csv").exists()
    (entry,) = history(dpcli, tmp_path)
    assert (entry["epsilon"], entry["stopped"]) == ("0.1", True)
    assert report["statistics"] == []
    assert report["quality"]["passed"] is False
    assert report["privacy"]["spent"]["epsilon"] == 0.1
    assert len(report["quality"]["missed"]) == 1 + isinstance(name, str)


def test_a_file_that_fits_is_released(dpcli: Command, tmp_path: Path) -> None:
    """The table is the same as without a check, and the report has the noisy counts."""
    spec, data = readable(tmp_path)
    outcome = dpcli("release", spec, data, "-o", tmp_path / "t.csv")
    report = reported(tmp_path / "t.report.json")

    assert outcome.status == 0
    assert "quality check: about " in outcome.err
    assert (tmp_path / "t.csv").read_text(encoding="utf-8").count("quality") == 0
    assert report["quality"]["passed"] is True
    counts = {name: count["value"] for name, count in report["quality"]["counts"].items()}
    assert list(counts) == ["age: unreadable", "age: outside", "age: blank", "no fault"]
    assert abs(counts.pop("no fault") - ROWS) < 400
    assert max(map(abs, counts.values())) < 400
    assert report["privacy"]["spent"]["epsilon"] == 2.1


def test_the_same_release_id_fails_the_same_way_again(dpcli: Command, tmp_path: Path) -> None:
    """A retry has the same reasons, report and status, costs nothing, and says what it is."""
    spec, data = write(tmp_path, "percent")
    words = ["release", spec, data, "--release-id", "r", "-q"]
    first = dpcli(*words, "--report", tmp_path / "one.html")
    repair(data)
    second = dpcli(*words, "--report", tmp_path / "two.html")
    (entry,) = history(dpcli, tmp_path)

    assert first.status == second.status == dpcli(*words, "--dry-run").status == 8
    (reason,) = re.findall("in about .*", first.err)
    assert f"failed at {entry['created']}" in second.err
    assert f"and no file was read: {reason}" in second.err
    assert "add `--check-again`" in second.err
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def entries(dpcli: Command, folder: Path) -> list[tuple[object, ...]]:
    """What a ledger was charged for: names, epsilons, whether stopped, and after which check."""
    keys = ("release_id", "epsilon", "stopped", "after_check")
    return [tuple(entry[key] for key in keys) for entry in history(dpcli, folder)]


def test_a_repaired_file_is_checked_again(dpcli: Command, tmp_path: Path) -> None:
    """In an entry of its own that names the failed one, which stays; all of it is charged."""
    table, report = tmp_path / "t.csv", tmp_path / "t.json"
    words, data = failed(dpcli, tmp_path, "-o", table, "--report", report)
    assert dpcli(*words, "--check-again").status == 8
    charged = [("r", "0.1", True, None), ("r+2", "0.1", True, "r")]
    assert entries(dpcli, tmp_path) == charged
    assert "`r+2`: correct the file or the spec" in dpcli(*words).err
    repair(data)
    assert not table.exists()
    done = dpcli(*words, "--check-again").succeeded()
    assert "release r+3 follows the failed quality check of r+2; both are charged" in done.err
    charged.append(("r+3", "2.1", False, "r+2"))
    assert entries(dpcli, tmp_path) == charged
    stated, content = reported(report), table.read_bytes()
    assert stated["ledger"]["after_check"] == "r+2"
    assert stated["privacy"]["before"]["epsilon"] == 0.2

    # Once an attempt has passed, it is published again at no cost; the failed one stays failed.
    table.unlink()
    assert dpcli(*words, "--check-again").status == 0
    stays = dpcli(*words)
    assert stays.status == dpcli(*words, "--dry-run").status == 8
    assert table.read_bytes() == content and reported(report) == stated
    assert "a later check under this id passed, in the entry `r+3`" in stays.err
    assert entries(dpcli, tmp_path) == charged
    words = ["ledger", "export", "r+3", "-o", tmp_path / "x.csv", "--ledger", tmp_path / DEFAULT]
    assert dpcli(*words).status == 0
    assert (tmp_path / "x.csv").read_bytes() == content


def test_hints_about_later_checks_name_their_ledger(
    dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command in a hint publishes what is stored, from any folder."""
    (elsewhere := tmp_path / "else where").mkdir()
    monkeypatch.chdir(elsewhere)
    book = tmp_path / "book.sqlite"
    assert dpcli("ledger", "init", book).status == 0
    words, data = failed(dpcli, tmp_path, "--ledger", book)
    stopped = dpcli(*words, "--check-again", "--report", "/dev/full", "--format", "json")
    repair(data)
    passed = dpcli(*words, "--check-again", "-o", "/dev/full")
    assert stopped.status == passed.status == 7
    for done in (stopped, passed, dpcli(*words)):
        (command,) = re.findall("`dpcli (ledger export [^`]*)`", done.err)
        assert dpcli(*shlex.split(command)).status == 0
    assert (elsewhere / "check.md").exists()


def test_a_corrected_spec_is_checked_again(dpcli: Command, tmp_path: Path) -> None:
    """The id stays; that of a release that passed is still refused to another spec."""
    words, _ = failed(dpcli, tmp_path, "-o", tmp_path / "t.csv")
    spec, change = tmp_path / "spec.yaml", ("step: 1}", 'step: 1, affixes: ["%"]}')
    edit(spec, change)
    assert "error[release-id-taken]" in dpcli(*words).err
    assert dpcli(*words, "--check-again").status == 0
    assert entries(dpcli, tmp_path) == [("r", "0.1", True, None), ("r+2", "2.1", False, "r")]
    edit(spec, change[::-1])
    assert "error[release-id-taken]" in dpcli(*words, "--check-again").err


def test_a_check_of_another_account_is_not_made_again(dpcli: Command, tmp_path: Path) -> None:
    """An id belongs to its dataset: the other has no failed check, and nothing is charged to it."""
    words, data = failed(dpcli, tmp_path, "-o", tmp_path / "t.csv")
    repair(data)
    spec, change = tmp_path / "spec.yaml", ("dataset: shop", "dataset: market")
    edit(spec, change)
    for dry in ((), ("--dry-run",)):
        refused = dpcli(*words, "--check-again", *dry)
        assert refused.status == 6 and "error[nothing-to-check-again]" in refused.err
    assert entries(dpcli, tmp_path) == [("r", "0.1", True, None)]
    edit(spec, change[::-1])
    assert dpcli(*words, "--check-again").status == 0


def test_a_check_again_is_never_free(dpcli: Command, tmp_path: Path) -> None:
    """The budget refuses a check that does not fit, before it reads, however often it is tried."""
    spec, data = write(tmp_path, "percent")
    edit(spec, ("budget: {epsilon: 3}", "budget: {epsilon: 2.25}"))
    words = ["release", spec, data, "--release-id", "r", "-q"]
    again = [dpcli(*words, *more).status for more in ([], *[["--check-again"]] * 3)]
    assert again == [8, 8, 5, 5]
    assert entries(dpcli, tmp_path) == [("r", "0.1", True, None), ("r+2", "0.1", True, "r")]


def test_what_did_not_fail_is_not_checked_again(dpcli: Command, tmp_path: Path) -> None:
    """A release that passed is published, and an unknown id is refused without a ledger."""
    spec, data = readable(tmp_path)
    words = ["release", spec, data, "-q", "-o", tmp_path / "t.csv"]
    unknown = dpcli(*words, "--release-id", "r", "--check-again")
    assert unknown.status == 6
    assert "error[nothing-to-check-again]" in unknown.err
    assert not list(tmp_path.glob("dpcli-ledger*"))
    assert dpcli(*words, "--check-again").status == 2
    assert dpcli(*words, "--release-id", "r").status == 0
    assert dpcli(*words, "--release-id", "r", "--check-again").status == 0
    assert entries(dpcli, tmp_path) == [("r", "2.1", False, None)]
    dry = dpcli(*words, "--release-id", "s", "--check-again", "--dry-run")
    assert "error[nothing-to-check-again]" in dry.err


@pytest.mark.parametrize("instant", ["before the charge", "after it"])
def test_a_crash_leaves_no_check_without_a_charge(
    instant: str, dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before the commit, nothing is charged or shown; after it, the same is published."""
    words, data = failed(dpcli, tmp_path, "-o", tmp_path / "t.csv")
    repair(data)
    commit = OpenLedger.commit

    def killed(ledger: OpenLedger, *args: object) -> StoredRelease:
        if instant == "after it":
            commit(ledger, *args)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(OpenLedger, "commit", killed)
        interrupted = dpcli(*words, "--check-again")
    assert interrupted.status == 130
    assert "ledger history` shows whether this check was charged" in interrupted.err
    assert not (tmp_path / "t.csv").exists()
    charged = [("r", "0.1", True, None)]
    last = ("r+2", "2.1", False, "r")
    assert entries(dpcli, tmp_path) == (charged if instant != "after it" else [*charged, last])
    assert dpcli(*words, "--check-again").status == 0
    assert entries(dpcli, tmp_path) == [*charged, last]


def test_a_later_check_is_recovered_from_its_report(dpcli: Command, tmp_path: Path) -> None:
    """After a lost disk, both the failed check and the later one are charged again."""
    reports = [tmp_path / "one.json", tmp_path / "two.json"]
    words, data = failed(dpcli, tmp_path, "--report", reports[0])
    repair(data)
    dpcli(*words[:-1], reports[1], "--check-again")
    before = [entry[:2] for entry in entries(dpcli, tmp_path)]
    remove_ledger(tmp_path)
    dpcli("ledger", "recover", "--from", *reports, "--ledger", tmp_path / DEFAULT).succeeded()

    assert [entry[:2] for entry in entries(dpcli, tmp_path)] == before


def test_a_program_checks_again(dpcli: Command, tmp_path: Path) -> None:
    """With `check_again=True`, as the command does."""
    spec, data = write(tmp_path, "percent")
    wanted = plan(load_spec(spec))
    with pytest.raises(QualityError):
        release(wanted, data, release_id="r")
    repair(data)
    with pytest.raises(QualityError, match="no file was read"):
        release(wanted, data, release_id="r")
    done = release(wanted, data, release_id="r", check_again=True)
    assert (done.release_id, done.charged) == ("r+2", True)
    assert not release(wanted, data, release_id="r", check_again=True).charged
    assert len(entries(dpcli, tmp_path)) == 2
    with pytest.raises(UsageError):
        release(wanted, data, check_again=True)


def test_a_stopped_release_has_reports_and_no_table(dpcli: Command, tmp_path: Path) -> None:
    """Reports can be exported in every format; a request for a table states why there is none."""
    failed(dpcli, tmp_path)
    ledger = ["--ledger", tmp_path / DEFAULT]

    refused = dpcli("ledger", "export", "r", *ledger)
    assert (refused.status, refused.out) == (6, "")
    assert "error[release-stopped]" in refused.err
    for ending in ("html", "md", "json", "yaml"):
        path = tmp_path / f"check.{ending}"
        assert dpcli("ledger", "export", "r", "--report", path, *ledger).status == 0
        assert b"rate" in path.read_bytes()
    assert "stopped by its quality check" in dpcli("ledger", "history", *ledger).out


@pytest.mark.parametrize("rows", [0, ROWS])
def test_a_release_without_a_check_warns(rows: int, dpcli: Command, tmp_path: Path) -> None:
    """Whatever the file holds: on standard error, in JSON and in every report, also with -q."""
    spec, data = readable(tmp_path, rows)
    without_check(spec)
    reports = [tmp_path / f"r.{ending}" for ending in ("html", "md", "json")]
    named = [word for report in reports for word in ("--report", report)]
    outcome = dpcli(
        "release", spec, data, "-q", "--json", "-o", tmp_path / "t.csv", *named
    ).succeeded()

    assert "warning: this spec has no `quality:`" in dpcli("plan", spec).out
    assert "warning: this spec has no `quality:`" in outcome.err
    assert any("has no `quality:`" in text for text in outcome.json["warnings"])
    for report in reports:
        assert "Nothing checked that the data file was complete" in report.read_text("utf-8")


def test_a_spec_can_state_that_no_check_is_meant(dpcli: Command, tmp_path: Path) -> None:
    """With `quality: none`, no command and no report warns."""
    spec, data = readable(tmp_path)
    spec.write_text(f"{without_check(spec)}\nquality: none\n", encoding="utf-8")
    report = tmp_path / "r.md"
    commands = [("check", data), ("plan",), ("plan", "--json"), ("release", data, "--dry-run")]
    commands += [("release", data, "-o", tmp_path / "t.csv", "--report", report)]
    for command, *more in commands:
        outcome = dpcli(command, spec, *more).succeeded()
        assert "no `quality:`" not in outcome.out + outcome.err
    assert "Nothing checked" not in report.read_text("utf-8")


def without_check(spec: Path) -> str:
    """Take the quality check out of a spec, and return its text."""
    lines = spec.read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("quality"))
    spec.write_text(text, encoding="utf-8")
    return text


def test_a_public_number_of_rows_is_checked_exactly(dpcli: Command, tmp_path: Path) -> None:
    """Under change-one, a check of rows alone costs nothing, and one missing row stops."""
    spec, data = readable(tmp_path)
    edit(
        spec,
        ("add-remove", "change-one"),
        ("min_rows: 2000, min_readable: 0.8", f"min_rows: {ROWS + 1}"),
        # The other statistic uses no column, so no row can have a fault.
        ("  - {name: probe, statistic: mean, column: age, epsilon: 1}\n", ""),
    )
    assert "at no privacy cost" in dpcli("plan", spec).out
    outcome = dpcli("release", spec, data, "-q")

    assert outcome.status == 8
    assert f"the number of rows is about {ROWS:,} and" in outcome.err
    assert [entry["epsilon"] for entry in history(dpcli, tmp_path)] == ["0"]


PEOPLE = """\
dpcli: 1
dataset: shop
privacy: {unit: {column: id, max_rows: 2}, neighbors: add-remove, budget: {epsilon: 9}}
quality: {epsilon: 1, MINIMUM}
columns:
  id: {type: id}
  age: {type: integer, bounds: [0, 110]}
statistics:
  - {name: n, statistic: count, epsilon: 1}
"""


def of_people(folder: Path, minimum: str, people: int, rows: int = 10) -> tuple[Path, Path]:
    """A spec with this minimum, and a file of people with these rows each."""
    (spec := folder / "spec.yaml").write_text(PEOPLE.replace("MINIMUM", minimum), "utf-8")
    lines = [f"{person},{person % 90}" for person in range(people) for _ in range(rows)]
    return spec, fill(folder, "id,age", *lines)


def test_a_minimum_of_rows_is_about_the_rows_kept(dpcli: Command, tmp_path: Path) -> None:
    """A complete file can miss it: `plan` and `check` warn before, and the message says why."""
    spec, data = of_people(tmp_path, "min_rows: 4000", 500)
    words = "`min_rows: 4,000` is compared with the rows that a limit of 2 per person keeps"
    assert f"warning: {words}" in dpcli("plan", spec).out
    assert any(words in text for text in dpcli("plan", spec, "--json").json["warnings"])
    assert f"warning: {words}" in dpcli("check", spec).err
    outcome = dpcli("release", spec, data, "-q")

    assert outcome.status == 8
    assert "the number of rows that the limits on people keep is about" in outcome.err
    of_people(tmp_path, "min_rows: 800, min_people: 400", 500)
    assert words.partition(":")[2] not in dpcli("plan", spec).out


@pytest.mark.parametrize(("people", "status"), [(500, 0), (100, 8), (0, 8)])
def test_a_minimum_of_people_ignores_how_many_rows_they_have(
    people: int, status: int, dpcli: Command, tmp_path: Path
) -> None:
    """A complete file passes and one of too few people stops; the report has the noisy number."""
    spec, data = of_people(tmp_path, "min_people: 480", people)
    words = ["-o", tmp_path / "t.csv", "--json", "-q"]
    outcome = dpcli("release", spec, data, *words)
    report = reported(tmp_path / "t.report.json")["quality"]

    assert outcome.status == status
    message = "the number of people without a fault is about"
    assert (message in outcome.err) is (status == 8)
    # Each has ten rows of which two are kept: that is no reason to count them out.
    assert abs(report["counts"]["4 rows or more"]["value"] - people) < 100
    assert abs(report["counts"]["no fault"]["value"]) < 100
    assert report["min_people"] == 480
    assert outcome.json["quality"]["counts"] == report["counts"]
    assert ["people without a fault", "480"] in [[row[0], row[4]] for row in report["table"]]
    assert "stops a file with fewer than" in dpcli("plan", spec).out


@pytest.mark.parametrize(
    ("minimum", "people", "rows", "shown"),
    [
        ("min_people: 480", 480, 10, "people: at least `min_people`"),
        ("min_people: 480", 479, 10, "people: fewer than `min_people`"),
        ("min_rows: 41", 20, 3, "rows that the limits on people keep: fewer than `min_rows`"),
        ("min_rows: 40", 20, 3, "rows that the limits on people keep: at least `min_rows`"),
    ],
)
def test_check_cells_compares_people_and_kept_rows_with_their_minimum(
    minimum: str, people: int, rows: int, shown: str, tmp_path: Path
) -> None:
    """As the check of a release does, without noise and for the operator alone."""
    assert shown in cells_on_terminal(*of_people(tmp_path, minimum, people, rows)).text


def test_check_cells_names_the_faults_that_minimums_do_not_count(
    dpcli: Command, tmp_path: Path
) -> None:
    """A file with enough people may have too few without a fault, and a release would stop."""
    spec = tmp_path / "spec.yaml"
    text = (
        "dpcli: 1\ndataset: d\nquality: {epsilon: 1, min_people: 480}\n"
        "privacy: {unit: {column: id}, neighbors: add-remove, budget: {epsilon: 9}}\n"
        "columns: {id: {type: id}, ok: {type: boolean}, age: {type: integer, bounds: [0, 50]}}\n"
        "statistics: [{name: n, statistic: count, of: people, by: [ok], epsilon: 1}]\n"
    )
    spec.write_text(text, encoding="utf-8")
    data = fill(tmp_path, "id,ok,age", *(f"{at},{'' if at % 9 else 'yes'},99" for at in range(500)))
    shown = " ".join(cells_on_terminal(spec, data).text.split())
    assert "people: at least `min_people`" in shown
    assert "faults are in `ok` (some blank); `missing: drop`" in shown
    assert dpcli("release", spec, data, "-q").status == 8
    spec.write_text(text.replace("boolean", "boolean, missing: drop"), encoding="utf-8")
    assert "faults are in" not in cells_on_terminal(spec, data).text
    assert dpcli("release", spec, data, "-q").status == 0


ODD = ["NaN", '"""', "9" * 50, "", ",,,", "x\x00y", "é", "=1+1", "1e400", "-0"]


@pytest.mark.parametrize(
    ("row", "fits"),
    mostly_extended(
        product(ODD, (True, False)),
        *((row, at % 2 == 0) for at, row in enumerate(ODD)),
        unpack=True,
    ),
)
def test_one_row_changes_noisy_numbers_and_nothing_else(
    row: str, fits: bool, dpcli: Command, freeze: Callable[[], None], tmp_path: Path
) -> None:
    """With frozen noise, one more row changes no status, message or structure of a report."""
    spec, data = readable(tmp_path) if fits else write(tmp_path, "open-ended ages")
    text = data.read_text(encoding="utf-8")
    outcomes, reports = [], []
    for content in (text, text + row + "\n"):
        data.write_text(content, encoding="utf-8")
        freeze()
        words = ["release", spec, data, "--release-id", "r", "--force"]
        outcomes.append(dpcli(*words, "-q", "--report", tmp_path / "r.json"))
        reports.append(reported(tmp_path / "r.json"))
    one, other = outcomes

    assert one.status == other.status == (0 if fits else 8)
    assert without_digits(one.err) == without_digits(other.err)
    assert structure(reports[0]) == structure(reports[1])
    counts = [report["quality"]["counts"].values() for report in reports]
    for first, second in zip(*counts, strict=True):
        assert abs(first["value"] - second["value"]) <= 1


def without_digits(text: str) -> str:
    """A text without its numbers."""
    return "".join("#" if letter in "0123456789.," else letter for letter in text).replace("#", "")


CHANGING = ("head", "digest", "content_sha256", "previous", "payload")
"""The keys of hashes, and of the text that has some."""


def structure(value: object) -> object:
    """A report without its numbers."""
    if isinstance(value, dict):
        return {key: structure(item) for key, item in value.items() if key not in CHANGING}
    if isinstance(value, list):
        return [structure(item) for item in value]
    return without_digits(value) if isinstance(value, str) else type(value).__name__


def competing_release(folder: Path) -> None:
    """Another release of the same account, which takes what is left of its budget."""
    text = (folder / "spec.yaml").read_text(encoding="utf-8")
    plan = make_plan(parse_central_spec(text.replace("epsilon: 1}", "epsilon: 1.4}"), "other.yaml"))
    ledger = OpenLedger.open(folder / DEFAULT)
    ledger.commit(charge_for(plan, "competing_release"), lambda _: {"table.csv": b""})
    ledger.close()


def test_a_refusal_does_not_depend_on_the_check(
    dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another release spent the budget after the check, both outcomes are refused alike."""
    outcomes = []
    for make in (readable, lambda folder: write(folder, "open-ended ages")):
        remove_ledger(tmp_path)
        spec, data = make(tmp_path)
        drawn: list[bool] = []

        def check(*words: object, drawn: list[bool] = drawn) -> QualityResult | None:
            checked = check_quality(*words)  # type: ignore[arg-type]
            assert checked is not None
            drawn.append(bool(checked.reasons))
            competing_release(tmp_path)
            return checked

        monkeypatch.setattr("dpcli.releasing.run.check_quality", check)
        outcome = dpcli("release", spec, data, "--release-id", "r")
        outcomes.append(
            (outcome, drawn, [entry["release_id"] for entry in history(dpcli, tmp_path)])
        )
    (passed, no, one), (stopped, yes, other) = outcomes

    assert (no, yes) == ([False], [True])
    assert passed.status == 5
    assert passed == stopped
    assert one == other == ["competing_release"]


def test_a_ledger_that_cannot_store_charges_for_the_check(
    dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed write may reveal the result of the check, so the check is charged."""

    def full(*_: object) -> StoredRelease:
        raise LedgerError([Problem("ledger-unusable", "the disk is full")])

    for make, status in ((readable, 0), (lambda folder: write(folder, "open-ended ages"), 8)):
        remove_ledger(tmp_path)
        spec, data = make(tmp_path)
        with monkeypatch.context() as patched:
            patched.setattr(LedgerTransaction, "commit", full)
            outcome = dpcli("release", spec, data, "--release-id", "r")
        assert outcome.status == 6
        (failed,) = history(dpcli, tmp_path)
        assert (str(failed["release_id"])[:11], failed["epsilon"]) == ("r+unstored-", "0.1")
        # A retry makes the check again.
        assert dpcli("release", spec, data, "--release-id", "r").status == status


def cells_on_terminal(spec: Path, data: Path) -> Screen:
    """A check of cells on a terminal of its own, and what it shows."""
    return on_terminal("check", spec, data, "--cells", columns=100, cwd=spec.parent, NO_COLOR="1")


@pytest.mark.parametrize("name", mostly_extended(FILES, *[*FILES][::2]))
def test_check_cells_shows_on_a_terminal_what_cannot_be_read(name: str, tmp_path: Path) -> None:
    """The column is `none` readable, without a number of rows or a text that few rows have."""
    spec, data = write(tmp_path, name)
    shown = cells_on_terminal(spec, data)
    column = FILES[name][0].split(":")[0]

    assert shown.status == 0
    assert "CONFIDENTIAL" in shown.text
    (line,) = [line for line in shown.text.splitlines() if line.strip().startswith(f"{column} ")]
    assert line.split()[1:4] == ["none", "none", "all"]
    assert f"no cell of `{column}` can be read" in shown.text
    assert "3000" not in shown.text and "3,000" not in shown.text
    rows = Counter(data.read_text(encoding="utf-8").splitlines()[1:])
    for cell in [cell for cell, count in rows.items() if count < FREQUENT]:
        assert cell.strip('" ') not in shown.text
    assert not list(tmp_path.glob("dpcli-ledger*"))


@pytest.mark.parametrize(
    ("read", "blank", "words"),
    [
        (100, 0, ["all", "none"]),
        (95, 0, ["most", "none", "few"]),
        (49, 50, ["some", "some", "few"]),
        (5, 0, ["few", "none", "most"]),
        (0, 0, ["none", "none", "all"]),
    ],
)
def test_check_cells_describes_amounts_in_words(
    read: int, blank: int, words: list[str], tmp_path: Path
) -> None:
    """All, most (nine tenths or more), some, few (a tenth or less), none."""
    spec, _ = write(tmp_path, "open-ended ages")
    cells = ["7,1"] * read + [",1"] * blank + ["x,1"] * (100 - read - blank)
    shown = cells_on_terminal(spec, fill(tmp_path, "age,x", *cells)).text

    (line,) = [line for line in shown.splitlines() if line.strip().startswith("age ")]
    assert line.split()[1 : 1 + len(words)] == words
    assert ("no cell of" in shown) is (not read)
    assert "rows: fewer than `min_rows`" in shown


def test_check_notes_what_reports_will_not_state(dpcli: Command, tmp_path: Path) -> None:
    """One line asks who is responsible for a release, unless the spec has it."""
    spec, _ = readable(tmp_path)
    edit(spec, ("dpcli: 1", "dpcli: 1\ndeclarations: {curator: A, region: B}"))
    noted = dpcli("check", spec).err
    assert noted.count("not stated") == 1
    assert "`not stated` for `contact`, `intended_use`, `justification` and `access`" in noted
    stated = "{curator: A, contact: B, intended_use: C, justification: D, access: E,"
    edit(spec, ("{curator: A,", stated))
    assert "not stated" not in dpcli("check", spec).err


def test_check_cells_names_declared_texts_that_never_occur(tmp_path: Path) -> None:
    """For a category it lists the declared texts that are in no cell."""
    spec, _ = write(tmp_path, "letters for words")
    data = fill(tmp_path, "sex", *["male"] * 10)

    assert "never occurs: female" in cells_on_terminal(spec, data).text


def test_check_cells_is_only_for_terminals(dpcli: Command, tmp_path: Path) -> None:
    """In a pipe it is refused with one message, before it reads a row."""
    spec, data = write(tmp_path, "percent")
    refused = dpcli("check", spec, data, "--cells")

    assert (refused.status, refused.out) == (2, "")
    assert "error[terminal-required]" in refused.err
    assert dpcli("check", spec, "--cells").status == 2


def test_simulation_counts_the_runs_that_the_check_stops(dpcli: Command, tmp_path: Path) -> None:
    """Too few synthetic rows stop almost all runs; enough of them stop hardly any."""
    words = ["simulate", readable(tmp_path)[0], "--runs", "50", "--seed", "1", "--json", "--rows"]

    assert dpcli(*words, "100").json["stopped_by_quality"] >= 45
    assert dpcli(*words, "4000").json["stopped_by_quality"] <= 3


def test_plan_and_check_warn_of_a_check_that_detects_nothing(
    dpcli: Command, tmp_path: Path
) -> None:
    """If epsilon is too small, an empty file would pass; the status stays 0."""
    spec, _ = readable(tmp_path)
    assert "warning" not in dpcli("check", spec).err
    text = edit(spec, ("epsilon: 0.1,", "epsilon: 0.001,")).read_text(encoding="utf-8")
    planned, checked = dpcli("plan", spec), dpcli("check", spec)

    assert "`min_rows: 2000` stops a file with fewer than" not in planned.out
    assert "even an empty file may pass" in planned.out
    assert checked.status == 0
    assert "hides that 20% of a file" in checked.err
    (needed,) = re.findall(r"epsilon ([0-9.]+) would", checked.err)
    for factor, warned in ((0.9, True), (1.1, False)):
        spec.write_text(text.replace("0.001,", f"{float(needed) * factor:.6f},"), "utf-8")
        assert ("hides that 20% of a file" in dpcli("check", spec).err) == warned
