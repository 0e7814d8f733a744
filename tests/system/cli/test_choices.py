"""`bounds: {choose: ...}` and `max_rows: {choose: ...}`: noisy counts choose, in a first phase."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from jsonschema import Draft202012Validator

import dpcli as api
from dpcli.data.grid_columns import NumericColumn
from dpcli.ledger.charge import SUFFIX
from dpcli.ledger.ledger import OpenLedger
from dpcli.ledger.options import DEFAULT
from dpcli.planning.planner import make_plan
from dpcli.planning.words.choices import chosen_bounds_errors
from dpcli.privacy.accounting.composition import Composition
from dpcli.releasing.bounds_choice import BOUNDS as STORED_BOUNDS
from dpcli.report.formats import report_schema
from dpcli.specification.chosen_bounds import narrowest_and_widest
from dpcli.specification.load import parse_central_spec
from tests.support.cli import ROOT, Command, edit, history, remove_ledger, reported
from tests.support.rules import mostly_extended

BOUNDS = """\
dpcli: 1
dataset: shop
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1}}
columns:
  spent: {type: number, step: 0.01, bounds: {choose: 1-2-5, up_to: 10000000, epsilon: 0.1}}
  sex: {type: category, values: [f, m]}
statistics:
  - {name: total, statistic: sum, column: spent, epsilon: 0.5}
  - {name: average, statistic: mean, column: spent, by: [sex], epsilon: 0.4}
"""

BOUNDS_OF_PEOPLE = BOUNDS.replace(
    "unit: row", "unit: {column: who, max_rows: 3, max_groups: 2}"
).replace("  sex:", "  who: {type: id}\n  sex:")  # fmt: skip

MESSY = ["", "n/a", "1e400", "-5", '"12,5"', " 3.5 ", "NaN", '"7"', "99999999999"]


LIMIT = """\
dpcli: 1
dataset: shop
rows_are: visits
privacy: {unit: {column: who, max_rows: {choose: 1-2-5, up_to: 500, epsilon: 0.1}},
          neighbors: add-remove, budget: {epsilon: 1}}
columns:
  who: {type: id}
  spent: {type: number, step: 0.01, bounds: [0, 100]}
  sex: {type: category, values: [f, m]}
statistics:
  - {name: total, statistic: sum, column: spent, epsilon: 0.5}
  - {name: visits, statistic: count, by: [sex], epsilon: 0.4}
