"""Estimates from sealed answers, at no charge: what no command does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpcli.planning.model import Plan
from dpcli.releasing import Released, add_noise, estimate
from tests.support.permits import free_permit

if TYPE_CHECKING:
    from dpcli.engine.rollup import SealedAnswer


def estimates_of(plan: Plan, exact: Sequence[SealedAnswer]) -> tuple[Released, ...]:
    """Noise for every part, then estimates from the noisy answers alone."""
    noisy = add_noise(plan, exact, free_permit())
    return tuple(estimate(one, plan.spec.confidence) for one in noisy)
