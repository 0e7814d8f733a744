"""Events have one reader and one writer, and a damaged event has no loss."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpcli.ledger.balance import guarantee_counts
from dpcli.ledger.chain import canonical, to_events_json
from dpcli.planning.planner import make_plan
from dpcli.privacy.events import NO_NOISE_NAME, DamagedEventError, MechanismEvent, UnknownEventError
from dpcli.privacy.loss import Loss
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.problems.errors import LedgerError
from dpcli.specification.load import parse_spec
from tests.support.frozen import FROZEN

SPECS = sorted((Path(__file__).parents[3] / "specs").glob("*.yaml"))

EVENT = MechanismEvent(
    "n", "count", "laplace", Loss(Fraction(1, 2)), Fraction(2), Sensitivity(1, 1, 1, 1),
    joint=False, disjoint=("sex", 1), keys_delta=Fraction(1, 10**9),
    details={"unit": "1/100", "cells": 2}, add_remove_sensitivity=Sensitivity(1, 1, 1, 1),
)  # fmt: skip


def recorded() -> list[str]:
    """The events of every entry of the old ledger, as they are stored."""
    with sqlite3.connect(FROZEN / "ledgers" / "old.sqlite") as ledger:
        return [parts for (parts,) in ledger.execute("SELECT parts FROM entries")]


def test_stored_events_are_written_unchanged() -> None:
    """Read and written again, every event of an old ledger is the same text."""
    stored = recorded()
    assert sum(text != "[]" for text in stored) > 5
    for text in stored:
        assert to_events_json(map(MechanismEvent.from_json, json.loads(text))) == text


@pytest.mark.parametrize("path", SPECS, ids=lambda path: str(path.stem))
def test_events_of_a_plan_survive_writing_and_reading(path: Path) -> None:
    """An event that is read equals the event that was written, so an accountant lacks nothing."""
    events = make_plan(parse_spec(path.read_text("utf-8"), str(path), path.parent)).charged_events
    again = map(MechanismEvent.from_json, json.loads(to_events_json(events)))
    assert tuple(again) == events


def test_a_later_version_is_not_read() -> None:
    """An event that states another version is unknown."""
    with pytest.raises(UnknownEventError, match="laplace, version 3"):
        MechanismEvent.from_json(EVENT.to_json() | {"version": 3})
    with pytest.raises(LedgerError, match="does not know, `laplace, version 3`"):
        guarantee_counts(canonical([EVENT.to_json() | {"version": 3}]), "add-remove")


def test_an_answer_of_a_series_states_a_version_that_earlier_ones_refuse() -> None:
    """It is written with its number of answers, and read again."""
    event = replace(EVENT, series="root 180")
    assert event.to_json()["version"] == 2
    assert MechanismEvent.from_json(event.to_json()) == event
    assert "version" not in EVENT.to_json()


DAMAGED: list[dict[str, Any]] = [
    {"version": 2},
    {"version": 2, "series": "0"},
    {"version": 2, "series": "many"},
    {"epsilon": None},
    {"epsilon": "-1"},
    {"epsilon": "1/0"},
    {"epsilon": "much"},
    {"delta": "-1/2"},
    {"scale": "0"},
    {"scale": "-2"},
    {"l1": "-1"},
    {"l0": None},
    {"keys_delta": "-1"},
    {"disjoint": ["sex"]},
    {"disjoint": "sex"},
    {"single": 1},
    {"single": {"l0": 1}},
    {"single": {"l0": 1, "l1": "0", "l2_squared": "1", "linf": "1"}},
    {"single": {"l0": 1, "l1": "1", "l2_squared": "-1", "linf": "1"}},
    {"mechanism": NO_NOISE_NAME},
    {"mechanism": None},
]


@pytest.mark.parametrize("damage", DAMAGED, ids=str)
def test_a_damaged_event_has_no_loss(damage: dict[str, Any]) -> None:
    """Missing, negative or unreadable values are refused, and never counted as zero."""
    written = {name: value for name, value in (EVENT.to_json() | damage).items() if value}
    with pytest.raises(DamagedEventError):
        MechanismEvent.from_json(written)
    with pytest.raises(LedgerError, match="an answer that cannot be read"):
        guarantee_counts(canonical([written]), "add-remove")


@pytest.mark.parametrize("text", ["", "null", "3", "[3]", "[[]]", '["laplace"]', "[null]"])
def test_other_texts_than_a_list_of_events_are_refused(text: str) -> None:
    """Any other text in the place of events is refused."""
    with pytest.raises(LedgerError, match="an answer that cannot be read"):
        guarantee_counts(text, "add-remove")


def test_noise_without_its_parameters_has_no_loss() -> None:
    """The loss that an event of noise states is not trusted without its parameters."""
    with pytest.raises(DamagedEventError, match="belong together"):
        replace(EVENT, scale=None)
    lacking = replace(EVENT, scale=None, sensitivity=None, add_remove_sensitivity=None)
    with pytest.raises(LedgerError, match="an answer that cannot be read"):
        guarantee_counts(to_events_json([lacking]), "add-remove")


def test_details_cannot_replace_parameters() -> None:
    """A detail with the name of a parameter is not written in its place."""
    event = replace(EVENT, details={"epsilon": "0", "cells": 1})
    assert event.to_json()["epsilon"] == "1/2"
