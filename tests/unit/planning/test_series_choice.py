"""Plans take the better design of a series, at equal loss of the account."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from dpcli.ledger.balance import balance, recorded_cost, terms_from_spec
from dpcli.ledger.chain import to_events_json
from dpcli.planning.plan import PlannedStatistic
from dpcli.planning.planner import make_plan
from dpcli.specification.load import parse_central_spec
from tests.support.rules import in_pairs

SPEC = """
dpcli: 1
dataset: d
privacy:
  unit: {{column: who, max_rows: 8, max_rows_per_group: 1, max_groups: {cells}}}
  neighbors: add-remove
  budget: {{{budget}, delta: 1e-5, window: {window}}}
  composition: {composition}
period: {{column: day}}
quality: none
columns:
  who: {{type: id}}
  day: {{type: date, bounds: [2026-01-01, 2036-12-31]}}
  ward: {{type: category, values: [a, b, c, d, e, f, g, h]}}
statistics:
  - {{name: n, statistic: count, by: [ward], {asks}, series: {{every: day, show: [{shown}]}}}}
"""

ACCOUNTS = ("sequential", "advanced", "pld", "zcdp", "zcdp rho")

SHOWN = ("period", "period, to_date, last_7")

SETTINGS = [*product(ACCOUNTS, (1, 2, 4), (1, 7), SHOWN)]


def planned(
    account: str, cells: int, window: int, shown: str, size: float, kind: str = ""
) -> tuple[PlannedStatistic, float]:
    """A planned series, and the loss that an account counts for a whole window of it."""
    composition, _, rho = account.partition(" ")
    asks = f"{rho or 'epsilon'}: {size:.6f}" + f", mechanism: {kind}" * bool(kind)
    asks += ", delta: 1e-6" * (not rho and kind != "laplace")
    text = SPEC.format(
        cells=cells, window=window, composition=composition, shown=shown, asks=asks,
        budget=f"{rho or 'epsilon'}: 1000",
    )  # fmt: skip
    plan = make_plan(parse_central_spec(text, "spec.yaml"))
    terms, events = terms_from_spec(plan.spec), to_events_json(plan.charged_events)
    cost = recorded_cost(events, None, terms)
    spent = balance(terms, [replace(cost, period=1000 + day) for day in range(window)]).spent
    return plan.statistics[0], float((spent.rho if rho else spent.epsilon) or 0)


def error_at(loss: float, kind: str, *setting: str | int) -> float:
    """The error of a mechanism at the loss that the account counts, by bisection of its noise."""
    account, cells, window, shown = str(setting[0]), int(setting[1]), int(setting[2]), setting[3]
    low, high = 0.001, 20.0
    for _ in range(13):
        middle = (low * high) ** 0.5
        statistic, found = planned(account, cells, window, str(shown), middle, kind)
        low, high = (middle, high) if found < loss else (low, middle)
    return float(statistic.design.compared_error(statistic.noises, Fraction(95, 100)) or 0)


@pytest.mark.parametrize(
    ("account", "cells", "window", "shown"),
    in_pairs(SETTINGS, ("zcdp", 1, 7, SHOWN[1]), ("zcdp rho", 2, 1, SHOWN[0])),
)
def test_plans_take_the_better_design_at_equal_loss_of_a_window(
    account: str, cells: int, window: int, shown: str
) -> None:
    """By the measure of the account: epsilon, rho, or epsilon after composition."""
    statistic, loss = planned(account, cells, window, shown, 0.02 if "rho" in account else 0.3)
    errors = {
        kind: error_at(loss, kind, account, cells, window, shown)
        for kind in ("laplace", "gaussian")
    }
    assert errors[statistic.mechanism.name] <= 1.02 * min(errors.values()), errors
