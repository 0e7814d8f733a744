"""How many ids differ from another one only in what an option would ignore.

Confidential, as `check_cells` is, which alone may import this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import chain
from unicodedata import normalize

import polars as pl

from dpcli.data.column import Column, TextOption
from dpcli.data.declared_texts import look


def _joining_options(ids: Column) -> tuple[TextOption, ...]:
    """The options that join ids, without the declared ones."""
    kinds = (kind for kind in ids.takes if issubclass(kind, TextOption))
    return tuple(kind() for kind in kinds if ids.option(kind) is None)


LOOK = "characters that look the same"
"""In what ids differ that a reader may confuse."""


def _look(text: pl.Expr) -> pl.Expr:
    """What ids look like, about as `look` has it."""
    odd = pl.when(text.str.contains("[^ -~]")).then(text).str.normalize("NFD")
    return pl.coalesce(odd.str.replace_many(_looks()), text)


@cache
def _looks() -> dict[str, str]:
    letters = map(chr, chain(range(0x80, 0x3100), range(0xFB00, 0xFFF0)))
    looks = {one: look(one) for one in letters if normalize("NFD", one) == one}
    return {one: seen for one, seen in looks.items() if seen != one}


def id_counts(ids: Column, value: pl.Expr) -> pl.Expr:
    """The rows of each id, with what each option makes of it; texts as hashes."""
    text = value.drop_nulls()
    changed = [_look(text), *(option.changed(text) for option in _joining_options(ids))]
    hashes = [one.hash(seed=0).alias(f"h{index}") for index, one in enumerate((text, *changed))]
    return pl.struct(hashes).value_counts(name="rows").implode().alias("users")


def rows_of_ids(counted: pl.DataFrame) -> pl.DataFrame:
    """The `rows` of each id, from the `id_counts` of all pieces."""
    counts = counted.select(pl.col("users").explode()).unnest("users").drop_nulls()
    hashes, rows = counts.columns
    return counts.group_by(hashes).agg(pl.col(rows).sum()).unnest(hashes)


def joined_ids(ids: Column, users: pl.DataFrame) -> Iterator[tuple[TextOption | None, Fraction]]:
    """The options that would join ids, each with the share of ids that it would join.

    With None, the share of ids that look like another one.
    """
    for index, option in enumerate((None, *_joining_options(ids)), 1):
        is_joined = pl.col("h0").n_unique().over(f"h{index}") > 1
        count = int(users.select(is_joined.sum()).item())
        if count:
            yield option, Fraction(count, len(users))