"""

BOTH = LIMIT.replace("[0, 100]", "{choose: 1-2-5, up_to: 1000000, epsilon: 0.1}").replace(
    "epsilon: 0.5", "epsilon: 0.4"
)


def write(folder: Path, spec: str, lines: Iterable[str]) -> tuple[Path, Path]:
    """A spec, and a file of these lines."""
    paths = folder / "spec.yaml", folder / "data.csv"
    for path, text in zip(paths, (spec, "\n".join(lines) + "\n"), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def write_amounts(folder: Path, spec: str = BOUNDS, number: int = 4_000) -> tuple[Path, Path]:
    """A spec, and a file of amounts up to 80 with cells as programs write them."""
    random = Random(3)
    lines = ["who,spent,sex"]
    for row in range(number):
        spent = f"{random.uniform(0, 80):.2f}" if row % 40 else random.choice(MESSY)
        lines.append(f"p{row // 2},{spent},{random.choice(['f', 'm', 'x'])}")
    return write(folder, spec, lines)


def write_visits(folder: Path, spec: str = LIMIT, number: int = 2_000) -> tuple[Path, Path]:
    """A spec, and visits of people: a third have one, few more than ten, and one has a thousand."""
    random = Random(5)
    lines = ["who,spent,sex"]
    for person in range(number):
        visits = 1_000 if person == 7 else max(1, round(random.lognormvariate(0.8, 0.8)))
        lines += [
            f"p{person},{random.uniform(0, 80):.2f},{random.choice(['f', 'm', 'x'])}"
            for _ in range(visits)
        ]
    return write(folder, spec, [*lines, *[",5,f", ",n/a,f"] * 30])


Write = Callable[..., tuple[Path, Path]]

EACH = pytest.mark.parametrize(
    ("choice", "write"), [(BOUNDS, write_amounts), (LIMIT, write_visits)], ids=["bounds", "limit"]
)
"""What is chosen, and how its file is written."""


def released(dpcli: Command, folder: Path, spec: Path, data: Path) -> tuple[str, dict[str, Any]]:
    """What a release prints, and its report."""
    done = dpcli("release", spec, data, "-o", folder / "t.csv", "--release-id", "r").succeeded()
    return done.err, reported(folder / "t.report.json")


def test_a_messy_file_is_released_within_chosen_bounds(dpcli: Command, tmp_path: Path) -> None:
    """Bounds near the data are chosen, reported with their counts, and used by all statistics."""
    err, report = released(dpcli, tmp_path, *write_amounts(tmp_path))
    (choice,) = report["choices"]

    assert history(dpcli, tmp_path) == [("r+bounds", "0.1"), ("r", "0.9")]
    # About 2,000 rows are above 40, and a hundred above 80: one cell in 360 is a huge number.
    assert choice["lower"] == 0
    assert choice["upper"] in (100, 200)
    assert len(choice["counts"]) == len(choice["bins"]) == 28
    assert abs(sum(choice["counts"]) - 4_000) < 1_000
    assert [statistic["bounds"] for statistic in report["statistics"]] == [
        [0, choice["upper"]], [0, choice["upper"]],
    ]  # fmt: skip
    assert report["privacy"]["spent"]["epsilon"] == 1
    assert report["privacy"]["remaining"]["epsilon"] == 0
    assert report["privacy"]["before"]["epsilon"] == 0
    # The entry of its own choice is no other release of the account.
    assert report["ledger"]["first_release"] is True
    assert "first release" in err
    assert "Chosen bounds of spent: 0 to " in err


def test_the_limit_is_chosen_first_and_all_statistics_use_it(
    dpcli: Command, tmp_path: Path
) -> None:
    """It is near the usual number of rows, and the noise is that of the chosen limit."""
    err, report = released(dpcli, tmp_path, *write_visits(tmp_path))
    (choice,) = report["choices"]
    limit = choice["upper"]

    assert history(dpcli, tmp_path) == [("r+bounds", "0.1"), ("r", "0.9")]
    # Usually 20. One release in a hundred chose 100.
    assert limit in (5, 10, 20, 50, 100)
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
    assert f"Chosen limit on rows per person: {limit}. " in err


def test_bounds_and_a_limit_are_chosen_in_one_entry(dpcli: Command, tmp_path: Path) -> None:
    """Neither histogram depends on the other: one row of each person chooses the bounds."""
    spec, data = write_visits(tmp_path, BOTH)
    plan = dpcli("plan", spec).out
    assert "noisy counts of one of the visits of each person" in plan
    assert "and 500, if that is chosen for the bounds of spent and limit on rows per person" in plan
    _, report = released(dpcli, tmp_path, spec, data)
    bounds, limit = report["choices"]

    assert history(dpcli, tmp_path) == [("r+bounds", "0.2"), ("r", "0.8")]
    assert bounds["ledger"] == limit["ledger"]
    assert bounds["sensitivity"]["l1"] == limit["sensitivity"]["l1"] == 1
    assert bounds["upper"] in (100, 200)
    # 2,000 people, of whom some have no readable cell in the chosen row.
    assert abs(sum(bounds["counts"]) - 2_000) < 300
    assert Draft202012Validator(json.loads(report_schema())).is_valid(report)


PAGES = {
    BOUNDS: (
        "Chosen bounds of spent: 0 to",
        "Noisy counts of rows in 28 bins",
        "| 50.01 | 100.00 |",
    ),
    LIMIT: (
        "Chosen limit on rows per person: ",
        "Noisy counts of people by their number of visits",
        "| 201 | 500 |",
    ),
}
"""What all reports say, and a line of a table."""


@EACH
def test_pages_show_how_they_were_chosen(
    choice: str, write: Write, dpcli: Command, tmp_path: Path
) -> None:
    """Every form of report says it in two sentences, and the pages have the noisy counts."""
    *said, counted = PAGES[choice]
    paths = [tmp_path / f"r.{ending}" for ending in ("html", "md", "yaml")]
    words = [word for path in paths for word in ("--report", path)]
    assert dpcli("release", *write(tmp_path), *words).status == 0
    for path in paths:
        text = path.read_text(encoding="utf-8").replace("\u00a0", " ")
        assert all(sentence in text for sentence in said)
    page = paths[1].read_text(encoding="utf-8")
    assert counted in page and "## How bounds and limits were chosen" in page


KILL = """
import os, signal, sys
from dpcli.cli.main import main
from dpcli.releasing.run import ReleaseRun

