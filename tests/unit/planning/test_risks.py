"""Laws that hold for every risk, and the verdicts on chosen specs."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from dpcli.planning.planner import make_plan
from dpcli.planning.words.risks import Finding, Verdict, risks
from dpcli.problems.reference import texts
from dpcli.specification.declarations import DeclarationsModel
from dpcli.specification.load import parse_spec
from tests.support.cli import LOCAL, SPECS, Command

ALL = [*SPECS, LOCAL]

DESCRIPTIVE = {
    "justification", "sector", "legal_basis", "data_retention", "processor", "review_date",
    "withdrawal",
    "population", "curator", "contact", "description", "intended_use", "region", "license",
}  # fmt: skip
"""Declarations that no risk asks for by its `asks`."""

ASKED = sorted({table["asks"] for table in texts("risks").values() if "asks" in table})

ANSWERED = "declarations:\n" + "".join(f"  {name}: our answer to it\n" for name in ASKED)

SMALL = """\
dpcli: 1
dataset: d
privacy: {unit: UNIT, neighbors: NEIGHBORS, budget: {epsilon: EPSILON, delta: DELTA}}
columns:
  id: {type: id}
  age: {type: integer, bounds: [0, 100]}
statistics:
  - {name: n, statistic: count, epsilon: 0.1POST}
"""


@cache
def findings(text: str, folder: Path | None = None) -> dict[str, Finding]:
    """The finding on each risk of a spec."""
    return {finding.risk: finding for finding in risks(make_plan(parse_spec(text, "spec", folder)))}


def small(**words: str) -> str:
    """A small spec with these words filled in."""
    values = {
        "UNIT": "row", "NEIGHBORS": "add-remove", "EPSILON": "1", "DELTA": "0", "POST": "",
    } | words  # fmt: skip
    text = SMALL
    for name, value in values.items():
        text = text.replace(name, value)
    return text


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_every_finding_has_a_question_and_a_reason(path: Path) -> None:
    """Each finding of each sample spec has a question, a reason, and a key that answers it."""
    for finding in findings(path.read_text(encoding="utf-8"), path.parent).values():
        assert finding.description.endswith("?")
        assert len(finding.found) > 20
        assert finding.found.endswith(".")
        assert finding.verdict is not Verdict.OPEN or finding.declared_as or finding.risk == "delta"


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_an_open_question_names_what_answers_it(path: Path) -> None:
    """Readers learn what is not declared, and the author of the spec under which key it is."""
    for finding in findings(path.read_text(encoding="utf-8"), path.parent).values():
        *_, last = finding.sentences
        asked = last.startswith("The data owner has not declared ")

        assert asked == (finding.verdict is Verdict.OPEN)
        assert bool(finding.prompt) == (finding.verdict in (Verdict.OPEN, Verdict.WARNED)) or (
            finding.risk == "bias"
        )
        if asked:
            key = finding.declared_as or "population"
            assert finding.prompt == f"Answer under `declarations: {key}:` in the spec."
            assert key in DeclarationsModel.model_fields


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_declarations_close_open_questions_and_change_no_warning(path: Path) -> None:
    """A declaration turns an open question into a declared one, never a met one; warnings stay."""
    text = path.read_text(encoding="utf-8")
    before = findings(text, path.parent)
    after = findings(f"{text}\n{ANSWERED}", path.parent)

    assert list(before) == list(after)
    for name, finding in after.items():
        was = before[name].verdict
        assert finding.found == before[name].found
        if finding.declared_as:
            assert finding.answer == "our answer to it"
            assert finding.verdict is (Verdict.DECLARED if was is Verdict.OPEN else was)
        else:
            assert finding.verdict is was


def test_any_text_is_declared_and_not_met(dpcli: Command, tmp_path: Path) -> None:
    """An answer that says nothing meets no risk: plans count it apart, and say who answers."""
    path = tmp_path / "spec.yaml"
    path.write_text(small() + "declarations: {fairness: x, access: x, timing: x}\n")
    before, printed = findings(small()), dpcli("plan", path, "--risks")
    after, stated = findings(path.read_text()), json.loads(dpcli("plan", path, "--json").out)
    verdicts = [risk["verdict"] for risk in stated["risks"]]
    met = sum(finding.verdict is Verdict.MET for finding in before.values())

    assert [after[name].verdict for name in ("access", "side channels")] == [Verdict.DECLARED] * 2
    assert verdicts == [finding.verdict.value for finding in after.values()]
    assert (verdicts.count("met"), verdicts.count("declared")) == (met, 2)
    assert f"{met} met, 0 warned, 2 declared, " in printed.out
    assert printed.out.count("No program can check what is declared.") == 2


def test_every_declaration_answers_a_risk() -> None:
    """The keys of `declarations` are those that risks name, and descriptions."""
    assert set(DeclarationsModel.model_fields) == set(ASKED) | DESCRIPTIVE


@pytest.mark.parametrize(
    ("epsilon", "verdict"),
    [("0.5", Verdict.MET), ("1", Verdict.MET), ("1.01", Verdict.WARNED), ("50", Verdict.WARNED)],
)
def test_a_large_budget_is_a_warning(epsilon: str, verdict: Verdict) -> None:
    """The budget decides, because it bounds what all releases reveal."""
    assert findings(small(EPSILON=epsilon))["epsilon"].verdict is verdict


@pytest.mark.parametrize(
    ("delta", "population", "verdict"),
    [
        ("0", "", Verdict.MET),
        ("1e-6", "", Verdict.OPEN),
        ("1e-6", "10000", Verdict.DECLARED),
        ("1e-6", "10001", Verdict.WARNED),
        ("1e-3", "5", Verdict.DECLARED),
    ],
)
def test_delta_is_compared_with_the_population(
    delta: str, population: str, verdict: Verdict
) -> None:
    """Delta times the number of people is at most one hundredth, compared exactly."""
    text = small(DELTA=delta)
    if population:
        text += f"declarations: {{population: {population}}}\n"

    assert findings(text)["delta"].verdict is verdict


def test_row_protection_is_met_only_by_an_answer() -> None:
    """A row as the privacy unit is an open question; a column of ids is not."""
    person = findings(small(UNIT="{column: id, max_rows: 2}"))
    row = findings(small())

    assert row["unit"].verdict is Verdict.OPEN
    assert "identity" not in row
    assert person["unit"].verdict is Verdict.MET
    assert person["identity"].verdict is Verdict.OPEN
    assert person["limits"].verdict is Verdict.WARNED


def test_post_processing_is_a_warning() -> None:
    """A count that is cut at zero is too large on average, which is a warning."""
    assert findings(small())["bias"].verdict is Verdict.MET
    assert findings(small(POST=", post: [nonnegative]"))["bias"].verdict is Verdict.WARNED


def test_change_one_does_not_hide_presence() -> None:
    """A public number of rows is a warning."""
    assert findings(small())["neighbors"].verdict is Verdict.MET
    assert findings(small(NEIGHBORS="change-one"))["neighbors"].verdict is Verdict.WARNED


def test_the_plan_prints_every_risk(dpcli: Command) -> None:
    """`dpcli plan --risks` has every question, and counts the verdicts."""
    printed = dpcli("plan", SPECS[0], "--risks")

    assert printed.status == 0
    for finding in findings(SPECS[0].read_text(encoding="utf-8")).values():
        assert f"{finding.verdict.value}: {finding.risk}. {finding.description}" in printed.out
    assert "NIST SP 800-226" in printed.out
