"""Sealed values stay sealed."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from dpcli.numeric.arrays import np
from dpcli.privacy import confidential
from dpcli.privacy.confidential import Confidential, Groups
from dpcli.queries.query import LinearQuery

PEEKS: list[Callable[[Confidential[int]], object]] = [
    bool,
    int,
    float,
    hash,
    iter,
    len,
    pickle.dumps,
    copy.copy,
    copy.deepcopy,
    json.dumps,
    lambda sealed: f"{sealed:d}",
    lambda sealed: f"{sealed}",
    lambda sealed: sealed == 3,
    lambda sealed: sealed != 3,
    lambda sealed: sealed < 3,
    lambda sealed: sealed > 3,
    lambda sealed: sealed[0],
    lambda sealed: sealed + 1,  # type: ignore[operator]
    vars,
    lambda sealed: sealed.__getstate__(),
]


@pytest.mark.parametrize("peek", PEEKS)
def test_nothing_opens_a_confidential_value(peek: Callable[[Confidential[int]], object]) -> None:
    """Testing, comparing, converting, printing, copying and pickling are refused."""
    with pytest.raises((TypeError, AttributeError)):
        peek(Confidential(3, None))


def test_its_representation_reveals_nothing() -> None:
    """A traceback or a log that prints it contains no value."""
    assert repr(Confidential(3, None)) == str(Confidential(3, None)) == "Confidential(...)"


def test_groups_show_no_names() -> None:
    """Frames of the engine hold groups before they are sealed, and a traceback may print them."""
    zero = np.zeros(1, np.int64)
    assert "hidden" not in repr(Groups((("hidden",),), zero, zero, zero, 1, np.ravel))


def test_it_has_three_public_names() -> None:
    """Its purpose is public and cannot be changed."""
    query = LinearQuery()
    sealed = Confidential(3, query)
    assert sealed.is_for(query)
    assert not sealed.is_for(LinearQuery())
    assert [name for name in dir(sealed) if not name.startswith("_")] == [
        "in_groups",
        "is_for",
        "origin",
    ]


def test_few_files_open_confidential_values() -> None:
    """The private name occurs only in the mechanisms and in the simulation of synthetic rows."""
    assert occurrences("_Confidential__") == {
        "mechanisms/calibrated_mechanism.py": 3,
        "privacy/confidential.py": 5,
        "simulation/synthetic.py": 1,
    }


def test_few_files_issue_permits() -> None:
    """The ledger issues them for answers that it charges, and synthetic rows for themselves."""
    assert occurrences("_NoisePermit__") == {
        "ledger/transaction.py": 1,
        "simulation/synthetic.py": 1,
    }


def occurrences(name: str) -> dict[str, int]:
    """How often a private name occurs in each file of the package."""
    package = Path(confidential.__file__).parents[1]
    found = {
        str(path.relative_to(package)): path.read_text("utf-8").count(name)
        for path in package.rglob("*.py")
    }
    return {path: count for path, count in found.items() if count}
