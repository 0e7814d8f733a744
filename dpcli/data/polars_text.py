"""Polars, loaded at the first use, and expressions for the texts of cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpcli.data.characters import BLANKS

__all__ = ["BLANKS", "pl"]

if TYPE_CHECKING:
    import polars as pl
else:

    class _Polars:
        def __getattr__(self, name: str) -> Any:
            import polars

            setattr(self, name, getattr(polars, name))
            return getattr(polars, name)

    pl = _Polars()

INVISIBLE = r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}&&[^\x{200C}\x{200D}]]"
"""Control and format characters and line ends, which no published key may hold.

Without these characters, different keys look different, and no key changes the direction of other
text. Two characters that join letters are allowed, because some scripts need them.
"""

LONGEST_KEY = 1000
"""Characters of the longest text that may be published as a key."""


def strip_blanks(text: pl.Expr) -> pl.Expr:
    """The text without `BLANKS` around it; null if nothing is left."""
    bare = text.str.strip_chars(BLANKS)
    return pl.when(bare != "").then(bare)


def private_key(text: pl.Expr) -> pl.Expr:
    """A text that may be published as a key: not too long, no `INVISIBLE` characters."""
    bare = strip_blanks(text)
    is_short = bare.str.len_chars() <= LONGEST_KEY
    return pl.when(is_short & ~bare.str.contains(INVISIBLE)).then(bare)


def lower_texts(texts: Sequence[str]) -> list[str]:
    """The texts in lower case, as the expressions of polars make them."""
    return pl.Series(texts, dtype=pl.String).str.to_lowercase().to_list()


def position_of_code(codes: pl.Expr, positions: Sequence[int]) -> pl.Expr:
    """The position of each declared text's label, from the text's index (`Enum`)."""
    indices = list(range(len(positions)))
    codes = codes.to_physical()
    if positions == indices:
        return codes
    return codes.replace_strict(indices, positions, default=None, return_dtype=pl.Int32)
