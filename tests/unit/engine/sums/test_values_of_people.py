"""Values of people against the oracle: every kind, in odd files, parts and shards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest

from dpcli.data.column import Column, Derivation, ValuedColumn
from dpcli.data.derived import PERSON_VALUES
from dpcli.data.derived.arithmetic import Sum
from dpcli.data.derived.labels import Satisfies
from dpcli.data.filters import Filter, InRanges, complement
from dpcli.data.grid_columns import NumericColumn, require_numeric
from dpcli.data.kinds import Axis
from dpcli.data.labels import (
    BOOLEAN_LABELS,
    BooleanColumn,
    CategoryColumn,
    IdColumn,
    LabeledColumn,
    PrivatePartitionColumn,
)
from dpcli.data.number_columns import NumberColumn
from dpcli.data.people.amounts import (
    ChangeOfPerson,
    GreatestOfPerson,
    LeastOfPerson,
    MeanOfPerson,
    MedianOfPerson,
    TotalOfPerson,
)
from dpcli.data.people.counts import (
    DifferentValues,
    InAllRows,
    InAnyRow,
    RowsOfPerson,
    rows_that_count,
)
from dpcli.data.people.person_value import value_of
from dpcli.data.people.places import First, Last, LongestGap, Most, ShortestGap
from dpcli.privacy.unit import Limits, Unit
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.sums import Factor
from dpcli.statistics.counts.distinct import DistinctQuery
from tests.oracles import files
from tests.oracles.agreement import agreed, without_empty
from tests.oracles.files import batches
from tests.oracles.opened import engine
from tests.oracles.plain import Priority
from tests.oracles.users import generate
from tests.support.blocks import compact_often
from tests.support.priorities import prioritize_by_content
from tests.support.rules import mostly_extended
from tests.unit.engine.sums.test_partials import merged, sealed, split

FILES = 100
MANY = 1 << 60
WIDER = 1_000
TRUTH = tuple((label, label) for label in BOOLEAN_LABELS)


def values_of_people(random: Random, columns: Sequence[Column]) -> Iterator[Column]:
    """A column of people of every kind that the columns of a file allow."""
    numbers = [one for one in columns if isinstance(one, NumericColumn) and one.bounds]
    labels = [one for one in columns if isinstance(one, LabeledColumn)]
    valued: list[ValuedColumn] = [*numbers, *labels]
    tests = [test for _ in range(4) for test in files._query(random, columns).where]

    def some() -> Filter | None:
        return random.choice((None, *tests))

    counts = [
        RowsOfPerson(),
        *map(RowsOfPerson, tests),
        *(DifferentValues(of, some()) for of in valued),
    ]
    for count in counts:
        yield _number(random, "count", count, 0, random.randint(1, 4))
    for test in tests:
        kind = random.choice((InAnyRow, InAllRows))
        missing = random.choice((None, 0, 1))
        yield BooleanColumn("truth", TRUTH, missing, derivation=kind(test))
    for column in valued:
        by = random.choice(numbers) if numbers else None
        kinds: list[Derivation] = [Most(column, some())]
        if by is not None or (isinstance(column, NumericColumn) and column.is_date):
            kinds += [First(column, some(), by), Last(column, some(), by)]
        yield from (_like(column, kind) for kind in kinds)
    yield from _values_of_labels(random, columns, tests)
    yield from _values_of_numbers(random, numbers, tests)


def _values_of_numbers(
    random: Random, numbers: Sequence[NumericColumn], tests: Sequence[Filter]
) -> Iterator[Column]:
    """Columns of people that follow from numbers and days."""

    def some() -> Filter | None:
        return random.choice((None, *tests))

    for column in numbers:
        low, high = column.limits
        step = column.step / random.choice((1, 1, 2, 10))
        ratio = column.step / step
        for amount in (LeastOfPerson, GreatestOfPerson):
            yield _like(column, amount(column, some(), column.step))
        for middle in (MeanOfPerson, MedianOfPerson):
            ends = round(low * ratio), round(high * ratio)
            if max(map(abs, ends)) >= MANY:
                continue
            yield NumberColumn("middle", step, ends, derivation=middle(column, some(), step))
        total = TotalOfPerson(column, some(), step)
        yield _number(
            random,
            "total",
            total,
            min(round(2 * low * ratio), 0),
            round(3 * high * ratio) + 5,
            step,
        )
        for gap in (LongestGap, ShortestGap):
            yield _number(random, "gap", gap(column, some()), 0, high - low)
        by = random.choice(numbers)
        ends_of = [
            require_numeric(_like(column, kind(column, some(), by))) for kind in (Last, First)
        ]
        rows = rows_that_count(map(value_of, ends_of)) if random.random() < 0.5 else None
        change = ChangeOfPerson(tuple(ends_of), column.step, rows)
        if change.limits[0] < change.limits[1]:
            yield NumberColumn("change", column.step, change.limits, derivation=change)


def _values_of_labels(
    random: Random, columns: Sequence[Column], tests: Sequence[Filter]
) -> Iterator[Column]:
    """Columns of people that follow from labels that are not declared."""
    numbers = [one for one in columns if isinstance(one, NumericColumn) and one.bounds]
    for label in (one for one in columns if isinstance(one, PrivatePartitionColumn)):
        where, by = random.choice((None, *tests)), random.choice((None, *numbers))
        yield _number(random, "count", DifferentValues(label, where), 0, 2)
        end = random.choice((First, Last))
        value = Most(label, where) if by is None else end(label, where, by)
        yield replace(label, name="label", derivation=value)


def _number(
    random: Random,
    name: str,
    derivation: Derivation,
    low: int,
    high: int,
    step: Fraction = Fraction(1),
) -> NumericColumn:
    low, high = max(low, -MANY), min(high, MANY)
    missing = random.choice((None, None, low))
    bounds = (low, max(high, low + 1))
    return NumberColumn(name, step, bounds, missing, derivation=derivation)


def _like(column: ValuedColumn, derivation: Derivation) -> ValuedColumn:
    made = replace(
        column, name="like", source=None, missing=None, options=(), derivation=derivation
    )
    return replace(made, other=None) if isinstance(made, CategoryColumn) else made


def queries_of_people(
    random: Random, columns: Sequence[Column], people: Sequence[Column]
) -> Iterator[tuple[Query, Limits]]:
    """Queries of people, by columns of both, and of rows with columns of people."""
    keys = [one for one in people if isinstance(one, LabeledColumn)]
    numbers = [one for one in people if isinstance(one, NumericColumn)]
    of_rows = [one for one in columns if isinstance(one, LabeledColumn)]
    yield LinearQuery(), Limits(of_people=True)
    for number in numbers:
        by = tuple(Axis(key) for key in random.sample(keys, min(len(keys), random.randint(0, 1))))
        summed = LinearQuery(factors=(Factor(number),), by=by)
        yield summed, Limits(of_people=True)
        if len(numbers) > 1:
            other = random.choice(numbers)
            total = Sum((number, other), min(number.step, other.step))
            if total.limits[0] < total.limits[1] and total.magnitude < 1 << 60:
                both = NumberColumn("both", total.step, total.limits, derivation=total)
                yield LinearQuery(factors=(Factor(both),)), Limits(of_people=True)
        distinct = DistinctQuery(column=number, present=(number,), by=by)
        yield distinct, Limits(of_people=True)
        low, high = number.limits
        test = InRanges(number, ((low, (low + high) // 2),))
        yield LinearQuery(where=(test,), by=by), Limits(of_people=True)
        truth = BooleanColumn("low", TRUTH, derivation=Satisfies(test))
        yield LinearQuery(by=(Axis(truth),)), Limits(random.randint(1, 3))
    for label in (one for one in people if isinstance(one, PrivatePartitionColumn)):
        yield (
            LinearQuery(by=(Axis(label), *(Axis(one) for one in keys[:1]))),
            Limits(of_people=True),
        )
        yield LinearQuery(by=(Axis(label),)), Limits(random.randint(1, 3))
    for private in [one for one in columns if isinstance(one, PrivatePartitionColumn)][:1]:
        named = Axis(private), *(Axis(one) for one in keys[:1])
        yield LinearQuery(by=named), Limits(max_groups=random.randint(1, 3), of_people=True)
    for key in keys:
        yield LinearQuery(by=(Axis(key),)), Limits(of_people=True)
        for row_key in of_rows[:1]:
            groups = random.randint(1, len(row_key.labels))
            by = (Axis(key), Axis(row_key))
            yield LinearQuery(by=by), Limits(max_groups=groups, of_people=True)
            yield LinearQuery(by=by), Limits(random.randint(1, 4))


@pytest.mark.parametrize("hurried", mostly_extended([False, True], True))
@pytest.mark.parametrize("start", batches(FILES, 5, 10, 15))
def test_every_kind_of_value_follows_the_written_rules(
    start: int, hurried: bool, priority: Priority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For every file, engine and oracle have the same numbers of people, and of rows by them."""
    if hurried:
        compact_often(monkeypatch)
    for seed in range(start, start + 5):
        data, queries, units = asked_of(seed)
        agreed(queries, data, tmp_path, units, priority=priority, empty_groups=False)


