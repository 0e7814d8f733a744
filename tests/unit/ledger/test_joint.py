"""A charge must fit its account, the account that it is a part of, and its recipients' budgets."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from dpcli.ledger.balance import AccountTerms, balance, terms_from_payload
from dpcli.ledger.chain import OPEN
from dpcli.ledger.charge import Charge
from dpcli.ledger.entries import entry_faults
from dpcli.ledger.ledger import OpenLedger
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.loss import Loss
from dpcli.problems.errors import BudgetError, LedgerError
from tests.support.guarantees import of_counts
from tests.support.ledgers import charge, ledger, path, render

__all__ = ["ledger", "path"]

DELTA = Fraction(1, 10**6)
PARTS = ("visits", "taxes", "shops")


def terms(dataset: str, budget: str, rule: str = "sequential", **more: object) -> AccountTerms:
    """The terms of an account of rows."""
    loss = Loss(Fraction(budget), Fraction(0) if rule == "sequential" else DELTA)
    made = AccountTerms(dataset, "row", "add-remove", rule, loss)
    return replace(made, **more)  # type: ignore[arg-type]


def part_charge(
    own: AccountTerms, release_id: str, epsilon: str, recipient: str | None = None
) -> Charge:
    """A charge to a part."""
    return replace(charge(release_id, epsilon), terms=own, recipient=recipient)


@pytest.mark.parametrize("rule", ["sequential", "advanced", "zcdp"])
@pytest.mark.parametrize("seed", range(3))
def test_a_parent_is_charged_for_all_releases_of_all_parts(
    ledger: OpenLedger, rule: str, seed: int
) -> None:
    """Its loss is the composition of every answer, and each part's that of its own."""
    random, parent = Random(seed), terms("population", "50", rule)
    ledger.open_account(parent, "now")
    own = {name: terms(name, "40", rule, part_of="population") for name in PARTS}
    given: dict[str, list[Fraction]] = {name: [] for name in PARTS}
    for number in range(12):
        name, epsilon = random.choice(PARTS), Fraction(random.randint(1, 9), 10)
        ledger.commit(part_charge(own[name], f"r{number}", str(epsilon)), render)
        given[name].append(epsilon)
    for name, spent in {
        **given,
        "population": [e for all_ in given.values() for e in all_],
    }.items():
        account = ledger.account(name)
        answers = Counter(guarantee for cost in account.costs for guarantee in
                          [*of_counts(cost.guarantees)] * cost.count)  # fmt: skip
        assert sum(answers.values()) == len(spent)
        expected = COMPOSITIONS[rule].total(answers, parent.budget.delta)
        assert ledger.balance(parent if name == "population" else own[name]).spent == expected
        if rule == "sequential":
            assert expected.epsilon == sum(spent)
    assert not ledger.all_faults()


def test_a_charge_that_only_the_parent_refuses_is_refused(ledger: OpenLedger) -> None:
    """The error names the parent; nothing is charged, to the last of the budget nothing is lost."""
    ledger.open_account(terms("population", "1"), "now")
    own = {name: terms(name, "0.9", part_of="population") for name in PARTS}
    ledger.commit(part_charge(own["visits"], "a", "0.7"), render)
    with pytest.raises(BudgetError, match=r"the account `population` has epsilon 0.3 left"):
        ledger.commit(part_charge(own["taxes"], "b", "0.4"), render)
    with pytest.raises(BudgetError, match=r"the account `visits` has epsilon 0.2 left"):
        ledger.commit(part_charge(own["visits"], "b", "0.3"), render)
    stored = ledger.commit(part_charge(own["taxes"], "b", "0.3"), render)
    assert stored.receipt is not None
    (further,) = stored.receipt.further_budgets
    assert (further.terms.dataset, further.after.remaining.epsilon) == ("population", Fraction(0))
    assert ledger.balance(terms("population", "1")).spent.epsilon == 1
    with pytest.raises(BudgetError, match=r"`population`"):
        ledger.commit(part_charge(own["shops"], "c", "1/1000000"), render)


