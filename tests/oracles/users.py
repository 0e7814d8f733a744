"""Odd CSV files about people, with limits and queries, generated from a seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from dpcli.data.cell_options import Blanks, Case, Numerals
from dpcli.data.column import Column
from dpcli.data.grid_columns import NumericColumn
from dpcli.data.kinds import Axis
from dpcli.data.labels import IdColumn, LabeledColumn, PrivatePartitionColumn
from dpcli.privacy.unit import Limits, PersonUnit, Unit
from dpcli.queries.paired import paired
from dpcli.queries.query import LinearQuery, Query, RowsPerUserQuery
from dpcli.queries.sums import GroupLimits
from dpcli.statistics.counts.centered_counts import CenteredCountQuery
from dpcli.statistics.counts.distinct import DistinctQuery
from dpcli.statistics.quality.faults import FirstFaultQuery
from tests.oracles import files


def generate(seed: int) -> tuple[bytes, PersonUnit, list[Query]]:
    """An odd file, its privacy unit, and queries."""
    random = Random(seed)
    who = IdColumn("who", singletons_without_id=random.random() < 0.3)
    other = [column for column in files._columns(random) if not isinstance(column, IdColumn)]
    place, ward, car = (
        PrivatePartitionColumn("place"),
        PrivatePartitionColumn("ward"),
        IdColumn("car", options=random.choice(((), (Case(),), (Blanks(), Numerals())))),
    )
    columns: list[Column] = [who, place, ward, car, *other]
    rows = random.randint(1, 5)
    unit = PersonUnit(
        "who", random.randint(1, rows), random.randint(1, rows + 1), rows, who.singletons_without_id
    )
    marks = random.choice(((), (), ("p1",), ("1", "NA")))
    joined = [key for key in ("case", "blanks", "number") if random.random() < 0.3]
    options = [(key, True) if key == "number" else (key,) for key in joined]
    unit = replace(unit, options=(*options, *([("na", marks)] if marks else [])))
    queries = [_query(random, other, (place, ward), car) for _ in range(random.randint(1, 6))]
    if seed % 3 == 0:
        queries.insert(seed % len(queries), RowsPerUserQuery(starts=(0, 2, 3, 6)[: seed % 4 + 1]))
    queries.insert(seed % len(queries), _first_faults(seed, columns, unit))
    return files._file(random, columns), unit, queries


def limits_of_each(seed: int, unit: PersonUnit, queries: Sequence[Query]) -> list[Unit]:
    """The unit of each query: in two of three files, some have lower or higher limits."""
    random, units = Random(seed), list[Unit]()
    for _ in queries:
        rows = random.randint(1, 7)
        limits = Limits(rows, random.randint(1, rows + 1), random.randint(1, rows))
        units.append(limits.of(unit) if seed % 3 and random.random() < 0.5 else unit)
    return units


def _first_faults(seed: int, columns: Sequence[Column], unit: PersonUnit) -> FirstFaultQuery:
    """People by their first fault: cells, numbers of rows, and limits on groups of any kind."""
    random = Random(f"first faults {seed}")
    order = files.faults(seed, [column for column in columns if column.name != unit.column])
    starts = sorted(random.sample(range(2, 9), random.randint(0, 3)))
    keyed = [c for c in columns if isinstance(c, LabeledColumn | NumericColumn)]
    private = [c for c in columns if isinstance(c, PrivatePartitionColumn)]
    limits = []
    for _ in range(random.randint(0, 2)):
        axes = [files._key(random, column) for column in random.sample(keyed, min(len(keyed), 1))]
        axes += [Axis(column) for column in private if random.random() < 0.3]
        limits.append(
            GroupLimits(tuple(axes), random.randint(1, 3), random.randint(1, unit.max_rows))
        )
    order = replace(
        order,
        starts=tuple(starts),
        groups=tuple(dict.fromkeys(limits)),
        kept_rows=random.randint(1, unit.max_rows),
    )
    return FirstFaultQuery(faults=order.bins)


def less_people(seed: int, queries: Sequence[Query]) -> Iterator[Query]:
    """Counts less people by the axes of some queries, if these are public, and their pairs."""
    random = Random(seed)
    for query in queries:
        if isinstance(query, LinearQuery) and query.axes and not query.has_private_groups:
            centered = CenteredCountQuery(
                by=query.by, items=query.items, where=query.where, present=query.present,
                times=random.choice((2, 4)), less=random.randint(1, 3),
                of_people=random.random() < 0.5,
            )  # fmt: skip
            yield centered
            yield paired(random.choice((centered, query)))


def _query(
    random: Random,
    columns: Sequence[Column],
    opened: Sequence[PrivatePartitionColumn],
    car: IdColumn,
) -> Query:
    """A query of any kind, perhaps with private groups."""
    query = files._query(random, columns)
    by = query.by
    for private in opened:
        if random.random() < 0.25:
            by = (*by, Axis(private))
    items: tuple[Axis, ...] = ()
    if by and not by[0].is_private and random.random() < 0.4:
        by, items = by[1:], by[:1]
    kind = random.random()
    if kind < 0.3:
        column = random.choice([*columns, *opened, car])
        return DistinctQuery(
            by=by, where=query.where, present=(*query.present, column), column=column
        )
    if kind < 0.6:
        factors = query.factors[:1]
        if any(factor.offset for factor in factors):
            factors = (replace(factors[0], offset=0),)
        high = max([*(abs(end) for factor in factors for end in factor.limits), 3])
        low = random.choice((0, 1, -high, -1))
        clamp = (low, random.randint(low + 1, 2 * high + 2))
        return replace(query, by=by, items=items, factors=factors, user_clamp=clamp)
    return replace(query, by=by, items=items)
