"""Parallel composition: of answers about disjoint rows, the worst counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise, zip_longest

from dpcli.privacy.dominating_pairs import DominatingPair
from dpcli.privacy.loss import ZERO_GUARANTEE, Guarantee, Loss, compose
from dpcli.privacy.neighboring import Neighbors

Branch = tuple[str, int]
"""Which rows answers are about: those of the same name and other numbers are disjoint.

Of disjoint rows a unit has one.
"""


def parallel_composition(
    answers: Iterable[tuple[Iterable[Guarantee], Branch | None]], neighbors: Neighbors
) -> dict[Guarantee, int]:
    """Guarantees that are, added up, no less than what any unit can lose.

    Privacy: adding or removing a row changes the answers about one part of the disjoint
    rows alone (McSherry 2009, theorem 4); replacing one changes two parts at most, one by a row
    that goes and one by a row that comes, each of which is less than what the guarantee of the
    part allows. So the worst part counts, or the two worst.
    """
    found: Counter[Guarantee] = Counter()
    branches: dict[str, dict[int, list[Guarantee]]] = {}
    for guarantees, branch in answers:
        if branch is None:
            found.update(guarantees)
        else:
            name, part = branch
            branches.setdefault(name, {}).setdefault(part, []).extend(guarantees)
    changed = 1 if neighbors is Neighbors.ADD_REMOVE else 2
    for parts in branches.values():
        found.update(_worst_parts(parts.values(), changed))
    del found[ZERO_GUARANTEE]
    return dict(found)


def _worst_parts(parts: Iterable[list[Guarantee]], changed: int) -> list[Guarantee]:
    """What the worst of these parts lose, if this number of them changes.

    If each part is no worse than the one before it, answer by answer, the first ones do.
    Else each part counts as one answer, and what is no less than all of them, and then no
    less than all but the largest, does.
    """
    ordered = sorted(
        (sorted(part, key=_size, reverse=True) for part in parts),
        key=lambda part: _size(compose(part)),
        reverse=True,
    )
    first, rest = ordered[:changed], ordered[changed:]
    if all(_covers(one, two) for one, two in pairwise(first)) and all(
        _covers(first[-1], part) for part in rest
    ):
        return [one for part in first for one in part]
    whole = [compose(part) for part in ordered]
    return [worst_of(whole[place:]) for place in range(min(changed, len(whole)))]


def _covers(one: Sequence[Guarantee], other: Sequence[Guarantee]) -> bool:
    """Whether each answer of the first reveals no less, in every measure."""
    places = zip_longest(one, other, fillvalue=ZERO_GUARANTEE)
    return all(b in {a, ZERO_GUARANTEE} or worst_of([a, b]) == a for a, b in places)


def worst_of(guarantees: Sequence[Guarantee]) -> Guarantee:
    """One that is no less than each of these, in every measure."""
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


def _worst_pairs(each: Sequence[tuple[DominatingPair, ...]]) -> tuple[DominatingPair, ...]:
    """Pairs that are at least as distinguishable as any of these.

    The same pair with less noise, if all are of one kind for which that is an order; else all
    of them together.
    """
    kinds = {tuple((type(pair), pair.shift, pair.times) for pair in pairs) for pairs in each}
    if len(kinds) > 1 or any(not pair.ordered for pairs in each for pair in pairs):
        return tuple(pair for pairs in each for pair in pairs)
    places = zip(*each, strict=True)
    return tuple(min(place, key=lambda pair: pair.scale) for place in places)


def _size(guarantee: Guarantee) -> tuple[object, ...]:
    loss = guarantee.loss
    return (loss.epsilon, guarantee.rho, loss.delta, repr(guarantee.dominating_pairs))