def test_a_spec_cannot_leave_its_parent(ledger: OpenLedger) -> None:
    """Both are charged if it does not name the parent; another parent is refused."""
    ledger.open_account(terms("population", "1"), "now")
    ledger.open_account(terms("world", "9"), "now")
    ledger.commit(part_charge(terms("visits", "1", part_of="population"), "a", "0.6"), render)
    silent = terms("visits", "1")
    ledger.commit(part_charge(silent, "b", "0.2"), render)
    assert ledger.balance(terms("population", "1")).spent.epsilon == Fraction(8, 10)
    with pytest.raises(LedgerError, match=r"its part_of is population, the spec says world"):
        ledger.commit(part_charge(replace(silent, part_of="world"), "c", "0.1"), render)
    ledger.commit(part_charge(terms("alone", "1"), "d", "0.1"), render)
    with pytest.raises(LedgerError, match=r"its part_of is none, the spec says population"):
        ledger.commit(part_charge(terms("alone", "1", part_of="population"), "e", "0.1"), render)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"unit": "person by id"}, "the unit of `population` is row, and person by id here"),
        ({"neighbors": "change-one"}, "the neighbors of `population` is add-remove"),
        ({"composition": "zcdp"}, "the composition of `population` is sequential"),
        ({"part_of": "visits"}, "cannot be a part of `visits`, which is a part itself"),
        ({"part_of": "other"}, "cannot be a part of `other`, which is a part itself"),
        ({"part_of": "typo"}, "has no account `typo`, of which `other` is to be a part"),
    ],
)
def test_a_parent_of_another_kind_is_refused(
    ledger: OpenLedger, changed: dict[str, str], why: str
) -> None:
    """So it is by a release and by `open`; a forged entry is found."""
    ledger.open_account(terms("population", "1"), "now")
    ledger.open_account(terms("visits", "1", part_of="population"), "now")
    other = terms("other", "1", part_of="population")
    other = replace(other, **changed)  # type: ignore[arg-type]
    with pytest.raises(LedgerError) as opened:
        ledger.open_account(other, "now")
    if changed.get("part_of") != "other":
        assert why in str(opened.value)
        with pytest.raises(LedgerError) as released:
            ledger.commit(part_charge(other, "a", "0.1"), render)
        assert why in str(released.value)
    assert len(ledger.entries()) == 2
    forged = ledger.next_entry(OPEN, "other", other.payload() | {"created": "now"})
    assert [*entry_faults([*ledger.entries(), forged])]


def test_what_each_recipient_gets_is_bounded_beside_the_whole(ledger: OpenLedger) -> None:
    """A public release counts for each recipient; together they are bounded by the account."""
    given = (("ministry", Fraction(1, 2)), ("press", Fraction(3, 4)))
    own = terms("visits", "1", recipients=given)
    ledger.commit(part_charge(own, "a", "0.4", "ministry"), render)
    with pytest.raises(BudgetError, match=r"what `ministry` gets .* has epsilon 0.1 left"):
        ledger.commit(part_charge(own, "b", "0.2", "ministry"), render)
    with pytest.raises(BudgetError, match=r"what `ministry` gets"):
        ledger.commit(part_charge(own, "b", "0.2"), render)
    with pytest.raises(LedgerError, match=r"has no recipient `police`"):
        ledger.commit(part_charge(own, "b", "0.1", "police"), render)
    stored = ledger.commit(part_charge(own, "b", "0.1"), render)
    assert stored.receipt is not None
    left = {each.recipient: each.after.remaining.epsilon for each in stored.receipt.further_budgets}
    assert left == {"ministry": 0, "press": Fraction(65, 100)}
    with pytest.raises(BudgetError, match=r"the account `visits` has epsilon 0.5 left"):
        ledger.commit(part_charge(own, "c", "0.6", "press"), render)
    ledger.commit(part_charge(own, "c", "0.5", "press"), render)
    assert not ledger.all_faults()
    with pytest.raises(LedgerError, match=r"for the recipient ministry"):
        ledger.commit(part_charge(own, "a", "0.4", "press"), render)


@pytest.mark.parametrize("rule", ["sequential", "zcdp"])
def test_terms_are_recorded_exactly(rule: str) -> None:
    """A budget per recipient has the measure of the account, and no old entry changes."""
    loss = Loss(Fraction(1), DELTA, Fraction(1, 10)) if rule == "zcdp" else Loss(Fraction(1))
    own = replace(terms("v", "1", rule), budget=loss)
    assert not {"part_of", "recipients"} & own.payload().keys()
    joint = replace(own, part_of="p", recipients=(("a", Fraction(1, 3)), ("b", Fraction(2))))
    assert terms_from_payload(joint.payload()) == joint
    bound = joint.for_recipient("a").budget
    assert (bound.rho if rule == "zcdp" else bound.epsilon) == Fraction(1, 3)
    assert balance(joint.for_recipient("a"), []).remaining.within(bound)
