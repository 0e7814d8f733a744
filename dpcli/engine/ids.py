"""Ids and other texts as whole numbers, the same in all files of one scan."""

from __future__ import annotations

import polars as pl

from dpcli.engine.decode import stripped


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

    def users(self, ids: pl.Expr) -> pl.Expr:
        """Whose row it is: numbers that are equal exactly when the ids are; null without an id.

        Ids are texts without the spaces and tabs around them. A plain decimal stands for itself,
        other texts have numbers below zero; `07` is not `7`. No hash stands for a user.
        """
        quick = _plain(ids)
        bare = stripped(pl.when(quick.is_null()).then(ids))
        late = _plain(bare)
        other = self.numbers(pl.when(late.is_null()).then(bare))
        return pl.coalesce(quick, late, -1 - other)


def _plain(text: pl.Expr) -> pl.Expr:
    """The number that a text is as a number is written: signs and zeros sort before `1`."""
    return pl.when(text >= "1").then(text.cast(pl.Int64, strict=False))
