"""The quality check comes before noisy counts choose bounds or limits, and is paid alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from jsonschema import Draft202012Validator

import dpcli as api
from dpcli.ledger.charge import SUFFIX, charge_for
from dpcli.ledger.ledger import OpenLedger
from dpcli.ledger.options import DEFAULT
from dpcli.mechanisms.calibrated_mechanism import CalibratedMechanism
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.numeric.arrays import integer_array
from dpcli.planning.planner import make_plan
from dpcli.planning.quality_check import quality_result
from dpcli.privacy.confidential import NoisePermit
from dpcli.problems.errors import LedgerError, Problem, QualityError
from dpcli.releasing.bounds_choice import CHECK
from dpcli.releasing.request import ReleaseRequest
from dpcli.releasing.run import Messages, ReleaseRun
from dpcli.report.formats import report_schema
from dpcli.specification.load import parse_central_spec, parse_spec, read_central_spec
from dpcli.specification.model import CentralSpec
from dpcli.statistics.design import NoisyAnswer
from tests.support.cli import Command, history, remove_ledger, reported
from tests.support.refusals import refused
from tests.system.cli.test_choices import BOTH, BOUNDS, LIMIT, write_amounts, write_visits

CHECKED = "quality: {epsilon: 0.15, min_people: 500, min_readable: {spent: 0.5}}\ncolumns:"

PEOPLE = BOTH.replace("budget: {epsilon: 1}", "budget: {epsilon: 3}").replace("columns:", CHECKED)

ROWS = BOUNDS.replace("budget: {epsilon: 1}", "budget: {epsilon: 3}").replace(
    "columns:", "quality: {epsilon: 0.15, min_rows: 1000}\ncolumns:"
)

EACH = pytest.mark.parametrize(
    ("text", "write", "chosen"),
    [(ROWS, write_amounts, 0.1), (PEOPLE, write_visits, 0.2)],
    ids=["bounds", "both"],
)
"""A spec that checks and chooses, how its file is written, and what the choice costs."""

Write = Callable[..., tuple[Path, Path]]


def failing(text: str) -> str:
    """The spec with a minimum that no file of these tests meets."""
    return re.sub(r"(min_rows|min_people): \d+", r"\1: 900000", text)


def epsilons(dpcli: Command, folder: Path) -> list[tuple[str, float]]:
    """The id and the epsilon of each charge, in order."""
    return [(name, float(epsilon)) for name, epsilon in history(dpcli, folder)]


@EACH
def test_a_failed_check_is_charged_alone_and_nothing_is_chosen(
    text: str, write: Write, chosen: float, dpcli: Command, tmp_path: Path
) -> None:
    """It is stored under the id of the release, as without choices, and all that says so agrees."""
    spec, data = write(tmp_path, failing(text))
    path, page, ledger = tmp_path / "r.json", tmp_path / "r.md", tmp_path / DEFAULT
    outcome = dpcli("release", spec, data, "--release-id", "r", "--report", path)
    report = reported(path)

    assert (outcome.status, epsilons(dpcli, tmp_path)) == (8, [("r", 0.15)])
    assert "charged: epsilon 0.15 for the check;" in outcome.err
    assert "Chosen" not in outcome.err
    assert report["privacy"]["spent"]["epsilon"] == report["quality"]["epsilon"] == 0.15
    assert (report["quality"]["passed"], report["statistics"]) == (False, [])
    assert not {"choices"} & set(report) and "ledger" not in report["quality"]
    # A retry reads nothing, costs nothing, and says the same.
    again = dpcli("release", spec, tmp_path / "gone.csv", "--release-id", "r", "--report", page)
    assert (again.status, len(history(dpcli, tmp_path))) == (8, 1)
    assert "charged then: epsilon 0.15 for the check;" in again.err
    assert page.read_text(encoding="utf-8").count("only the check was charged") == 2
    assert dpcli("ledger", "verify", path, "--ledger", ledger).status == 0
    ledger.unlink()
    dpcli("ledger", "recover", "--from", path, "--ledger", ledger).succeeded()
    assert epsilons(dpcli, tmp_path) == [("r", 0.15)]


@EACH
def test_a_check_made_again_pays_for_itself_and_for_the_choice_once(
    text: str, write: Write, chosen: float, dpcli: Command, tmp_path: Path
) -> None:
    """The failed attempt chose nothing; the one that passes has its check next to its choice."""
    spec, data = write(tmp_path, failing(text))
    first, second, ledger = tmp_path / "1.json", tmp_path / "2.json", tmp_path / DEFAULT
    assert dpcli("release", spec, data, "--release-id", "r", "--report", first).status == 8
    spec.write_text(text, encoding="utf-8")
    words = ["release", spec, data, "--release-id", "r", "--check-again", "--report", second]
    dpcli(*words).succeeded()
    report, charged = reported(second), epsilons(dpcli, tmp_path)

    rest = 0.9 if text == ROWS else 0.8
    assert charged == [("r", 0.15), ("r+2+bounds", 0.15 + chosen), ("r+2", rest)]
    assert report["quality"]["ledger"] == report["choices"][0]["ledger"]
    assert Draft202012Validator(json.loads(report_schema())).is_valid(report)
    assert report["privacy"]["spent"]["epsilon"] == sum(cost for _, cost in charged[1:])
    assert report["privacy"]["before"]["epsilon"] == 0.15
    # The attempt that passed is published again, and no reader is shown another choice.
    dpcli(*words, "--force").succeeded()
    assert epsilons(dpcli, tmp_path) == charged
    assert dpcli("ledger", "verify", first, second, "--ledger", ledger).status == 0
    ledger.unlink()
    dpcli("ledger", "recover", "--from", first, "--from", second, "--ledger", ledger).succeeded()
    assert epsilons(dpcli, tmp_path) == charged


@EACH
@pytest.mark.parametrize("passes", [True, False])
def test_the_check_is_answered_first(
    text: str,
    write: Write,
    chosen: float,
    passes: bool,
    dpcli: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All its answers come before those that choose, and none of these follows if it fails."""
    opened: list[object] = []
    answer = CalibratedMechanism.answer

    def recorded(self: Any, exact: Any, permit: NoisePermit, *earlier: Any) -> Any:
        opened.append(self.query)
        return answer(self, exact, permit, *earlier)

    monkeypatch.setattr(CalibratedMechanism, "answer", recorded)
    plan = make_plan(parse_central_spec(text, "spec"))
    first = [asked.query for asked in plan.first_phase.engine_queries]
    checks = len(plan.quality.queries) if plan.quality else 0
    spec, data = write(tmp_path, text if passes else failing(text))
    outcome = dpcli("release", spec, data, "--release-id", "r")

    assert outcome.status == (0 if passes else 8)
    assert opened[: len(first)] == (first if passes else first[:checks])
    assert (len(opened) > len(first)) == passes


