"""Ids and other texts as whole numbers, the same in all files of one scan."""

from __future__ import annotations

import secrets

import polars as pl

from dpcli.data.ids import IdColumn
from dpcli.data.options.every import Marks
from dpcli.data.text_cells import strip_blanks
from dpcli.privacy.unit import PersonUnit

FIRST_ANONYMOUS_ID = -(1 << 62)
"""Numbers up to this one are rows without an id, each of which is a separate user."""

DROPPED_BITS = 3
"""Bits of a hash that are dropped, so that its number stays above `FIRST_ANONYMOUS_ID`."""


class TextDictionary:
    """Numbers texts from zero on, in the order of their first use; a text keeps its number."""

    def __init__(self) -> None:
        self._type = pl.Categorical(pl.Categories.random())
        # Polars forgets the numbers when no column has the type, so one column is kept.
        self._kept = pl.Series([], dtype=self._type)

    def numbers(self, texts: pl.Expr) -> pl.Expr:
        """The number of each text as Int64, null for null."""
        return texts.cast(self._kept.dtype).to_physical().cast(pl.Int64)

    def texts(self, numbers: pl.Expr) -> pl.Expr:
        """The text of each number, null for null."""
        return numbers.cast(pl.UInt32).cat.to(self._type).cast(pl.String)


class HashCollisionError(Exception):
    """Two ids have the same number: the scan must start again with other random hashes."""


def id_column(unit: PersonUnit) -> IdColumn:
    """The column of the ids of a privacy unit."""
    ids = IdColumn(unit.column, unit.singletons_without_id, source=unit.source)
    return ids.with_options(Marks(unit.na) if unit.na else None)


class UserIdIndex:
    """The user of each row: `user`, a whole number, and `id`, the text if it is no plain decimal.

    Ids are texts without the spaces and tabs around them. A plain decimal is its own number, and
    `07` is not `7`. Other texts get a random hash below zero, which two ids may share: code that
    brings the rows of one number together must compare their texts (`require_distinct`).
    """

    def __init__(self) -> None:
        self._seed = secrets.randbits(64)
        # It is random, so that no chosen id can be equal to an invented one.
        self._token = pl.lit(secrets.token_hex(16))

    def with_users(self, rows: pl.LazyFrame, cell: pl.Expr) -> pl.LazyFrame:
        """The rows with `user` and `id` from texts; both are null without an id."""
        text, quick, late = pl.col("id"), pl.col("user"), pl.col("late")
        # Most ids are plain decimals, or texts without blanks. Each step reads what is left.
        return (
            rows.with_columns(_plain(cell).alias("user"))
            .with_columns(strip_blanks(pl.when(quick.is_null()).then(cell)).alias("id"))
            .with_columns(_plain(text).alias("late"))
            .with_columns(pl.when(late.is_null()).then(text).alias("id"))
            .with_columns(pl.coalesce(quick, late, self._hash(text)).alias("user"))
            .drop("late")
        )

    def _hash(self, text: pl.Expr) -> pl.Expr:
        """A random number below zero for each text, null for null."""
        number = -1 - (text.hash(self._seed) // (1 << DROPPED_BITS)).cast(pl.Int64)
        return pl.when(text.is_not_null()).then(number)

    def texts(self) -> pl.Expr:
        """The id of each user; without an id, a text that no other row of any scan has."""
        user = pl.col("user")
        number = user.cast(pl.String)
        anonymous = pl.when(user <= FIRST_ANONYMOUS_ID).then(self._token + number)
        return anonymous.when(user > 0).then(number).otherwise(pl.col("id").cast(pl.String))


def require_distinct(rows: pl.DataFrame) -> None:
    """Raise HashCollisionError if one number stands for two texts, in rows sorted by user."""
    if rows["id"].dtype != pl.Null:
        user, text = pl.col("user"), pl.col("id")
        collides = (user == user.shift()) & text.ne_missing(text.shift())
        if rows.select(collides.any()).item():
            raise HashCollisionError


def _plain(text: pl.Expr) -> pl.Expr:
    """The number that a text writes as a plain decimal, else null."""
    # Texts that begin with a sign or a zero sort before `1`.
    return pl.when(text >= "1").then(text.cast(pl.Int64, strict=False))
