"""Intervals hold the truth as often as they say."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dpcli.plan import PlannedEntry, make_plan
from dpcli.privacy.noise import Noise
from dpcli.release import answer
from dpcli.sampling import entropy
from dpcli.spec.load import read_spec
from dpcli.statistics.base import Answer
from tests.cli.conftest import PEOPLE, ROOT
from tests.oracles.opened import cells_of
from tests.oracles.plain import evaluate
from tests.sampling.streams import Stream

RELEASES = 300


def truth(planned: PlannedEntry, exact: list[list[int]]) -> list[Fraction]:
    """The noise-free published numbers of an entry, from the oracle's integers."""
    entry = planned.entry
    answers = [Answer(tuple(values), Noise("none", Fraction(0))) for values in exact]
    estimates = entry.statistic.estimate(entry.request, answers, Fraction(19, 20))
    return [estimate.value for estimate in estimates]


def test_intervals_hold_the_truth_as_often_as_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over many releases 95 % intervals hold the noise-free value in 93 to 98 %."""
    monkeypatch.setattr(entropy, "source", Stream("intervals"))
    text = (ROOT / "specs" / "town.yaml").read_text(encoding="utf-8")
    people = "unit: {column: person_id, max_rows: 3, max_groups: 2}"
    assert people in text
    # Of people other rows are kept each time; what is counted shall stay the same here.
    spec = tmp_path / "spec.yaml"
    spec.write_text(text.replace(people, "unit: row"), encoding="utf-8")
    plan = make_plan(read_spec(spec))
    exact = map(cells_of, evaluate(plan.queries, PEOPLE.read_bytes()))
    expected = [truth(planned, [next(exact) for _ in planned.parts]) for planned in plan.entries]
    held = [0] * len(expected)
    for _ in range(RELEASES):
        for place, released in enumerate(answer(plan, str(PEOPLE))):
            for estimate, value in zip(released.estimates, expected[place], strict=True):
                assert estimate.lower is not None
                assert estimate.upper is not None
                held[place] += estimate.lower <= value <= estimate.upper
    for count, values in zip(held, expected, strict=True):
        assert 0.93 <= count / RELEASES / len(values) <= 0.985
