"""Parallel composition: of disjoint parts of the rows, only the worst counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise, zip_longest

from dpcli.privacy.dominating_pairs import DominatingPair
from dpcli.privacy.loss import ZERO_GUARANTEE, Guarantee, Loss, compose
from dpcli.privacy.neighboring import Neighbors

Branch = tuple[str, int]
"""The rows that answers are about: branches of one name and different numbers are disjoint.

The rows of a unit are in at most one of the disjoint branches.
"""


def parallel_composition(
    answers: Iterable[tuple[Iterable[Guarantee], Branch | None]], neighbors: Neighbors
) -> dict[Guarantee, int]:
    """Guarantees whose sum is an upper bound of the loss of any unit, each with its count.

    Privacy: adding or removing a row changes the answers about one disjoint part only (McSherry
    2009, theorem 4). Replacing a row changes at most two parts, one by a row that is removed and
    one by a row that is added; each change is smaller than the guarantee of the part allows. So the
    worst part counts, or the two worst.
    """
    counts: Counter[Guarantee] = Counter()
    branches: dict[str, dict[int, list[Guarantee]]] = {}
    for guarantees, branch in answers:
        if branch is None:
            counts.update(guarantees)
        else:
            name, part = branch
            branches.setdefault(name, {}).setdefault(part, []).extend(guarantees)
    changed = 1 if neighbors is Neighbors.ADD_REMOVE else 2
    for parts in branches.values():
        counts.update(_worst_parts(parts.values(), changed))
    del counts[ZERO_GUARANTEE]
    return dict(counts)


def _worst_parts(parts: Iterable[list[Guarantee]], changed: int) -> list[Guarantee]:
    """The guarantees of the worst `changed` parts.

    If each part is covered by the one before it, answer by answer, these are the first parts.
    Otherwise each part counts as one answer. The result is then an upper bound of all parts and,
    if two of them change, an upper bound of all parts but the largest.
    """
    ordered = sorted(
        (sorted(part, key=_size, reverse=True) for part in parts),
        key=lambda part: _size(compose(part)),
        reverse=True,
    )
    first, others = ordered[:changed], ordered[changed:]
    if all(_covers(one, two) for one, two in pairwise(first)) and all(
        _covers(first[-1], part) for part in others
    ):
        return [guarantee for part in first for guarantee in part]
    composed = [compose(part) for part in ordered]
    return [upper_bound(composed[place:]) for place in range(min(changed, len(composed)))]


def _covers(one: Sequence[Guarantee], other: Sequence[Guarantee]) -> bool:
    """Whether each answer of `one` is an upper bound of that of `other`, in every measure."""
    places = zip_longest(one, other, fillvalue=ZERO_GUARANTEE)
    return all(b in {a, ZERO_GUARANTEE} or upper_bound([a, b]) == a for a, b in places)


def upper_bound(guarantees: Sequence[Guarantee]) -> Guarantee:
    """A guarantee that is at least each of these, in every measure."""
    distinct = list(dict.fromkeys(guarantees))
    if len(distinct) == 1:
        return distinct[0]
    return Guarantee(
        Loss(max(one.loss.epsilon for one in distinct), max(one.loss.delta for one in distinct)),
        max(one.rho for one in distinct),
        _worst_pairs(
            list(dict.fromkeys(one.dominating_pairs for one in distinct if one.dominating_pairs))
        ),
        max(one.failure_delta for one in distinct),
    )


def _worst_pairs(groups: Sequence[tuple[DominatingPair, ...]]) -> tuple[DominatingPair, ...]:
    """Pairs whose product is at least as distinguishable as the product of each group.

    If all groups have the same ordered pairs, the pairs with the smallest scales; otherwise the
    pairs of all groups together.
    """
    kinds = {tuple((type(pair), pair.shift, pair.times) for pair in pairs) for pairs in groups}
    if len(kinds) > 1 or any(not pair.ordered for pairs in groups for pair in pairs):
        return tuple(pair for pairs in groups for pair in pairs)
    places = zip(*groups, strict=True)
    return tuple(min(place, key=lambda pair: pair.scale) for place in places)


def _size(guarantee: Guarantee) -> tuple[object, ...]:
    loss = guarantee.loss
    return (loss.epsilon, guarantee.rho, loss.delta, repr(guarantee.dominating_pairs))
