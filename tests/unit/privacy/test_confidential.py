"""What is sealed stays sealed."""

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
from dpcli.queries import LinearQuery

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
    """A traceback or a log that shows it shows no value."""
    assert repr(Confidential(3, None)) == str(Confidential(3, None)) == "Confidential(...)"


def test_groups_show_no_names() -> None:
    """Frames of the engine hold them before they are sealed, and a traceback may show those."""
    zero = np.zeros(1, np.int64)
    assert "hidden" not in repr(Groups((("hidden",),), zero, zero, zero, 1))


def test_it_states_what_it_is_for_and_nothing_else() -> None:
    """What may open it is public and cannot be changed."""
    query = LinearQuery()
    sealed = Confidential(3, query)
    assert sealed.is_sealed_for(query)
    assert not sealed.is_sealed_for(LinearQuery())
    assert [name for name in dir(sealed) if not name.startswith("_")] == [
        "in_groups",
        "is_sealed_for",
        "whole",
    ]


def test_few_places_open_what_is_sealed() -> None:
    """Its private name stands in the mechanisms and in the simulation of synthetic rows alone."""
    assert places_of("_Confidential__") == {
        "mechanisms/calibrated_mechanism.py": 3,
        "privacy/confidential.py": 5,
        "simulation/synthetic.py": 1,
    }


def test_few_places_issue_permits() -> None:
    """The ledger, for what it charges, and synthetic rows, for themselves."""
    assert places_of("_NoisePermit__") == {"ledger/open_charge.py": 1, "simulation/synthetic.py": 1}


def places_of(name: str) -> dict[str, int]:
    """How often a private name stands in the files of the package."""
    package = Path(confidential.__file__).parents[1]
    found = {
        str(path.relative_to(package)): path.read_text("utf-8").count(name)
        for path in package.rglob("*.py")
    }
    return {path: count for path, count in found.items() if count}
