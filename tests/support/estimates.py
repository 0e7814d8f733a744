"""Estimates from sealed answers, at no charge: what no command does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpcli.planning.model import Plan
from dpcli.releasing import Released, add_noise, estimate

if TYPE_CHECKING:
    from dpcli.engine.rollup import Sealed


def estimates_of(plan: Plan, exact: Sequence[Sealed]) -> tuple[Released, ...]:
    """Noise for every part, then estimates from the noisy answers alone."""
    return tuple(estimate(one, plan.spec.confidence) for one in add_noise(plan, exact))
