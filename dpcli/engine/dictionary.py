"""Texts as whole numbers from zero on, equal exactly when the texts are."""

from __future__ import annotations

import polars as pl


class Dictionary:
    """The texts met so far; each gets the next number, and keeps it."""

    def __init__(self) -> None:
        self._type = pl.Categorical(pl.Categories.random())
        # The numbers are forgotten, and given out anew, when no column has the type.
        self._kept = pl.Series([], dtype=self._type)

    def numbers(self, texts: pl.Expr) -> pl.Expr:
        """The number of each text as Int64, null for null."""
        return texts.cast(self._kept.dtype).to_physical().cast(pl.Int64)

    def texts(self, numbers: pl.Expr) -> pl.Expr:
        """The text of each number, null for null."""
        return numbers.cast(pl.UInt32).cat.to(self._type).cast(pl.String)
