"""The cost of recorded answers: as planned, composed with the past, by every composition."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dpcli.cli.ledger_show import history, show
from dpcli.ledger.balance import (
    AccountTerms,
    balance,
    guarantee_counts,
    recorded_cost,
    terms_from_spec,
)
from dpcli.ledger.chain import canonical, to_events_json
from dpcli.ledger.charge import Charge, charge_for
from dpcli.ledger.ledger import create_ledger
from dpcli.mechanisms.local import LOCAL_MECHANISMS
from dpcli.planning.plan import CentralPlan, Plan
from dpcli.planning.planner import make_plan
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.accounting.composition import Composition
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.loss import Loss, pure_guarantee
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.problems.errors import BudgetError, LedgerError
from dpcli.specification.load import parse_central_spec, parse_spec, read_spec_file, require_model
from dpcli.specification.model import LocalSpec
from tests.support.guarantees import plain_guarantees
from tests.support.ledgers import render

SPECS = sorted((Path(__file__).parents[3] / "specs").glob("*.yaml"))

each_rule = pytest.mark.parametrize("rule", COMPOSITIONS, ids=lambda one: str(one.name))

MIXED = """
dpcli: 1
dataset: d
privacy: {unit: row, neighbors: %s, budget: {epsilon: 9, delta: 1e-6}, composition: %s}
columns:
  age: {type: integer, bounds: [0, 100]}
  sex: {type: category, values: [f, m]}
  place: {type: category}
statistics:
  - {name: a, statistic: count, where: {sex: f}, epsilon: 0.2}
  - {name: b, statistic: mean, column: age, where: {sex: m}, mechanism: gaussian, epsilon: 0.3,
     delta: 1e-8}
  - {name: c, statistic: median, column: age, epsilon: 0.1, mechanism: exponential}
  - {name: d, statistic: top_k, column: sex, k: 2, epsilon: 0.1}
  - {name: e, statistic: count, by: [place], keys: private, epsilon: 0.2, delta: 1e-8}
  - {name: f, statistic: histogram, column: age, bins: {width: 10}, epsilon: 0.1}
"""


def planned(path: Path) -> Plan:
    """The plan of a spec of either model."""
    return make_plan(read_spec_file(path))


def charged(plan: Plan) -> Loss:
    """The cost that the ledger computes for a plan; what it chooses is charged for before."""
    phases: list[Plan] = [plan]
    if isinstance(plan, CentralPlan) and plan.bounds:
        phases.append(plan.first_phase)
    charge = charge_for(plan, "r")
    costs = [replace(charge, events=one.charged_events).cost for one in phases]
    return balance(terms_from_spec(plan.spec), costs).spent


@pytest.mark.parametrize("path", SPECS, ids=lambda path: str(path.stem))
def test_the_specs_are_charged_as_planned(path: Path) -> None:
    """From recorded parameters alone, the ledger computes the total of the plan."""
    plan = planned(path)
    assert charged(plan) == plan.cost


RESPONSES = """
dpcli: 1
model: local
dataset: d
privacy: {unit: row, neighbors: change-one, budget: {epsilon: 9, delta: 1e-6}, composition: %s}
columns:
  flag: {type: boolean, missing: false}
  kind: {type: category, values: [a, b, c], missing: a}
  sort: {type: category, values: [a, b, c], missing: a}
  age: {type: integer, bounds: [0, 100], missing: 0}
  pay: {type: number, bounds: [0, 1], step: 0.001, missing: 0}
  pet: {type: boolean, missing: false}
responses:
  - {column: flag, mechanism: randomized_response, probability: 0.6}
  - {column: kind, mechanism: generalized_randomized_response, epsilon: 0.3}
  - {column: sort, mechanism: unary_encoding, epsilon: 0.2}
  - {column: age, mechanism: laplace, epsilon: 0.1}
  - {column: pay, mechanism: gaussian, epsilon: 0.2, delta: 1e-8}
  - {column: pet, mechanism: matrix, matrix: {false: {x: 0.4, y: 0.6}, true: {x: 0.5, y: 0.5}}}
