"""Shuffling keeps all rows, and every order is equally likely."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import polars as pl
import pytest

from dpcli.local import randomize
from tests.support.streams import CUT, Stream, chi_square_tail

SCHEMA = {"n": pl.Int64, "t": pl.String}


def frames(sizes: list[int]) -> list[pl.DataFrame]:
    """Rows numbered from zero, in frames of these sizes."""
    batches, start = [], 0
    for size in sizes:
        batches.append(
            pl.DataFrame({"n": range(start, start + size), "t": [f"r{start}"] * size}, SCHEMA)
        )
        start += size
    return batches


@pytest.mark.parametrize("heap", [1, 7, 1 << 25])
@pytest.mark.parametrize("sizes", [[], [1], [0, 3], [5, 5, 1], [400, 0, 300]])
def test_every_row_occurs_once(
    heap: int, sizes: list[int], stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For any number of buckets, the output has exactly the rows of the input."""
    monkeypatch.setattr(randomize, "BUCKET", heap)
    size = 30
    out = list(randomize.in_random_order(iter(frames(sizes)), size))
    actual = [row for frame in out for row in frame.rows()]

    assert sorted(actual) == [row for frame in frames(sizes) for row in frame.rows()]


@pytest.mark.parametrize("heap", [10, 1 << 25], ids=["four heaps", "one heap"])
def test_every_order_is_equally_likely(
    heap: int, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All 24 orders of four rows are equally frequent, by a chi-square test."""
    monkeypatch.setattr(randomize, "BUCKET", heap)
    counted: Counter[tuple[int, ...]] = Counter()
    count = 240
    for _ in range(count):
        out = randomize.in_random_order(iter(frames([3, 1])), 30)
        counted[tuple(value for frame in out for value in frame["n"])] += 1
    expected = count / 24
    statistic = sum((counted[order] - expected) ** 2 / expected for order in permutations(range(4)))

    assert set(counted) == set(permutations(range(4)))
    assert chi_square_tail(statistic, 23) > CUT


def test_equal_words_are_generated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order never depends on positions, even if two rows draw the same word."""
    words = iter([b"\1" * 24, bytes(range(24))])
    monkeypatch.setattr(randomize, "random_bytes", lambda count: next(words))

    assert randomize.random_order(3).tolist() == [0, 1, 2]
    with pytest.raises(StopIteration):
        next(words)
