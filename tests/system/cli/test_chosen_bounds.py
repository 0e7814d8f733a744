"""`bounds: {choose: ...}`: noisy counts choose bounds, in a first phase of the release."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random

import polars as pl
import pyarrow as pa
import pytest
from jsonschema import Draft202012Validator

import dpcli
from dpcli.data.numeric import NumericColumn
from dpcli.ledger.charge import SUFFIX
from dpcli.planning.expected_errors import chosen_bounds_errors
from dpcli.planning.planner import make_plan
from dpcli.privacy.accounting.composition import Composition
from dpcli.releasing import chosen_bounds
from dpcli.report.formats import report_schema
from dpcli.specification.choice import narrowest_and_widest
from dpcli.specification.load import parse_central_spec
from tests.support.cli import Command, history, remove_ledger, reported

SPEC = """\
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

PEOPLE = SPEC.replace(
    "unit: row", "unit: {column: who, max_rows: 3, max_groups: 2}"
).replace("  sex:", "  who: {type: id}\n  sex:")  # fmt: skip

MESSY = ["", "n/a", "1e400", "-5", "12,5", " 3.5 ", "NaN", '"7"', "99999999999"]


def write(folder: Path, spec: str = SPEC, rows: int = 4_000) -> tuple[Path, Path]:
    """A spec, and a file of amounts up to 80 with cells as programs write them."""
    random = Random(3)
    lines = ["who,spent,sex"]
    for number in range(rows):
        spent = f"{random.uniform(0, 80):.2f}" if number % 40 else random.choice(MESSY)
        if spent == "12,5":
            spent = '"12,5"'
        lines.append(f"p{number // 2},{spent},{random.choice(['f', 'm', 'x'])}")
    paths = folder / "spec.yaml", folder / "data.csv"
    paths[0].write_text(spec, encoding="utf-8")
    paths[1].write_text("\n".join(lines) + "\n", encoding="utf-8")
    return paths


def test_a_messy_file_is_released_within_chosen_bounds(dpcli: Command, tmp_path: Path) -> None:
    """Bounds near the data are chosen, reported with their counts, and used by all statistics."""
    spec, data = write(tmp_path)
    outcome = dpcli("release", spec, data, "-o", tmp_path / "t.csv", "--release-id", "r")
    report = reported(tmp_path / "t.report.json")
    (choice,) = report["choices"]

    assert outcome.status == 0
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
    assert "first release" in outcome.err
    assert "Chosen bounds of spent: 0 to " in outcome.err
    assert Draft202012Validator(json.loads(report_schema())).is_valid(report)


def test_pages_show_how_bounds_were_chosen(dpcli: Command, tmp_path: Path) -> None:
    """Every form of report says it in two sentences, and the pages have the noisy counts."""
    spec, data = write(tmp_path)
    paths = [tmp_path / f"r.{ending}" for ending in ("html", "md", "yaml")]
    words = [word for path in paths for word in ("--report", path)]
    assert dpcli("release", spec, data, *words).status == 0
    for path in paths:
        text = path.read_text(encoding="utf-8").replace("\u00a0", " ")
        assert "Chosen bounds of spent: 0 to" in text
        assert "Noisy counts of rows in 28 bins" in text
    assert "| 50.01 | 100.00 |" in paths[1].read_text(encoding="utf-8")


class Crash(BaseException):
    """The machine stops."""