"""


@each_rule
def test_responses_are_charged_as_planned(rule: Composition) -> None:
    """Every local randomizer, by every composition, from its recorded parameters alone."""
    spec = require_model(parse_spec(RESPONSES % rule.name, "spec.yaml"), LocalSpec, "spec.yaml")
    assert {one.mechanism.name for one in spec.responses} == {one.name for one in LOCAL_MECHANISMS}
    plan = make_plan(spec)
    assert charged(plan) == plan.cost
    if rule.name == "sequential":
        assert plan.cost == plan.requested_loss


@each_rule
@pytest.mark.parametrize("neighbors", ["add-remove", "change-one"])
def test_everything_is_charged_as_planned(rule: Composition, neighbors: str) -> None:
    """Disjoint rows, joint answers, selections and private keys, by every composition."""
    plan = make_plan(parse_central_spec(MIXED % (neighbors, rule.name), "spec.yaml"))
    assert charged(plan) == plan.cost


@each_rule
def test_past_releases_are_composed_together(rule: Composition, tmp_path: Path) -> None:
    """Nine releases cost the loss of all their answers together, not the sum of their totals."""
    plan = make_plan(parse_central_spec(MIXED % ("add-remove", rule.name), "spec.yaml"))
    book = create_ledger(tmp_path / "ledger.sqlite", None)
    for number in range(9):
        book.commit(charge_for(plan, f"r{number}"), render)
    terms = book.accounts()["d"]
    spent = book.balance(terms).spent
    book.close()
    answers = plain_guarantees(to_events_json(charge_for(plan, "").events), "add-remove")
    together = rule.total({one: 9 * times for one, times in answers.items()}, Fraction(1, 10**6))
    assert spent == together
    if rule.name == "sequential":
        assert spent.epsilon == 9 * plan.cost.epsilon
    elif rule.name != "advanced":
        assert spent.epsilon < 7 * plan.cost.epsilon


def test_a_mechanism_of_a_later_version_is_refused(tmp_path: Path) -> None:
    """An account with an unknown mechanism is not charged, and the error names the reason."""
    plan = make_plan(parse_central_spec(MIXED % ("add-remove", "zcdp"), "spec.yaml"))
    charge = charge_for(plan, "r")
    strange = tuple(replace(event, mechanism="quantum") for event in charge.events)
    book = create_ledger(tmp_path / "ledger.sqlite", None)
    with pytest.raises(LedgerError, match="mechanism that this version does not know"):
        book.commit(replace(charge, events=strange), render)
    assert not book.releases("d")
    book.close()
    with pytest.raises(LedgerError):
        guarantee_counts(to_events_json(strange), "add-remove")


def test_entries_without_newer_fields_keep_their_cost() -> None:
    """Entries older than parallel composition are still composed sequentially."""
    plan = make_plan(parse_central_spec(MIXED % ("add-remove", "sequential"), "spec.yaml"))
    charge = charge_for(plan, "r")
    older = to_events_json(replace(event, disjoint=None) for event in charge.events)
    terms = terms_from_spec(plan.spec)
    spent = balance(terms, [recorded_cost(older, None, terms)]).spent
    assert spent.epsilon == plan.requested_loss.epsilon == 1
    assert charged(plan).epsilon == Fraction(4, 5)


def test_a_budget_in_rho_is_kept_across_releases(tmp_path: Path) -> None:
    """Three releases of rho 0.02 fit in 0.06, and a fourth does not."""
    terms = AccountTerms(
        "d", "row", "add-remove", "zcdp", Loss(Fraction(2), Fraction(1, 10**6), Fraction("0.06"))
    )
    loss, once = Loss(Fraction(1), Fraction(1, 10**6)), Sensitivity(1, 1, 1, 1)
    event = MechanismEvent("n", "count", "gaussian", loss, Fraction(5), once)
    book = create_ledger(tmp_path / "ledger.sqlite", None)
    for number in range(3):
        book.commit(Charge(terms, f"r{number}", "d", "now", None, (event,)), render)
    left = book.balance(terms).remaining
    assert left.rho == 0
    with pytest.raises(BudgetError, match="left of"):
        book.commit(Charge(terms, "r3", "d", "now", None, (event,)), render)
    book.close()


@each_rule
def test_more_runs_are_those_that_fit(
    rule: Composition, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """That number of releases is within the budget, and one more (or 1% more) is not."""
    spec = tmp_path / "spec.yaml"
    spec.write_text(MIXED % ("add-remove", rule.name), encoding="utf-8")
    plan = planned(spec)
    book = create_ledger(tmp_path / "ledger.sqlite", None)
    book.commit(charge_for(plan, "r"), render)
    terms = book.accounts()["d"]
    book.close()
    show(spec, as_json=True, path=tmp_path / "ledger.sqlite")
    (account,) = json.loads(capsys.readouterr().out)
    runs = account["more_runs"]
    assert runs > 5
    one = charge_for(plan, "").cost
    assert balance(terms, [replace(one, count=runs + 1)]).within
    assert not balance(terms, [replace(one, count=runs + runs // 100 + 2)]).within


def test_without_its_package_only_pld_accounts_are_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`show` lists the others, and warns; so does `history`, without their numbers."""
    book = create_ledger(tmp_path / "ledger.sqlite", None)
    for rule in ("zcdp", "pld"):
        text = MIXED % ("add-remove", rule)
        plan = make_plan(
            parse_central_spec(text.replace("dataset: d", f"dataset: d-{rule}"), "spec.yaml")
        )
        book.commit(charge_for(plan, rule), render)
    book.close()
    monkeypatch.setitem(sys.modules, "dp_accounting.pld.pld_pmf", None)
    show(path=tmp_path / "ledger.sqlite")
    printed = capsys.readouterr()
    lines = {line.split()[0]: line.split() for line in printed.out.splitlines() if line}
    assert "?" in lines["d-pld"] and "?" not in lines["d-zcdp"]
    assert "warning: d-pld" in printed.err and ".[pld]" in printed.err
    history(path=tmp_path / "ledger.sqlite")
    printed = capsys.readouterr()
    assert "d-pld" in printed.out and "?" in printed.out
    assert printed.err.count("warning: d-pld: epsilon is unknown without a package") == 1


