"""Estimates from confidential answers without a charge, which no command makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpcli.planning.plan import CentralPlan
from dpcli.planning.results import EstimatedStatistic
from dpcli.releasing.steps import add_noise, estimate_statistic
from tests.support.permits import free_permit

if TYPE_CHECKING:
    from dpcli.engine.sums.aggregate import ConfidentialAnswer


def estimates_of(
    plan: CentralPlan, exact: Sequence[ConfidentialAnswer]
) -> tuple[EstimatedStatistic, ...]:
    """Add noise to every answer, then estimate from the noisy answers alone."""
    noisy = add_noise(plan, exact, free_permit())
    return tuple(estimate_statistic(one, plan.spec.confidence) for one in noisy)
