"""Parallel composition: of answers about disjoint rows, the worst counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from dpcli.privacy.guarantee import PUBLIC, Guarantee, Pair
from dpcli.privacy.loss import Loss
from dpcli.privacy.relation import Neighbors


@dataclass(frozen=True, slots=True)
class Placed:
    """What some answers reveal, and which rows they are about.

    Two that have the same first part of `branch` and different second parts are about
    disjoint rows, of which a unit has one.
    """

    guarantees: tuple[Guarantee, ...]
    branch: tuple[str, int] | None = None


def worst_unit(placed: Sequence[Placed], neighbors: Neighbors) -> dict[Guarantee, int]:
    """Guarantees that are, added up, no less than what any unit can lose.

    Privacy: adding or removing a row changes the answers about one part of the disjoint
    rows alone (McSherry 2009, theorem 4); replacing one changes two parts at most, one by a row
    that goes and one by a row that comes, each of which is less than what the guarantee of the
    part allows. So the worst part counts, or the two worst.

    Parts are compared answer by answer, each list ordered by loss: the list of the worst of
    each place costs, in every measure and under every rule, as much as any of the parts.
    """
    found: Counter[Guarantee] = Counter()
    branches: dict[str, dict[int, list[Guarantee]]] = {}
    for one in placed:
        if one.branch is None:
            found.update(one.guarantees)
        else:
            group, part = one.branch
            branches.setdefault(group, {}).setdefault(part, []).extend(one.guarantees)
    for parts in branches.values():
        ordered = [sorted(part, key=_size, reverse=True) for part in parts.values()]
        for place in zip_longest(*ordered, fillvalue=PUBLIC):
            rest = sorted(place, key=_size)
            found[worst_of(rest)] += 1
            if neighbors is Neighbors.CHANGE_ONE and len(rest) > 1:
                found[worst_of(rest[:-1])] += 1
    del found[PUBLIC]
    return dict(found)


def worst_of(guarantees: Sequence[Guarantee]) -> Guarantee:
    """One that is no less than each of these, in every measure."""
    distinct = list(dict.fromkeys(guarantees))
    if len(distinct) == 1:
        return distinct[0]
    return Guarantee(
        Loss(
            max(one.loss.epsilon for one in distinct),
            max(one.loss.delta for one in distinct),
        ),
        max(one.rho for one in distinct),
        _worst_pairs(list(dict.fromkeys(one.pairs for one in distinct if one.pairs))),
        max(one.slack for one in distinct),
    )


def _worst_pairs(each: Sequence[tuple[Pair, ...]]) -> tuple[Pair, ...]:
    """Pairs that are no harder to tell apart than any of these.

    The same pair with less noise, if all are of one kind; else all of them together.
    """
    kinds = {tuple((pair.kind, pair.shift, pair.times) for pair in pairs) for pairs in each}
    if len(kinds) > 1:
        return tuple(pair for pairs in each for pair in pairs)
    places = zip(*each, strict=True)
    return tuple(min(place, key=lambda pair: pair.scale) for place in places)


def _size(guarantee: Guarantee) -> tuple[object, ...]:
    """How much is revealed, for an order of answers."""
    loss = guarantee.loss
    return (loss.epsilon, guarantee.rho, loss.delta, repr(guarantee.pairs))
