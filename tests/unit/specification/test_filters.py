"""Filters of specs: what each form means, and its words."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcli.data.filters import AllOf, AnyOf, Compared, Filter, InRanges, IsMissing, Not
from dpcli.privacy.unit import RowUnit
from dpcli.queries.query import LinearQuery
from dpcli.specification.load import parse_central_spec
from tests.oracles.opened import engine
from tests.oracles.plain import evaluate

COLUMNS = """
  age: {type: integer, bounds: [0, 99], missing: 40}
  born: {type: integer, bounds: [0, 99], step: 3}
  region: {type: category, values: {n: North, s: South, h: Hillside}}
  disabled: {type: boolean}
  admitted: {type: date, bounds: [2020-01-01, 2020-12-31]}
  discharged: {type: date, bounds: [2020-01-01, 2020-12-31]}
  city: {type: category}
"""
DATA = b"""age,born,region,disabled,admitted,discharged,city
18,21,n,true,2020-01-01,2020-01-01,Rome
65,3,h,false,2020-02-01,2020-03-01, Paris
,,s,,2020-02-01,,Oslo
70,70,x,true,,2020-03-01,
17,18,,false,2020-05-01,2020-04-01,rome
"""


def filters(where: str, columns: str = COLUMNS) -> tuple[Filter, ...]:
    """The filters of a count with this `where`."""
    text = (
        "dpcli: 1\ndataset: d\nprivacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1}}\n"
        f"columns:{columns}statistics:\n"
        f"  - {{name: n, statistic: count, where: {where}, epsilon: 1}}\n"
    )
    (entry,) = parse_central_spec(text, "spec.yaml").entries
    return entry.inputs.where


FORMS = {
    "{age: {min: 18, below: 65}}": ("age from 18 to 64", 2),
    "{age: {above: 18, max: 65}}": ("age from 19 to 65", 2),
    "{age: {missing: true}}": ("age is missing", 1),
    "{age: {missing: false}}": ("age is not missing", 4),
    "{age: 40}": ("age 40", 1),
    "{discharged: {above: {column: admitted}}}": ("discharged after admitted", 1),
    "{discharged: {min: {column: admitted}}}": ("discharged not before admitted", 2),
    "{discharged: {equals: {column: admitted}}}": ("discharged equal to admitted", 1),
    "{age: {min: 18, below: {column: born}}}": ("age from 18 to 99 and age below born", 1),
    "{age: {max: {column: born}}}": ("age at most born", 2),
    "{region: {ends_with: th}}": ("region is North or South", 2),
    "{region: {contains: o, starts_with: S}}": ("region is South", 1),
    "{city: [Rome, Paris]}": ("city is Rome or Paris", 2),
    "{city: Rome}": ("city is Rome", 1),
    "{not: {city: [Rome, Paris]}}": ("not (city is Rome or Paris)", 2),
    "{city: {missing: true}}": ("city is missing", 1),
    "{not: {region: [Hillside]}}": ("not (region is Hillside)", 2),
    "{not: {region: [Hillside], disabled: false}}": (
        "not (region is Hillside and disabled is false)",
        3,
    ),
    "{any: [{age: {min: 65}}, {disabled: true}]}": ("age from 65 to 99 or disabled is true", 3),
    "{any: [{region: [North, South]}, {age: [1, 70], disabled: true}]}": (
        "(region is North or South) or ((age 1 or 70) and disabled is true)",
        3,
    ),
    "{any: [{region: {missing: true}}, {not: {region: [Hillside]}}]}": (
        "region is missing or not (region is Hillside)",
        4,
    ),
    "{all: [{any: [{age: 18}, {age: 65}]}, {any: [{age: 18}, {age: 70}]}]}": (
        "(age 18 or age 65) and (age 18 or age 70)",
        1,
    ),
}


@pytest.mark.parametrize("where", FORMS)
def test_each_form_has_its_words_and_its_rows(where: str, tmp_path: Path) -> None:
    """The rows that pass are those of the plain evaluator, and those that a reader expects."""
    text, rows = FORMS[where]
    tests = filters(where)
    query = LinearQuery(where=tests)
    path = tmp_path / "d.csv"
    path.write_bytes(DATA)

    assert " and ".join(test.text for test in tests) == text
    assert evaluate([query], DATA) == [[rows]]
    assert engine([query], RowUnit(), path) == [[rows]]


def test_a_column_keeps_its_name_where_its_value_is_a_condition() -> None:
    """`not`, `any` and `all` may be names of columns, as in older specs."""
    columns = """
  not: {type: category, values: [a, b]}
  any: {type: integer, bounds: [0, 9]}
  min: {type: integer, bounds: [0, 9]}
"""
    for where, kinds, names in (
        ("{not: a}", [InRanges], ["not"]),
        ("{not: [a, b]}", [InRanges], ["not"]),
        ("{any: {min: 3}}", [InRanges], ["any"]),
        ("{any: [1, 2], not: {missing: true}}", [InRanges, IsMissing], ["any", "not"]),
        ("{not: {any: 3}}", [Not], ["any"]),
        ("{not: {not: a}}", [Not], ["not"]),
        ("{any: [{any: 3}, {not: a}]}", [AnyOf], ["any", "not"]),
        ("{all: [{min: 3}]}", [AllOf], ["min"]),
        ("{any: {above: {column: min}}}", [Compared], ["any", "min"]),
    ):
        tests = filters(where, columns)
        assert [type(test) for test in tests] == kinds, where
        assert [column.name for test in tests for column in test.columns] == names, where
