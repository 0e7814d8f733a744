"""The list of planted faults is up to date: each still has its place in the code."""

import ast
from collections import Counter

from tests.planted.faults import ROOT, Fault, faults
from tests.support.rules import for_each

FAULTS = list(faults())


@for_each(FAULTS)
def test_fault_has_one_place_where_its_code_compiles(fault: Fault) -> None:
    """So the list is of the code as it is."""
    path, code = fault.planted(ROOT)
    assert code != path.read_text(encoding="utf-8")
    ast.parse(code)


def test_names_of_faults_differ() -> None:
    """A name chooses one fault."""
    counts = Counter(fault.name for fault in FAULTS)
    assert set(counts.values()) == {1}
