"""Fixtures of the engine's tests."""

from __future__ import annotations

from functools import cache

import pytest

from dpcli.noise import entropy
from tests.oracles.plain import Priority
from tests.support.priorities import KeyedPriorities, freeze_priorities
from tests.support.streams import Stream


@pytest.fixture
def priority(monkeypatch: pytest.MonkeyPatch) -> Priority:
    """The priorities that the engine assigns, frozen for the whole test."""
    monkeypatch.setattr(entropy, "source", Stream("people"))
    freeze_priorities(monkeypatch)
    return cache(KeyedPriorities.priority)
