"""Opens sealed answers, which only tests and mechanisms may do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from dpcli.data.formats import STANDARD_DIALECT, Dialect
from dpcli.engine.files.source import open_dataset
from dpcli.engine.sums.aggregate import aggregate
from dpcli.privacy.confidential import Cells, Confidential, Groups
from dpcli.privacy.unit import Unit
from dpcli.queries.query import Query

if TYPE_CHECKING:
    from dpcli.engine.sums.aggregate import ConfidentialAnswer
    from tests.oracles.plain import Answer


T = TypeVar("T")


def unsealed(sealed: Confidential[T]) -> T:
    """The value itself, by its private name."""
    value: T = sealed._Confidential__value  # type: ignore[attr-defined]
    return value


def engine(
    queries: Sequence[Query], unit: Unit, *paths: Path | str, dialect: Dialect = STANDARD_DIALECT
) -> list[Answer]:
    """The opened answers of the engine from files that are read as one."""
    with open_dataset(tuple(map(str, paths)), dialect) as dataset:
        return opened(aggregate(queries, unit, dataset))


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
