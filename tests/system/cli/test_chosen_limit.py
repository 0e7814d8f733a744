"""`max_rows: {choose: ...}`: noisy counts of people choose the limit on their rows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from jsonschema import Draft202012Validator

from dpcli.ledger.charge import SUFFIX
from dpcli.ledger.ledger import OpenLedger
from dpcli.releasing.chosen_bounds import BOUNDS
from dpcli.report.formats import report_schema
from tests.support.cli import ROOT, Command, history, remove_ledger, reported

SPEC = """\
dpcli: 1
dataset: shop
rows_are: visits
privacy:
  unit: {column: who, max_rows: {choose: 1-2-5, up_to: 500, epsilon: 0.1}}
  neighbors: add-remove
  budget: {epsilon: 1}
columns:
  who: {type: id}
  spent: {type: number, step: 0.01, bounds: [0, 100]}
  sex: {type: category, values: [f, m]}
statistics:
  - {name: total, statistic: sum, column: spent, epsilon: 0.5}
  - {name: visits, statistic: count, by: [sex], epsilon: 0.4}
"""

BOTH = SPEC.replace("[0, 100]", "{choose: 1-2-5, up_to: 1000000, epsilon: 0.1}").replace(
    "epsilon: 0.5", "epsilon: 0.4"
)


def write(folder: Path, spec: str = SPEC, people: int = 2_000) -> tuple[Path, Path]:
    """A spec, and visits of people: a third have one, few more than ten, and one has a thousand."""
    random = Random(5)
    lines = ["who,spent,sex"]
    for person in range(people):
        visits = 1_000 if person == 7 else max(1, round(random.lognormvariate(0.8, 0.8)))
        lines += [
            f"p{person},{random.uniform(0, 80):.2f},{random.choice(['f', 'm', 'x'])}"
            for _ in range(visits)
        ]
    lines += [",5,f", ",n/a,f"] * 30
    paths = folder / "spec.yaml", folder / "data.csv"
    paths[0].write_text(spec, encoding="utf-8")
    paths[1].write_text("\n".join(lines) + "\n", encoding="utf-8")
    return paths


def test_the_limit_is_chosen_first_and_all_statistics_use_it(
    dpcli: Command, tmp_path: Path
) -> None:
    """It is near the usual number of rows, and the noise is that of the chosen limit."""
    spec, data = write(tmp_path)
    outcome = dpcli("release", spec, data, "-o", tmp_path / "t.csv", "--release-id", "r")
    report = reported(tmp_path / "t.report.json")
    (choice,) = report["choices"]
    limit = choice["upper"]

    assert outcome.status == 0, outcome.err
    assert history(dpcli, tmp_path) == [("r+bounds", "0.1"), ("r", "0.9")]
    assert limit in (10, 20, 50)
    assert choice["bins"][:3] == [[1, 1], [2, 2], [3, 5]]
    # Each person is in one bin, and rows without an id belong to no person.
    assert abs(sum(choice["counts"]) - 2_000) < 200
    assert report["privacy"]["unit"] == {
        "column": "who", "max_rows": limit, "max_groups": limit, "max_rows_per_group": limit,
    }  # fmt: skip
    total, visits = report["statistics"]
    assert (total["sensitivity"]["l1"], visits["sensitivity"]["l1"]) == (100 * limit, limit)
    assert choice["sensitivity"]["l1"] == 1
    assert report["privacy"]["spent"]["epsilon"] == 1
    assert f"Chosen limit on rows per person: {limit}. " in outcome.err
    assert Draft202012Validator(json.loads(report_schema())).is_valid(report)


def test_pages_show_how_the_limit_was_chosen(dpcli: Command, tmp_path: Path) -> None:
    """Every form of report says it in two sentences, and the pages have the noisy counts."""
    spec, data = write(tmp_path)
    paths = [tmp_path / f"r.{ending}" for ending in ("html", "md", "yaml")]
    words = [word for path in paths for word in ("--report", path)]
    assert dpcli("release", spec, data, *words).status == 0
    for path in paths:
        text = path.read_text(encoding="utf-8").replace("\u00a0", " ")
        assert "Noisy counts of people by their number of visits" in text
    page = paths[1].read_text(encoding="utf-8")
    assert "## How bounds and limits were chosen" in page
    assert "| 201 | 500 |" in page


def test_bounds_and_a_limit_are_chosen_in_one_entry(dpcli: Command, tmp_path: Path) -> None:
    """Neither histogram depends on the other: one row of each person chooses the bounds."""
    spec, data = write(tmp_path, BOTH)
    plan = dpcli("plan", spec).out
    assert "noisy counts of one of the visits of each person" in plan
    assert "and 500, if that is chosen for the bounds of spent and limit on rows per person" in plan
    outcome = dpcli("release", spec, data, "-o", tmp_path / "t.csv", "--release-id", "r")
    report = reported(tmp_path / "t.report.json")
    bounds, limit = report["choices"]

    assert outcome.status == 0, outcome.err
    assert history(dpcli, tmp_path) == [("r+bounds", "0.2"), ("r", "0.8")]
    assert bounds["ledger"] == limit["ledger"]
    assert bounds["sensitivity"]["l1"] == limit["sensitivity"]["l1"] == 1
    assert bounds["upper"] in (100, 200)
    # 2,000 people, of whom some have no readable cell in the chosen row.
    assert abs(sum(bounds["counts"]) - 2_000) < 300
    assert Draft202012Validator(json.loads(report_schema())).is_valid(report)


VARIANTS = {
    "change-one": SPEC.replace("add-remove", "change-one"),
    "both, change-one": BOTH.replace("add-remove", "change-one"),
    "rho": BOTH.replace("{epsilon: 1}", "{rho: 1, delta: 1e-6}\n  composition: zcdp"),
    "pld": SPEC.replace("{epsilon: 1}", "{epsilon: 1, delta: 1e-6}\n  composition: pld"),
    "advanced": SPEC.replace("{epsilon: 1}", "{epsilon: 1, delta: 1e-6}\n  composition: advanced"),
    "gaussian": SPEC.replace("{epsilon: 1}", "{epsilon: 1, delta: 1e-5}").replace(
        "epsilon: 0.5}", "epsilon: 0.5, mechanism: gaussian, delta: 1e-6}"
    ),
    "shares": SPEC.replace("epsilon: 0.5}", "share: 1}").replace("epsilon: 0.4}", "share: 2}"),
    "quality": SPEC.replace("budget: {epsilon: 1}", "budget: {epsilon: 2}").replace(
        "columns:", "quality: {epsilon: 0.1, min_rows: 100}\ncolumns:"
    ),
    "other limits": SPEC.replace("epsilon: 0.1}", "epsilon: 0.1}, max_groups: 2").replace(
        "max_groups: 2", "max_groups: 2, max_rows_per_group: 400"
    ),
    "each": SPEC.replace("{type: id}", "{type: id, missing: each}"),
    "totals": SPEC.replace(
        "column: spent,", "column: spent, bound: sum, unit_bounds: [0, 500],"
    ),
    "powers": SPEC.replace("1-2-5", "powers-of-2, cover: 0.9"),
}  # fmt: skip


@pytest.mark.parametrize("name", VARIANTS)
def test_other_guarantees_and_limits_choose_as_well(
    name: str, dpcli: Command, tmp_path: Path
) -> None:
    """Each is planned, released within its budget, proven by its report, and recovered from it."""
    spec, data = write(tmp_path, VARIANTS[name])
    assert dpcli("plan", spec).status == dpcli("check", spec, data).status == 0
    outcome = dpcli("release", spec, data, "-o", tmp_path / "t.csv", "--release-id", "r")
    path, ledger = tmp_path / "t.report.json", tmp_path / "dpcli-ledger.sqlite"

    assert outcome.status == 0, outcome.err
    report = reported(path)
    unit = report["privacy"]["unit"]
    assert report["choices"][-1]["upper"] == unit["max_rows"] <= 100
    if name == "other limits":
        assert (unit["max_groups"], unit["max_rows_per_group"]) == (2, unit["max_rows"])
    assert dpcli("ledger", "verify", path, "--ledger", ledger).status == 0
    before = history(dpcli, tmp_path)
    assert [release_id for release_id, _ in before] == ["r+bounds", "r"]
    ledger.unlink()
    assert dpcli("ledger", "recover", "--from", path, "--ledger", ledger).status == 0
    assert history(dpcli, tmp_path) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"upper": LIMIT', '"upper": 1'),
        ('"upper": LIMIT', '"upper": 1.5'),
        ('"upper": LIMIT', '"upper": 0'),
        ('"upper": LIMIT', '"upper": 501'),
        ('"upper": LIMIT', '"upper": "many"'),
        ('"upper": LIMIT,', ""),
    ],
)
def test_a_report_with_another_limit_proves_nothing(
    old: str, new: str, dpcli: Command, tmp_path: Path
) -> None:
    """Recovery refuses a report whose chosen limit was changed, without a traceback."""
    spec, data = write(tmp_path)
    dpcli("release", spec, data, "-o", tmp_path / "t.csv", "--release-id", "r")
    path, ledger = tmp_path / "t.report.json", tmp_path / "dpcli-ledger.sqlite"
    old = old.replace("LIMIT", str(reported(path)["choices"][-1]["upper"]))
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    ledger.unlink()
    outcome = dpcli("ledger", "recover", "--from", path, "--ledger", ledger)

    assert outcome.status in (2, 6)
    assert "internal-fault" not in outcome.err


def test_few_people_leave_the_outermost_limit(dpcli: Command, tmp_path: Path) -> None:
    """With fewer people than noise explains, the declared limit is used, and the report says so."""
    spec, data = write(tmp_path, people=20)
    assert dpcli("release", spec, data, "-o", tmp_path / "t.csv").status == 0
    (choice,) = reported(tmp_path / "t.report.json")["choices"]

    assert (choice["upper"], choice["decided"]) == (500, False)
    assert choice["sentences"][0].startswith("Chosen limit on rows per person: the outermost, 500,")


@pytest.mark.parametrize(
    ("more", "changed"),
    [
        ("p5,1,f\n", 2),
        pytest.param("p5000,1,f\n", 1, marks=pytest.mark.extended),
        pytest.param(",1,f\n", 0, marks=pytest.mark.extended),
        pytest.param("p7,bad,\n", 0, marks=pytest.mark.extended),
    ],
)
def test_one_more_row_moves_one_person(
    more: str, changed: int, dpcli: Command, freeze: Callable[[], None], tmp_path: Path
) -> None:
    """With frozen noise, a new person is one more count, and a new row moves its person by a bin.

    The person with a thousand rows stays in the last bin, and a row without an id is no person.
    """
    counts = []
    for rows in ("", more):
        remove_ledger(tmp_path)
        spec, data = write(tmp_path, people=300)
        text = data.read_text(encoding="utf-8")
        if more.startswith("p5,"):
            # The person has two visits before, and three after.
            text = "".join(line for line in text.splitlines(True) if not line.startswith("p5,"))
            text += 2 * more
        data.write_text(text + rows, encoding="utf-8")
        freeze()
        words = ["release", spec, data, "--release-id", "r", "--force"]
        assert dpcli(*words, "--report", tmp_path / "r.json").status == 0
        counts.append(reported(tmp_path / "r.json")["choices"][0]["counts"])
    one, other = counts

    assert sum(abs(first - second) for first, second in zip(one, other, strict=True)) == changed


KILL = """
import os, signal, sys
from dpcli.cli.main import main
from dpcli.releasing.transaction import ReleaseTransaction

