"""`Composition`: how the losses of several answers add up.

`sequential` is the rule of the plain sum. Parallel composition comes before any rule: of answers
about disjoint parts of the rows, only the worst part counts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import zip_longest
from typing import ClassVar, NamedTuple, final

from dpcli.privacy.dominating_pairs import DominatingPair
from dpcli.privacy.loss import ZERO_GUARANTEE, Guarantee, Loss, compose
from dpcli.privacy.neighboring import Neighbors
from dpcli.privacy.zcdp_conversion import sum_rounded_up
from dpcli.problems.light_dataclasses import dataclass

GuaranteeCounts = Mapping[Guarantee, int]
"""The guarantees of answers, each with its number of answers."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A proven bound on the loss of all answers together; `name` says which theorem proves it."""

    loss: Loss
    name: str


class MissingDependencyError(Exception):
    """A rule needs a package that is not installed; the message names it."""


class Composition(ABC):
    """A rule that bounds the loss of all answers by the guarantee of each.

    A rule knows no mechanism: each mechanism states its own guarantee. The result is the least
    bound within the allowed delta.

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
    def bounds(self, answers: GuaranteeCounts, delta: Fraction) -> Iterator[Bound]:
        """Every bound that the rule proves; a bound may use at most `delta`.

        Raises MissingDependencyError if a package that it needs is not installed.
        """

    def remaining(self, budget: Loss, spent: Loss) -> Loss:
        """The remaining budget: the epsilon of one more pure answer, at the same delta."""
        left = max(budget.epsilon - spent.epsilon, Fraction(0))
        return Loss(left, budget.delta)

    @final
    def bound(self, answers: GuaranteeCounts, delta: Fraction) -> Bound:
        """The least bound within `delta`, or the first one if none is within it."""
        proven = list(self.bounds(answers, delta))
        valid = [bound for bound in proven if bound.loss.delta <= delta]
        return min(valid, key=lambda bound: bound.loss.epsilon, default=proven[0])

    @final
    def total(self, answers: GuaranteeCounts, delta: Fraction) -> Loss:
        """The loss of all answers together."""
        return self.bound(answers, delta).loss


def total_failure_delta(answers: GuaranteeCounts) -> Fraction:
    """The probability with which any of the guarantees may fail."""
    return Fraction(sum(times * one.failure_delta for one, times in answers.items()))


def plain_sum(answers: GuaranteeCounts, rho: Fraction | None = None) -> Bound:
    """The sums of epsilons and of deltas: exact for few terms, otherwise rounded up."""
    epsilon = sum_rounded_up((one.loss.epsilon, times) for one, times in answers.items())
    delta = sum_rounded_up((one.loss.delta, times) for one, times in answers.items())
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
        """The remaining epsilon and the remaining delta."""
        zero = Fraction(0)
        return Loss(
            max(budget.epsilon - spent.epsilon, zero), max(budget.delta - spent.delta, zero)
        )

    def bounds(self, answers: GuaranteeCounts, delta: Fraction) -> Iterator[Bound]:
        """The exact sums, without rounding."""
        zero, counted = Fraction(0), answers.items()
        epsilon = sum((times * one.loss.epsilon for one, times in counted), zero)
        delta = sum((times * one.loss.delta for one, times in counted), zero)
        yield Bound(Loss(epsilon, delta), "plain sum")


Branch = tuple[str, int]
"""The rows that answers are about: branches of one name and different numbers are disjoint.

