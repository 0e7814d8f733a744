"""The choices of a recursion over quantiles, from sealed counts of classes.

`QuantilesQuery` says what is chosen from which rows, and has the privacy argument.
"""

from __future__ import annotations

from dataclasses import replace

from dpcli.noise.bernoulli import BLOCK
from dpcli.noise.candidate_choice import ChoiceNoise
from dpcli.noise.distribution import NO_NOISE, Noise
from dpcli.noise.entropy import random_bytes
from dpcli.numeric.arrays import Array, Ints, np
from dpcli.queries.quantile_recursion import QuantilesQuery


def choose_quantiles(noise: Noise, counts: Array, query: QuantilesQuery) -> Array:
    """The index of a candidate for each quantile, group by group, as one array of int64.

    `counts` has the shape (groups, classes). With `NO_NOISE`, the first of the best candidates of
    each quantile is chosen from all rows.
    """
    if isinstance(noise, ChoiceNoise):
        chosen = [_chosen_cuts(noise, ordered_rows(row, query), query) for row in counts]
        return query.published(np.array(chosen, np.int64).ravel())
    if noise == NO_NOISE:
        scores = (query.rank_scores(counts, item) for item in range(len(query.quantiles)))
        return np.stack([one.argmax(axis=1) for one in scores], axis=1).ravel()
    raise TypeError("a choice needs the noise of choices")


def ordered_rows(counts: Array, query: QuantilesQuery) -> Array:
    """How many rows of a group lie below each cut: first by class, then by a random sub-step.

    The sub-step of each row is uniform and independent of all others. The array has one element
    for each sub-step of each class, and one for the cut above all rows.
    """
    cells = _divided(counts.astype(np.int64), query.substeps)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(cells)])


def _divided(counts: Ints, substeps: int) -> Ints:
    """How many rows of each class have each sub-step, the sub-steps of a class side by side."""
    if substeps == 1:
        return counts
    cells = np.zeros(len(counts) * substeps, np.int64)
    ends = np.cumsum(counts)
    rows = int(ends[-1])
    for start in range(0, rows, BLOCK):
        numbers = np.arange(start, min(start + BLOCK, rows))
        classes = np.searchsorted(ends, numbers, side="right")
        # The number of sub-steps is a power of two up to 2^16, which 16 bits cannot hold.
        drawn = np.frombuffer(random_bytes(2 * len(numbers)), np.uint16) & np.uint16(substeps - 1)
        np.add.at(cells, classes * substeps + drawn, 1)
    return cells


def _chosen_cuts(noise: ChoiceNoise, below: Array, query: QuantilesQuery) -> list[int]:
    """The cuts of one group, for the quantiles in the order of the query."""
    cuts: dict[int | None, int] = {}
    for part in (part for level in query.levels for part in level):
        low = 0 if part.low is None else cuts[part.low]
        high = len(below) - 1 if part.high is None else cuts[part.high]
        scores = part.scores(below[low : high + 1] - below[low])
        scaled = replace(noise, scale=noise.scale * part.largest_change)
        cuts[part.place] = low + int(scaled.pick((scores.max() - scores)[None, :])[0])
    return [cuts[place] for place in query.places]