def test_a_crash_between_the_phases_charges_once_and_keeps_the_bounds(
    dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same release id finds the stored counts, whatever the file holds by then."""
    spec, data = write(tmp_path)
    words = ["release", spec, data, "-o", tmp_path / "t.csv", "--release-id", "r"]

    def crash(*_: object, **__: object) -> None:
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr("dpcli.releasing.transaction.ReleaseTransaction.aggregate", crash)
        assert dpcli(*words).status == 1
    assert history(dpcli, tmp_path) == [("r+bounds", "0.1")]
    assert release_count(dpcli, tmp_path) == 1
    assert not (tmp_path / "t.csv").exists()

    stored = json.loads(stored_bounds(tmp_path))["bounds"][0]
    # The same name with other amounts: counts are not taken again.
    data.write_text(data.read_text(encoding="utf-8").replace(".", "9."), encoding="utf-8")
    outcome = dpcli(*words)
    (choice,) = reported(tmp_path / "t.report.json")["choices"]

    assert outcome.status == 0
    assert history(dpcli, tmp_path) == [("r+bounds", "0.1"), ("r", "0.9")]
    assert release_count(dpcli, tmp_path) == 1
    assert choice["counts"] == stored["counts"]
    assert choice["upper"] == int(stored["upper"])
    # And once more, when nothing is left to do.
    assert dpcli(*words, "--force").status == 0
    assert len(history(dpcli, tmp_path)) == 2


def release_count(dpcli: Command, folder: Path) -> int:
    """The number of releases that `dpcli ledger show` states of the only account."""
    shown = dpcli("ledger", "show", "--json", "--ledger", folder / "dpcli-ledger.sqlite")
    (account,) = json.loads(shown.out)
    count: int = account["releases"]
    return count


def stored_bounds(folder: Path) -> bytes:
    """What the ledger stores of the choice of bounds of the release `r`."""
    from contextlib import closing

    from dpcli.ledger.ledger import OpenLedger

    with closing(OpenLedger.open(folder / "dpcli-ledger.sqlite")) as ledger:
        stored = ledger.stored("r" + SUFFIX)
    assert stored is not None
    return stored.outputs[chosen_bounds.BOUNDS]


def test_the_whole_budget_is_checked_before_anything_is_read(
    dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What both phases cost together must fit the spec and the account."""
    spec, data = write(tmp_path, SPEC.replace("epsilon: 0.5", "epsilon: 0.51"))

    def read(*_: object, **__: object) -> None:
        raise AssertionError("rows were read")

    monkeypatch.setattr(chosen_bounds, "aggregate_data", read)
    assert dpcli("release", spec, data).status == 5
    spec.write_text(SPEC.replace("epsilon: 1}", "epsilon: 1.5}"), encoding="utf-8")
    monkeypatch.undo()
    remove_ledger(tmp_path)
    assert dpcli("release", spec, data, "--release-id", "one").status == 0
    monkeypatch.setattr(chosen_bounds, "aggregate_data", read)
    # Half of the epsilon is left: enough for the bounds alone.
    outcome = dpcli("release", spec, data, "--release-id", "two")

    assert (outcome.status, "account-exhausted" in outcome.err) == (5, True)
    assert [name for name, _ in history(dpcli, tmp_path)] == ["one+bounds", "one"]


def test_few_rows_leave_the_outermost_bounds(dpcli: Command, tmp_path: Path) -> None:
    """With fewer rows than noise explains, the declared bound is used, and the report says so."""
    spec, data = write(tmp_path, rows=20)
    assert dpcli("release", spec, data, "-o", tmp_path / "t.csv").status == 0
    (choice,) = reported(tmp_path / "t.report.json")["choices"]

    assert (choice["lower"], choice["upper"], choice["decided"]) == (0, 10_000_000, False)
    assert "Chosen bounds of spent: the outermost, 0 to 10000000" in choice["sentences"][0]


VARIANTS = {
    "people": PEOPLE,
    "people, change-one": PEOPLE.replace("add-remove", "change-one"),
    "change-one": SPEC.replace("add-remove", "change-one"),
    "rho": SPEC.replace("{epsilon: 1}", "{rho: 1, delta: 1e-6}, composition: zcdp"),
    "pld": SPEC.replace("{epsilon: 1}", "{epsilon: 1, delta: 1e-6}, composition: pld"),
    "advanced": SPEC.replace("{epsilon: 1}", "{epsilon: 1, delta: 1e-6}, composition: advanced"),
    "gaussian": SPEC.replace("{epsilon: 1}", "{epsilon: 1, delta: 1e-5}").replace(
        "epsilon: 0.5}", "epsilon: 0.5, mechanism: gaussian, delta: 1e-6}"
    ),
    "shares": SPEC.replace("epsilon: 0.5}", "share: 1}").replace("epsilon: 0.4}", "share: 2}"),
    "quality": SPEC.replace("{epsilon: 1}", "{epsilon: 2}").replace(
        "columns:", "quality: {epsilon: 0.1, min_rows: 1000}\ncolumns:"
    ),
    "below zero": SPEC.replace("up_to:", "from: -1000, up_to:"),
    "constant": SPEC.replace("step: 0.01", "step: 0.01, missing: 500"),
    "median": SPEC.replace(
        "statistic: sum, column: spent", "statistic: median, column: spent, candidates: {step: 100}"
    ),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_other_guarantees_and_statistics_choose_as_well(
    name: str, dpcli: Command, tmp_path: Path
) -> None:
    """Each is planned, released within its budget, and proven by its report."""
    spec, data = write(tmp_path, VARIANTS[name])
    assert dpcli("plan", spec).status == dpcli("check", spec, data).status == 0
    outcome = dpcli("release", spec, data, "-o", tmp_path / "t.csv", "--release-id", "r")
    report = tmp_path / "t.report.json"

    assert outcome.status == 0, outcome.err
    assert reported(report)["choices"][0]["upper"] <= 1_000
    verified = dpcli("ledger", "verify", report, "--ledger", tmp_path / "dpcli-ledger.sqlite")
    assert verified.status == 0
    assert [name for name, _ in history(dpcli, tmp_path)] == ["r+bounds", "r"]


def test_a_failed_quality_check_keeps_the_charge_for_bounds(dpcli: Command, tmp_path: Path) -> None:
    """The bounds were chosen before the check, and both are charged."""
    spec, data = write(tmp_path, VARIANTS["quality"].replace("1000}", "100000}"))
    outcome = dpcli("release", spec, data, "--release-id", "r", "--report", tmp_path / "r.json")

    assert outcome.status == 8
    assert history(dpcli, tmp_path) == [("r+bounds", "0.1"), ("r", "0.1")]
    assert reported(tmp_path / "r.json")["privacy"]["spent"]["epsilon"] == 0.2
    page = tmp_path / "r.md"
    assert dpcli("release", spec, data, "--release-id", "r", "--report", page).status == 8
    charged = "only the check and the counts that chose bounds or limits before it were charged"
    assert page.read_text(encoding="utf-8").count(charged) == 2
    assert "only the loss of the check and of the counts that choose" in dpcli("plan", spec).out


def test_a_lost_ledger_is_charged_for_both_phases(dpcli: Command, tmp_path: Path) -> None:
    """The report proves the entry of the bounds as well."""
    spec, data = write(tmp_path)
    dpcli("release", spec, data, "-o", tmp_path / "t.csv", "--release-id", "r")
    before = history(dpcli, tmp_path)
    ledger = tmp_path / "dpcli-ledger.sqlite"
    ledger.unlink()
    outcome = dpcli("ledger", "recover", "--from", tmp_path / "t.report.json", "--ledger", ledger)

    assert outcome.status == 0, outcome.err
    assert history(dpcli, tmp_path) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"upper": 100.00', '"upper": 50.00'),
        ('"upper": 100.00', '"upper": 100.005'),
        ('"upper": 100.00', '"upper": -1'),
        ('"decided": true', '"upper": "much"'),
        ('"column": "spent",', ""),
    ],
)
def test_a_report_with_other_bounds_proves_nothing(
    old: str, new: str, dpcli: Command, tmp_path: Path
) -> None:
    """Recovery refuses a report whose chosen bounds were changed, without a traceback."""
    steep = SPEC.replace("up_to: 10000000", "up_to: 100")
    spec, data = write(tmp_path, steep)
    dpcli("release", spec, data, "-o", tmp_path / "t.csv", "--release-id", "r")
    report = tmp_path / "t.report.json"
    text = report.read_text(encoding="utf-8")
    assert old in text
    report.write_text(text.replace(old, new), encoding="utf-8")
    (tmp_path / "dpcli-ledger.sqlite").unlink()
    outcome = dpcli(
        "ledger", "recover", "--from", report, "--ledger", tmp_path / "dpcli-ledger.sqlite"
    )

    assert outcome.status in (2, 6)
    assert "internal-fault" not in outcome.err


