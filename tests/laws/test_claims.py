"""The sensitivity that the docstring of each statistic claims is the one that its plan states."""

from __future__ import annotations

import doctest

import pytest

from dpcli.statistics import STATISTICS
from dpcli.statistics.statistic import Statistic
from tests.support.claims import l1


def examples(statistic: Statistic) -> doctest.DocTest:
    """The examples in the docstring of a statistic."""
    finder = doctest.DocTestFinder(recurse=False)
    (found,) = finder.find(type(statistic), globs={"l1": l1})
    return found


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda statistic: str(statistic.name))
def test_the_docstring_shows_the_sensitivity(statistic: Statistic) -> None:
    """Each docstring has an example, which is about this statistic and prints what it says."""
    found = examples(statistic)
    printed: list[str] = []

    doctest.DocTestRunner().run(found, out=printed.append)

    assert any(f"statistic: {statistic.name}" in one.source for one in found.examples)
    assert "".join(printed) == ""


def test_a_wrong_claim_is_noticed() -> None:
    """An example that states too small a sensitivity fails."""
    text = ">>> l1('statistic: count')\n{'add-remove': [0.5], 'change-one': [0]}\n"
    wrong = doctest.DocTestParser().get_doctest(text, {"l1": l1}, "wrong", None, None)

    assert doctest.DocTestRunner().run(wrong, out=lambda _: None).failed == 1
