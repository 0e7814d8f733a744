"""How long it takes to price 10,000 recorded answers: `python tests/benchmarks/composition.py`.

Each is a mechanism of its own, so that nothing can be counted instead of composed.
"""

from __future__ import annotations

import importlib
import json
import time
from fractions import Fraction

from dpcli.ledger.balance import AccountTerms, balance, guarantee_counts, recorded_cost
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.loss import Loss

ANSWERS = 10_000


def recorded(number: int) -> str:
    """The parts of a release with one answer, unlike those of all others."""
    gaussian = number % 2 == 0
    part = {
        "statistic": "count",
        "mechanism": "gaussian" if gaussian else "laplace",
        "scale": str(Fraction(500 + number * 7, 3)),
        "l0": 1,
        "l1": "1",
        "l2_squared": "1",
        "linf": "1",
        "epsilon": str(Fraction(3, 500 + number * 7)),
        "delta": "1/1000000000000" if gaussian else "0",
    }
    return json.dumps([part])


def main() -> None:
    """Print seconds and epsilon for each composition."""
    start = time.perf_counter()
    importlib.import_module("dp_accounting.pld.privacy_loss_distribution")
    print(f"loading dp-accounting: {time.perf_counter() - start:.2f} s, once for each command")
    parts = [recorded(number) for number in range(ANSWERS)]
    for rule in COMPOSITIONS:
        budget = Loss(Fraction(100), Fraction(1, 10**6))
        terms = AccountTerms("d", "row", "add-remove", rule.name, budget)
        guarantee_counts.cache_clear()
        start = time.perf_counter()
        spent = balance(terms, [recorded_cost(one, None, "add-remove") for one in parts]).spent
        seconds = time.perf_counter() - start
        print(f"{rule.name:10}  {seconds:6.2f} s  epsilon {float(spent.epsilon):.6f}")


if __name__ == "__main__":
    main()