@pytest.mark.parametrize("name", ["zcdp", "pld"])
@pytest.mark.parametrize("times", [1, 3, 8])
def test_a_recovered_sum_is_a_pure_answer_except_for_its_delta(name: str, times: int) -> None:
    """An answer of (epsilon, delta) costs what a pure one does at the remaining delta."""
    rule = next(one for one in COMPOSITIONS if one.name == name)
    epsilon, delta, total_delta = Fraction(3, 10), Fraction(1, 10**8), Fraction(1, 10**6)
    part = {"mechanism": "recovered", "epsilon": str(epsilon), "delta": str(delta)}
    loss = rule.total(plain_guarantees(canonical([part] * times), "add-remove"), total_delta)
    expected = rule.total({pure_guarantee(epsilon): times}, total_delta - times * delta)
    assert abs(loss.epsilon - expected.epsilon) <= expected.epsilon / 10**9
    assert loss.delta <= total_delta


def test_a_recovered_delta_counts_under_a_sum() -> None:
    """Epsilons and deltas of recovered releases add up."""
    part = {"mechanism": "recovered", "epsilon": "1/2", "delta": "1/1000"}
    answers = plain_guarantees(canonical([part, part]), "add-remove")
    assert COMPOSITIONS["sequential"].total(answers, Fraction(0)) == Loss(
        Fraction(1), Fraction(1, 500)
    )
