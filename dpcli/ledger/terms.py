"""The terms of an account: what it fixes when it is opened, and never changes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from dpcli.light_dataclasses import dataclass
from dpcli.numeric.exact import readable_text
from dpcli.privacy.loss import Loss, loss_text
from dpcli.privacy.unit import unit_text

if TYPE_CHECKING:
    from dpcli.specification.model import Spec

Payload = dict[str, object]
"""What an entry records, as data that JSON can hold."""


@dataclass(frozen=True, slots=True)
class AccountTerms:
    """The dataset of an account, the guarantee that it pays for, and its budget.

    With a `window` of w periods, the budget bounds the loss of any w consecutive periods (w-event
    privacy: Kellaris, Papadopoulos, Xiao and Papadias 2014). Without a window, it bounds the loss
    of all releases.
    """

    dataset: str
    unit: str
    neighbors: str
    composition: str
    budget: Loss
    window: int | None = None

    def payload(self) -> Payload:
        """The terms as an entry records them; numbers are exact fractions as text."""
        return {
            "dataset": self.dataset,
            "unit": self.unit,
            "neighbors": self.neighbors,
            "composition": self.composition,
            "epsilon": str(self.budget.epsilon),
            "delta": str(self.budget.delta),
            "window": self.window,
            **({} if self.budget.rho is None else {"rho": str(self.budget.rho)}),
        }

    def differences(self, other: AccountTerms) -> Iterator[tuple[str, str, str]]:
        """The name of each term that differs, with its value here and in `other`.

        Windows are not compared, because a spec has none.
        """
        for term in ("unit", "neighbors", "composition"):
            mine, theirs = getattr(self, term), getattr(other, term)
            if mine != theirs:
                yield term, mine, theirs
        if _declared(self.budget) != _declared(other.budget):
            yield "budget", loss_text(self.budget), loss_text(other.budget)


def opening_command(terms: AccountTerms, ledger: Path) -> str:
    """The command that opens an account on these terms; defaults are left out."""
    budget, each = terms.budget, " or single row without one"
    amount = f"--epsilon {readable_text(budget.epsilon)}"
    if budget.rho is not None:
        amount = f"--rho {readable_text(budget.rho)}"
    person = terms.unit.removeprefix("person by ")
    words = [
        f"dpcli ledger open {terms.dataset} {amount}",
        f"--delta {readable_text(budget.delta)}" if budget.delta else "",
        f"--unit {shlex.quote(person.removesuffix(each))}" if person != "row" else "",
        "--each" if person.endswith(each) else "",
        f"--neighbors {terms.neighbors}" if terms.neighbors != "add-remove" else "",
        f"--composition {terms.composition}" if terms.composition != "sequential" else "",
        f"--ledger {shlex.quote(str(ledger))}",
    ]
    return " ".join(word for word in words if word)


def _declared(budget: Loss) -> tuple[Fraction | None, ...]:
    """The declared numbers of a budget; the epsilon of a budget in rho follows from it."""
    return (budget.epsilon if budget.rho is None else None, budget.delta, budget.rho)


def terms_from_spec(spec: Spec) -> AccountTerms:
    """The terms of the account that a spec needs."""
    privacy = spec.privacy
    return AccountTerms(
        spec.dataset,
        unit_text(privacy.unit),
        privacy.neighbors.value,
        privacy.composition.name,
        privacy.budget,
    )


def terms_from_payload(payload: Mapping[str, object]) -> AccountTerms:
    """The terms that the entry of an account records."""
    window = payload["window"]
    return AccountTerms(
        str(payload["dataset"]),
        str(payload["unit"]),
        str(payload["neighbors"]),
        str(payload["composition"]),
        Loss(
            Fraction(str(payload["epsilon"])),
            Fraction(str(payload["delta"])),
            Fraction(str(payload["rho"])) if "rho" in payload else None,
        ),
        window if isinstance(window, int) else None,
    )
