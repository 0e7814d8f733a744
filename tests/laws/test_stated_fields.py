"""Laws over the fields of entries: a plan and a report state every one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from dpcli.cli.plan_text import entry_parts
from dpcli.planning.plan import CentralPlan
from dpcli.planning.planner import make_plan
from dpcli.problems.errors import SpecError
from dpcli.report.statistic import StatisticReport
from dpcli.specification.entry_fields import EntryModel, entry_model
from dpcli.specification.load import parse_central_spec
from dpcli.statistics import STATISTICS
from tests.support.rules import mostly_extended

SPEC = """
dpcli: 1
dataset: d
privacy:
  unit: {column: person, max_rows: 4, max_groups: 2}
  neighbors: add-remove
  budget: {epsilon: 100, delta: 1e-3}
  composition: zcdp
columns:
  person: {type: id}
  age: {type: integer, bounds: [0, 100]}
  paid: {type: number, bounds: [0, 100], step: 0.5}
  hours: {type: integer, bounds: [1, 60]}
  sex: {type: category, values: [f, m, x]}
  job: {type: category, values: [none, part, full, retired]}
  town: {type: category}
  shop: {type: category}
  well: {type: boolean}
  rich: {type: boolean}
hierarchies:
  parts: {levels: [work, job], parents: {none: no, part: yes, full: yes, retired: no}}
  halves: {column: age, levels: {all: {edges: [0, 100] }, half: {width: 50}}}
