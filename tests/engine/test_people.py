"""Bounded people against the oracle, and the numbers and lots behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dpcli.engine import aggregate, crowd, totals
from dpcli.engine.dialect import Inspection
from dpcli.engine.draw import Draw
from dpcli.engine.people import People
from dpcli.engine.source import open_source
from dpcli.privacy.relation import RowUnit, Unit
from dpcli.queries import LinearQuery, Query
from dpcli.sampling import entropy
from tests.oracles.crowds import generate
from tests.oracles.opened import opened
from tests.oracles.plain import Answer, Lot, evaluate
from tests.sampling.streams import Stream

FILES = 600
PER_TEST = 100


def engine(queries: Sequence[Query], unit: Unit, path: Path) -> list[Answer]:
    """What the engine seals, opened."""
    source = open_source(str(path))
    try:
        inspection = Inspection(source.file, source.size)
        sealed = aggregate.aggregate(queries, unit, source, inspection)
    finally:
        source.close()
    return opened(sealed)


def lots(freeze: Callable[[], None]) -> Lot:
    """The lots that the engine will draw after the same freezing."""
    freeze()
    draw, people = Draw(), People()

    def lot(name: str, ordinal: int) -> int:
        number = people.numbers(pl.Series([name]))
        word = people.words(number.to_numpy())
        return int(draw.lots(word, np.array([ordinal], dtype=np.uint32))[0])

    return lot


@pytest.fixture
def freeze(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Begin the same randomness, each time it is called."""
    return lambda: monkeypatch.setattr(entropy, "source", Stream("people"))


def without_empty(answers: Sequence[Answer]) -> list[Answer]:
    """Private groups whose cells are all zero may be there or not."""
    return [
        {key: cells for key, cells in answer.items() if any(cells)}
        if isinstance(answer, dict)
        else answer
        for answer in answers
    ]


@pytest.mark.parametrize("hurried", [False, True])
@pytest.mark.parametrize("start", range(0, FILES, PER_TEST))
def test_people_are_bounded_by_the_written_rules(
    start: int,
    hurried: bool,
    freeze: Callable[[], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the file, engine and oracle keep the same rows of everybody.

    Hurried: many partitions that settle after every few rows.
    """
    if hurried:
        monkeypatch.setattr(crowd, "PARTITION", 64)
        monkeypatch.setattr(crowd, "DEALT", 3)
        monkeypatch.setattr(crowd, "WAITING", 1)
        monkeypatch.setattr(totals, "PENDING", 1)
    path = tmp_path / "data.csv"
    lot = lots(freeze)
    for seed in range(start, start + PER_TEST):
        data, unit, queries = generate(seed)
        path.write_bytes(data)
        freeze()
        found = without_empty(engine(queries, unit, path))
        assert found == without_empty(evaluate(queries, data, unit, lot)), seed


@pytest.mark.parametrize("start", range(0, 200, PER_TEST))
def test_single_rows_have_private_keys_and_distinct_values_too(start: int, tmp_path: Path) -> None:
    """Where every row is protected by itself, engine and oracle agree on new questions."""
    path = tmp_path / "data.csv"
    for seed in range(start, start + PER_TEST):
        data, _, queries = generate(seed)
        asked = [q for q in queries if not (isinstance(q, LinearQuery) and q.totals)]
        path.write_bytes(data)
        found = without_empty(engine(asked, RowUnit(), path))
        assert found == without_empty(evaluate(asked, data)), seed