def stop(*_: object, **__: object) -> None:
    """End a release as Ctrl-C does."""
    raise KeyboardInterrupt


STEPS = [
    ("dpcli.releasing.bounds_choice.aggregate_data", True),
    ("dpcli.releasing.bounds_choice.answer_check", True),
    ("dpcli.releasing.bounds_choice.quality_result", True),
    ("dpcli.releasing.bounds_choice.bounds_from", True),
    ("dpcli.ledger.transaction.LedgerTransaction.charge_check_only", False),
    ("dpcli.releasing.run.ReleaseRun.aggregate", False),
    ("dpcli.releasing.run.ReleaseRun.commit", False),
    ("dpcli.ledger.ledger.OpenLedger.commit", True),
    ("dpcli.ledger.ledger.OpenLedger.commit", False),
]
"""Where a release is stopped before anything is charged, and whether its check passes."""


@pytest.mark.parametrize(("step", "passes"), STEPS)
def test_a_stop_in_the_first_phase_charges_nothing(
    step: str, passes: bool, dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was shown; the same id then checks, and chooses, as a new release does."""
    spec, data = write_amounts(tmp_path, ROWS if passes else failing(ROWS))
    words = ["release", spec, data, "--release-id", "r"]
    with monkeypatch.context() as patched:
        patched.setattr(step, stop)
        assert dpcli(*words).status == 130

    assert history(dpcli, tmp_path) == []
    assert dpcli(*words).status == (0 if passes else 8)
    both = [("r+bounds", 0.25), ("r", 0.9)]
    assert epsilons(dpcli, tmp_path) == (both if passes else [("r", 0.15)])


@EACH
def test_after_a_stop_between_the_phases_nothing_is_answered_again(
    text: str,
    write: Write,
    chosen: float,
    dpcli: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The stored check and the stored choice are those of the report, whatever the file has now."""
    spec, data = write(tmp_path, text)
    words = ["release", spec, data, "--release-id", "r", "--report", tmp_path / "r.json"]
    with monkeypatch.context() as patched:
        patched.setattr("dpcli.releasing.run.ReleaseRun.aggregate", stop)
        assert dpcli(*words).status == 130
    before = epsilons(dpcli, tmp_path)
    with closing(OpenLedger.open(tmp_path / DEFAULT)) as ledger:
        stored = ledger.stored("r" + SUFFIX, "shop")
    assert stored is not None
    counts = json.loads(stored.outputs[CHECK])
    # With 30 rows or people the check would fail.
    write(tmp_path, text, 30)
    dpcli(*words).succeeded()
    report = reported(tmp_path / "r.json")

    assert before == [("r+bounds", 0.15 + chosen)]
    assert epsilons(dpcli, tmp_path)[:-1] == before
    assert report["quality"]["passed"] is True
    found = [estimate["value"] for estimate in report["quality"]["counts"].values()]
    assert found == counts["answers"][0]
    assert list(report["quality"]["counts"]) == counts["counts"]
    assert report["privacy"]["before"]["epsilon"] == 0


def test_a_choice_of_an_earlier_version_is_checked_after_it(
    dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its entry has no check, so that the entry of the statistics answers and charges one."""
    spec, data = write_visits(tmp_path, PEOPLE)
    path, ledger = tmp_path / "r.json", tmp_path / DEFAULT
    words = ["release", spec, data, "--release-id", "r", "--report", path]
    with monkeypatch.context() as patched:
        patched.setattr(CentralSpec, "checks_first", False)
        patched.setattr("dpcli.releasing.run.ReleaseRun.aggregate", stop)
        assert dpcli(*words).status == 130
    assert epsilons(dpcli, tmp_path) == [("r+bounds", 0.2)]
    dpcli(*words).succeeded()
    charged = epsilons(dpcli, tmp_path)

    assert charged == [("r+bounds", 0.2), ("r", 0.95)]
    assert "ledger" not in reported(path)["quality"]
    assert dpcli("ledger", "verify", path, "--ledger", ledger).status == 0
    ledger.unlink()
    dpcli("ledger", "recover", "--from", path, "--ledger", ledger).succeeded()
    assert epsilons(dpcli, tmp_path) == charged


def test_a_check_that_counted_something_else_is_made_again(
    dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version that counts other faults does not read the stored answers as its own."""
    spec, data = write_amounts(tmp_path, ROWS)
    words = ["release", spec, data, "--release-id", "r"]
    with monkeypatch.context() as patched:
        patched.setattr("dpcli.releasing.bounds_choice._labels", lambda _: ["one", "other"])
        patched.setattr("dpcli.releasing.run.ReleaseRun.aggregate", stop)
        assert dpcli(*words).status == 130
    dpcli(*words).succeeded()

    assert epsilons(dpcli, tmp_path) == [("r+bounds", 0.25), ("r", 1.05)]


FULL = LedgerError([Problem("ledger-unusable", "the disk is full")])


@pytest.mark.parametrize("passes", [True, False])
def test_an_entry_that_cannot_be_stored_charges_for_the_check(
    passes: bool, dpcli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What follows the check may show its result, so it is charged, whatever it was."""

    def full(*_: object) -> None:
        raise FULL

    spec, data = write_amounts(tmp_path, ROWS if passes else failing(ROWS))
    monkeypatch.setattr("dpcli.ledger.ledger.OpenLedger._charge", _unless_empty(full))
    outcome = dpcli("release", spec, data, "--release-id", "r")

    assert outcome.status == 6
    ((name, epsilon),) = epsilons(dpcli, tmp_path)
    assert (name[:11], epsilon) == ("r+unstored-", 0.15)


def _unless_empty(refuse: Callable[..., None]) -> Callable[..., Any]:
    """A charge that is refused if it has outputs to store."""
    charge = OpenLedger._charge

    def charged(self: OpenLedger, wanted: Any, render: Any) -> Any:
        if render.__module__ != "dpcli.ledger.transaction" or render.__name__ != "<lambda>":
            refuse()
        return charge(self, wanted, render)

    return charged


def begin(spec: Path, data: Path) -> None:
    """Do the first phase of the release `r`, and end before the second, as a process may."""
    plan = make_plan(read_central_spec(spec, ()))
    request = ReleaseRequest(plan, (str(data),), "r", spec.parent / DEFAULT)
    with ReleaseRun(request, Messages()) as run:
        run.begin()


def fail(spec: Path, data: Path) -> None:
    """Release `r`, which its check stops."""
    plan = api.plan(api.load_spec(spec))

    def failed(*words: Any) -> Any:
        return replace(quality_result(*words), missed={("rows", ""): "few"})

    with (
        patch("dpcli.releasing.bounds_choice.quality_result", failed),
        api.Ledger.open(spec.parent / DEFAULT) as ledger,
        pytest.raises(QualityError),
    ):
        api.release(plan, str(data), ledger=ledger, release_id="r")


def spend(spec: Path, _data: Path) -> None:
    """Charge the account for another release, so that it cannot pay for a second one."""
    text = spec.read_text(encoding="utf-8").replace("epsilon: 0.5}", "epsilon: 2}", 1)
    plan = make_plan(parse_central_spec(text, "other.yaml"))
    with closing(OpenLedger.open(spec.parent / DEFAULT)) as ledger:
        ledger.commit(charge_for(plan, "other"), lambda _: {"table.csv": b""})


@pytest.mark.parametrize(
    ("meanwhile", "status", "charged"),
    [
        (begin, 0, [("r+bounds", 0.25), ("r", 0.9)]),
        (fail, 8, [("r", 0.15)]),
        (spend, 5, [("other", 2.4)]),
    ],
)
def test_what_others_do_meanwhile_hides_the_check(
    meanwhile: Callable[[Path, Path], None],
    status: int,
    charged: Sequence[tuple[str, float]],
    dpcli: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A check for which another process leaves no charge changes no status, text or entry."""
    outcomes: list[object] = []
    for reasons in ({}, {("rows", ""): "few"}):
        remove_ledger(tmp_path)
        files = write_amounts(tmp_path, ROWS)
        assert dpcli("ledger", "init", tmp_path / DEFAULT).status == 0

        def check(plan: Any, answers: Any, files: Any = files, reasons: Any = reasons) -> Any:
            # The other process does not come here.
            monkeypatch.setattr("dpcli.releasing.bounds_choice.quality_result", quality_result)
            meanwhile(*files)
            return replace(quality_result(plan, answers), missed=reasons)

        monkeypatch.setattr("dpcli.releasing.bounds_choice.quality_result", check)
        outcome = dpcli("release", *files, "--release-id", "r", "-q")
        assert (outcome.status, epsilons(dpcli, tmp_path)) == (status, charged)
        outcomes.append(re.sub(r"[0-9.]+", "N", outcome.err))

    assert outcomes[0] == outcomes[1]


def test_a_failed_check_shows_its_noisy_answers_alone(
    dpcli: Command, freeze: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files with the same noisy counts of the check give the same texts, entries and reports."""

    def answered(plan: Any, *_: object) -> tuple[NoisyAnswer, ...]:
        size = len(plan.quality.entry.statistic.items(plan.quality.entry.inputs))
        return (
            NoisyAnswer(integer_array([7] * size), DiscreteLaplace(plan.quality.noises[0].scale)),
        )

    monkeypatch.setattr("dpcli.releasing.bounds_choice.answer_check", answered)
    found: list[object] = []
    for more in ("", "p1,99999,f\n", "p99999,n/a,\n", ",,\n"):
        spec, data = write_visits(tmp_path, failing(PEOPLE), 50)
        data.write_text(data.read_text(encoding="utf-8") + more, encoding="utf-8")
        freeze()
        words = ["release", spec, data, "--release-id", "r", "--force"]
        outcome = dpcli(*words, "--report", tmp_path / "r.json")
        report = reported(tmp_path / "r.json")
        # The head depends on the random identity of the ledger.
        report["ledger"].pop("head")
        found.append((outcome.status, outcome.err, epsilons(dpcli, tmp_path), report))

    assert all(each == found[0] for each in found)
    assert isinstance(found[0], tuple) and found[0][0] == 8


def test_rows_that_a_chosen_limit_keeps_cannot_be_required() -> None:
    """The limit is not known when the check comes; published specs are read all the same."""
    text = LIMIT.replace("columns:", "quality: {epsilon: 0.1, min_rows: 100}\ncolumns:", 1)
    with refused("rows-of-chosen-limit"):
        parse_central_spec(text, "spec")
    assert isinstance(parse_spec(text, "spec", published=True), CentralSpec)


def test_a_plan_with_choices_says_that_the_check_comes_first(
    dpcli: Command, tmp_path: Path
) -> None:
    """Only its loss is charged if it fails, and a simulation answers it."""
    spec, _ = write_visits(tmp_path, PEOPLE)
    out = " ".join(dpcli("plan", spec).out.split())

    assert "only the loss of the check is charged" in out
    assert "bounds and limits are chosen after that, and only if the check passes" in out
    plan = make_plan(read_central_spec(spec, ()))
    assert plan.quality_check_only.cost.epsilon * 20 == 3
    assert plan.first_phase.cost.epsilon * 20 == 7
    simulated = dpcli("simulate", spec, "--rows", "200", "--runs", "3", "--seed", "1", "--json")
    assert simulated.json["stopped_by_quality"] == 3
