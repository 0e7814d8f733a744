"""Docstrings show the sensitivity of each statistic and the loss of each mechanism."""

from __future__ import annotations

import doctest

import pytest

from dpcli.mechanisms import MECHANISMS
from dpcli.mechanisms.local import LOCAL_MECHANISMS
from dpcli.mechanisms.local.local_mechanism import LocalMechanism
from dpcli.mechanisms.mechanism import Mechanism
from dpcli.statistics import STATISTICS
from dpcli.statistics.statistic import Statistic
from tests.support.claims import l1, noise, response


def run_examples(documented: object) -> tuple[str, str]:
    """The source of the examples in the docstring of a class, and the report of failures."""
    finder = doctest.DocTestFinder(recurse=False)
    functions = {"l1": l1, "noise": noise, "response": response}
    (test,) = finder.find(documented, globs=functions)
    failures: list[str] = []
    doctest.DocTestRunner().run(test, out=failures.append)
    return "".join(example.source for example in test.examples), "".join(failures)


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda statistic: str(statistic.name))
def test_the_docstring_shows_the_sensitivity(statistic: Statistic) -> None:
    """The docstring of a statistic has an example of its sensitivity, which is correct."""
    source, failures = run_examples(type(statistic))

    assert f"statistic: {statistic.name}" in source
    assert failures == ""


@pytest.mark.parametrize("mechanism", [*MECHANISMS, *LOCAL_MECHANISMS], ids=lambda kind: kind.name)
def test_the_docstring_shows_the_loss(mechanism: Mechanism | LocalMechanism) -> None:
    """The docstring of a mechanism has an example of its loss, which is correct."""
    source, failures = run_examples(type(mechanism))

    assert f'"{mechanism.name}"' in source
    assert failures == ""


def test_a_wrong_example_fails() -> None:
    """An example that states too small a sensitivity fails."""
    text = ">>> l1('statistic: count')\n{'add-remove': [0.5], 'change-one': [0]}\n"
    wrong = doctest.DocTestParser().get_doctest(text, {"l1": l1}, "wrong", None, None)

    assert doctest.DocTestRunner().run(wrong, out=lambda _: None).failed == 1
