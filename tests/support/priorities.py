"""Repeatable priorities of rows for tests."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.selectors import starts_with

from dpcli.engine.cells import FLAGS
from dpcli.engine.sums import bounding
from dpcli.engine.sums.aggregate import ConfidentialAnswer, aggregate
from dpcli.engine.sums.bounding import UserScan
from dpcli.noise.entropy import random_bytes
from dpcli.numeric.arrays import GOLDEN_GAMMA, scramble


class KeyedPriorities:
    """Priorities that depend on a secret, an id and the number of earlier rows with this id.

    So with frozen noise, an additional user does not change the rows of other users.
    """

    secret = bytes(16)

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def of(self, rows: pl.DataFrame) -> pl.Series:
        """Priorities for the next rows."""
        text = pl.when(pl.col("id").is_null()).then(pl.col("user").cast(pl.String))
        named = text.otherwise(pl.col("id").cast(pl.String)).fill_null("")
        ids = rows.select(named.alias("name"))["name"].to_list()
        priorities = []
        for name in ids:
            priorities.append(self.priority(name, self._seen[name]))
            self._seen[name] += 1
        return pl.Series("priority", priorities, dtype=pl.UInt64)

    @classmethod
    def priority(cls, name: str, ordinal: int) -> int:
        """The priority of a row of an id."""
        plain = name.isascii() and name.isdigit() and name[0] != "0" and int(name) < 1 << 63
        word = np.array([int(name) if plain else pl.Series([name]).hash(0)[0]], np.uint64)
        first, second = np.frombuffer(cls.secret, "<u8")
        mixed = (
            scramble((word ^ first) * GOLDEN_GAMMA) + np.array([ordinal], np.uint64) * GOLDEN_GAMMA
        )
        return int(scramble(mixed ^ second)[0])


class ContentPriorities:
    """Priorities that depend only on the id and the values of a row, in every partial.

    Equal rows have equal priorities, so it does not matter which of them is kept.
    """

    def __init__(self, users: UserScan) -> None:
        self._users = users

    def of(self, rows: pl.DataFrame) -> pl.Series:
        """Priorities for the next rows."""
        owner, rows = self._users, rows.drop(FLAGS)
        texts = owner._dictionary_columns(rows)
        table = rows.select(
            owner._ids.texts().alias("user"),
            *(owner._dictionary.texts(pl.col(name)).alias(name) for name in texts),
            starts_with("v").exclude(texts).cast(pl.String),
        )
        columns = sorted(table.columns)
        return table.select(pl.struct(columns).hash(1).alias("priority")).to_series()


original_init = UserScan.__init__


def prioritize_by_content(patch: pytest.MonkeyPatch) -> None:
    """Use priorities from ids and values from now on, in this process."""

    def init(self: UserScan, *arguments: Any) -> None:
        original_init(self, *arguments)
        self._priorities = ContentPriorities(self)  # type: ignore[assignment]

    patch.setattr(UserScan, "__init__", init)


def freeze_priorities(patch: pytest.MonkeyPatch) -> None:
    """Use repeatable priorities in each release, from a secret drawn in that release."""
    patch.setattr(bounding, "Priorities", KeyedPriorities)

    def keyed(*arguments: Any) -> list[ConfidentialAnswer]:
        patch.setattr(KeyedPriorities, "secret", random_bytes(16))
        return aggregate(*arguments)

    patch.setattr("dpcli.engine.sums.aggregate.aggregate", keyed)
