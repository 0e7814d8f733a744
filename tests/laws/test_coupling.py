"""How tightly the code is coupled: figures that can only get better.

`python -m tests.benchmarks.coupling` prints them all. Who makes one smaller states it here.
"""

from __future__ import annotations

import ast

import pytest

from tests.benchmarks.coupling import (
    column_kinds,
    lines_with,
    long_functions,
    modules_loaded_by_a_mean,
    sources,
    subclasses,
    switches_outside,
    trace_of_a_mean,
)
from tests.support.syntax import trees


@pytest.mark.parametrize(
    "flag", ["is_local", "is_limit[^e]", 'kind [!=]= "date"', 'kind [!=]= "boolean"'], ids=str
)
def test_no_flag_splits_types(flag: str) -> None:
    """What two models, two choices or two kinds of columns have apart, stands in their types."""
    assert lines_with(sources(), flag) == 0


def test_a_flag_is_found() -> None:
    """Lines are found by what they contain."""
    assert lines_with({"one.py": 'x = column.kind == "date"\n'}, 'kind [!=]= "date"') == 1


def test_kinds_of_queries_have_methods() -> None:
    """Code outside the file of a kind of query seldom chooses by the kind."""
    assert switches_outside(trees(), subclasses(trees(), "Query")).total() <= 3


def test_kinds_of_columns_have_methods() -> None:
    """Code outside the file of a kind of column seldom chooses by the kind."""
    kinds = column_kinds(trees())

    assert {"DateColumn", "BooleanColumn", "IdColumn"} <= kinds.keys()
    assert switches_outside(trees(), kinds).total() <= 6


def test_a_switch_is_found() -> None:
    """A choice by class is found in each form, outside of the file of the class alone."""
    text = """
PAIR = (One, Two)
isinstance(x, One)
isinstance(x, PAIR)
type(x) is Two
{One: 1}
match x:
    case Two(): pass
"""
    found = switches_outside({"a.py": ast.parse(text)}, {"One": "b.py", "Two": "b.py"})

    assert found.total() == 5
    assert not switches_outside({"b.py": ast.parse(text)}, {"One": "b.py", "Two": "b.py"})


def test_functions_are_short() -> None:
    """No function has more than 60 lines after its docstring."""
    assert not long_functions(trees())


def test_a_mean_passes_few_functions() -> None:
    """The second release of one mean in a process, with room for what noise and threads decide."""
    trace = trace_of_a_mean()

    assert trace.designs_built == 1
    assert trace.functions <= 860
    assert trace.modules <= 110
    assert trace.changes <= 1_480
    assert trace.classes <= 115


def test_a_release_loads_few_modules() -> None:
    """A command that releases one mean imports what it uses; members of registries by name."""
    loaded = modules_loaded_by_a_mean()

    assert "dpcli.statistics.means.mean" in loaded
    assert not {"dpcli.mechanisms.gaussian", "dpcli.data.labels", "dpcli.data.dates"} & {*loaded}
    assert len(loaded) <= 154


def test_designs_are_few() -> None:
    """Statistics share designs, so that a new one seldom needs a class for its answers."""
    assert len(subclasses(trees(), "Design")) <= 39
