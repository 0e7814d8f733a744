"""`Composition`: how the losses of several answers add up.

`sequential` is the plain sum. Parallel composition comes before any other: of answers about
disjoint parts of the rows, only the worst case of one unit counts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, combinations, product, zip_longest
from math import prod
from typing import ClassVar, NamedTuple, final

from dpcli.numeric.exact import sum_rounded_up
from dpcli.privacy.loss import ZERO_GUARANTEE, Alternative, Guarantee, Loss, compose, worst_of
from dpcli.privacy.unit import Neighbors
from dpcli.problems.light_dataclasses import dataclass

GuaranteeCounts = Mapping[Guarantee, int]
"""Guarantees, each with the number of answers that have it."""


MAX_ALTERNATIVES = 36
"""Most couples of parts, and most cases of several columns, that are kept apart."""

MAX_COMPARED = 8
"""Most parts, and most alternatives, with which another one is compared."""


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
    """Guarantees whose composition bounds the loss of any unit, each with its count.

    Privacy: adding or removing a row changes the answers about one disjoint part only (McSherry
    2009, theorem 4). Replacing a row by another of the same part changes that part alone, by what
    its guarantee allows. Replacing it by a row of another part removes a row from one part and adds
    a row to the other, so their add-remove guarantees compose. These are the alternatives, of
    which the worst counts. A unit meets one alternative for each column.
    """
    counts: Counter[Guarantee] = Counter()
    branches: dict[str, dict[int, list[GuaranteePair]]] = {}
    for pairs, branch in statistics:
        if branch is None:
            counts.update(pair.guarantee for pair in pairs)
        else:
            name, part = branch
            branches.setdefault(name, {}).setdefault(part, []).extend(pairs)
    columns = [_alternatives(parts.values(), neighbors) for parts in branches.values()]
    if prod(map(len, columns)) <= MAX_ALTERNATIVES:
        columns = [[_ordered(chain.from_iterable(chosen)) for chosen in product(*columns)]]
    for alternatives in columns:
        counts.update(alternatives[0] if len(alternatives) == 1 else [worst_of(alternatives)])
    del counts[ZERO_GUARANTEE]
    return dict(counts)


def _alternatives(
    parts: Iterable[Sequence[GuaranteePair]], neighbors: Neighbors
) -> list[Alternative]:
    """What a unit can change: the guarantees of all answers of each alternative.

    A part is left out if another bounds it, answer by answer; under change-one, if two others do.
    If many are left, the worst part and the worst part but the first bound any two of them.
    """
    exchanged, kept = neighbors is Neighbors.CHANGE_ONE, list[_Part]()
    for part in sorted(map(_Part.of, parts), key=lambda part: _size(part.whole), reverse=True):
        if sum(other.covers(part) for other in kept[:MAX_COMPARED]) <= exchanged:
            kept.append(part)
    alternatives = [part.whole for part in kept]
    couples = list(combinations(kept, 2)) if exchanged else []
    if len(couples) <= MAX_ALTERNATIVES:
        alternatives += [_ordered(_exchanged(one.pairs, two.pairs)) for one, two in couples]
    else:
        singles = [part.single for part in kept]
        alternatives.append((worst_of(singles), worst_of(singles[1:])))
    found: list[Alternative] = []
    for alternative in sorted(alternatives, key=_size, reverse=True):
        if not any(_cover(other, alternative) for other in found[:MAX_COMPARED]):
            found.append(alternative)
    return found


def _exchanged(
    first: Sequence[GuaranteePair], second: Sequence[GuaranteePair]
) -> Iterator[Guarantee]:
    """The guarantees if one part loses a row and the other gains one.

    Two pure ones are composed where an exchange within a part costs more than one of them: the
    result is then comparable with the cost of an exchange.
    """
    for one, other in zip_longest(first, second, fillvalue=ZERO_PAIR):
        both, whole = (one.add_remove, other.add_remove), one.guarantee.loss
        pure = not whole.delta and not other.add_remove.loss.delta
        yield from [compose(both)] if pure and not whole.within(both[0].loss) else both


def composed_pair(part: Sequence[GuaranteePair]) -> GuaranteePair:
    """The guarantee pair of several answers together."""
    return GuaranteePair(
        compose(pair.guarantee for pair in part), compose(pair.add_remove for pair in part)
    )


def _ordered(guarantees: Iterable[Guarantee]) -> Alternative:
    return tuple(sorted(guarantees, key=lambda one: _size([one]), reverse=True))


class _Part(NamedTuple):
    """The answers about one part: for the plan's neighbors, and under add-remove."""

    pairs: Sequence[GuaranteePair]
    whole: Alternative
    single: Alternative

    @classmethod
    def of(cls, pairs: Sequence[GuaranteePair]) -> _Part:
        pairs = sorted(pairs, key=lambda pair: _size([pair.guarantee]), reverse=True)
        whole = tuple(pair.guarantee for pair in pairs)
        return cls(pairs, whole, _ordered(pair.add_remove for pair in pairs))

    def covers(self, other: _Part) -> bool:
        """Whether each answer bounds one of the other part, in both cases."""
        return _cover(self.whole, other.whole) and _cover(self.single, other.single)


def _cover(left: Alternative, right: Alternative) -> bool:
    """Whether each guarantee of `left` bounds that of `right` in every measure."""
    pairs = zip_longest(left, right, fillvalue=ZERO_GUARANTEE)
    return all(b in {a, ZERO_GUARANTEE} or a.covers(b) for a, b in pairs)


def _size(answers: Sequence[Guarantee]) -> tuple[object, ...]:
    whole = answers[0] if len(answers) == 1 else compose(answers)
    return (whole.loss.epsilon, whole.rho, whole.loss.delta, repr(whole.dominating_pairs))
