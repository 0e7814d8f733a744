"""Opens sealed answers, which only tests and mechanisms may do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from dpcli.data.filters import Filter
from dpcli.data.formats import STANDARD_DIALECT, Dialect
from dpcli.engine.files.source import open_dataset
from dpcli.engine.sums.aggregate import aggregate
from dpcli.privacy.confidential import Cells, Confidential, Groups
from dpcli.privacy.unit import PersonUnit, RowUnit, Unit
from dpcli.queries.query import BoundedQuery, Query

if TYPE_CHECKING:
    from dpcli.engine.sums.aggregate import ConfidentialAnswer
    from dpcli.planning.plan import CentralPlan
    from tests.oracles.plain import Answer


T = TypeVar("T")


def unsealed(sealed: Confidential[T]) -> T:
    """The value itself, by its private name."""
    value: T = sealed._Confidential__value  # type: ignore[attr-defined]
    return value


Units = Unit | Sequence[Unit]
"""The unit of all queries, or the unit of each, which differ in limits."""


def units_of(queries: Sequence[Query], units: Units) -> list[Unit]:
    """The unit of each query."""
    if isinstance(units, RowUnit | PersonUnit):
        return [units] * len(queries)
    return list(units)


def bounded(queries: Sequence[Query], units: Units) -> list[BoundedQuery]:
    """The queries as the engine takes them."""
    return [*map(BoundedQuery, queries, units_of(queries, units))]


def queries_of(plan: CentralPlan) -> list[Query]:
    """The queries of a plan, without their units."""
    return [asked.query for asked in plan.engine_queries]


def engine(
    queries: Sequence[Query],
    unit: Units,
    *paths: Path | str,
    dialect: Dialect = STANDARD_DIALECT,
    only: Filter | None = None,
) -> list[Answer]:
    """The opened answers of the engine from files that are read as one."""
    with open_dataset(tuple(map(str, paths)), dialect) as dataset:
        return opened(aggregate(bounded(queries, unit), dataset, only=only))


def opened(sealed: Sequence[ConfidentialAnswer]) -> list[Answer]:
    """The integers of every answer."""
    return [_answer(answer) for answer in sealed]


def _answer(sealed: ConfidentialAnswer) -> Answer:
    """The integers of one answer, by group where keys are private."""
    content = unsealed(cast("Confidential[Cells | Groups]", sealed))
    if isinstance(content, Groups):
        return {name: content.cells([name]).tolist() for name in content.names}
    if content.ndim > 1:
        return [number for line in sorted(content.tolist()) for number in line]
    return cast("list[int]", content.tolist())


def cells_of(answer: Answer) -> list[int]:
    """The cells of an answer whose groups are public."""
    assert isinstance(answer, list)
    return answer