statistics:
"""

SPEC_OF_ROWS = (
    SPEC.replace("{column: person, max_rows: 4, max_groups: 2}", "row")
    .replace("add-remove", "change-one")
    .replace("100]}", "100], missing: 1}")
    .replace("step: 0.5}", "step: 0.5, missing: 1}")
    .replace("values: [f, m, x]}", "values: [f, m, x], missing: x}")
    .replace("full, retired]}", "full, retired], missing: none}")
)
"""A spec of which each row counts, as some methods require."""

Fields = Mapping[str, Any]

BASES: dict[str, Fields] = {
    "sum": {"column": "paid"},
    "mean": {"column": "paid"},
    "proportion": {"column": "job", "values": "[part]"},
    "ratio": {"numerator": "paid", "denominator": "hours"},
    "comparison": {"between": "{sex: [f, m]}"},
    "variance": {"column": "paid"},
    "std": {"column": "paid"},
    "inequality": {"column": "paid"},
    "describe": {"column": "paid"},
    "histogram": {"column": "age", "bins": "{width: 50}"},
    "marginals": {"columns": "[job, well, rich]", "ways": 1},
    "selections": {"columns": "[well, rich]"},
    "count_missing": {"columns": "[age, paid]"},
    "quantile": {"column": "age", "quantiles": "[0.5]"},
    "median": {"column": "age"},
    "min": {"column": "age"},
    "max": {"column": "age"},
    "mode": {"column": "job"},
    "top_k": {"column": "job", "k": 2},
    "choose": {"column": "age", "utility": "revenue", "candidates": "{step: 5}"},
    "covariance": {"columns": "[age, paid]"},
    "correlation": {"columns": "[age, paid]"},
    "linear_regression": {"column": "paid", "on": "[age]"},
    "logistic_regression": {"column": "well", "on": "[age]"},
}
"""The fields that a statistic requires, besides those of all entries."""

Pair = tuple[Fields, Fields]

NONE: Fields = {"epsilon": None}

SHARE: Fields = {"of": "proportion", "column": "job"}
RATIO: Fields = {"of": "ratio", "numerator": "paid", "denominator": "hours"}

STANDARDIZED = "{{per: 100, strata: well, population: {{true: 50, false: 60}}, standard: {{{}}}}}"

PAIRS: dict[str, list[Pair]] = {
    "by": [
        ({"by": "[sex]"}, {"by": "[job]"}),
        (
            {"by": "[{column: hours, bins: {edges: [1, 20, 30, 60]}}]"},
            {"by": "[{column: hours, bins: {edges: [1, 20, 40, 60]}}]"},
        ),
        ({"by": "[{column: hours, bins: {width: 5}}]"}, {"by": "[{column: hours}]"}),
    ],
    "where": [({"where": "{rich: true}"}, {"where": "{rich: false}"})],
    "mechanism": [
        ({"mechanism": "laplace"}, {"mechanism": "gaussian"}),
        ({"mechanism": "exponential"}, {"mechanism": "permute_and_flip"}),
    ],
    "epsilon": [({"epsilon": 1}, {"epsilon": 1.1})],
    "rho": [({**NONE, "rho": 1}, {**NONE, "rho": 1.1})],
    "error": [
        (
            {**NONE, "error": 20, "mechanism": "laplace"},
            {**NONE, "error": 21, "mechanism": "laplace"},
        )
    ],
    "share": [({**NONE, "share": 1}, {**NONE, "share": 2})],
    "delta": [
        ({"mechanism": "gaussian", "delta": "1e-6"}, {"mechanism": "gaussian", "delta": "1e-7"}),
        ({"column": "town", "delta": "1e-6"}, {"column": "town", "delta": "1e-7"}),
    ],
    "calibration": [
        (
            {"mechanism": "gaussian", "epsilon": 0.5, "delta": "1e-6", "calibration": "exact"},
            {"mechanism": "gaussian", "epsilon": 0.5, "delta": "1e-6", "calibration": "classic"},
        )
    ],
    "max_rows": [({"max_rows": 2}, {"max_rows": 3}), ({}, {"max_rows": 3})],
    "max_groups": [({"max_groups": 1}, {"max_groups": 3})],
    "max_rows_per_group": [({"max_rows_per_group": 1}, {"max_rows_per_group": 2})],
    "post": [
        ({}, {"post": "[nonnegative]"}),
        ({"post": "[{suppress_below: 10}]"}, {"post": "[{suppress_below: 11}]"}),
        ({"post": "[]"}, {"post": "[consistent]"}),
    ],
    "raw": [({"post": "[nonnegative]"}, {"post": "[nonnegative]", "raw": "true"})],
    "withhold": [({"withhold": "{wider_than: 0.5}"}, {"withhold": "{wider_than: 0.6}"})],
    "title": [({"title": "One thing"}, {"title": "Another thing"})],
    "unit": [({"unit": "EUR"}, {"unit": "USD"})],
    "note": [({"note": "One remark"}, {"note": "Another remark"})],
    "column": [
        ({"column": "age"}, {"column": "hours"}),
        ({"column": "job"}, {"column": "sex"}),
        ({"column": "well", "values": None}, {"column": "rich", "values": None}),
        ({"column": "paid"}, {"column": "hours"}),
        (
            {"column": "paid", "candidates": "{step: 10}"},
            {"column": "age", "candidates": "{step: 10}"},
        ),
    ],
    "weight": [({}, {"weight": "hours"}), ({"weight": "hours"}, {"weight": "age"})],
    "bound": [
        ({"bound": "rows", "unit_bounds": "[0, 9]"}, {"bound": "sum", "unit_bounds": "[0, 9]"})
    ],
    "unit_bounds": [
        ({"bound": "sum", "unit_bounds": "[0, 9]"}, {"bound": "sum", "unit_bounds": "[0, 8]"})
    ],
    "keys": [
        ({"by": "[town]", "keys": "private", "delta": "1e-6"}, {"by": "[town]", "column": None})
    ],
    "values": [
        ({"column": "job", "values": "[part]"}, {"column": "job", "values": "[part, full]"}),
        ({**SHARE, "values": "[part]"}, {**SHARE, "values": "[part, full]"}),
    ],
    "percent": [
        ({}, {"by": "[sex]", "percent": "total"}),
        ({"percent": "total"}, {"percent": "total", "by": "[sex]"}),
        ({"by": "[sex, job]", "percent": "row"}, {"by": "[sex, job]", "percent": "column"}),
        ({"ways": 2, "percent": "row"}, {"ways": 2, "percent": "column"}),
    ],
    "rate": [
        ({}, {"rate": "{per: 100, population: 5000}"}),
        ({"rate": "{per: 100, population: 5000}"}, {"rate": "{per: 1000, population: 5000}"}),
        ({"rate": "{per: 100, population: 5000}"}, {"rate": "{per: 100, population: 6000}"}),
        (
            {"by": "[well]", "rate": "{per: 100, population: {true: 50, false: 60}}"},
            {"by": "[well]", "rate": "{per: 100, population: {true: 60, false: 50}}"},
        ),
        (
            {"rate": STANDARDIZED.format("true: 3, false: 4")},
            {"rate": STANDARDIZED.format("true: 4, false: 3")},
        ),
    ],
    "hierarchy": [({}, {"hierarchy": "parts"}), ({"hierarchy": "parts"}, {"hierarchy": "halves"})],
    "sizes": [
        ({}, {"sizes": 200}),
        ({"sizes": 200}, {"sizes": 300}),
        (
            {"of": "mean", "column": "paid", "sizes": "{f: 90, m: 80}"},
            {"of": "mean", "column": "paid", "sizes": "{f: 80, m: 90}"},
        ),
    ],
    "known": [
        ({"bins": "{width: 50}"}, {"bins": "{width: 50}", "known": 900}),
        ({"ways": 1}, {"ways": 1, "known": 900}),
        ({"by": "[sex]"}, {"by": "[sex]", "known": 900}),
        ({"hierarchy": "parts"}, {"hierarchy": "parts", "known": "{work: {yes: 9}}"}),
        (
            {"hierarchy": "parts", "known": "{work: {yes: 9, no: 2}}"},
            {"hierarchy": "parts", "known": "{work: {yes: 9}}"},
        ),
    ],
    "series": [
        ({}, {"series": "{every: day, show: [to_date]}"}),
        (
            {"series": "{every: day, show: [period]}"},
            {"series": "{every: day, show: [period, last_7]}"},
        ),
    ],
    "level_shares": [
        ({"hierarchy": "parts"}, {"hierarchy": "parts", "level_shares": "{work: 2}"}),
        (
            {"hierarchy": "parts", "level_shares": "{work: 3}"},
            {"hierarchy": "parts", "level_shares": "{work: 2}"},
        ),
    ],
    "per": [({"per": 100}, {"per": 1000}), ({**RATIO, "per": 100}, {**RATIO, "per": 1000})],
    "numerator": [
        ({"numerator": "paid"}, {"numerator": "age"}),
        (RATIO, {**RATIO, "numerator": "age"}),
    ],
    "denominator": [
        ({"denominator": "hours"}, {"denominator": "rows"}),
        (RATIO, {**RATIO, "denominator": "rows"}),
    ],
    "reference": [({"reference": "f"}, {"reference": "m"})],
    "of": [
        ({}, {"of": "people"}),
        ({"of": "count", "column": "paid"}, {"of": "sum", "column": "paid"}),
        ({"of": "mean", "column": "paid"}, {"of": "sum", "column": "paid"}),
        ({"of": "mean", "column": "well"}, {"of": "proportion", "column": "well"}),
    ],
    "between": [
        ({"between": "{sex: [f, m]}"}, {"between": "{sex: [f, x]}"}),
        ({"between": "{sex: [f, m, x]}"}, {"between": "{sex: [f, m]}"}),
    ],
    "bins": [
        ({"bins": "{edges: [0, 10, 30, 100]}"}, {"bins": "{edges: [0, 10, 40, 100]}"}),
        ({"bins": "{width: 5}"}, {"bins": "{width: 6}"}),
        ({"bins": 5}, {"bins": 6}),
    ],
    "columns": [
        ({"columns": "[age, paid]"}, {"columns": "[age, hours]"}),
        ({"columns": "[well, rich]"}, {"columns": "[rich, well]"}),
        (
            {"columns": "[well, {column: age, bins: {edges: [0, 10, 30, 100]}}]"},
            {"columns": "[well, {column: age, bins: {edges: [0, 10, 40, 100]}}]"},
        ),
    ],
    "ways": [
        ({"ways": 1}, {"ways": 2}),
        ({"ways": 2}, {"ways": "[1, 2]"}),
        ({"ways": 1}, {"ways": "[0, 1]"}),
        ({"ways": 0}, {"ways": 1}),
    ],
    "totals": [
        ({"ways": 1}, {"ways": 1, "totals": "Total"}),
        ({"by": "[sex]"}, {"by": "[sex]", "totals": "all"}),
        ({"by": "[sex]", "totals": "all"}, {"by": "[sex]", "totals": "Total"}),
    ],
    "max_selected": [({}, {"max_selected": 1})],
    "quantiles": [({"quantiles": "[0.5]"}, {"quantiles": "[0.5, 0.6]"})],
    "candidates": [
        ({"candidates": "{step: 5}"}, {"candidates": "{step: 10}"}),
        ({"candidates": "[0, 50, 100]"}, {"candidates": "[0, 60, 100]"}),
    ],
    "k": [({"k": 2}, {"k": 3})],
    "utility": [({"utility": "revenue"}, {"utility": "accuracy", "label": "well"})],
    "label": [({"utility": "accuracy", "label": "well"}, {"utility": "accuracy", "label": "rich"})],
    "on": [({"on": "[age]"}, {"on": "[hours]"})],
    "method": [({"method": "moments"}, {"method": "objective"})],
    "ridge": [({"ridge": 0.1}, {"ridge": 0.2})],
    "rows": [
        (
            {"rows": 1000, "method": "output", "ridge": 1},
            {"rows": 2000, "method": "output", "ridge": 1},
        )
    ],
}
"""For each field some pairs of entries that differ in it."""

DECIDED = {"name", "statistic"}
"""Fields of which the law is plain: every line begins with the name."""

ONLY = {("logistic_regression", "method"), ("count_distinct", "of")}
"""Fields that have one value, or one that changes nothing."""

UNSTATED = {"name", "queries", "sensitivity", "protected", "designs", "error95"}
"""Parts of a report that follow from the fields and do not state them."""


def _plan(statistic: str, pair: Pair) -> CentralPlan | None:
    """The plan of two entries; None if the statistic does not take such fields together."""
    each_counts = pair[0].get("method") == "output" or "sizes" in pair[1]
    text = SPEC_OF_ROWS if each_counts else SPEC
    for name, own in zip("ab", pair, strict=True):
        stated = {"epsilon": 1, **BASES.get(statistic, {}), **own}
        words = ", ".join(f"{key}: {value}" for key, value in stated.items() if value is not None)
        text += f"  - {{name: {name}, statistic: {statistic}, {words}}}\n"
    try:
        return make_plan(parse_central_spec(text, "spec.yaml"))
    except SpecError:
        return None


def _differences(plan: CentralPlan, rows: int | None) -> tuple[bool, bool]:
    """Whether two entries differ in the plan, and in what their reports state."""
    lines = [list(entry_parts(planned, plan, rows)) for planned in plan.statistics]
    reports = [StatisticReport.of(planned, plan.spec) for planned in plan.statistics]
    stated = [
        {
            key: getattr(value, "kind", value)
            for key in report.__slots__
            if key not in UNSTATED
            for value in [getattr(report, key)]
        }
        for report in reports
    ]
    return lines[0] != lines[1], stated[0] != stated[1]


NAMES = [statistic.name for statistic in STATISTICS]


@pytest.mark.parametrize("name", mostly_extended(NAMES, *NAMES[::4]))
def test_plan_and_report_state_every_field(name: str) -> None:
    """Two entries that differ in one field have different lines, and different reports."""
    own = STATISTICS[name].takes
    for field in entry_model(STATISTICS[name]).model_fields.keys() - DECIDED:
        if (name, field) in ONLY:
            continue
        plans = [plan for pair in PAIRS[field] if (plan := _plan(name, pair))]
        assert plans or field not in own, f"no pair of {name} differs in {field}"
        for plan in plans:
            for rows in (None, 1000):
                assert _differences(plan, rows) == (True, True), (name, field, plan.spec.text)


def test_every_common_field_is_tried() -> None:
    """Each field that all entries have differs in some pair that a statistic takes."""
    for field in EntryModel.model_fields.keys() - DECIDED:
        tried = (_plan(name, pair) for name in ("count", "mean", "median") for pair in PAIRS[field])
        assert any(tried), field
