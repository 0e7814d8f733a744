"""`Composition`: how the losses of several answers add up.

`sequential` is the plain sum. Parallel composition comes before any other: of answers about
disjoint parts of the rows, only the worst part counts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import zip_longest
from typing import ClassVar, NamedTuple, final

from dpcli.numeric.exact import sum_rounded_up
from dpcli.privacy.loss import ZERO_GUARANTEE, DominatingPair, Guarantee, Loss, compose
from dpcli.privacy.unit import Neighbors
from dpcli.problems.light_dataclasses import dataclass

GuaranteeCounts = Mapping[Guarantee, int]
"""Guarantees, each with the number of answers that have it."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A proven bound on the loss of all answers together; `name` is its theorem."""

    loss: Loss
    name: str


class MissingDependencyError(Exception):
    """A composition needs a package that is not installed; the message names it."""


class Composition(ABC):
    """A bound on the loss of all answers, from the guarantee of each.

    A composition knows no mechanism: each mechanism states its own guarantee. The result is the
    least bound within the allowed delta.

    Privacy: the bounds hold for queries that are chosen after seeing earlier answers. If the
    privacy parameters of later releases are chosen in this way as well, the plain sum holds
    (Rogers, Roth, Ullman and Vadhan 2016), and so does a sum of rhos alone (Feldman and Zrnic
    2021). Other bounds, and the choice of the least of several, are proven for parameters that
    were planned in advance.

    The docstring of a subclass has its argument, and `dpcli explain` prints it. `takes_rho` says
    whether losses may be given in rho, `needs_delta` whether only a budget with a delta
    gets a bound below the plain sum, and `condition` what users must obey.
    """

    name: ClassVar[str]
    takes_rho: ClassVar[bool] = False
    needs_delta: ClassVar[bool] = True
    condition: ClassVar[str] = (
        "The total holds if the privacy parameters of later releases are not chosen by looking at "
        "the results of earlier ones."
    )

    @abstractmethod
    def bounds(self, guarantees: GuaranteeCounts, delta: Fraction) -> Iterator[Bound]:
        """Every bound that the composition proves; a bound may use at most `delta`.

        Raises MissingDependencyError if a package that it needs is not installed.
        """

    def remaining(self, budget: Loss, spent: Loss) -> Loss:
        """What is left of a budget: the epsilon of one more pure answer, at its delta."""
        left = max(budget.epsilon - spent.epsilon, Fraction(0))
        return Loss(left, budget.delta)

    @final
    def bound(self, guarantees: GuaranteeCounts, delta: Fraction) -> Bound:
        """The least bound within `delta`, or the first one if none is within it."""
        proven = list(self.bounds(guarantees, delta))
        valid = [bound for bound in proven if bound.loss.delta <= delta]
        return min(valid, key=lambda bound: bound.loss.epsilon, default=proven[0])

    @final
    def total(self, guarantees: GuaranteeCounts, delta: Fraction) -> Loss:
        """The loss of all answers together."""
        return self.bound(guarantees, delta).loss


def total_failure_delta(guarantees: GuaranteeCounts) -> Fraction:
    """An upper bound of the probability that any guarantee fails: the sum over all."""
    return Fraction(sum(times * guarantee.failure_delta for guarantee, times in guarantees.items()))


def plain_sum(guarantees: GuaranteeCounts, rho: Fraction | None = None) -> Bound:
    """The sums of epsilons and of deltas: exact for few terms, otherwise rounded up."""
    epsilon = sum_rounded_up(
        (guarantee.loss.epsilon, times) for guarantee, times in guarantees.items()
    )
    delta = sum_rounded_up((guarantee.loss.delta, times) for guarantee, times in guarantees.items())
    return Bound(Loss(epsilon, delta, rho), "plain sum")


