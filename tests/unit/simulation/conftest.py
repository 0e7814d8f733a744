"""Specs to simulate."""

from __future__ import annotations

from tests.support.simulations import dummy, plan, stream

__all__ = ["dummy", "plan", "stream"]
