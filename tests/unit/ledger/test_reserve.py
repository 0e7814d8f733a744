"""Each way out of a transaction charges what it must."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import pytest

from dpcli.ledger.charge import Charge, Receipt
from dpcli.ledger.ledger import OpenLedger
from dpcli.ledger.transaction import LedgerTransaction
from dpcli.problems.errors import (
    BudgetError,
    DpcliError,
    LedgerError,
    OutputError,
    Problem,
    StoppedBySignal,
)
from tests.support.ledgers import charge, render

WHOLE, CHECK = "1/2", "1/10"
"""The epsilon of a release, and of its quality check."""

BUDGET = BudgetError([Problem("account-exhausted", "the budget refuses")])
FULL = LedgerError([Problem("ledger-unusable", "the disk is full")])


def whole(name: str, epsilon: str) -> Charge:
    """A charge of this epsilon, of which the quality check is a part."""
    rest = charge(name, str(Fraction(epsilon) - Fraction(CHECK)))
    return replace(rest, events=charge(name, CHECK).events + rest.events)


def leave(
    ledger: OpenLedger, name: str, stage: str, error: BaseException | None, epsilon: str = WHOLE
) -> None:
    """A release that ends in a stage: `read`, `drawn`, `stopped`, `rendered` or `committed`."""

    def rendered(receipt: Receipt) -> dict[str, bytes]:
        if stage == "rendered" and error is not None:
            raise error
        return render(receipt)

    with LedgerTransaction(ledger, whole(name, epsilon)) as transaction:
        if stage != "read":
            transaction.draw_noise(charge("check", CHECK).events)
        if stage == "stopped":
            transaction.charge_check_only()
        if stage in {"rendered", "committed"} or epsilon != WHOLE:
            transaction.commit(rendered)
        if error is not None:
            raise error


def charged(ledger: OpenLedger) -> list[tuple[str, Mapping[str, object]]]:
    """The epsilon of each charge, and what its entry records."""
    return [
        (
            str(sum(Fraction(event["epsilon"]) for event in json.loads(entry.events_json))),
            entry.content(),
        )
        for entry in ledger.releases("town")
    ]


@pytest.mark.parametrize(
    ("stage", "error", "epsilons"),
    [
        ("read", ValueError(), []),
        ("read", FULL, []),
        ("read", KeyboardInterrupt(), []),
        ("drawn", BUDGET, []),
        ("drawn", FULL, [CHECK]),
        ("drawn", OutputError([Problem("output-failed", "the disk is full")]), [CHECK]),
        ("drawn", ValueError(), [WHOLE]),
        ("drawn", None, [WHOLE]),
        ("drawn", BaseException("a panic of native code"), [WHOLE]),
        ("drawn", KeyboardInterrupt(), []),
        ("drawn", StoppedBySignal(15), []),
        ("stopped", BUDGET, []),
        ("stopped", FULL, [CHECK]),
        ("stopped", ValueError(), [CHECK]),
        ("rendered", BUDGET, []),
        ("rendered", FULL, [CHECK]),
        ("rendered", MemoryError(), [WHOLE]),
        ("rendered", StoppedBySignal(15), []),
    ],
)
def test_the_way_out_decides_what_is_charged(
    stage: str, error: BaseException | None, epsilons: list[str], ledger: OpenLedger
) -> None:
    """A release that ends without a commit is charged for the noise that may be known."""
    expected = contextlib.nullcontext() if error is None else pytest.raises(type(error))
    with expected:
        leave(ledger, "r", stage, error)
    assert [epsilon for epsilon, _ in charged(ledger)] == epsilons
    if epsilons and not isinstance(error, DpcliError):
        with pytest.raises(LedgerError, match="failed after its noise was drawn"):
            ledger.stored("r", "town")
    else:
        assert ledger.stored("r", "town") is None


def test_a_failure_does_not_show_the_result_of_the_check(ledger: OpenLedger) -> None:
    """After a failure, the entry is the same whether the quality check passed or failed."""
    for name, stage in (("r", "drawn"), ("s", "stopped")):
        with pytest.raises(LedgerError, match="the disk is full"):
            leave(ledger, name, stage, FULL)
    (one, passed), (other, stopped) = charged(ledger)
    assert one == other == CHECK
    assert passed.keys() == stopped.keys()
    assert "stopped" not in stopped


def test_what_could_not_be_stored_may_be_released_again_under_its_id(ledger: OpenLedger) -> None:
    """New noise is drawn and charged, and each answered check stays charged."""
    for _ in range(2):
        with pytest.raises(LedgerError, match="the disk is full"):
            leave(ledger, "r", "drawn", FULL)
    leave(ledger, "r", "committed", None)
    assert [epsilon for epsilon, _ in charged(ledger)] == [CHECK, CHECK, WHOLE]
    assert ledger.all_faults() == []
    names = [entry.release_id for entry in ledger.releases("town")]
    assert len({*names}) == 3 and names[-1] == "r"
    assert all(name.startswith("r+unstored-") for name in names[:2])


def test_what_is_committed_is_charged_once(ledger: OpenLedger) -> None:
    """A failure after the commit charges nothing more, and the release can be published again."""
    with pytest.raises(ValueError, match="later"):
        leave(ledger, "r", "committed", ValueError("later"))
    with LedgerTransaction(ledger, whole("r", WHOLE)) as transaction:
        assert transaction.stored is not None
        assert transaction.stored.outputs.keys() == {"table.csv"}
    assert [epsilon for epsilon, _ in charged(ledger)] == [WHOLE]


def test_a_failed_check_needs_the_budget_for_the_whole_release(ledger: OpenLedger) -> None:
    """The refusal of a release does not depend on the result of its quality check."""
    refusals = []
    for name, stage in (("r", "drawn"), ("s", "stopped")):
        with pytest.raises(BudgetError) as refusal:
            leave(ledger, name, stage, None, epsilon="2")
        refusals.append(str(refusal.value))
    assert refusals[0] == refusals[1]
    assert charged(ledger) == []
