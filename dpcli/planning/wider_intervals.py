"""Intervals about all rows and values, where a choice clamps or leaves out some.

A published interval is about clamped values and kept rows: chosen bounds clamp values, and a chosen
limit leaves rows out. The noisy counts that chose either also bound what is clamped or left out, at
no privacy cost: this is post-processing.

Let n be the exact count of a bin beyond a chosen bound, and w the distance of its far end from the
bound. Clamping then takes at most the sum of w n from a total, and from the total of any part of
the rows. Let c be the noisy count of the bin. The published number plus the sum of w c falls short
of the number of all values by no more than the noise of both, whose distribution is known. Each end
of an interval moves by the sum of w c, plus the half-width for both noises, minus the half-width
for the published number alone. It never moves inwards. An end fails where its noise, on one side,
exceeds the half-width: each in half of the cases outside the confidence, and both in all of them.

The mean of all values is the quotient of a total, with all that clamping took from it, and the
number of rows. So each end of an interval is that of a quotient with the sum of w c in its
dividend, for the noise of all answers together (`Quotient.unclamped`).

A chosen limit on rows is a bound for the rows of a person. The rows that it leaves out are at most
the sum of w n, and each adds to a number at most what one row can add.

The confidence is that of all releases: at most 5% of them, at 95%, state an interval that does not
hold. Of the few that state one although noise hides a bin with many rows, far more may not hold:
the same noise makes the interval too narrow. No bound could hold given that: the noise of a count
that falls short of a threshold has an exponential tail, which says nothing about the exact count.

Beyond the outermost bounds or limit, nothing is known: what is stated holds if nothing is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, floor, log10

from dpcli.noise.distribution import Noise
from dpcli.noise.sums import blended_half_width
from dpcli.numeric.arrays import integer_array
from dpcli.numeric.exact import exact_or_up, readable_text, short_up
from dpcli.planning.plan import CentralPlan, PlannedStatistic
from dpcli.planning.results import EstimatedStatistic
from dpcli.privacy.unit import PersonUnit
from dpcli.problems.light_dataclasses import dataclass
from dpcli.statistics.bounds.chosen_bounds import BoundsChoice
from dpcli.statistics.design import Ends, LostByBin, NoisyAnswer
from dpcli.statistics.estimates import HAS_INTERVAL, Estimates


@dataclass(frozen=True, slots=True)
class WiderInterval:
    """How much farther intervals reach that are about all rows and values.

    Every lower end moves by `below`, and every upper end by `above`. `ends` are those of a single
    published number, else None. `sentence` states all this, and on which condition.
    """

    below: Fraction
    above: Fraction
    ends: Ends | None
    sentence: str


@dataclass(frozen=True, slots=True)
class _Lost:
    """What a choice clamps or leaves out.

    `limits` are those of all values; None if rows are left out. `all_of` names all rows or values
    in a sentence, and `condition` is what they must fulfill.
    """

    by_bin: LostByBin
    limits: Ends | None
    all_of: str
    condition: str


def wider_interval(published: EstimatedStatistic, plan: CentralPlan) -> WiderInterval | None:
    """The interval of each number that includes what a choice clamps or leaves out.

    None if nothing is clamped or left out, if the counts of the choice do not bound it, or if they
    bound totals badly: the noise of these counts may exceed the largest published number.
    """
    confidence, estimates = plan.spec.confidence, published.estimates
    lost = _lost(published, plan)
    if lost is None or not len(estimates):
        return None
    if _row_range(published.planned) is None:
        moved = _moved_mean(published, lost, confidence)
    else:
        moved = _moved_totals(published, lost.by_bin, confidence)
    if moved is None:
        return None
    below, above = moved
    ends, ways = None, ((below, "down"), (above, "up"))
    reach = " and ".join(
        f"{readable_text(short_up(by, 3))} farther {way}" for by, way in ways if by
    )
    reach = f"intervals about {lost.all_of} reach {reach or 'no farther'}"
    if len(estimates) == 1:
        low, high = _ends(estimates)
        ends = low - below, high + above
        texts = " to ".join(map(readable_text, _rounded_outwards(*ends)))
        reach = f"an interval about {lost.all_of} is {texts}"
    risk = f"at most {exact_or_up((1 - confidence) * 100)}% of releases state a wrong one"
    return WiderInterval(below, above, ends, f"{reach}, if {lost.condition}; {risk}")


def _rounded_outwards(low: Fraction, high: Fraction) -> Ends:
    """The ends, with two digits of half the width, as other texts show numbers."""
    unit = Fraction(10) ** (floor(log10((high - low) / 2)) - 1) if low < high else Fraction(1)
    return floor(low / unit) * unit, ceil(high / unit) * unit


def _row_range(planned: PlannedStatistic) -> Ends | None:
    """The least and the most that a row adds; None if numbers are no sums over rows."""
    return planned.entry.statistic.row_range(planned.entry.inputs)


def _ends(estimates: Estimates) -> Ends:
    """The ends of the interval of a single number."""
    low, high = (int(end[0]) * estimates.step for end in (estimates.lower, estimates.upper))
    return low, high


def _moved_totals(
    published: EstimatedStatistic, lost: LostByBin, confidence: Fraction
) -> Ends | None:
    """How far down and up the ends of intervals of totals move."""
    planned, estimates = published.planned, published.estimates
    variance, *others = set(estimates.variances)
    error = planned.error(confidence)
    if error is None or variance is None or others:
        return None
    noise, counts = lost.counts.noise, lost.counts.values.tolist()
    fourth = variance**2 * max(map(_excess, planned.noises))
    unit, moved = Fraction(1, 10 ** max(estimates.decimals)), []
    for weights in (lost.below, lost.above):
        margin = _margin(noise, weights, (error, variance, fourth), confidence)
        if margin > int(abs(estimates.value).max()) * estimates.step:
            return None
        total = sum(weight * count for weight, count in zip(weights, counts, strict=True))
        moved.append(max(ceil((total + margin) / unit) * unit, Fraction(0)))
    below, above = moved
    return below, above


def _moved_mean(published: EstimatedStatistic, lost: _Lost, confidence: Fraction) -> Ends | None:
    """How far down and up the ends of the interval of a single mean move."""
    design, estimates = published.planned.design, published.estimates
    if lost.limits is None or len(estimates) > 1 or estimates.status[0] != HAS_INTERVAL:
        return None
    unclamped = design.unclamped(published.answers, lost.by_bin, lost.limits, confidence)
    if unclamped is None:
        return None
    (low, high), (lower, upper) = unclamped, _ends(estimates)
    below, above = (
        max(by, Fraction(0)) if any(distances) else Fraction(0)
        for by, distances in ((lower - low, lost.by_bin.below), (high - upper, lost.by_bin.above))
    )
    return below, above


def _margin(
    noise: Noise,
    weights: Sequence[Fraction],
    published: tuple[Fraction, float, float],
    confidence: Fraction,
) -> Fraction:
    """How much the half-width grows by the noise of weighted counts.

    `published` has the half-width of a number, with the variance and the fourth cumulant of its
    noise.
    """
    error, variance, fourth = published
    sizes = [float(weight) for weight in weights]
    variance += noise.discrete_variance * sum(size**2 for size in sizes)
    fourth += noise.fourth_cumulant(1) * sum(size**4 for size in sizes)
    if not any(sizes):
        return Fraction(0)
    width = Fraction(blended_half_width(fourth, variance, confidence))
    # A sum varies no less than each of its parts. This matters for noise of a step or two.
    return max(width, error, max(weights) * noise.half_width(confidence)) - error


def _excess(noise: Noise) -> float:
    """The excess kurtosis of a noise; a sum of noises has at most the largest."""
    variance = noise.discrete_variance
    return noise.fourth_cumulant(1) / variance**2 if variance else 0.0


def _lost(published: EstimatedStatistic, plan: CentralPlan) -> _Lost | None:
    """What the one choice clamps or leaves out; None if that is not bounded."""
    found = list(_deciding(published, plan))
    if published.planned.entry.post or len(found) != 1:
        return None
    ((choice, counts),) = found
    unit, planned = plan.spec.privacy.unit, published.planned
    if isinstance(unit, PersonUnit):
        return _lost_rows(planned, unit, plan.spec.rows_are, choice, counts)
    return _clamped(planned, choice, counts)


def _lost_rows(
    planned: PlannedStatistic,
    unit: PersonUnit,
    rows_are: str,
    choice: BoundsChoice,
    counts: NoisyAnswer,
) -> _Lost | None:
    """What a chosen limit on the rows of a person leaves out."""
    query, added = planned.queries[0].weighted.query, _row_range(planned)
    is_row_limit = choice.column_name is None and query.row_limit(unit) == unit.max_rows
    if not is_row_limit or query.group_limit(unit) or query.limit_in_group(unit) or added is None:
        return None
    rows_beyond = [max(high - choice.limits[1], 0) for _, high in choice.bins]
    below, above = (
        tuple(max(most, Fraction(0)) * rows for rows in rows_beyond)
        for most in (-added[0], added[1])
    )
    rows = rows_are if unit.singletons_without_id else f"{rows_are} with an id"
    outermost = choice.text(choice.at_candidate(-1))
    condition = f"no person has more than {outermost} {rows_are}, the outermost limit"
    return _Lost(LostByBin(counts, below, above), None, f"all {rows}", condition)


def _clamped(planned: PlannedStatistic, choice: BoundsChoice, counts: NoisyAnswer) -> _Lost | None:
    """What chosen bounds clamp."""
    entry, column = planned.entry, choice.column
    least, most = choice.limits
    below = tuple(max(least - low, 0) * column.step for low, _ in choice.bins)
    above = tuple(max(high - most, 0) * column.step for _, high in choice.bins)
    operands = {operand.name for operand in planned.queries[0].weighted.query.operands}
    if choice.column_name not in operands or any(
        any(distances) and end is not None
        for limits in entry.statistic.limits(entry.inputs)
        for distances, end in zip((below, above), limits, strict=True)
    ):
        # Published intervals end where clamped totals do, but unclamped ones may lie beyond.
        return None
    lower, upper = (limit * column.step for limit in column.limits)
    condition = f"none lies beyond the outermost bounds, {choice.text(choice.at_candidate(-1))}"
    is_sample = planned.design.has_population
    all_of = f"unclamped values{' of the file' * is_sample}"
    return _Lost(LostByBin(counts, below, above), (lower, upper), all_of, condition)


def _deciding(
    published: EstimatedStatistic, plan: CentralPlan
) -> Iterator[tuple[BoundsChoice, NoisyAnswer]]:
    """The choices that affect a statistic, with their noisy counts.

    Under a limit on the rows of a person, the choices of bounds count other rows of that person
    than the statistic may use.
    """
    query = published.planned.queries[0].weighted.query
    valued = {column.name for column in query.valued_columns}
    for choice, histogram in plan.choices:
        is_clamped = choice.column_name in valued & plan.spec.clamped_by_choice
        if choice.chosen is not None and (is_clamped or choice.column_name is None):
            noise = histogram.queries[0].calibrated.noise
            yield choice, NoisyAnswer(integer_array(choice.chosen.counts), noise)