def test_data_that_can_be_read_once_are_refused(dpcli: Command, tmp_path: Path) -> None:
    """Standard input and sealed parts are refused before a ledger has an entry."""
    spec, data = write(tmp_path)
    for words in (["release", spec, "-"], ["release", spec, "-", "--dry-run"]):
        outcome = dpcli(*words)
        assert (outcome.status, "error[chosen-bounds]" in outcome.err) == (2, True)
    for words in (
        ["aggregate", spec, data, "-o", tmp_path / "part.sealed"],
        ["release", spec, data, "--partials"],
    ):
        outcome = dpcli(*words)
        assert (outcome.status, "a sealed part has sums within bounds" in outcome.err) == (2, True)
    assert history(dpcli, tmp_path) == []


def test_a_stream_in_memory_is_refused_and_a_table_is_not(tmp_path: Path) -> None:
    """A table can be read for both phases; a stream would be empty the second time."""
    spec, data = write(tmp_path)
    frame = pl.read_csv(data, infer_schema=False)
    wanted = dpcli.plan(dpcli.load_spec(spec))
    stream = pa.RecordBatchReader.from_stream(frame)
    with dpcli.Ledger.create(tmp_path / "ledger.sqlite") as ledger:
        with pytest.raises(dpcli.DpcliError, match="can be read only once"):
            dpcli.release(wanted, stream, ledger=ledger, release_id="r")
        assert ledger.releases() == []
        result = dpcli.release(wanted, frame, ledger=ledger, release_id="r")
        names = [release.release_id for release in ledger.releases()]
    assert names == ["r+bounds", "r"]
    assert result.cost == wanted.cost


