"""The registry imports a statistic when it is asked for, and no other one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dpcli.statistics import STATISTICS, Registry
from dpcli.statistics.counts.counts import Count, Sum


def test_members_are_found_by_name_and_in_order() -> None:
    """A member is one object, however it is found."""
    registry = Registry({"sum": "counts.counts:Sum"}).with_member(Count())

    assert registry.names == ("sum", "count")
    assert [type(one) for one in registry] == [Sum, Count]
    assert registry.named("sum") is next(iter(registry))
    assert registry.named("mean") is None


@pytest.mark.parametrize("place", ["counts.counts:Count", "counts.person_counts:SharedNoise"])
def test_a_place_with_something_else_is_an_error(place: str) -> None:
    """A place must have a statistic of the name for which it is listed."""
    with pytest.raises(TypeError):
        Registry({"sum": place}).named("sum")


def test_a_name_imports_one_family() -> None:
    """What is named is imported, and the families of other statistics are not."""
    code = (
        "import sys; from dpcli.statistics import STATISTICS; STATISTICS.named('count');"
        "print(*(name in sys.modules for name in"
        " ('dpcli.statistics.counts.counts', 'dpcli.statistics.tables.marginals')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["True", "False"]


def test_every_listed_name_is_that_of_its_statistic() -> None:
    """The registry of dpcli can be imported as a whole."""
    assert [one.name for one in STATISTICS] == list(STATISTICS.names)
