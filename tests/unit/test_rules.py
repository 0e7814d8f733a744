"""Rules that hold for many things are checked for each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.rules import for_each


def test_every_item_that_breaks_a_rule_is_named() -> None:
    """All that fail are named, and what holds is not."""

    @for_each(["apple", "pear", "plum"])
    def rule(name: str) -> None:
        assert len(name) > 4

    with pytest.raises(AssertionError, match=r"(?s)2 of 3\npear: .*\nplum: "):
        rule()


def test_a_rule_for_nothing_fails() -> None:
    """A list that became empty by mistake is found."""

    @for_each([])
    def rule(_name: str) -> None:
        raise ValueError

    with pytest.raises(AssertionError, match="holds for nothing"):
        rule()


@for_each([1, 2])
def test_a_rule_may_ask_for_fixtures(number: int, tmp_path: Path) -> None:
    """The other arguments are fixtures."""
    (tmp_path / str(number)).touch()
    assert len([*tmp_path.iterdir()]) == number
