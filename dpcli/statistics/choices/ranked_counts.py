"""Labels in the order of their noisy counts, with ranks and intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import floor
from typing import ClassVar

from dpcli.noise.distribution import Margin, Noise
from dpcli.noise.sums import blended_margin, range_width
from dpcli.numeric.arrays import Array, Ints, add_exact, multiply_exact, np
from dpcli.numeric.exact import exact_or_up
from dpcli.privacy.unit import Relation
from dpcli.problems.light_dataclasses import dataclass
from dpcli.queries.query import LinearQuery
from dpcli.statistics.design import Design, Inputs, NoisyAnswer, WeightedQuery
from dpcli.statistics.estimates import HAS_INTERVAL, NONNEGATIVE, Estimates


def may_rank(relation: Relation) -> bool:
    """Whether no limit on groups makes counts of labels use fewer rows.

    Labels of counts are groups of a person, so such a limit would leave out more rows.
    """
    return not relation.limits_groups


@dataclass(frozen=True, kw_only=True)
class RankedCounts(Design):
    """Noisy counts of all labels of each group; the k greatest are published.

    Privacy: the answer is a histogram of the labels. A row has at most one label, so it adds one to
    at most one count: adding or removing it changes the counts by 1 in L1 and in L2. Changing it
    moves it from one count to another: 2 in L1, sqrt(2) in L2. A person changes as many rows as the
    limits allow. Neither depends on k. The order, ranks and intervals are computed from the noisy
    counts, the noise and the spec alone.

    Intervals: each of the m noises of a group exceeds w with a probability of at most (1 - p)/m. So
    all m intervals of half-width w hold together with the confidence p (union bound), and those of
    the k greatest noisy counts as well, although noise decides which these are. With the same
    confidence, no two noises of a group differ by more than r (`range_width`). Then labels whose
    noisy counts are more than r above that of a label are more frequent, and those more than r
    below it less frequent. So the noise-free rank lies between one more than the former, and m
    minus the latter, for all labels of the group together.

    Error: of any j labels, j < k, one of the k most frequent labels is missing, and the best label
    missing has the count of one of these. A label is published before a label that is better by
    more than t only if their noises differ by more than t. There are k (m - 1) such pairs of one of
    the k most frequent labels and another label.
    """

    publishes_answers: ClassVar[bool] = True
    is_compared_by_error: ClassVar[bool] = True
    derivation = "labels are put in order by their noisy counts"

    @classmethod
    def of(cls, inputs: Inputs) -> RankedCounts:
        """The design for inputs about a column with declared labels."""
        query = LinearQuery(by=inputs.by, items=(inputs.label_axis,), where=inputs.where)
        reason = (
            "the rows of every label are counted with noise, for all of the loss, whatever the "
            "number of ranks; the interval of a rank has all ranks that the differences of the "
            "noisy counts leave possible"
        )
        return cls(inputs, (WeightedQuery("count", query),), reason=reason)

    @property
    def labels(self) -> int:
        """The number of labels."""
        return self.queries[0].query.cells_per_group

    def error(self, noises: Sequence[Noise], confidence: Fraction) -> Fraction:
        """The most rows by which a published label falls short of a better one after it."""
        pairs = self.inputs.k * (self.labels - 1)
        return Fraction(largest_difference(noises[0], pairs, confidence))

    def margin(self, noise: Noise, confidence: Fraction) -> Margin:
        """The margin of the counts with which all intervals of a group hold together."""
        return noise.margin(1 - (1 - confidence) / self.labels)

    def sentences(self, noises: Sequence[Noise], confidence: Fraction) -> tuple[str, ...]:
        percent, in_group = exact_or_up(confidence * 100), " of a group" if self.inputs.by else ""
        width = self.margin(noises[0], confidence).width
        error = exact_or_up(self.error(noises, confidence))
        stated = (
            f"in {percent}% of cases all published counts{in_group} are within {width:,} of the "
            f"noise-free ones; in {percent}% of cases all ranks are in their intervals; and in "
            f"{percent}% of cases no label falls short of a label after it by more than {error}"
        )
        return self.reason, stated

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        """Ranks with intervals, and before them the counts, in the same order.

        Equal noisy counts are in the order of the declared labels.
        """
        (answer,), k = answers, self.inputs.k
        labels = np.array(self.inputs.label_axis.labels, object)
        counts = answer.values.reshape(-1, len(labels))
        order = np.argsort(multiply_exact(counts, -1), axis=1, kind="stable")[:, :k]
        shown = np.take_along_axis(counts, order, axis=1)
        margin = self.margin(answer.noise, confidence)
        apart = range_width(answer.noise, len(labels), confidence)
        above = _counts_below(
            multiply_exact(add_exact(shown, apart), -1), multiply_exact(counts, -1)
        )
        below = _counts_below(add_exact(shown, -apart)[:, ::-1], counts)[:, ::-1]
        items = labels[order.ravel()]
        numbered = replace(Estimates.around(shown.ravel(), margin, Fraction(1)), items=items)
        ranks = np.tile(np.arange(1, k + 1), len(counts))
        return replace(
            Estimates.chosen(ranks, items=items),
            lower=1 + above.ravel(),
            upper=len(labels) - below.ravel(),
            status=np.full(len(ranks), HAS_INTERVAL, np.int8),
            limits=((Fraction(1), Fraction(len(labels))),),
            before=numbered.within((NONNEGATIVE,)),
            are_ranks=True,
        )


@lru_cache(maxsize=256)
def largest_difference(noise: Noise, pairs: int, confidence: Fraction) -> int:
    """The bound on differences of `pairs` of noises, with this confidence."""
    if not pairs:
        return 0
    one = Fraction(1)
    return floor(blended_margin(noise, one, noise, one, float((1 - confidence) / pairs)))


def _counts_below(ends: Array, counts: Array) -> Ints:
    """How many counts of each group lie below each end; shape (groups, ends).

    The ends of a group do not decrease.
    """
    # In a stable order, an end stands before equal counts, and after all ends before it.
    order = np.argsort(np.concatenate([ends, counts], axis=1), axis=1, kind="stable")
    places = np.argsort(order, axis=1)[:, : ends.shape[1]]
    below: Ints = places - np.arange(ends.shape[1])
    return below
