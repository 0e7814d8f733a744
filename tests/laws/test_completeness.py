"""What `complete` says holds as often as stated, and is said where files are large enough."""

from __future__ import annotations

from math import sqrt

import pytest

from dpcli.statistics.quality.completeness import ERROR_PROBABILITY, POWER
from tests.benchmarks.completeness import Setting, found_in, settings

CHECKS = 400

DEVIATIONS = 4
"""Standard errors by which a measured share may be off."""

EVERY = settings()


def error(share: float) -> float:
    """How far a share of `CHECKS` may be from its expectation."""
    return DEVIATIONS * sqrt(share * (1 - share) / CHECKS)


def marks_of(at: int) -> list[pytest.MarkDecorator]:
    """A fifth of the settings is for default tests, two fifths each for extended and slow ones."""
    return [[], [pytest.mark.extended], [pytest.mark.slow]][(at % 5 + 1) // 2]


@pytest.mark.parametrize(
    "setting",
    [
        pytest.param(setting, id=setting.name, marks=marks_of(at))
        for at, setting in enumerate(EVERY)
    ],
)
def test_statements_are_rarely_wrong(setting: Setting) -> None:
    """Neither is `yes` said where more is missing, nor more stated than is missing."""
    found = found_in(setting, CHECKS)

    assert found.wrong_yes <= ERROR_PROBABILITY + error(ERROR_PROBABILITY)
    assert found.wrong_least <= ERROR_PROBABILITY + error(ERROR_PROBABILITY)


def named(name: str) -> Setting:
    """The setting with this name."""
    (setting,) = (one for one in EVERY if one.name == name)
    return setting


def test_one_possible_fault_is_seen_from_the_stated_size_on() -> None:
    """With the scale s: `no` for 5% of 98 s rows, and `yes` for 400 s rows without a fault."""
    assert found_in(named("row add-remove noted 5.0%"), CHECKS).no >= POWER - error(POWER)
    assert found_in(named("row add-remove noted 0.0%"), CHECKS).yes >= POWER - error(POWER)
