"""Accounts are exact, charges happen once, and terms never change."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from dpcli.ledger.balance import AccountTerms, GuaranteeCounts, RecordedCost, balance
from dpcli.ledger.chain import LedgerEntry, append_anchor, create_anchor
from dpcli.ledger.ledger import OpenLedger, create_ledger
from dpcli.ledger.store import Store
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.accounting.composition import Composition
from dpcli.privacy.loss import Guarantee, Loss
from dpcli.problems.errors import BudgetError, LedgerError
from tests.support.guarantees import of_counts
from tests.support.ledgers import charge, render
from tests.support.refusals import refused


def test_ten_tenths_are_one(ledger: OpenLedger) -> None:
    """A budget of 1 pays for exactly ten releases of 0.1, and for no more."""
    for number in range(10):
        ledger.commit(charge(f"r{number}"), render)
    for epsilon in ("1/10", "1/1000000000000"):
        with refused("account-exhausted"):
            ledger.commit(charge("more", epsilon), render)
    terms = ledger.accounts()["town"]
    assert ledger.balance(terms).spent == Loss(Fraction(1))
    assert len(ledger.releases("town")) == 10


def pure(epsilon: Fraction) -> GuaranteeCounts:
    """The cost of a release with a single pure answer."""
    return ((Guarantee(Loss(epsilon), epsilon**2 / 2, ()), 1),)


def test_small_costs_add_up_exactly() -> None:
    """A hundred thousand costs of 1/100000 are exactly one."""
    terms = AccountTerms("d", "row", "add-remove", "sequential", Loss(Fraction(1)))
    costs = [RecordedCost(pure(Fraction(1, 100_000)), None)] * 100_000
    assert balance(terms, costs).spent.epsilon == 1
    assert balance(terms, costs).within
    assert not balance(terms, [*costs, RecordedCost(pure(Fraction(1, 10**12)), None)]).within


def test_an_id_is_charged_once(ledger: OpenLedger) -> None:
    """The same id returns the stored bytes, and costs nothing."""
    first = ledger.commit(charge("r"), render)
    again = ledger.commit(charge("r"), lambda _: {"table.csv": b"other noise"})
    assert first.receipt is not None
    assert again.receipt is None
    assert dict(first.outputs) == dict(again.outputs)
    assert len(ledger.releases("town")) == 1


def test_an_id_belongs_to_its_spec(ledger: OpenLedger) -> None:
    """The same id with another spec is refused."""
    ledger.commit(charge("r"), render)
    with refused("release-id-taken"):
        ledger.commit(charge("r", digest="other"), render)


def test_an_account_keeps_its_terms(ledger: OpenLedger) -> None:
    """A spec with another budget is refused, and the refusal states the difference."""
    ledger.commit(charge("r"), render)
    with refused("account-differs") as refusal:
        ledger.commit(charge("s", budget="2"), render)
    assert "its budget is epsilon 1, the spec says epsilon 2" in str(refusal.value)


def test_datasets_pay_for_themselves(ledger: OpenLedger) -> None:
    """One account does not pay for another."""
    ledger.commit(charge("a", "1"), render)
    ledger.commit(charge("b", "1", dataset="village"), render)
    with pytest.raises(BudgetError):
        ledger.commit(charge("c", dataset="village"), render)


def test_a_failing_render_charges_nothing(ledger: OpenLedger) -> None:
    """If outputs cannot be made, there is no charge."""

    def fails(_: object) -> dict[str, bytes]:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        ledger.commit(charge("r"), fails)
    assert ledger.accounts() == {}
    assert ledger.stored("r", charge("r").terms.dataset) is None


@pytest.mark.parametrize("window", [1, 3, 7])
def test_a_window_bounds_any_consecutive_days(ledger: OpenLedger, window: int) -> None:
    """For any order of days, no window of that length exceeds the budget."""
    budget = Fraction(1)
    terms = AccountTerms("town", "row", "add-remove", "sequential", Loss(budget), window)
    ledger.open_account(terms, "now")
    spent: dict[int, Fraction] = {}
    for number in range(120):
        day = (number * 7) % 15 + 1
        try:
            period = f"2026-03-{day:02}"
            ledger.commit(charge(f"r{number}", "1/4", period=period, window=window), render)
        except BudgetError:
            continue
        spent[day] = spent.get(day, Fraction(0)) + Fraction(1, 4)
    worst = max(
        sum(spent.get(day, Fraction(0)) for day in range(start, start + window))
        for start in range(16)
    )
    assert worst == budget
    # Nothing more fits anywhere: every day lies in a full window.
    for day in range(1, 16):
        with pytest.raises(BudgetError):
            ledger.commit(
                charge(f"x{day}", "1/4", period=f"2026-03-{day:02}", window=window), render
            )


def test_a_window_needs_a_day_and_other_accounts_take_any_period(ledger: OpenLedger) -> None:
    """Without a window a period is recorded and decides nothing; with one it must be a day."""
    for index, period in enumerate((None, "2026-03-01", "2026", "2025-01/2025-06")):
        ledger.commit(charge(f"r{index}", "1/8", period=period), render)
    terms = AccountTerms("w", "row", "add-remove", "sequential", Loss(Fraction(1)), 7)
    ledger.open_account(terms, "now")
    for period in (None, "2026", "2026-03-01/2026-03-02"):
        with refused("period-required"):
            ledger.commit(charge("t", dataset="w", period=period), render)


def test_an_account_opens_once(ledger: OpenLedger) -> None:
    """A second opening on the same terms changes nothing; on other terms it is refused."""
    terms = AccountTerms("w", "row", "add-remove", "sequential", Loss(Fraction(1)))
    assert ledger.open_account(terms, "now")
    before = [entry.payload for entry in ledger.entries()]

    assert not ledger.open_account(terms, "later")
    for other in (replace(terms, budget=Loss(Fraction(2))), replace(terms, window=7)):
        with refused("account-exists"):
            ledger.open_account(other, "later")
    assert [entry.payload for entry in ledger.entries()] == before


def test_a_named_ledger_must_exist(path: Path) -> None:
    """A missing ledger is not replaced by an empty one."""
    with refused("ledger-missing"):
        OpenLedger.open(path)
    assert not path.exists()


def test_commits_are_synced(ledger: OpenLedger) -> None:
    """A power loss cannot undo a commit: full synchronization, and no write-ahead log."""
    connection = ledger.connection
    assert connection.execute("PRAGMA synchronous").fetchone()[0] >= 2
    assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "delete"


def test_lines_of_the_anchor_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power loss cannot remove an entry from the anchor that `append_anchor` has written."""
    anchor = tmp_path / "anchor"
    synced: list[str] = []
    create_anchor(anchor, "ledger")
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(anchor.read_text()))
    append_anchor(anchor, {1: "first"})
    assert synced == [anchor.read_text()] and "1 first" in synced[0]