def kill(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

ReleaseRun.aggregate = kill
sys.argv[1:] = {words!r}
sys.exit(main())
"""


def stored_choices(folder: Path) -> Any:
    """What the ledger stores of the choices of the release `r`."""
    with closing(OpenLedger.open(folder / DEFAULT)) as ledger:
        stored = ledger.stored("r" + SUFFIX, ledger.dataset_of("r" + SUFFIX))
    assert stored is not None
    return json.loads(stored.outputs[STORED_BOUNDS])


def release_count(dpcli: Command, folder: Path) -> int:
    """The number of releases that `dpcli ledger show` states of the only account."""
    (account,) = dpcli("ledger", "show", "--json", "--ledger", folder / DEFAULT).json
    count: int = account["releases"]
    return count


@pytest.mark.parametrize(
    ("text", "write"),
    [
        pytest.param(BOUNDS, write_amounts, id="bounds", marks=pytest.mark.extended),
        pytest.param(LIMIT, write_visits, id="limit", marks=pytest.mark.extended),
        pytest.param(BOTH, write_visits, id="both"),
    ],
)
def test_a_kill_between_the_phases_charges_once_and_keeps_the_choice(
    text: str, write: Write, dpcli: Command, tmp_path: Path
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
    first = 0.2 if text == BOTH else 0.1

    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert history(dpcli, tmp_path) == [("r+bounds", str(first))]
    assert release_count(dpcli, tmp_path) == 1
    assert not (tmp_path / "t.csv").exists()
    stored = stored_choices(tmp_path)
    # The file has other rows by now: counts are not taken again.
    write(tmp_path, text, 30)
    _, report = released(dpcli, tmp_path, spec, data)

    assert history(dpcli, tmp_path) == [("r+bounds", str(first)), ("r", str(1 - first))]
    assert release_count(dpcli, tmp_path) == 1
    *of_bounds, last = report["choices"]
    if text == BOUNDS:
        of_bounds = [last]
    else:
        assert last["counts"] == stored["max_rows"]["counts"]
        assert str(last["upper"]) == stored["max_rows"]["limit"]
    for bounds, kept in zip(of_bounds, stored["bounds"], strict=True):
        assert (bounds["counts"], bounds["upper"]) == (kept["counts"], int(kept["upper"]))
    # And once more, when nothing is left to do.
    assert dpcli(*words, "--force").status == 0
    assert len(history(dpcli, tmp_path)) == 2


def test_another_spec_cannot_use_a_choice_under_its_id(
    dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a stop between the phases, a changed spec needs another id, and pays for its choice."""
    spec, data = write_visits(tmp_path)

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("dpcli.releasing.run.ReleaseRun.aggregate", stop)
        dpcli("release", spec, data, "--release-id", "r")
    spec.write_text(LIMIT.replace("up_to: 500", "up_to: 600"), encoding="utf-8")
    outcome = dpcli("release", spec, data, "--release-id", "r")

    assert (outcome.status, "release-id-taken" in outcome.err) == (6, True)
    assert history(dpcli, tmp_path) == [("r+bounds", "0.1")]


@EACH
def test_the_whole_budget_is_checked_before_anything_is_read(
    choice: str, write: Write, dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What both phases cost together must fit the spec and the account."""

    def read(*_: object, **__: object) -> None:
        raise AssertionError("rows were read")

    monkeypatch.setattr("dpcli.releasing.bounds_choice.aggregate_data", read)
    spec, data = write(tmp_path, choice.replace("epsilon: 0.5", "epsilon: 0.51"))
    assert dpcli("release", spec, data).status == 5
    monkeypatch.undo()
    remove_ledger(tmp_path)
    spec.write_text(choice.replace("budget: {epsilon: 1}", "budget: {epsilon: 1.5}"), "utf-8")
    assert dpcli("release", spec, data, "--release-id", "one").status == 0
    monkeypatch.setattr("dpcli.releasing.bounds_choice.aggregate_data", read)
    # Half of the epsilon is left: enough for the choice alone.
    outcome = dpcli("release", spec, data, "--release-id", "two")

    assert (outcome.status, "account-exhausted" in outcome.err) == (5, True)
    assert [name for name, _ in history(dpcli, tmp_path)] == ["one+bounds", "one"]


OUTERMOST = {BOUNDS: "bounds of spent", LIMIT: "limit on rows per person"}


@EACH
def test_few_rows_leave_the_outermost(
    choice: str, write: Write, dpcli: Command, tmp_path: Path
) -> None:
    """With fewer rows than noise explains, what is declared is used, and the report says so."""
    (made,) = released(dpcli, tmp_path, *write(tmp_path, number=20))[1]["choices"]
    most = 10_000_000 if choice == BOUNDS else 500

    assert (made.get("lower", 0), made["upper"], made["decided"]) == (0, most, False)
    said = f"Chosen {OUTERMOST[choice]}: the outermost, "
    assert made["sentences"][0].startswith(said) and str(most) in made["sentences"][0]


TWO = "budget: {epsilon: 2}"

OF_BOUNDS = {
    "people": BOUNDS_OF_PEOPLE,
    "change-one": BOUNDS.replace("add-remove", "change-one"),
    "below zero": BOUNDS.replace("up_to:", "from: -1000, up_to:"),
    "constant": BOUNDS.replace("step: 0.01", "step: 0.01, missing: 500"),
    "median": BOUNDS.replace(
        "statistic: sum, column: spent", "statistic: median, column: spent, candidates: {step: 100}"
    ),
    "quality": BOUNDS.replace("budget: {epsilon: 1}", TWO).replace(
        "columns:", "quality: {epsilon: 0.1, min_rows: 1000}\ncolumns:"
    ),
}

OF_LIMITS = {
    "other limits": LIMIT.replace("epsilon: 0.1}", "epsilon: 0.1}, max_groups: 2").replace(
        "max_groups: 2", "max_groups: 2, max_rows_per_group: 400"
    ),
    "each": LIMIT.replace("{type: id}", "{type: id, missing: each}"),
    "totals": LIMIT.replace("column: spent,", "column: spent, bound: sum, unit_bounds: [0, 500],"),
    "powers": LIMIT.replace("1-2-5", "powers-of-2, cover: 0.9"),
    "both, change-one": BOTH.replace("add-remove", "change-one"),
    "rho": BOTH.replace("{epsilon: 1}", "{rho: 1, delta: 1e-6}, composition: zcdp"),
    "pld": BOTH.replace("{epsilon: 1}", "{epsilon: 1, delta: 1e-6}, composition: pld"),
    "advanced": BOTH.replace("{epsilon: 1}", "{epsilon: 1, delta: 1e-6}, composition: advanced"),
    "gaussian": BOTH.replace("{epsilon: 1}", "{epsilon: 1, delta: 1e-5}").replace(
        "column: spent, epsilon", "column: spent, mechanism: gaussian, delta: 1e-6, epsilon"
    ),
    "shares": BOTH.replace("epsilon: 0.4}", "share: 1}"),
}

REPEATED = {"advanced", "pld", "shares", "constant", "powers"}
"""Variants whose parts occur in others, too."""

VARIANTS = [
    (name, text, write)
    for specs, write in ((OF_BOUNDS, write_amounts), (OF_LIMITS, write_visits))
    for name, text in specs.items()
]


@pytest.mark.parametrize(
    ("name", "text", "write"),
    mostly_extended(VARIANTS, *(one for one in VARIANTS if one[0] not in REPEATED), unpack=True),
)
def test_other_guarantees_and_statistics_choose_as_well(
    name: str, text: str, write: Write, dpcli: Command, tmp_path: Path
) -> None:
    """Each is planned, released within its budget, proven by its report, and recovered from it."""
    spec, data = write(tmp_path, text)
    assert dpcli("plan", spec).status == dpcli("check", spec, data).status == 0
    _, report = released(dpcli, tmp_path, spec, data)
    path, ledger = tmp_path / "t.report.json", tmp_path / DEFAULT

    if "choose" in text.partition("columns")[2]:
        assert report["choices"][0]["upper"] <= 1_000
    if write is write_visits:
        unit = report["privacy"]["unit"]
        assert report["choices"][-1]["upper"] == unit["max_rows"]
        if name == "other limits":
            assert (unit["max_groups"], unit["max_rows_per_group"]) == (2, unit["max_rows"])
    assert dpcli("ledger", "verify", path, "--ledger", ledger).status == 0
    before = history(dpcli, tmp_path)
    assert [release_id for release_id, _ in before] == ["r+bounds", "r"]
    ledger.unlink()
    dpcli("ledger", "recover", "--from", path, "--ledger", ledger).succeeded()
    assert history(dpcli, tmp_path) == before


OTHER_CHOICES: dict[str, tuple[tuple[str, str], ...]] = {
    BOUNDS.replace("up_to: 10000000", "up_to: 100"): (
        ('"upper": 100.00', '"upper": 50.00'),
        ('"upper": 100.00', '"upper": 100.005'),
        ('"upper": 100.00', '"upper": -1'),
        ('"decided": true', '"upper": "much"'),
        ('"column": "spent",', ""),
    ),
    LIMIT: (
        ('"upper": CHOSEN', '"upper": 1'),
        ('"upper": CHOSEN', '"upper": 1.5'),
        ('"upper": CHOSEN', '"upper": 0'),
        ('"upper": CHOSEN', '"upper": 501'),
        ('"upper": CHOSEN', '"upper": "many"'),
        ('"upper": CHOSEN,', ""),
    ),
}
"""A spec, and the changes of what its report states of the choice."""


@pytest.mark.parametrize(
    ("text", "write"),
    [*zip(OTHER_CHOICES, (write_amounts, write_visits), strict=True)],
    ids=["bounds", "limit"],
)
def test_a_report_with_another_choice_proves_nothing(
    text: str, write: Write, dpcli: Command, tmp_path: Path
) -> None:
    """Recovery refuses a report whose choice was changed, without a traceback."""
    _, report = released(dpcli, tmp_path, *write(tmp_path, text, 1_000))
    path, ledger = tmp_path / "t.report.json", tmp_path / DEFAULT
    before = path.read_text(encoding="utf-8")
    for stated, new in OTHER_CHOICES[text]:
        old = stated.replace("CHOSEN", str(report["choices"][-1]["upper"]))
        assert old in before
        path.write_text(before.replace(old, new), encoding="utf-8")
        ledger.unlink(missing_ok=True)
        outcome = dpcli("ledger", "recover", "--from", path, "--ledger", ledger)

        assert outcome.status in (2, 6), new
        assert "internal-fault" not in outcome.err, new


def test_a_report_with_the_former_keys_proves_both_phases(dpcli: Command, tmp_path: Path) -> None:
    """Bounds and limits had lists of their own, and a limit had a key of its own."""
    released(dpcli, tmp_path, *write_visits(tmp_path, BOTH))
    path, ledger = tmp_path / "t.report.json", tmp_path / DEFAULT
    report, before = reported(path), history(dpcli, tmp_path)
    bounds, limit = report.pop("choices")
    limit |= {"key": "max_rows", "limit": limit.pop("upper"), "outermost": 500}
    del limit["lower"]
    report |= {"chosen_bounds": [bounds], "chosen_limits": [limit]}
    path.write_text(json.dumps(report), encoding="utf-8")
    ledger.unlink()

    assert dpcli("ledger", "recover", "--from", path, "--ledger", ledger).status == 0
    assert history(dpcli, tmp_path) == before


@EACH
def test_data_that_can_be_read_once_are_refused(
    choice: str, write: Write, dpcli: Command, tmp_path: Path
) -> None:
    """Standard input and sealed parts are refused before a ledger has an entry."""
    spec, data = write(tmp_path)
    once, parts = "error[chosen-bounds]", "a sealed part has sums within"
    for said, command, *words in (
        (once, "release", spec, "-"),
        (once, "release", spec, "-", "--dry-run"),
        (parts, "aggregate", spec, data, "-o", tmp_path / "part.sealed"),
        (parts, "release", spec, data, "--partials"),
    ):
        outcome = dpcli(command, *words)
        assert (outcome.status, said in outcome.err) == (2, True)
        assert "error[chosen-bounds" in outcome.err
    assert history(dpcli, tmp_path) == []


def test_a_stream_in_memory_is_refused_and_a_table_is_not(tmp_path: Path) -> None:
    """A table can be read for both phases; a stream would be empty the second time."""
    spec, data = write_amounts(tmp_path)
    frame = pl.read_csv(data, infer_schema=False)
    wanted = api.plan(api.load_spec(spec))
    stream = pa.RecordBatchReader.from_stream(frame)
    with api.Ledger.create(tmp_path / "ledger.sqlite") as ledger:
        with pytest.raises(api.DpcliError, match="can be read only once"):
            api.release(wanted, stream, ledger=ledger, release_id="r")
        assert ledger.releases() == []
        result = api.release(wanted, frame, ledger=ledger, release_id="r")
        names = [release.release_id for release in ledger.releases()]
    assert names == ["r+bounds", "r"]
    assert result.cost == wanted.cost


PLANS = {
    BOUNDS: (
        "bounds of spent  count of rows",
        "bounds of spent: noisy counts of rows in 28 bins",
        "at 0 to 10000000",
        "Noisy counts choose the bounds of spent, within the guarantee.",
    ),
    LIMIT: (
        "limit on rows",
        "person: noisy counts of people by their number of visits in 9 bins",
        "at 5, ",
        "Noisy counts choose the limit on rows per person, within the guarantee.",
    ),
}
"""What plans say of a choice, and what the risk says."""


@EACH
def test_a_plan_shows_errors_for_several_choices(
    choice: str, write: Write, dpcli: Command, tmp_path: Path
) -> None:
    """The entry, its cost, its rule, and the noise of each statistic for three of them."""
    spec, _ = write(tmp_path)
    *shown, risk = PLANS[choice]
    out, facts = dpcli("plan", spec, "--details").out, dpcli("plan", spec, "--json").json

    assert all(said in out for said in shown)
    assert out.count("in 95% of cases, the noise of") == 2
    assert risk in dpcli("plan", spec, "--risks").out
    assert facts["privacy"]["spent"]["epsilon"] == 1
    assert not {"lower", "upper"} & set(facts["choices"][0])
    if choice == BOUNDS:
        assert out.count("if that is chosen for the bounds of spent") == 2
        # With scale 10: exp(-(109 + 1) / 10) / (1 + exp(-1 / 10)) < 0.001 / (28 * 4).
        assert facts["choices"][0]["threshold"] == 109
    else:
        assert facts["choices"][0]["outermost"] == [0, 500]


@pytest.mark.parametrize(
    ("write", "more", "changed"),
    [
        (write_amounts, "z,61,f\n", 1),
        (write_visits, "p5,1,f\n", 2),
        pytest.param(write_visits, "p5000,1,f\n", 1, marks=pytest.mark.extended),
        pytest.param(write_visits, ",1,f\n", 0, marks=pytest.mark.extended),
        pytest.param(write_visits, "p7,bad,\n", 0, marks=pytest.mark.extended),
    ],
)
def test_one_more_row_moves_one_count_or_one_person(
    write: Write,
    more: str,
    changed: int,
    dpcli: Command,
    freeze: Callable[[], None],
    tmp_path: Path,
) -> None:
    """With frozen noise, a new row or person is one more count; a person can move by a bin.

    The person with a thousand rows stays in the last bin, and a row without an id is no person.
    """
    counts: list[Sequence[int]] = []
    for rows in ("", more):
        remove_ledger(tmp_path)
        spec, data = write(tmp_path, number=300)
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


@EACH
def test_a_simulation_is_within_the_outermost(
    choice: str, write: Write, dpcli: Command, tmp_path: Path
) -> None:
    """Synthetic rows choose nothing; the result says so first, even if it is short."""
    words = ("simulate", write(tmp_path)[0], "--rows", "200", "--runs", "5", "--seed", "1")
    outcome = dpcli(*words, "--quiet").succeeded()
    before, _, _ = outcome.out.partition("errors of the noise")
    said = f"rows and noise are those of the outermost {OUTERMOST[choice]};"

    assert "no choice is simulated" in before and said in before
    assert dpcli(*words, "--json").json["notes"][0].startswith("no choice is simulated")


@pytest.mark.parametrize(
    ("write", "chosen", "written"),
    [
        (write_amounts, "{choose: 1-2-5, up_to: 10000000, epsilon: 0.1}", "bounds: [0, 5000]"),
        (write_visits, "{choose: 1-2-5, up_to: 500, epsilon: 0.1}", "max_rows: 20"),
    ],
    ids=["bounds", "limit"],
)
def test_a_choice_of_an_earlier_release_is_written(
    write: Write, chosen: str, written: str, dpcli: Command, tmp_path: Path
) -> None:
    """The key of earlier versions names the line to write in its place."""
    outcome = dpcli("plan", edit(write(tmp_path)[0], (chosen, "{from_release: r}")))

    assert (outcome.status, "error[bounds-kept]" in outcome.err) == (3, True)
    assert f"`{written} # chosen by r`" in outcome.err


@pytest.mark.parametrize(
    ("least", "tried"),
    [(0, [(0, "0.01"), (0, 10_000_000)]), (-5, [(0, "0.01"), ("-0.01", 0), (-5, 10_000_000)])],
)
def test_the_narrowest_and_the_widest_bounds_are_planned_first(
    least: int, tried: list[tuple[str | int, str | int]]
) -> None:
    """Bounds of numbers on both sides of zero may begin or end there."""
    spec = parse_central_spec(BOUNDS.replace("up_to", f"from: {least}, up_to"), "spec.yaml")
    columns = [bounded.columns[0] for bounded in narrowest_and_widest(spec)]

    found = [
        tuple(map(Fraction, column.limits))
        for column in columns
        if isinstance(column, NumericColumn)
    ]
    assert found == [(Fraction(low) * 100, Fraction(high) * 100) for low, high in tried]


def test_losses_are_composed_once_for_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """The errors for several bounds need no composition, which may take seconds."""
    plan = make_plan(parse_central_spec(BOUNDS, "spec.yaml"))

    def refuse(*_: object) -> None:
        raise AssertionError("composed again")

    monkeypatch.setattr(Composition, "bound", refuse)
    assert [line.partition(":")[0] for line in chosen_bounds_errors(plan)] == ["total", "average"]
    with pytest.raises(AssertionError, match="composed again"):
        make_plan(plan.spec)
