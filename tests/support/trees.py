"""Random trees: the parents of the parts at each level but the first."""

from __future__ import annotations

import numpy as np

from dpcli.numeric.arrays import Floats, Ints

Parents = list[Ints]


def random_tree(random: np.random.Generator, depth: int, most: int = 4) -> Parents:
    """The parents at each level but the first."""
    parents, above = [], int(random.integers(1, 4))
    for _ in range(depth):
        of = np.repeat(np.arange(above), random.integers(1, most + 1, above))
        parents.append(of)
        above = len(of)
    return parents


def sizes_of(parents: Parents) -> list[int]:
    """The numbers of each level."""
    return [int(parents[0].max()) + 1, *map(len, parents)]


def sums_of_leaves(parents: Parents) -> list[Floats]:
    """For each level, which leaves each number sums."""
    found = [np.eye(len(parents[-1]))]
    for of in reversed(parents):
        summed = np.zeros((int(of.max()) + 1, len(of)))
        summed[of, np.arange(len(of))] = 1
        found.insert(0, summed @ found[0])
    return found
