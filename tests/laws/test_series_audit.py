"""Audits of series: what 64 days of answers reveal about a person of some of these days."""

from __future__ import annotations

from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest
from scipy.special import ndtri

from dpcli.ledger.balance import balance, recorded_cost, terms_from_spec
from dpcli.ledger.chain import to_events_json
from dpcli.numeric.arrays import Floats, integer_array
from dpcli.planning.plan import PlannedStatistic
from dpcli.planning.planner import make_plan
from dpcli.privacy.loss import Loss
from dpcli.specification.load import parse_central_spec
from dpcli.statistics.series.designs import SeriesDesign
from tests.support.half_spaces import lower_limit, upper_limit
from tests.support.rules import mostly_extended

DAYS = 64

SPEC = """
dpcli: 1
dataset: d
privacy:
  unit: {{column: who, max_rows: 2, max_rows_per_group: 1, max_groups: 2}}
  neighbors: add-remove
  budget: {{epsilon: 1000, delta: 1e-3, window: {window}}}
  composition: {composition}
period: {{column: day}}
quality: none
columns:
  who: {{type: id}}
  day: {{type: date, bounds: [2026-01-01, 2036-12-31]}}
  ward: {{type: category, values: [a, b, c]}}
statistics:
  - {{name: n, statistic: count, by: [ward], {asks}, series: {{every: day, show: [to_date]}}}}
"""


def charged(days: int, composition: str, asks: str) -> tuple[PlannedStatistic, Loss]:
    """A planned series, and what an account is charged for some successive days of it."""
    text = SPEC.format(window=days, composition=composition, asks=asks)
    plan = make_plan(parse_central_spec(text, "spec.yaml"))
    terms, events = terms_from_spec(plan.spec), to_events_json(plan.charged_events)
    cost = recorded_cost(events, None, terms)
    costs = [replace(cost, period=1000 + day) for day in range(days)]
    return plan.statistics[0], balance(terms, costs).spent


def changes(planned: PlannedStatistic, days: int) -> Floats:
    """How far a person in two cells on the first days changes all answers that change."""
    design, rows = planned.design, np.zeros((DAYS, 3), np.int64)
    assert isinstance(design, SeriesDesign)
    rows[:days, :2] = 1
    answers = [
        design.query.with_earlier(integer_array(own), [*rows[:day][::-1]][: design.query.kept], day)
        for day, own in enumerate(rows)
    ]
    flat: Floats = np.concatenate(answers).astype(float)
    return np.array(flat[flat != 0])


@pytest.mark.parametrize("days", mostly_extended([1, 2, 3, 7], 3))
def test_gaussian_answers_are_no_easier_to_tell_apart_than_is_charged(days: int) -> None:
    """The shift that the best test shows is within the charged rho, and near the true one."""
    draws = 40_000
    planned, loss = charged(days, "zcdp", f"rho: {1 / days**2}, mechanism: gaussian")
    shifts, noise = changes(planned, days), planned.noises[0]
    samples = np.array(noise.sample(draws * len(shifts), many=True)).reshape(draws, -1)
    without = samples @ shifts
    present = without + float(shifts @ shifts)
    threshold = np.median(present)
    hits, alarms = int((present >= threshold).sum()), int((without >= threshold).sum())
    shift = ndtri(lower_limit(hits, draws)) - ndtri(upper_limit(alarms, draws))
    assert loss.rho is not None
    assert shift <= sqrt(2 * loss.rho)
    # A longer series would show a little more: answers go on.
    assert shift >= 0.85 * sqrt(shifts @ shifts) / float(noise.scale)


@pytest.mark.parametrize("days", mostly_extended([1, 2, 3, 7], 3))
def test_laplace_answers_are_no_easier_to_tell_apart_than_is_charged(days: int) -> None:
    """The least epsilon that all answers show is within what is charged, and not far below it."""
    draws = 100_000
    planned, loss = charged(days, "sequential", f"epsilon: {1 / days}, mechanism: laplace")
    shifts, noise = changes(planned, days), planned.noises[0]
    samples = np.array(noise.sample(draws * len(shifts), many=True)).reshape(draws, -1)
    ratio = (np.abs(samples) - np.abs(samples - shifts)).sum(axis=1)
    changed = (np.abs(samples + shifts) - np.abs(samples)).sum(axis=1)
    threshold = 0.6 * ratio.max()
    hits, alarms = int((changed >= threshold).sum()), int((ratio >= threshold).sum())
    shown = log(lower_limit(hits, draws) / upper_limit(alarms, draws))
    assert float(loss.epsilon) == pytest.approx(1)
    assert 0.5 <= shown <= 1
