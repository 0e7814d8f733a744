"""What is sealed stays sealed."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable

import pytest

from dpcli.privacy.confidential import Confidential
from dpcli.privacy.key import unseal

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
]


@pytest.mark.parametrize("peek", PEEKS)
def test_nothing_opens_a_confidential_value(peek: Callable[[Confidential[int]], object]) -> None:
    """Testing, comparing, converting, printing, copying and pickling are refused."""
    with pytest.raises((TypeError, AttributeError)):
        peek(Confidential(3))


def test_its_representation_reveals_nothing() -> None:
    """A traceback or a log that shows it shows no value."""
    assert repr(Confidential(3)) == str(Confidential(3)) == "Confidential(...)"


def test_the_key_opens_it() -> None:
    """A mechanism gets the value that was sealed."""
    assert unseal(Confidential((1, 2))) == (1, 2)