def asked_of(seed: int) -> tuple[bytes, list[Query], list[Unit]]:
    """A file, and queries about it with values of people, each with its unit."""
    data, unit, generated = generate(seed)
    random = Random(f"people {seed}")
    read = {column for query in generated for column in query.columns}
    columns = sorted((one for one in read if _is_of_rows(one)), key=repr)
    columns += sorted((one for one in read if isinstance(one, PrivatePartitionColumn)), key=repr)
    people = list(values_of_people(random, columns))
    people = random.sample(people, min(len(people), 8))
    asked = list(queries_of_people(random, columns, people))
    return data, [query for query, _ in asked], [limits.of(unit) for _, limits in asked]


@pytest.mark.parametrize("start", batches(FILES, 4, 4, 4))
def test_values_of_people_with_rows_in_several_parts_are_those_of_one_file(
    start: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept of people merges over partials before values are rounded and clamped."""
    prioritize_by_content(monkeypatch)
    path = tmp_path / "data.csv"
    for seed in range(start, start + 4):
        data, queries, units = asked_of(seed)
        path.write_bytes(data)
        names = sealed(queries, units, split(data, Random(seed)), tmp_path)
        actual = without_empty(merged(queries, units, names))
        assert actual == without_empty(engine(queries, units, path)), seed


def _is_of_rows(column: Column) -> bool:
    return column.derivation is None and column.has_values and not isinstance(column, IdColumn)


def test_every_kind_is_tried() -> None:
    """The files above have columns for each kind of value."""
    tried = set[type]()
    for seed in range(40):
        _, _, generated = generate(seed)
        read = {column for query in generated for column in query.columns}
        columns = sorted((one for one in read if _is_of_rows(one)), key=repr)
        tried |= {type(one.derivation) for one in values_of_people(Random(seed), columns)}

    assert tried == set(PERSON_VALUES)


@pytest.mark.parametrize("start", batches(FILES, 10, 10, 10))
def test_no_value_lies_outside_of_what_is_possible(start: int, tmp_path: Path) -> None:
    """Bins, conditions and the quality check rely on the ranges that follow from the columns."""
    path, asked = tmp_path / "data.csv", 0
    for seed in range(start, start + 10):
        data, unit, generated = generate(seed)
        random = Random(f"people {seed}")
        read = {column for query in generated for column in query.columns}
        columns = sorted((one for one in read if _is_of_rows(one)), key=repr)
        impossible = list[Query]()
        for column in values_of_people(random, columns):
            if isinstance(column, NumericColumn) and column.derivation and column.missing is None:
                low, high = column.limits
                if max(-low, high) > MANY:
                    continue
                wide = replace(column, bounds=(low - WIDER, high + WIDER))
                found = column.derivation.possible(lambda part: part.declared_ranges)
                outside = None if found is None else complement(found, wide.limits)
                impossible += [LinearQuery(where=(InRanges(wide, outside),))] if outside else []
        asked += len(impossible)
        path.write_bytes(data)
        units = [Limits(of_people=True).of(unit) for _ in impossible]
        for answer in engine(impossible, units, path):
            assert not np.any(np.array(answer)), seed
    assert asked
