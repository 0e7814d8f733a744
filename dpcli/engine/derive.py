"""Derived columns as native expressions over decoded columns, exact in integers."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from dpcli.columns import Column, Derivation
from dpcli.derivations import FirstTrue, PositionAmong, Satisfies
from dpcli.engine.row_filter import truth


def derived_value(derivation: Derivation, names: Mapping[Column, str]) -> pl.Expr:
    """The value of a derived column, in its steps or as the position of its label, or null.

    `names` are the names of the decoded inputs.
    """
    match derivation:
        case Satisfies(test):
            return truth(test, names).cast(pl.Int8)
        case FirstTrue(tests):
            positions = (
                pl.when(truth(test, names)).then(pl.lit(place, dtype=pl.Int32))
                for place, test in enumerate(tests)
            )
            return pl.coalesce(positions)
        case PositionAmong(column, texts):
            text, places = pl.col(names[column]), list(range(len(texts)))
            place = text.replace_strict(
                list(texts), places, default=len(texts), return_dtype=pl.Int64
            )
            return pl.when(text.is_not_null()).then(place)
    raise TypeError("a derivation that the engine does not know")