def test_a_plan_shows_errors_for_several_bounds(dpcli: Command, tmp_path: Path) -> None:
    """The entry, its cost, its rule, and the noise of each statistic for three bounds."""
    spec, _ = write(tmp_path)
    outcome = dpcli("plan", spec)

    assert "bounds of spent  count of rows" in outcome.out
    assert "bounds of spent: noisy counts of rows in 28 bins" in outcome.out
    assert outcome.out.count("if that is chosen for the bounds of spent") == 2
    assert "at 0 to 10000000" in outcome.out
    risks = dpcli("plan", spec, "--risks").out
    assert "Noisy counts choose the bounds of spent, within the guarantee." in risks
    facts = json.loads(dpcli("plan", spec, "--json").out)
    assert facts["privacy"]["spent"]["epsilon"] == 1
    # With scale 10: exp(-(109 + 1) / 10) / (1 + exp(-1 / 10)) < 0.001 / (28 * 4).
    assert facts["choices"][0]["threshold"] == 109
    assert "lower" not in facts["choices"][0]


def test_one_row_changes_noisy_numbers_and_nothing_else(
    dpcli: Command, freeze: Callable[[], None], tmp_path: Path
) -> None:
    """With frozen noise, one more row changes one noisy count of the bins by one."""
    counts = []
    for more in ("", "z,61,f\n"):
        remove_ledger(tmp_path)
        spec, data = write(tmp_path)
        data.write_text(data.read_text(encoding="utf-8") + more, encoding="utf-8")
        freeze()
        words = ["release", spec, data, "--release-id", "r", "--force"]
        assert dpcli(*words, "--report", tmp_path / "r.json").status == 0
        counts.append(reported(tmp_path / "r.json")["choices"][0]["counts"])
    one, other = counts

    assert sum(abs(first - second) for first, second in zip(one, other, strict=True)) == 1


def test_a_simulation_is_within_the_outermost_bounds(dpcli: Command, tmp_path: Path) -> None:
    """Synthetic rows have the outermost bounds; the result says so first, even if it is short."""
    spec, _ = write(tmp_path)
    words = ("simulate", spec, "--rows", "200", "--runs", "5", "--seed", "1")
    outcome = dpcli(*words, "--quiet")
    notes = json.loads(dpcli(*words, "--json").out)["notes"]

    assert outcome.status == 0
    *before, _ = outcome.out.partition("errors of the noise")
    assert "no choice is simulated" in before[0]
    assert "the outermost bounds of spent;" in before[0]
    assert notes[0].startswith("no choice is simulated")


def test_bounds_of_an_earlier_release_are_written(dpcli: Command, tmp_path: Path) -> None:
    """The key of earlier versions names the line to write in its place."""
    spec, _ = write(tmp_path)
    chosen = "{choose: 1-2-5, up_to: 10000000, epsilon: 0.1}"
    spec.write_text(SPEC.replace(chosen, "{from_release: r}"), encoding="utf-8")
    outcome = dpcli("plan", spec)

    assert (outcome.status, "error[bounds-kept]" in outcome.err) == (3, True)
    assert "`bounds: [0, 5000] # chosen by r`" in outcome.err


@pytest.mark.parametrize(
    ("least", "tried"),
    [(0, [(0, "0.01"), (0, 10_000_000)]), (-5, [(0, "0.01"), ("-0.01", 0), (-5, 10_000_000)])],
)
def test_the_narrowest_and_the_widest_bounds_are_planned_first(
    least: int, tried: list[tuple[str | int, str | int]]
) -> None:
    """Bounds of numbers on both sides of zero may begin or end there."""
    spec = parse_central_spec(SPEC.replace("up_to", f"from: {least}, up_to"), "spec.yaml")
    columns = [bounded.columns[0] for bounded in narrowest_and_widest(spec)]

    found = [
        tuple(map(Fraction, column.limits))
        for column in columns
        if isinstance(column, NumericColumn)
    ]
    assert found == [(Fraction(low) * 100, Fraction(high) * 100) for low, high in tried]


def test_losses_are_composed_once_for_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """The errors for several bounds need no composition, which may take seconds."""
    plan = make_plan(parse_central_spec(SPEC, "spec.yaml"))

    def refuse(*_: object) -> None:
        raise AssertionError("composed again")

    monkeypatch.setattr(Composition, "bound", refuse)
    assert [line.partition(":")[0] for line in chosen_bounds_errors(plan)] == ["total", "average"]
    with pytest.raises(AssertionError, match="composed again"):
        make_plan(plan.spec)
