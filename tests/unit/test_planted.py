"""The list of planted faults is up to date: each has its place in the code, and its test."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

from tests.planted.faults import ROOT, Fault, faults
from tests.support.rules import for_each

FAULTS = list(faults())


@for_each(FAULTS)
def test_fault_has_one_place_where_its_code_compiles(fault: Fault) -> None:
    """So the list is of the code as it is."""
    path, code = fault.planted(ROOT)
    assert code != path.read_text(encoding="utf-8")
    ast.parse(code)


@for_each(fault for fault in FAULTS if fault.found_by)
def test_the_test_that_finds_a_fault_exists(fault: Fault) -> None:
    """A test that was renamed is renamed in the list, too."""
    place, *names = fault.found_by.split("::")
    assert names and (ROOT / place).is_file(), fault.found_by
    body = _statements(ROOT / place)
    for name in names:
        found = [
            node
            for node in body
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name
        ]
        assert len(found) == 1, f"{fault.found_by} is not one test"
        body = found[0].body
    assert isinstance(found[0], ast.FunctionDef), f"{fault.found_by} is no test"


@cache
def _statements(path: Path) -> list[ast.stmt]:
    """What a file of tests defines; several faults name the same file."""
    return ast.parse(path.read_text(encoding="utf-8")).body


def test_names_of_faults_differ() -> None:
    """A name chooses one fault."""
    counts = Counter(fault.name for fault in FAULTS)
    assert set(counts.values()) == {1}