def kill(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

ReleaseTransaction.aggregate = kill
sys.argv[1:] = {words!r}
sys.exit(main())
"""


@pytest.mark.parametrize("text", [SPEC, BOTH], ids=["limit", "both"])
def test_a_kill_between_the_phases_charges_once_and_keeps_the_choice(
    text: str, dpcli: Command, tmp_path: Path
) -> None:
    """The same release id finds the stored counts, although the process ended at once."""
    spec, data = write(tmp_path, text)
    words = ["release", spec, data, "-o", tmp_path / "t.csv", "--release-id", "r"]
    script = KILL.format(words=[str(word) for word in words])
    killed = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    first = 0.1 if text == SPEC else 0.2

    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert history(dpcli, tmp_path) == [("r+bounds", str(first))]
    assert not (tmp_path / "t.csv").exists()
    with closing(OpenLedger.open(tmp_path / "dpcli-ledger.sqlite")) as ledger:
        stored = ledger.stored("r" + SUFFIX)
    assert stored is not None
    choices = json.loads(stored.outputs[BOUNDS])
    # The file has other people by now: counts are not taken again.
    write(tmp_path, text, people=30)
    outcome = dpcli(*words)
    report = reported(tmp_path / "t.report.json")

    assert outcome.status == 0, outcome.err
    assert history(dpcli, tmp_path) == [("r+bounds", str(first)), ("r", str(1 - first))]
    assert report["choices"][-1]["counts"] == choices["max_rows"]["counts"]
    assert str(report["choices"][-1]["upper"]) == choices["max_rows"]["limit"]
    for bounds, kept in zip(report["choices"][:-1], choices["bounds"], strict=True):
        assert (bounds["counts"], bounds["upper"]) == (kept["counts"], int(kept["upper"]))


def test_another_spec_cannot_use_a_choice_under_its_id(
    dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a stop between the phases, a changed spec needs another id, and pays for its choice."""
    spec, data = write(tmp_path)

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("dpcli.releasing.transaction.ReleaseTransaction.aggregate", stop)
        dpcli("release", spec, data, "--release-id", "r")
    spec.write_text(SPEC.replace("up_to: 500", "up_to: 600"), encoding="utf-8")
    outcome = dpcli("release", spec, data, "--release-id", "r")

    assert (outcome.status, "release-id-taken" in outcome.err) == (6, True)
    assert history(dpcli, tmp_path) == [("r+bounds", "0.1")]


def test_the_whole_budget_is_checked_before_anything_is_read(
    dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What both phases cost together must fit the spec and the account."""

    def read(*_: object, **__: object) -> None:
        raise AssertionError("rows were read")

    monkeypatch.setattr("dpcli.releasing.chosen_bounds.aggregate_data", read)
    spec, data = write(tmp_path, SPEC.replace("epsilon: 0.5", "epsilon: 0.51"))
    assert dpcli("release", spec, data).status == 5
    monkeypatch.undo()
    spec.write_text(SPEC.replace("budget: {epsilon: 1}", "budget: {epsilon: 1.5}"), "utf-8")
    assert dpcli("release", spec, data, "--release-id", "one").status == 0
    monkeypatch.setattr("dpcli.releasing.chosen_bounds.aggregate_data", read)
    # Half of the epsilon is left: enough for the limit alone.
    outcome = dpcli("release", spec, data, "--release-id", "two")

    assert (outcome.status, "account-exhausted" in outcome.err) == (5, True)
    assert [name for name, _ in history(dpcli, tmp_path)] == ["one+bounds", "one"]


def test_a_limit_of_an_earlier_release_is_written(dpcli: Command, tmp_path: Path) -> None:
    """The key of earlier versions names the line to write in its place."""
    spec, _ = write(tmp_path)
    chosen = "{choose: 1-2-5, up_to: 500, epsilon: 0.1}"
    spec.write_text(SPEC.replace(chosen, "{from_release: r}"), encoding="utf-8")
    outcome = dpcli("plan", spec)

    assert (outcome.status, "error[bounds-kept]" in outcome.err) == (3, True)
    assert "`max_rows: 20 # chosen by r`" in outcome.err


def test_a_report_with_the_former_keys_proves_both_phases(dpcli: Command, tmp_path: Path) -> None:
    """Bounds and limits had lists of their own, and a limit had a key of its own."""
    spec, data = write(tmp_path, BOTH)
    dpcli("release", spec, data, "-o", tmp_path / "t.csv", "--release-id", "r")
    path, ledger = tmp_path / "t.report.json", tmp_path / "dpcli-ledger.sqlite"
    report, before = json.loads(path.read_text(encoding="utf-8")), history(dpcli, tmp_path)
    bounds, limit = report.pop("choices")
    limit |= {"key": "max_rows", "limit": limit.pop("upper"), "outermost": 500}
    del limit["lower"]
    report |= {"chosen_bounds": [bounds], "chosen_limits": [limit]}
    path.write_text(json.dumps(report), encoding="utf-8")
    ledger.unlink()

    assert dpcli("ledger", "recover", "--from", path, "--ledger", ledger).status == 0
    assert history(dpcli, tmp_path) == before


def test_data_that_can_be_read_once_are_refused(dpcli: Command, tmp_path: Path) -> None:
    """Standard input and sealed parts are refused before a ledger has an entry."""
    spec, data = write(tmp_path)
    for words in (
        ["release", spec, "-"],
        ["aggregate", spec, data, "-o", tmp_path / "part.sealed"],
        ["release", spec, data, "--partials"],
    ):
        outcome = dpcli(*words)
        assert (outcome.status, "error[chosen-bounds" in outcome.err) == (2, True)
    assert history(dpcli, tmp_path) == []


def test_a_plan_shows_errors_for_several_limits(dpcli: Command, tmp_path: Path) -> None:
    """The entry, its cost, its rule, and the noise of each statistic for three limits."""
    spec, _ = write(tmp_path)
    outcome = dpcli("plan", spec)

    assert "limit on rows" in outcome.out
    assert "person: noisy counts of people by their number of visits in 9 bins" in outcome.out
    for name in ("total", "visits"):
        assert outcome.out.count(f"{name}: in 95% of cases, the noise of") == 1
    assert "at 5, " in outcome.out
    risks = dpcli("plan", spec, "--risks").out
    assert "Noisy counts choose the limit on rows per person, within the guarantee." in risks
    facts = json.loads(dpcli("plan", spec, "--json").out)
    assert facts["privacy"]["spent"]["epsilon"] == 1
    assert facts["choices"][0]["outermost"] == [0, 500]
    assert "upper" not in facts["choices"][0]


def test_a_simulation_uses_the_outermost_limit(dpcli: Command, tmp_path: Path) -> None:
    """None is chosen from synthetic rows, and the result says so."""
    spec, _ = write(tmp_path)
    outcome = dpcli("simulate", spec, "--rows", "2000", "--runs", "5", "--seed", "1")

    assert outcome.status == 0, outcome.err
    assert "rows and noise are those of the outermost limit on rows per person;" in outcome.out
