"""One test for a rule, whatever the number of things that it holds for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Concatenate, ParamSpec, TypeVar

import pytest

T = TypeVar("T")
P = ParamSpec("P")

EXTENDED = pytest.mark.extended


def for_each(
    items: Iterable[T],
) -> Callable[[Callable[Concatenate[T, P], None]], Callable[P, None]]:
    """Make one test of a check of an item; it names every item that breaks the rule.

    The check takes an item, and fixtures that all items share.
    """
    known = list(items)

    def decorated(check: Callable[Concatenate[T, P], None]) -> Callable[P, None]:
        def test(*args: P.args, **kwargs: P.kwargs) -> None:
            broken = []
            for item in known:
                try:
                    check(item, *args, **kwargs)
                except AssertionError as error:
                    broken.append(f"{item!s:.200}: {error}")
            assert known, "the rule holds for nothing"
            assert not broken, f"{len(broken)} of {len(known)}\n" + "\n".join(broken[:20])

        signature = inspect.signature(check)
        fixtures = list(signature.parameters.values())[1:]
        test.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        test.__name__, test.__doc__ = check.__name__, check.__doc__
        test.__module__, test.__qualname__ = check.__module__, check.__qualname__
        return test

    return decorated


def mostly_extended(items: Iterable[T], *default: T, unpack: bool = False) -> list[object]:
    """Parameters of which only the `default` ones are run by default, and all others extended.

    With `unpack`, each is a tuple of the values of several parameters.
    """
    params: list[object] = [
        pytest.param(
            *(item if unpack and isinstance(item, tuple) else (item,)),
            marks=[] if item in default else [EXTENDED],
        )
        for item in items
    ]
    assert len(params) > len(default), "nothing is extended"
    return params


def in_pairs(items: Iterable[tuple[object, ...]], *default: tuple[object, ...]) -> list[object]:
    """Values of several parameters: the `default` ones, extended ones, and slow ones.

    Enough are not slow that any two values of two parameters occur together, if they do in `items`.
    """
    seen = {pair for item in default for pair in combinations(enumerate(item), 2)}
    params: list[object] = []
    for item in items:
        pairs = {*combinations(enumerate(item), 2)}
        rest = pytest.mark.slow if pairs <= seen else EXTENDED
        params.append(pytest.param(*item, marks=[] if item in default else [rest]))
        seen |= pairs
    assert len(params) > len(default), "nothing is extended"
    return params


def also_slow(few: object, *many: object) -> list[object]:
    """Parameters of which the first is for every run of a test, and the others for slow ones."""
    return [few, *(pytest.param(one, marks=pytest.mark.slow) for one in many)]
