"""Ledgers with accounts and charges, without any data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from dpcli.ledger.balance import AccountTerms
from dpcli.ledger.charge import Charge, Receipt
from dpcli.ledger.ledger import OpenLedger, create_ledger
from dpcli.privacy.events import MechanismEvent
from dpcli.privacy.loss import Loss
from dpcli.privacy.sensitivity import Sensitivity

Make = Callable[..., Charge]


def charge(
    release_id: str,
    epsilon: str = "1/10",
    *,
    budget: str = "1",
    dataset: str = "town",
    digest: str = "d",
    period: str | None = None,
    window: int | None = None,
) -> Charge:
    """A charge of one answer with this epsilon."""
    terms = AccountTerms(dataset, "row", "add-remove", "sequential", Loss(Fraction(budget)), window)
    loss, once = Loss(Fraction(epsilon)), Sensitivity(1, 1, 1, 1)
    event = MechanismEvent("count", "count", "laplace", loss, 1 / loss.epsilon, once)
    return Charge(terms, release_id, digest, f"when {release_id} was made", period, (event,))


def render(receipt: Receipt) -> dict[str, bytes]:
    """Outputs that contain the entry and its head."""
    return {"table.csv": f"{receipt.entry} {receipt.head}".encode()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of the ledger of a test."""
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[OpenLedger]:
    """A new ledger without accounts."""
    book = create_ledger(path)
    yield book
    book.close()
