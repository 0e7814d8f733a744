"""The generated files are legal, repeatable, and contain all the oddities."""

from __future__ import annotations

from functools import cache

import pytest

from dpcli.data.grid_columns import NumericColumn
from dpcli.data.labels import IdColumn, LabeledColumn
from tests.oracles.files import generate
from tests.oracles.plain import evaluate, table, value

SEEDS = range(600)

file = cache(generate)
"""The file of a seed, which many tests look at."""


def test_a_seed_gives_one_file() -> None:
    """A seed always gives the same file and queries, and another seed gives others."""
    assert generate(7) == generate(7)
    assert len({generate(seed)[0] for seed in range(50)}) == 50


@pytest.mark.extended
@pytest.mark.parametrize("start", range(0, 600, 100))
def test_headers_are_well_formed(start: int) -> None:
    """The header holds each declared column once, and no name twice or empty."""
    for seed in range(start, start + 100):
        data, columns, _ = file(seed)
        header, _ = table(data)
        assert len(set(header)) == len(header), seed
        assert "" not in header, seed
        assert {column.name for column in columns} <= set(header), seed


def test_queries_fit_the_declarations() -> None:
    """Queries use declared columns; their constants and bins lie in the bounds."""
    for seed in SEEDS:
        _, columns, queries = file(seed)
        assert len({column.name for column in columns}) == len(columns), seed
        for column in columns:
            if isinstance(column, NumericColumn):
                assert -(2**62) < column.lower < column.upper < 2**62, seed
                assert column.missing is None or column.lower <= column.missing <= column.upper
            elif isinstance(column, LabeledColumn):
                texts = [text for text, _ in column.values]
                assert len(set(texts)) == len(texts), seed
        assert queries, seed
        for query in queries:
            assert set(query.columns) <= {
                *columns,
                *(column.without_missing_constant() for column in columns),
            }, seed
            for key in query.by:
                if isinstance(key.column, NumericColumn):
                    assert key.starts[0] == key.column.lower, seed
                    assert key.starts[-1] <= key.column.upper, seed
                    assert list(key.starts) == sorted(set(key.starts)), seed


@pytest.mark.extended
def test_every_file_can_be_answered() -> None:
    """The oracle answers every query on many files, and often not with zero."""
    nonzero = 0
    total = 0
    for seed in SEEDS[:200]:
        data, _, queries = file(seed)
        answers = evaluate(queries, data)
        assert [len(answer) for answer in answers] == [query.cells for query in queries], seed
        total += len(answers)
        nonzero += sum(any(answer) for answer in answers)
    assert nonzero > total / 2


@pytest.mark.parametrize(
    ("what", "part"),
    [
        ("byte order mark", b"\xef\xbb\xbf"),
        ("CRLF", b"\r\n"),
        ("CR", b"\r"),
        ("blank line", b"\n\n"),
        ("line of commas", b"\n,,"),
        ("doubled quotes", b'""'),
        ("NUL", b"\x00"),
        ("Latin-1", b"caf\xe9"),
        ("not a number", b"NaN"),
        ("infinity", b"inf"),
        ("huge exponent", b"1e999999999"),
        ("thousands", b'"1,200"'),
        ("hexadecimal", b"0x10"),
        ("underscores", b"1_000"),
        ("Arabic digits", "٣".encode()),
        ("short date", b"2021-3-7"),
        ("date with a time", b"T00:00:00"),
        ("unclosed quote", b"never closed"),
        ("a cell beyond the limit of csv", b"y" * 140_000),
    ],
)
def test_oddities_occur(what: str, part: bytes) -> None:
    """Each oddity is in at least one of a thousand files."""
    assert any(part in file(seed)[0] for seed in range(1000)), what


@pytest.mark.extended
def test_shapes_occur() -> None:
    """There are empty tables, single columns, lone CR, ragged rows and open ends."""
    seen = set()
    for seed in SEEDS:
        data, columns, _ = file(seed)
        header, rows = table(data)
        seen.add("no rows" if not rows else "rows")
        seen.add("one column" if len(header) == 1 else "columns")
        seen |= {"short" for row in rows if len(row) < len(header)}
        seen |= {"broken" for row in rows if not row}
        seen.add("lines" if b"\n" in data else "lone CR")
        seen.add("closed" if data.endswith((b"\n", b"\r")) else "open end")
        for column in columns:
            if isinstance(column, IdColumn) or any(len(row) < len(header) for row in rows):
                continue
            cells = {value(column, row[header.index(column.name)]) for row in rows}
            seen.add(f"{column.kind} {'constant' if column.missing is not None else 'missing'}")
            seen |= {f"{column.kind} dropped"} if None in cells else set()
            if isinstance(column, NumericColumn):
                seen |= {f"{column.kind} at {end}" for end in column.limits if end in cells}
    expected = {"no rows", "one column", "short", "broken", "lone CR", "open end"}
    for kind in ("integer", "number", "date", "category"):
        expected |= {f"{kind} constant", f"{kind} missing", f"{kind} dropped"}
    assert expected <= seen
