"""Polars, loaded at the first use, and columns of texts of cells and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpcli.data.characters import BLANKS, MINUS, WIDTHLESS
from dpcli.numeric.arrays import Array
from dpcli.numeric.exact import fixed_point_text

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

BLANK_RUN, NOT_UNIFIED = r"[\t\p{Zs}]+", r"[^ -~]|^ | $|  |^$"
"""Blanks, and a part of every text that `unified_text` may change."""

HYPHENS = r"[\x{2010}\x{2011}\x{FE63}\x{FF0D}]"
"""Characters that are seen as `-`."""

LABEL_HYPHENS = r"[\x{2010}-\x{2013}\x{2212}\x{FE63}\x{FF0D}]"
"""Those, and dashes by which no two labels may differ, such as the one in `0\u20134`."""

LONGEST_KEY = 1000
"""Characters of the longest text that may be published as a key."""


def strip_blanks(text: pl.Expr) -> pl.Expr:
    """The text without `BLANKS` around it; null if nothing is left."""
    bare = text.str.strip_chars(BLANKS)
    return pl.when(bare != "").then(bare)


def unified_text(text: pl.Expr, hyphens: str = HYPHENS) -> pl.Expr:
    """The text in the one spelling of all texts that differ in what no one sees.

    Unicode form NFC, without `WIDTHLESS` characters and blanks around it, each run of blanks within
    as one space, and `hyphens`, and a minus of any form before a number or alone, as `-`. Null if
    nothing is left.
    """
    is_odd = text.str.contains(NOT_UNIFIED)
    # Only odd texts are changed, because the pattern alone takes no longer than to strip blanks.
    seen = pl.when(is_odd).then(text).str.replace_all(f"[{WIDTHLESS}]", "").str.normalize("NFC")
    seen = seen.str.replace_all(BLANK_RUN, " ").str.replace_all(hyphens, "-")
    bare = with_plain_minus(strip_blanks(seen))
    return pl.when(is_odd).then(bare).otherwise(text)


def with_plain_minus(text: pl.Expr) -> pl.Expr:
    """The text with `-` in place of a minus of any form, before a number or alone."""
    return text.str.replace(f"^{MINUS}([.,]?[0-9]|$)", "-${1}")


def private_key(text: pl.Expr) -> pl.Expr:
    """A text that may be published as a key: not too long, no `INVISIBLE` characters."""
    bare = unified_text(text)
    is_short = bare.str.len_chars() <= LONGEST_KEY
    return pl.when(is_short & ~bare.str.contains(INVISIBLE)).then(bare)


def lower_texts(texts: Sequence[str]) -> list[str]:
    """The texts in lower case, as the expressions of polars make them."""
    return pl.Series(texts, dtype=pl.String).str.to_lowercase().to_list()


def position_of_code(codes: pl.Expr, positions: Sequence[int]) -> pl.Expr:
    """The position of each declared text's label, from the text's index (`Enum`)."""
    indices, count = list(range(len(positions))), max(positions, default=0) + 1
    codes = codes.to_physical()
    if positions == [index % count for index in indices]:
        return codes if count == len(indices) else codes % count
    return codes.replace_strict(indices, positions, default=None, return_dtype=pl.Int32)


WORD_DECIMALS = 18
"""Decimals that fit a machine word."""


def decimal_texts(numbers: Array, decimals: int) -> pl.Series:
    """Numbers with `decimals` decimals, from whole units of the last digit."""
    if numbers.dtype == object or decimals > WORD_DECIMALS:
        return pl.Series(
            [fixed_point_text(int(number), decimals) for number in numbers], dtype=pl.String
        )
    number = pl.Series("number", numbers)
    if not decimals:
        return number.cast(pl.String)
    power, size = 10**decimals, pl.col("number").abs()
    sign = pl.when(pl.col("number") < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    # The leading 1 keeps zeros, and is removed.
    digits = (size % power + power).cast(pl.String).str.slice(1)
    text = pl.concat_str(sign, size // power, pl.lit("."), digits)
    return number.to_frame().select(text).to_series()
