"""The registries import a member when it is asked for, and no other one."""

from __future__ import annotations

import subprocess
import sys
from types import new_class
from typing import Any

import pytest

from dpcli.data.kinds import COLUMNS, UNDECLARED
from dpcli.mechanisms import FAMILIES, MECHANISMS
from dpcli.mechanisms.query_sensitivity import PARTS, QUERIES
from dpcli.noise import NOISES, discrete_laplace
from dpcli.noise.discrete_laplace import DiscreteLaplace
from dpcli.noise.distribution import Noise
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.problems.registry import Classes, Registry
from dpcli.statistics import STATISTICS
from dpcli.statistics.counts.counts import Count, Sum
from dpcli.statistics.statistic import Statistic


def of_statistics(places: dict[str, Statistic | str]) -> Registry[Statistic]:
    """A registry of statistics."""
    return Registry("dpcli.statistics", places)


def test_members_are_found_by_name_and_in_order() -> None:
    """A member is one object, however it is found."""
    registry = of_statistics({"sum": "counts.counts:Sum"}).with_member(Count())

    assert registry.names == ("sum", "count")
    assert [type(one) for one in registry] == [Sum, Count] == [*registry.classes]
    assert registry.named("sum") is next(iter(registry))
    assert registry.named("sum") in registry
    assert registry.named("mean") is None


@pytest.mark.parametrize("place", ["counts.counts:Count", "counts.person_counts:SharedNoise"])
def test_a_place_with_something_else_is_an_error(place: str) -> None:
    """A place must have a statistic of the name for which it is listed."""
    with pytest.raises(TypeError):
        of_statistics({"sum": place}).named("sum")


def test_a_name_imports_one_family() -> None:
    """What is named is imported, and the families of other statistics are not."""
    code = (
        "import sys; from dpcli.statistics import STATISTICS; STATISTICS.named('count');"
        "print(*(name in sys.modules for name in"
        " ('dpcli.statistics.counts.counts', 'dpcli.statistics.tables.marginals')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["True", "False"]


@pytest.mark.parametrize("registry", [STATISTICS, MECHANISMS, COMPOSITIONS])
def test_every_listed_name_is_that_of_its_member(registry: Registry[Any]) -> None:
    """Each registry of dpcli can be imported as a whole."""
    assert [one.name for one in registry] == list(registry.names)


def test_a_mechanism_is_listed_with_its_family() -> None:
    """A mechanism is found by its family before it is imported."""
    assert {one.name: one.family for one in MECHANISMS} == FAMILIES


def copy_of(kind: type, base: type) -> type:
    """A class that says that it stands where another one does."""
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    return new_class(kind.__name__, (base,), {}, lambda body: body.update(names))


@pytest.mark.parametrize("classes", [NOISES, QUERIES, PARTS, COLUMNS.classes, UNDECLARED])
def test_registered_classes_are_the_objects_at_their_paths(classes: Classes[Any]) -> None:
    """Neither a subclass nor a copy under the same name is registered."""
    for kind in classes:
        assert kind in classes
        assert copy_of(kind, object) not in classes
        assert copy_of(kind, kind) not in classes


def test_a_class_is_registered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What replaces a registered class in its module later is not registered."""
    found: Classes[Noise] = Classes("dpcli.noise", "discrete_laplace:DiscreteLaplace")
    assert DiscreteLaplace in found
    later = copy_of(DiscreteLaplace, DiscreteLaplace)
    monkeypatch.setattr(discrete_laplace, "DiscreteLaplace", later)

    assert later not in found


def test_a_question_imports_nothing() -> None:
    """A class whose module is not imported is none that an object could have."""
    listed: Classes[Noise] = Classes("dpcli", "noise.none:Noise")
    classes = listed.with_member(DiscreteLaplace)

    assert DiscreteLaplace in classes
    assert type("Noise", (), {"__module__": "dpcli.noise.none"}) not in classes
    assert not [*listed.loaded]