The rows of a unit are in at most one of the disjoint branches.
"""


class Answer(NamedTuple):
    """The guarantee of an answer for any neighbor, and for one row that is added or removed."""

    guarantee: Guarantee
    single: Guarantee


NO_ANSWER = Answer(ZERO_GUARANTEE, ZERO_GUARANTEE)


def parallel_composition(
    answers: Iterable[tuple[Iterable[Answer], Branch | None]], neighbors: Neighbors
) -> dict[Guarantee, int]:
    """Guarantees whose sum is an upper bound of the loss of any unit, each with its count.

    Privacy: adding or removing a row changes the answers about one disjoint part only (McSherry
    2009, theorem 4), so the worst part counts. Replacing a row by another of the same part changes
    that part alone, by what its guarantee allows. Replacing it by a row of another part removes a
    row from one part and adds a row to the other, so their guarantees for single rows add up, and
    the two worst count. The result is an upper bound of both cases.
    """
    counts: Counter[Guarantee] = Counter()
    branches: dict[str, dict[int, list[Answer]]] = {}
    for given, branch in answers:
        if branch is None:
            counts.update(answer.guarantee for answer in given)
        else:
            name, part = branch
            branches.setdefault(name, {}).setdefault(part, []).extend(given)
    for parts in branches.values():
        first, second = _worst_parts(parts.values())
        if neighbors is Neighbors.ADD_REMOVE:
            counts.update(answer.guarantee for answer in first)
        else:
            counts.update(_replaced(first, second))
    del counts[ZERO_GUARANTEE]
    return dict(counts)


def _worst_parts(parts: Iterable[list[Answer]]) -> tuple[list[Answer], list[Answer]]:
    """The worst part, and the worst of the others for single rows.

    If the worst parts cover all others, answer by answer, these are parts as they are. Otherwise
    each part counts as one answer. The results are then an upper bound of all parts and, for single
    rows, an upper bound of all parts but the largest.
    """
    ordered = sorted(
        (sorted(part, key=lambda answer: _size(answer.guarantee), reverse=True) for part in parts),
        key=lambda part: _size(composed_answer(part).guarantee),
        reverse=True,
    )
    first, second, *others = *ordered, list[Answer]()
    if (
        all(_covers(first, part, single=False) for part in ordered)
        and _covers(first, second, single=True)
        and all(_covers(second, part, single=True) for part in others)
    ):
        return first, second
    composed = list(map(composed_answer, ordered))
    return [_upper_answer(composed)], [_upper_answer(composed[1:])]


def _replaced(first: Sequence[Answer], second: Sequence[Answer]) -> list[Guarantee]:
    """The guarantees if a row is replaced by one of the same part, or of another.

    They are joined place by place. If the guarantee for single rows covers that for any neighbor,
    the answers of both parts remain separate answers. So do answers with a delta whose loss for
    single rows is not known to be smaller: no rule adds their losses to rhos of others.
    """
    found = []
    for (whole, single), (_, other) in zip_longest(first, second, fillvalue=NO_ANSWER):
        joined = upper_bound([whole, compose([single, other])])
        if upper_bound([single, whole]) == single:
            found += [single, other]
        elif single.loss == whole.loss and whole.loss.delta:
            left = _merged(_counted(joined.dominating_pairs) - _counted(other.dominating_pairs))
            rho = joined.rho - other.rho
            found += [Guarantee(whole.loss, rho, left, whole.failure_delta), other]
        else:
            found.append(joined)
    return found


def composed_answer(part: Sequence[Answer]) -> Answer:
    """The guarantees of several answers together."""
    return Answer(
        compose(answer.guarantee for answer in part), compose(answer.single for answer in part)
    )


def _upper_answer(answers: Sequence[Answer]) -> Answer:
    return Answer(*(upper_bound(guarantees) for guarantees in zip(*answers, strict=True)))


def _covers(one: Sequence[Answer], other: Sequence[Answer], *, single: bool) -> bool:
    """Whether each answer of `one` is an upper bound of that of `other`, in every measure."""
    pairs = zip_longest(one, other, fillvalue=NO_ANSWER)
    compared = ((a.single, b.single) if single else (a.guarantee, b.guarantee) for a, b in pairs)
    return all(b in {a, ZERO_GUARANTEE} or upper_bound([a, b]) == a for a, b in compared)


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

    Pairs of a kind are matched, the strongest first: of each match, the smallest scale and the
    largest shift. Pairs of different kinds are all taken; those that are not ordered are of one
    kind if they have one scale.
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
