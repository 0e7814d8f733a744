"""Entropy for the tests of samplers."""

from __future__ import annotations

import pytest

from dpcli.sampling import entropy
from tests.sampling.streams import Stream


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Stream:
    """A stream named after the test, in place of the system's generator."""
    replacement = Stream(request.node.name)
    monkeypatch.setattr(entropy, "source", replacement)
    return replacement
