"""How many groups of a person count, and how many rows in each."""

from __future__ import annotations

import numpy as np

from dpcli.engine.people import Numbers, Words
from dpcli.engine.runs import Flags, ranked


def within(people: Numbers, lots: Words, groups: Numbers, most: int, rows: int) -> Flags:
    """Which rows stay: of each person those in `most` groups, and `rows` in each.

    Rows are taken in the order of their lots: a row is left out when its group has
    enough rows, or when it would be in one group too many. A group below zero is
    nowhere, and such rows are left out.
    """
    stays = np.zeros(len(people), dtype=bool)
    placed = np.flatnonzero(groups >= 0)
    if not len(placed):
        return stays
    who, lot, group = people[placed], lots[placed], groups[placed]
    pairs = ranked(who, group, lot)
    heads = pairs.order[pairs.first]
    chosen = heads_within(who[heads], lot[heads], most)
    fits = chosen[pairs.run] & (pairs.rank < rows)
    stays[placed[pairs.order[fits]]] = True
    return stays


def heads_within(people: Numbers, lots: Words, most: int) -> Flags:
    """Which of the groups of each person stay: the `most` with the least lots."""
    stays = np.zeros(len(people), dtype=bool)
    runs = ranked(people, lots)
    stays[runs.order[runs.rank < most]] = True
    return stays
