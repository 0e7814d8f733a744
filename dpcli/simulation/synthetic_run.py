"""One pass over synthetic rows: answers with noise and without.

Privacy: a `SyntheticDataset` aggregates rows that it generated, and opens answers about these
alone. So nothing here can be about a real person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast, final

from dpcli.numeric.arrays import integer_array
from dpcli.planning.plan import CentralPlan, PlannedQuery
from dpcli.planning.results import NoisyStatistic
from dpcli.privacy.confidential import Cells, Confidential, Group, Groups
from dpcli.privacy.unit import PersonUnit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.releasing.steps import add_noise, check_quality
from dpcli.simulation.synthetic import SyntheticDataset

if TYPE_CHECKING:
    from dpcli.engine.sums.aggregate import ConfidentialAnswer

UNLIMITED = 1 << 30
"""A limit that no synthetic dataset reaches."""


@dataclass(frozen=True, slots=True)
class ExactAnswers:
    """The exact answers to the queries of a statistic: numbers, or scores of all candidates.

    `values` has an array for each query. `groups` are all groups of the dataset if they are
    private, and None if they are public.
    """

    values: tuple[Cells, ...]
    groups: tuple[Group, ...] | None


@final
class SyntheticRun:
    """The answers to all queries of a plan about one dataset, from one pass over it.

    If `limited`, the contributions of people are bounded as the plan says, with a new random
    choice of their rows. Otherwise all their rows count, which no release does.
    """

    def __init__(
        self, plan: CentralPlan, dataset: SyntheticDataset, *, limited: bool = True
    ) -> None:
        self._plan, self._dataset = plan, dataset
        queries, unit = plan.engine_queries, plan.spec.privacy.unit
        if not limited:
            queries = tuple(query.without_clamp() for query in queries)
            if isinstance(unit, PersonUnit):
                unit = replace(
                    unit, max_rows_per_group=UNLIMITED, max_groups=UNLIMITED, max_rows=UNLIMITED
                )
        self._confidential = dataset.aggregate(queries, unit)

    def noisy(self) -> tuple[NoisyStatistic, ...]:
        """The answers with new noise, as a release has them."""
        return add_noise(self._plan, self._confidential, self._dataset.permit)

    def stopped(self) -> bool:
        """Whether the quality check, with new noise, stops a release of these rows."""
        checked = check_quality(self._plan, self._confidential, self._dataset.permit)
        return checked is not None and bool(checked.reasons)

    def exact(self) -> tuple[ExactAnswers, ...]:
        """The answers without noise, statistic by statistic."""
        quality = self._plan.quality
        confidential = iter(self._confidential[len(quality.queries) if quality else 0 :])
        own = [[next(confidential) for _ in planned.queries] for planned in self._plan.statistics]
        groups = {
            planned.name: self._groups(parts[0]).names
            for planned, parts in zip(self._plan.statistics, own, strict=True)
            if planned.entry.selects_partitions
        }
        answers = []
        for planned, parts in zip(self._plan.statistics, own, strict=True):
            names = groups[planned.entry.selected_by] if planned.entry.selected_by else None
            values = tuple(
                _outcome(planned_query, self._values(part, names))
                for planned_query, part in zip(planned.queries, parts, strict=True)
            )
            answers.append(ExactAnswers(values, names))
        return tuple(answers)

    def _groups(self, confidential: ConfidentialAnswer) -> Groups:
        return self._dataset.exact(cast("Confidential[Groups]", confidential))

    def _values(self, confidential: ConfidentialAnswer, groups: Sequence[Group] | None) -> Cells:
        """The exact numbers of all cells, or the scores of their candidates."""
        if groups is not None:
            return integer_array(self._groups(confidential).cells(groups))
        return integer_array(self._dataset.exact(cast("Confidential[Cells]", confidential)))


def _outcome(planned_query: PlannedQuery, values: Cells) -> Cells:
    """What these numbers give without noise: the numbers, or the minimizer with the same ridge."""
    query, noise = planned_query.weighted.query, planned_query.calibrated.noise
    return planned_query.calibrated.mechanism.respond_without_noise(noise, query, values)
