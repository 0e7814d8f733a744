"""Ids and other texts as whole numbers, the same in all files of one scan."""

from __future__ import annotations

import secrets

import polars as pl

from dpcli.engine.decode import stripped

FIRST_ANONYMOUS_ID = -(1 << 62)
"""From here downwards: rows without an id, each of which is a user of its own."""

SHIFTED = 3
"""Bits of a hash that are cut off, so that it stays above these numbers."""


class Dictionary:
    """The texts met so far as whole numbers from zero on; a text keeps its number."""

    def __init__(self) -> None:
        self._type = pl.Categorical(pl.Categories.random())
        # The numbers are forgotten and assigned again when no column has the type.
        self._kept = pl.Series([], dtype=self._type)

    def numbers(self, texts: pl.Expr) -> pl.Expr:
        """The number of each text as Int64, null for null."""
        return texts.cast(self._kept.dtype).to_physical().cast(pl.Int64)

    def texts(self, numbers: pl.Expr) -> pl.Expr:
        """The text of each number, null for null."""
        return numbers.cast(pl.UInt32).cat.to(self._type).cast(pl.String)


class HashCollisionError(Exception):
    """Two users have the same number: the scan must begin again with other random hashes."""


class UserIdIndex:
    """Whose row it is, as `user`, a whole number, and `id`, a text that is no plain decimal.

    Ids are texts without the spaces and tabs around them. A plain decimal stands for itself, and
    `07` is not `7`. Other texts have a random hash below zero, which is no user by itself: who
    brings rows of one number together compares their texts (`require_distinct`).
    """

    def __init__(self) -> None:
        self._seed = secrets.randbits(64)
        # Who can choose ids must not meet it.
        self._token = pl.lit(secrets.token_hex(16))

    def added(self, rows: pl.LazyFrame, name: str) -> pl.LazyFrame:
        """The rows with `user` and `id` from the texts of a column; both null without an id."""
        text, quick, late = pl.col("id"), pl.col("user"), pl.col("late")
        # Most ids are plain decimals, or texts without blanks: each step looks at what is left.
        return (
            rows.with_columns(_plain(pl.col(name)).alias("user"))
            .with_columns(stripped(pl.when(quick.is_null()).then(pl.col(name))).alias("id"))
            .with_columns(_plain(text).alias("late"))
            .with_columns(pl.when(late.is_null()).then(text).alias("id"))
            .with_columns(pl.coalesce(quick, late, self._hash(text)).alias("user"))
            .drop("late")
        )

    def _hash(self, text: pl.Expr) -> pl.Expr:
        """A number below zero, null for null."""
        number = -1 - (text.hash(self._seed) // (1 << SHIFTED)).cast(pl.Int64)
        return pl.when(text.is_not_null()).then(number)

    def texts(self) -> pl.Expr:
        """The id of each user; of a row without one a text that no other row of any scan has."""
        user = pl.col("user")
        number = user.cast(pl.String)
        own = pl.when(user <= FIRST_ANONYMOUS_ID).then(self._token + number)
        return own.when(user > 0).then(number).otherwise(pl.col("id").cast(pl.String))


def require_distinct(rows: pl.DataFrame) -> None:
    """Raise HashCollisionError if rows that are sorted by user have one number for two texts."""
    if rows["id"].dtype != pl.Null:
        user, text = pl.col("user"), pl.col("id")
        same = (user == user.shift()) & text.ne_missing(text.shift())
        if rows.select(same.any()).item():
            raise HashCollisionError


def _plain(text: pl.Expr) -> pl.Expr:
    """The number that a text is as a number is written: signs and zeros sort before `1`."""
    return pl.when(text >= "1").then(text.cast(pl.Int64, strict=False))