def test_the_file_is_private(path: Path, ledger: OpenLedger) -> None:
    """No other user may read or write the ledger."""
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100, b"SQLite format 3\0junk"])
def test_a_file_that_is_not_a_ledger_is_refused(path: Path, content: bytes) -> None:
    """Empty, other and damaged files are never treated as an empty ledger."""
    path.write_bytes(content)
    with pytest.raises(LedgerError):
        OpenLedger.open(path)


def test_another_database_is_refused(path: Path) -> None:
    """A database of another program does not become a ledger."""
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    for opened in (OpenLedger.open, create_ledger):
        with pytest.raises(LedgerError):
            opened(path)


def test_a_newer_version_is_refused(path: Path, ledger: OpenLedger) -> None:
    """A ledger of a later format is refused and not changed."""
    ledger.connection.execute("PRAGMA user_version = 99")
    with pytest.raises(LedgerError) as refusal:
        OpenLedger.open(path)
    assert "newer version" in str(refusal.value)


def test_a_truncated_ledger_is_refused(path: Path, ledger: OpenLedger) -> None:
    """A ledger that is cut at any sector is in doubt or unusable, and never has budget left."""
    for number in range(10):
        ledger.commit(charge(f"r{number}"), render)
    ledger.close()
    intact = path.read_bytes()
    for size in range(0, len(intact), 512):
        path.write_bytes(intact[:size])
        for opened in (OpenLedger.open, create_ledger):
            with pytest.raises(LedgerError):
                opened(path).close()
    path.write_bytes(intact)
    OpenLedger.open(path).close()


@pytest.mark.parametrize("rule", [*COMPOSITIONS][:3], ids=lambda rule: str(rule.name))
@pytest.mark.parametrize("window", [1, 2, 5, 30])
def test_the_worst_window_is_found_for_any_releases(window: int, rule: Composition) -> None:
    """Sliding over the releases gives the same as a look at every window."""
    random, delta = Random(window), Fraction(1, 10**6)
    terms = AccountTerms("town", "row", "add-remove", rule.name, Loss(Fraction(1), delta), window)
    for _ in range(50 if rule.name == "sequential" else 10):
        costs = [
            RecordedCost(pure(Fraction(random.randint(1, 9), 10)), random.randint(1, 40), 1)
            for _ in range(random.randint(0, 30))
        ]
        period = random.choice([None, random.randint(1, 40)])
        windows = range(-window, 80) if period is None else range(period - window + 1, period + 1)
        worst = Fraction(0)
        for at in windows:
            held = Counter(
                next(iter(of_counts(one.guarantees)))
                for one in costs
                if one.period in range(at, at + window)
            )
            worst = max(worst, rule.total(held, delta).epsilon)
        assert balance(terms, costs, period).spent.epsilon == worst


def test_a_charge_during_a_check_is_not_reported_as_damage(
    ledger: OpenLedger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may charge while this one reads the ledger."""
    entries, rivals = Store.entries, iter(["b"])

    def slow(self: Store, where: str = "1", *values: object) -> list[LedgerEntry]:
        selected = entries(self, where, *values)
        for name in rivals:
            other = OpenLedger.open(path)
            other.commit(charge(name), render)
            other.close()
        return selected

    ledger.commit(charge("a"), render)
    monkeypatch.setattr(Store, "entries", slow)
    ledger.check()

    assert ledger.names() == ["a", "b"]
