"""Scores of candidates, and products, from the engine against the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from dpcli.data.column import Column
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.kinds import Axis
from dpcli.data.labels import BooleanColumn, LabeledColumn
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.scores import Accuracy, Frequency, Points, Rank, Revenue, ScoreQuery
from dpcli.queries.sums import Factor
from dpcli.statistics.choices.candidates import classes_at_and_between, classes_from_each
from dpcli.statistics.quantiles.recursion import QuantilesQuery
from tests.oracles import files, users
from tests.oracles.agreement import agreed
from tests.oracles.files import batches
from tests.oracles.plain import Priority

FLAG = BooleanColumn("flag", (("no", "no"), ("yes", "yes")))


def scored(random: Random, query: Query, columns: Sequence[Column]) -> Query:
    """A choice among candidates of any kind, in the groups of another query."""
    usable = [one for one in columns if isinstance(one, LabeledColumn | NumericColumn)]
    column = random.choice(usable)
    by = tuple(key for key in query.by if key.column is not column)
    common = ScoreQuery(by=by, where=query.where, classes=(), score_function=Frequency(range(1)))
    if isinstance(column, LabeledColumn):
        score_function = Frequency(range(len(column.labels)))
        return replace(common, classes=(Axis(column),), score_function=score_function)
    points = candidates(random, column)
    kind = random.choice(("rank", "rank", "revenue", "accuracy"))
    if kind == "rank":
        key, places = classes_at_and_between(column, points)
        if random.random() < 0.3:
            quantiles = (Fraction(1, 2), Fraction(1, 100), Fraction(2, 3))
            return QuantilesQuery(
                by=by,
                where=query.where,
                classes=(key,),
                candidate_classes=places,
                quantiles=quantiles,
            )
        quantile = Fraction(random.choice(("1/2", "1/4", "0.99", "0.000001", "2/3")))
        return replace(common, classes=(key,), score_function=Rank(places, quantile))
    key, places = classes_from_each(column, points)
    flags = [one for one in usable if isinstance(one, LabeledColumn) and len(one.labels) == 2]
    flags = [one for one in flags if one not in [key.column for key in by]]
    if kind == "accuracy" and flags:
        classes = (key, Axis(random.choice(flags)))
        return replace(common, classes=classes, score_function=Accuracy(places))
    if points[0] < 0:
        return query
    return replace(common, classes=(key,), score_function=Revenue(places, points))


def candidates(random: Random, column: NumericColumn) -> Points:
    """All points of a small grid, regular ones, or some points of a large one."""
    low, high = column.limits
    if high - low < 200 and random.random() < 0.6:
        return range(low, high + 1)
    if random.random() < 0.4:
        return range(low, high + 1, max(2, (high - low) // random.randint(1, 6)))
    return tuple(sorted({random.randint(low, high) for _ in range(random.randint(1, 6))}))


def squared(random: Random, query: LinearQuery) -> LinearQuery:
    """A product of two factors or the square of one, with offsets at the center."""
    small = [one for one in query.factors if all(abs(end) < 2**50 for end in one.limits)]
    if not small or query.user_clamp is not None:
        return query
    pair = (small[0], random.choice([small[0], *small, Factor(small[0].column)]))
    return replace(query, factors=pair, offset=random.choice((0, 1, -3, 10**6)))


@pytest.mark.parametrize("start", batches(400, 20, 20, 40))
def test_scores_and_products_of_odd_files_are_exact(
    start: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For every file, scores and products agree with their definitions."""
    for seed in range(start, start + 20):
        random = Random(seed)
        data, columns, linear = files.generate(seed)
        queries: list[Query] = [squared(random, query) for query in linear]
        queries += [scored(random, query, columns) for query in linear]
        agreed(queries, data, tmp_path)


@pytest.mark.extended
@pytest.mark.parametrize("start", batches(200, 10, 10, 20))
def test_scores_and_products_of_people_are_exact(
    start: int, tmp_path: Path, priority: Priority
) -> None:
    """People within limits give exact scores in groups with declared and private keys."""
    for seed in range(start, start + 10):
        random = Random(seed)
        data, unit, linear = users.generate(seed)
        columns = list(dict.fromkeys(column for query in linear for column in query.columns))
        if not any(isinstance(one, LabeledColumn | NumericColumn) for one in columns):
            continue
        queries: list[Query] = [
            squared(random, query) if isinstance(query, LinearQuery) else query for query in linear
        ]
        queries += [scored(random, query, columns) for query in linear]
        agreed(queries, data, tmp_path, unit, priority=priority, empty_groups=False)
