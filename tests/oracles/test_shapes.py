"""Answers by shape agree with the formulas of the oracle, for each kind that has one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dpcli.privacy.unit import Neighbors, PersonUnit, Relation, Unit
from dpcli.queries.query import Query
from dpcli.statistics import STATISTICS
from tests.laws import test_statistics
from tests.oracles import plain, users
from tests.oracles.files import batches, generate, vectors
from tests.oracles.plain import Answer, evaluate


def by_shape(
    queries: list[Query], data: bytes, unit: Unit, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[Answer], list[Answer]]:
    """The answers by the formulas of the oracle, and those by shape."""
    own = evaluate(queries, data, unit)
    with monkeypatch.context() as patched:
        patched.setattr(plain, "OWN_FORMULAS", ())
        return own, evaluate(queries, data, unit)


@pytest.mark.parametrize("start", batches(400, 40, 40, 80))
def test_random_files_have_the_same_answers(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums, readability, tests of rows and objectives are the same, in odd files."""
    for seed in range(start, start + 40):
        data, columns, linear = generate(seed)
        own, found = by_shape([*linear, *vectors(seed, columns)], data, plain.ROW, monkeypatch)
        assert found == own, seed


@pytest.mark.parametrize("start", batches(400, 40, 40, 80))
def test_random_people_have_the_same_answers(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Totals, distinct values, counts less people and users by rows are the same."""
    for seed in range(start, start + 40):
        data, unit, queries = users.generate(seed)
        asked = [*queries, *users.less_people(seed, queries)]
        own, found = by_shape(asked, data, unit, monkeypatch)
        assert found == own, seed


def asked(unit: Unit) -> Iterator[Query]:
    """The queries of every statistic."""
    relation = Relation(unit, Neighbors.ADD_REMOVE)
    for statistic in STATISTICS:
        for inputs in test_statistics.requests(statistic):
            for design in statistic.designs(inputs, relation):
                yield from (weighted.query for weighted in design.queries)


@pytest.mark.parametrize(
    "unit",
    [pytest.param(plain.ROW, marks=pytest.mark.extended), PersonUnit("who", 2, 2, 3)],
    ids=["row", "person"],
)
def test_all_statistics_have_the_same_answers(unit: Unit, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores, quantiles, effects and polynomials are the same too."""
    rows = [
        f"{who},{x},{sex},{open_},{y}\n"
        for place, (who, x, sex) in enumerate(
            (who, x, sex) for who in "abb" for x in ("-2", "0", "1", "2", "", "9") for sex in "fm?"
        )
        for open_, y in (("1", "0"), ("01"[place % 2], "1"))
    ]
    queries = [*dict.fromkeys(asked(unit))]
    data = ("who,x,sex,open,y\n" + "".join(rows)).encode()
    own, found = by_shape(queries, data, unit, monkeypatch)

    for query, one, other in zip(queries, own, found, strict=True):
        assert one == other, query
