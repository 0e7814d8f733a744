"""Selections: the best of declared candidates, and the most frequent categories.

Of a column without declared values, the most frequent categories are selected by noisy counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Annotated, Any, ClassVar

from pydantic import Field

from dpcli.data.column import Column
from dpcli.data.kinds import Axis
from dpcli.fields.section import field_types
from dpcli.fields.statistic_fields import (
    BooleanColumnName,
    Candidates,
    FieldFault,
    LabelColumnName,
    NumericColumnName,
    check_max,
)
from dpcli.fields.values import NO_FIXED_LIMIT, Choice, whole_number
from dpcli.noise.distribution import ADDITIVE, Family, Margin
from dpcli.numeric.arrays import integer_array, np
from dpcli.privacy.confidential import Group
from dpcli.privacy.unit import Relation
from dpcli.queries.query import LinearQuery
from dpcli.queries.scores import Accuracy, Frequency, Revenue, ScoreFunction, ScoreQuery
from dpcli.statistics.choices.candidates import Choices, classes_from_each
from dpcli.statistics.choices.ranked_counts import RankedCounts, may_rank
from dpcli.statistics.design import Design, Inputs, NoisyAnswer, WeightedQuery
from dpcli.statistics.estimates import NONNEGATIVE, Estimates
from dpcli.statistics.statistic import Statistic, public_groups

SCORE_FUNCTIONS: dict[str, type[ScoreFunction]] = {"revenue": Revenue, "accuracy": Accuracy}
"""The score functions that `utility` names in a spec."""


UtilityName = Annotated[
    str, Choice("unknown-utility", tuple(SCORE_FUNCTIONS)), Field(examples=["revenue"])
]


class Choose(Statistic):
    """The best of declared `candidates`, by a `utility`, overall or in each group of `by`.

    With `utility: revenue`, each row is an offer. The best price is the one with the greatest
    revenue if everyone who offers as much or more pays it (the auction of McSherry and
    Talwar 2007). With `utility: accuracy`, the best threshold is the one that classifies
    most rows correctly: rows at or above it should be true in the boolean column `label`,
    rows below it false. `value` is the chosen candidate. Its revenue or accuracy is not
    published; another statistic can count that. The expected error in `plan` is the most by
    which its utility falls short of the best.

    Privacy: adding or removing a row changes the revenue at each price up to its offer by
    that price, and so the difference of two revenues by at most the highest price. Changing
    an offer changes it by no more. Adding or removing a row changes the number of rows that
    a threshold classifies correctly by 1 or not at all, all in one direction, and so the
    difference of two such numbers by at most 1; changing a row, by at most 2. The number of
    rows changes by 1.

    >>> x = "{type: integer, bounds: [0, 10]}"
    >>> l1("statistic: choose, column: x, candidates: [5, 8], utility: revenue", x=x)
    {'add-remove': [8, 1], 'change-one': [8, 1]}

    No interval is given: how much worse the other candidates are is private. A noisy number
    of rows, with a tenth of the loss, flags what noise may have chosen, as for `median`. A row
    pays the highest price at most: the error in rows is that in revenue over this price. Where
    offers are far below it, a price without a flag may still be noise.
    """

    name = "choose"
    noun = "best value"
    has_raw = False
    takes = field_types(
        column=NumericColumnName,
        candidates=Candidates,
        utility=UtilityName,
        label=BooleanColumnName | None,
    )
    families = ("choice",)
    in_column_unit = True
    steps = ()

    def faults(self, inputs: Inputs, relation: Relation) -> Iterable[FieldFault]:
        """Faults for accuracy without a label, revenue with one, and prices below zero."""
        needs_label = inputs.utility == "accuracy"
        if needs_label and inputs.label is None:
            yield FieldFault("label-missing", "utility")
        if not needs_label and inputs.label is not None:
            yield FieldFault("label-not-taken", "label", utility=inputs.utility)
        points = inputs.candidates
        if not needs_label and len(points) and (points[0] < 0 or points[-1] <= 0):
            yield FieldFault("price-negative", "candidates")

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        column = inputs.numeric
        key, indexes = classes_from_each(column, inputs.candidates)
        classes: tuple[Axis, ...] = (key,)
        score: ScoreFunction = Revenue(indexes, inputs.candidates)
        step = column.step
        if inputs.label is not None:
            classes, score = (key, Axis(inputs.label)), Accuracy(indexes)
            step = Fraction(1)
        query = ScoreQuery(by=inputs.by, where=inputs.where, classes=classes, score_function=score)
        return (Choices.of(inputs, relation, (inputs.utility, query, step)),)


LabelCount = Annotated[
    int, whole_number(NO_FIXED_LIMIT, "of the labels are chosen"), Field(examples=[3])
]


class TopK(Statistic):
    """The `k` most frequent categories of a column, most frequent first.

    They are found overall or in each group of `by`. `item` is the label, `value` its rank. The
    expected error in `plan` is a number of rows: the most by which a published label falls
    short of a better one.

    Declared labels are put in order by noisy counts, which have all of epsilon, whatever k is,
    and intervals. They are published as NAME.raw. In 95% of cases, or as `confidence` says,
    all intervals of the counts of a group hold together, and so do those of the ranks: an
    interval has all ranks that the counts leave possible. The flag is `no-information` if these
    are all ranks. A limit on the groups of a person rules counts out, because each label of a
    group would count as one: labels are chosen then.
    Choices (`mechanism: permute_and_flip`) take one label by its number of rows, then one of
    the others, and so on; the numbers of rows are not published.

    Labels that are not declared are as private as the rows, and a `delta` is needed. Every
    label in the data gets a noisy count. Of those that reach a threshold, the k greatest
    are published with their counts, NAME.raw, as many as there are: the other ranks are blank and
    flagged `suppressed`. In 95% of cases all intervals of the counts of a group hold together,
    except near the threshold, where counts tend to be too large. Equal noisy counts are ordered by
    label. The expected error is that of a count. What is left of all rows is not published: the
    labels below the threshold are private. Add a `count` of all rows, which is charged, and
    `dpcli sum REPORT --where statistic=COUNT --less NAME.raw` gives the other rows.

    Privacy: the counts of declared labels are a `histogram`: a row that is added or removed
    changes one count by 1, and a row that is changed two. Order, ranks and intervals are
    computed from the noisy counts.

    >>> sex = "{type: category, values: [f, m]}"
    >>> two = "statistic: top_k, column: sex, k: 2, mechanism: "
    >>> l1(two + "laplace", sex=sex)
    {'add-remove': [1], 'change-one': [2]}

    For choices, adding or removing a row changes the difference of two counts by at most 1,
    changing a row by at most 2. Each of the k choices gets 1/k of nine tenths of epsilon
    (McSherry and Talwar 2007), the number of rows, which changes by 1, a tenth.

    >>> l1(two + "permute_and_flip", sex=sex)
    {'add-remove': [2, 1], 'change-one': [4, 1]}

    Labels that are not declared are selected as private keys are. A row has one label, so it
    changes one count by 1, or two if it is changed, and all of epsilon is for that count,
    whatever k is. The counts that are shown are those that were paid for. A label that is in the
    data because of one row alone reaches the threshold with a probability of at most delta, and
    there is no rank for a label below it. Ranks depend on noisy counts and on labels that passed.
    A person changes as many counts as `max_groups` allows; Durfee and Rogers 2019 let people have
    any number of labels, and pay for the k that are shown instead, which is better only if that
    number is above k.

    >>> l1("statistic: top_k, column: city, k: 9, delta: 1e-6", city="{type: category}")
    {'add-remove': [1], 'change-one': [2]}

    No interval is given for choices and for ranks of labels that are not declared: how much less
    frequent the other labels are is private. For choices, a noisy number of rows, with a tenth
    of the loss, flags what noise may have chosen, as for `median`. Labels that are not declared
    have reached a threshold.
    """

    name = "top_k"
    noun = "most frequent labels"
    has_raw = False
    item = "rank"
    chooses_labels = True
    takes = field_types(column=LabelColumnName, k=LabelCount)
    families: ClassVar[tuple[Family, ...]] = ("choice", *ADDITIVE)
    steps = ()

    def variant(
        self, column: Column | None, method: str = "", stated: Collection[str] = ()
    ) -> Statistic:
        return PRIVATE_LABELS[self.name] if column and column.is_private else self

    def complete_inputs(self, bare: Inputs, given: Mapping[str, Any]) -> Inputs:
        inputs = super().complete_inputs(bare, given)
        return inputs if self.selects_labels else replace(inputs, bins=inputs.label_axis)

    def faults(self, inputs: Inputs, relation: Relation) -> Iterable[FieldFault]:
        """The fault of a `k` above the number of labels."""
        labels = len(inputs.label_axis)
        yield from check_max(inputs.k, "k", labels, "of the labels are chosen")

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        axis = inputs.label_axis
        query = ScoreQuery(
            by=inputs.by,
            where=inputs.where,
            classes=(axis,),
            score_function=Frequency(range(len(axis))),
            k=inputs.k,
        )
        choices = LabelChoices.of(inputs, relation, ("frequency", query, Fraction(1)))
        return (RankedCounts.of(inputs), choices) if may_rank(relation) else (choices,)

    def names(self, inputs: Inputs) -> tuple[str, ...]:
        return tuple(str(rank + 1) for rank in range(inputs.k))


class LabelChoices(Choices):
    """Choices of labels, most frequent first."""

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        labels = np.array(self.inputs.label_axis.labels, object)
        chosen = answers[0].values
        ranks = np.arange(len(chosen)) % self.inputs.k + 1
        return self.flag_sizes(Estimates.chosen(ranks, items=labels[chosen]), answers)


class Mode(TopK):
    """The most frequent category of a column, overall or in each group of `by`.

    It is the `top_k` with k = 1: `item` is the label, and `value` its rank, one. Of
    declared labels, it has the greatest noisy count, which is published as NAME.raw. With
    choices, it is chosen by the number of rows that have it. Labels that are not declared
    need a `delta`, as for `top_k`; if none of them has a noisy count that reaches the
    threshold, `item` is blank.

    Privacy: a row that is added or removed changes the count of one label by 1, and a row
    that is changed two counts. For a choice, the difference of two counts changes by at most
    1, or 2 if a row is changed (McSherry and Talwar 2007), and the number of rows by 1. Labels
    that are not declared are protected as for `top_k`.

    >>> sex = "{type: category, values: [f, m]}"
    >>> l1("statistic: mode, column: sex, mechanism: laplace", sex=sex)
    {'add-remove': [1], 'change-one': [2]}
    >>> l1("statistic: mode, column: sex, mechanism: permute_and_flip", sex=sex)
    {'add-remove': [1, 1], 'change-one': [2, 1]}

    No interval is given for a choice and for labels that are not declared. Counts give the
    interval of the rank. A noisy number of rows, with a tenth of the loss, flags a choice that
    noise may have made, as for `median`; labels that are not declared have reached a threshold.
    """

    name = "mode"
    noun = "most frequent label"
    takes = field_types(column=LabelColumnName)
    item = ""


MAX_PRIVATE_LABELS = 1_000
"""The largest `k` of undeclared labels: a line is published for every rank."""


class SelectedLabels(Design):
    """The labels with the greatest of the noisy counts that reach the threshold.

    Intervals: if M counts of a group reach the threshold, each has a margin with which all M hold
    together with the confidence p (union bound), so those of the k greatest do as well. It is not
    known how many labels were below the threshold, and noise may have led one of them above it:
    such labels, near the threshold, are covered less often, as private groups are.
    """

    publishes_answers = True

    def estimate(self, answers: Sequence[NoisyAnswer], confidence: Fraction) -> Estimates:
        """Labels of each group by falling noisy count, then by label; blank if too few."""
        (answer,), k = answers, self.inputs.k
        counted = zip(answer.values.tolist(), answer.groups or (), strict=True)
        labels: dict[Group, list[tuple[int, str]]] = {}
        for count, (*keys, label) in sorted(counted, key=lambda pair: (-pair[0], pair[1])):
            labels.setdefault(tuple(keys), []).append((count, label))
        shown: list[tuple[int, str]] = []
        margins: list[Margin] = []
        for group in product(*(key.labels for key in self.inputs.by)):
            own = labels.get(group, [])
            shown += [*own, *[(0, "")] * k][:k]
            margins += [answer.noise.margin(1 - (1 - confidence) / max(len(own), 1))] * k
        items = np.array([label for _, label in shown], object)
        counts = integer_array([count for count, _ in shown])
        before = Estimates.around(counts, margins, Fraction(1)).within((NONNEGATIVE,))
        before = replace(before, items=items, variances=before.variances[:1])
        ranks = Estimates.chosen(np.arange(len(items)) % k + 1, items=items)
        ranks = replace(ranks, before=before.suppressed(items == ""), are_ranks=True)
        return ranks.suppressed(items == "")


class TopKPrivate(TopK):
    """The `k` labels with the greatest noisy counts that reach the threshold.

    `TopK` has the privacy argument. The selected labels and their noisy counts are the private
    answer; ranks are post-processing of it.
    """

    families = ADDITIVE
    selects_labels = True
    derivation = (
        "labels whose noisy count reaches the threshold, the greatest counts first; the intervals "
        "of all counts of a group that reach it hold together"
    )

    def faults(self, inputs: Inputs, relation: Relation) -> Iterable[FieldFault]:
        """Faults for private groups, and for a `k` above `MAX_PRIVATE_LABELS`."""
        yield from public_groups(inputs)
        yield from check_max(inputs.k, "k", MAX_PRIVATE_LABELS, "of the labels are chosen")

    def designs(self, inputs: Inputs, relation: Relation) -> tuple[Design, ...]:
        if inputs.column is None or not inputs.column.is_private:
            raise TypeError("this statistic needs a category column without values")
        query = LinearQuery(by=(*inputs.by, Axis(inputs.column)), where=inputs.where)
        return (SelectedLabels(inputs, (WeightedQuery("count", query),)),)


class ModePrivate(TopKPrivate):
    """The label with the greatest noisy count, if it reaches the threshold."""

    name = "mode"
    noun = "most frequent label"
    takes = Mode.takes
    item = ""


PRIVATE_LABELS: dict[str, TopKPrivate] = {
    statistic.name: statistic for statistic in (TopKPrivate(), ModePrivate())
}
"""Statistics that select private labels, by names of those that choose labels."""