class SequentialComposition(Composition):
    """Epsilons add, and deltas add; exact, and valid for every mechanism.

    Privacy: if each answer is (epsilon_i, delta_i)-private, all of them together are (sum
    epsilon_i, sum delta_i)-private, even if each query was chosen after seeing the answers
    before it (Dwork and Roth 2014, theorem 3.16).
    """

    name = "sequential"
    needs_delta = False
    condition = ""

    def remaining(self, budget: Loss, spent: Loss) -> Loss:
        """What is left of a budget, in epsilon and in delta."""
        zero = Fraction(0)
        return Loss(
            max(budget.epsilon - spent.epsilon, zero), max(budget.delta - spent.delta, zero)
        )

    def bounds(self, guarantees: GuaranteeCounts, delta: Fraction) -> Iterator[Bound]:
        zero, counted = Fraction(0), guarantees.items()
        epsilon = sum((times * guarantee.loss.epsilon for guarantee, times in counted), zero)
        delta = sum((times * guarantee.loss.delta for guarantee, times in counted), zero)
        yield Bound(Loss(epsilon, delta), "plain sum")


Branch = tuple[str, int]
"""A part of the rows: branches with one name and different numbers are disjoint.

The rows of a unit are in at most one of the disjoint branches.
"""


class GuaranteePair(NamedTuple):
    """The guarantees of an answer: for the plan's neighbors, and under add-remove."""

    guarantee: Guarantee
    add_remove: Guarantee


ZERO_PAIR = GuaranteePair(ZERO_GUARANTEE, ZERO_GUARANTEE)


def parallel_composition(
    statistics: Iterable[tuple[Iterable[GuaranteePair], Branch | None]], neighbors: Neighbors
) -> dict[Guarantee, int]:
    """Guarantees whose sum is an upper bound of any unit's loss, each with its count.

    Privacy: adding or removing a row changes the answers about one disjoint part only (McSherry
    2009, theorem 4), so the worst part counts. Replacing a row by another of the same part changes
    that part alone, by what its guarantee allows. Replacing it by a row of another part removes a
    row from one part and adds a row to the other, so their add-remove guarantees add up, and
    the two worst count. The result is an upper bound of both cases.
    """
    counts: Counter[Guarantee] = Counter()
    branches: dict[str, dict[int, list[GuaranteePair]]] = {}
    for pairs, branch in statistics:
        if branch is None:
            counts.update(pair.guarantee for pair in pairs)
        else:
            name, part = branch
            branches.setdefault(name, {}).setdefault(part, []).extend(pairs)
    for parts in branches.values():
        first, second = _worst_parts(parts.values())
        if neighbors is Neighbors.ADD_REMOVE:
            counts.update(pair.guarantee for pair in first)
        else:
            counts.update(_replaced(first, second))
    del counts[ZERO_GUARANTEE]
    return dict(counts)


def _worst_parts(
    parts: Iterable[list[GuaranteePair]],
) -> tuple[list[GuaranteePair], list[GuaranteePair]]:
    """The worst part for neighbors, and the worst other part under add-remove.

    If these two bound all other parts, answer by answer, they are returned as they are. Otherwise
    each part is composed to one pair. The first result is then an upper bound of all parts, the
    second an upper bound of all parts but the largest.
    """
    ordered = sorted(
        (sorted(part, key=lambda pair: _size(pair.guarantee), reverse=True) for part in parts),
        key=lambda part: _size(composed_pair(part).guarantee),
        reverse=True,
    )
    first, second, *rest = *ordered, list[GuaranteePair]()
    if (
        all(_covers(first, part, add_remove=False) for part in ordered)
        and _covers(first, second, add_remove=True)
        and all(_covers(second, part, add_remove=True) for part in rest)
    ):
        return first, second
    composed = list(map(composed_pair, ordered))
    return [_upper_pair(composed)], [_upper_pair(composed[1:])]


def _replaced(first: Sequence[GuaranteePair], second: Sequence[GuaranteePair]) -> list[Guarantee]:
    """The guarantees if a row is replaced by one of the same part, or of another.

    In the same part, the guarantee of the part holds. In two parts, one loses a row and the other
    gains a row, so their add-remove guarantees compose. The result bounds both cases, answer by
    answer. Answers of both parts are kept separate where composition is then tighter: if the
    add-remove guarantee bounds the guarantee for neighbors, and for answers with a delta whose loss
    under add-remove is not known to be smaller, because no composition adds the losses of answers
    with a delta to rhos of other answers.
    """
    found = []
    for (whole, add_remove), (_, of_other) in zip_longest(first, second, fillvalue=ZERO_PAIR):
        joined = upper_bound([whole, compose([add_remove, of_other])])
        if upper_bound([add_remove, whole]) == add_remove:
            found += [add_remove, of_other]
        elif add_remove.loss == whole.loss and whole.loss.delta:
            left = _merged(_counted(joined.dominating_pairs) - _counted(of_other.dominating_pairs))
            rho = joined.rho - of_other.rho
            found += [Guarantee(whole.loss, rho, left, whole.failure_delta), of_other]
        else:
            found.append(joined)
    return found


def composed_pair(part: Sequence[GuaranteePair]) -> GuaranteePair:
    """The guarantee pair of several answers together."""
    return GuaranteePair(
        compose(pair.guarantee for pair in part), compose(pair.add_remove for pair in part)
    )


def _upper_pair(pairs: Sequence[GuaranteePair]) -> GuaranteePair:
    return GuaranteePair(*(upper_bound(guarantees) for guarantees in zip(*pairs, strict=True)))


def _covers(
    left: Sequence[GuaranteePair], right: Sequence[GuaranteePair], *, add_remove: bool
) -> bool:
    """Whether each guarantee of `left` bounds that of `right` in every measure."""
    pairs = zip_longest(left, right, fillvalue=ZERO_PAIR)
    compared = (
        (a.add_remove, b.add_remove) if add_remove else (a.guarantee, b.guarantee) for a, b in pairs
    )
    return all(b in {a, ZERO_GUARANTEE} or upper_bound([a, b]) == a for a, b in compared)


def upper_bound(guarantees: Sequence[Guarantee]) -> Guarantee:
    """A guarantee that is at least each of `guarantees`, in every measure."""
    distinct = list(dict.fromkeys(guarantees))
    if len(distinct) == 1:
        return distinct[0]
    return Guarantee(
        Loss(
            max(guarantee.loss.epsilon for guarantee in distinct),
            max(guarantee.loss.delta for guarantee in distinct),
        ),
        max(guarantee.rho for guarantee in distinct),
        _worst_pairs(
            list(
                dict.fromkeys(
                    guarantee.dominating_pairs
                    for guarantee in distinct
                    if guarantee.dominating_pairs
                )
            )
        ),
        max(guarantee.failure_delta for guarantee in distinct),
    )


def _worst_pairs(groups: Sequence[tuple[DominatingPair, ...]]) -> tuple[DominatingPair, ...]:
    """Pairs whose product is at least as distinguishable as that of each group.

    Pairs of one kind are matched across groups, the strongest first. A match becomes a pair with
    its smallest scale and its largest shift. Pairs of different kinds are all taken. Pairs that are
    not `ordered` are of one kind only if they have one scale.
    """
    if len(groups) == 1:
        return groups[0]
    kinds: dict[object, list[list[DominatingPair]]] = {}
    for index, pairs in enumerate(groups):
        for pair in _counted(pairs).elements():
            kind = type(pair) if pair.ordered else (type(pair), pair.scale)
            kinds.setdefault(kind, [[] for _ in groups])[index].append(pair)
    found: Counter[DominatingPair] = Counter()
    for kind_of_groups in kinds.values():
        by_strength = (
            sorted(pairs, key=lambda pair: pair.shift / pair.scale, reverse=True)
            for pairs in kind_of_groups
        )
        for match in zip_longest(*by_strength):
            same = [pair for pair in match if pair is not None]
            scale, shift = min(pair.scale for pair in same), max(pair.shift for pair in same)
            found[replace(same[0], scale=scale, shift=shift)] += 1
    return next((pairs for pairs in groups if _counted(pairs) == found), _merged(found))


def _merged(counts: Counter[DominatingPair]) -> tuple[DominatingPair, ...]:
    return tuple(replace(pair, times=times) for pair, times in counts.items())


def _counted(pairs: Iterable[DominatingPair]) -> Counter[DominatingPair]:
    counts: Counter[DominatingPair] = Counter()
    for pair in pairs:
        counts[replace(pair, times=1)] += pair.times
    return counts


def _size(guarantee: Guarantee) -> tuple[object, ...]:
    loss = guarantee.loss
    return (loss.epsilon, guarantee.rho, loss.delta, repr(guarantee.dominating_pairs))
