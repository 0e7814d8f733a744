"""The quality check in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dpcli.numeric.exact import readable_text, rounded_text
from dpcli.planning.plan import CentralPlan
from dpcli.planning.quality_check import (
    FALSE_STOP,
    RequiredMinimum,
    percent_text,
    required_minimums,
)
from dpcli.planning.words.data import uncounted_names
from dpcli.privacy.unit import PersonUnit
from dpcli.statistics.postprocessing import LIMITED_SHARE
from dpcli.statistics.quality.quality_counts import ERROR_PROBABILITY, counted_limits, noticed_rows


def check_rule(plan: CentralPlan) -> Iterator[str]:
    """When the check stops a release and what it detects, with error probabilities."""
    quality, rows = plan.spec.quality, plan.spec.rows_are
    if quality is None or plan.quality is None:
        return
    minimums, max_limited = tuple(required_minimums(plan)), quality.max_limited
    if all(query.is_exact for query in plan.quality.queries):
        yield (
            f"quality: the number of {rows} is public under change-one, so `min_rows` is "
            "checked exactly, at no privacy cost"
        )
        return
    check = "the check"
    if plan.spec.choices:
        check = "the check and of the counts that choose bounds or limits before it"
    counted = f"{rows}, of people" if quality.min_people is not None else rows
    yield (
        f"quality: noisy counts of {counted} and of readable cells come first; if a minimum "
        "is missed by more than the noise explains, no statistic is answered, only the loss "
        f"of {check} is charged, and the exit status is 8. A file that meets all minimums is "
        f"stopped with a probability of at most {percent_text(FALSE_STOP)}"
    )
    # Columns that require the same share have the same margin.
    yield from dict.fromkeys(_detection_sentence(minimum, plan) for minimum in minimums)
    if counted_limits(plan.quality.entry.inputs):
        share = percent_text(LIMITED_SHARE)
        wrong = percent_text(Fraction(ERROR_PROBABILITY).limit_denominator(1000))
        yield (
            f"quality: noisy counts of people by their rows show at least how many {rows} a "
            f"limit on the number of {rows} of a person leaves out; from {share} on, numbers "
            f"have the flag `limited`, with a chance of at most {wrong} where none is left out"
        )
        noise = plan.quality.queries[-1].calibrated.noise
        for limit in counted_limits(plan.quality.entry.inputs):
            noticed = rounded_text(Fraction(2 * noticed_rows(noise, limit)), 2)
            yield (
                f"quality: that is shown from about {noticed} left-out {rows} on, if people "
                f"have up to twice the limit of {limit:,}; where few people have very many "
                f"{rows}, most of these may be left out unnoticed"
            )
    if max_limited is not None:
        yield (
            f"quality: `max_limited: {readable_text(max_limited)}` stops a file where these "
            "counts show, by more than noise explains, that these limits leave out more "
            f"{rows}"
        )
    if names := uncounted_names(plan):
        stops = "" if max_limited is None else ", and `max_limited` stops no release for them"
        yield (
            f"quality: {names}: {rows} that limits on groups, or on {rows} in a group, leave "
            f"out are not counted, so the flag `limited` does not show them{stops}; the "
            "intervals are about what is kept"
        )


def _detection_sentence(minimum: RequiredMinimum, plan: CentralPlan) -> str:
    """What the check detects, or that its epsilon is too small to detect anything."""
    sure, rows = percent_text(1 - FALSE_STOP), plan.spec.rows_are
    detectable = minimum.detectable if minimum.detectable and minimum.detectable > 0 else None
    if minimum.kind != "cells":
        key, counted = f"min_{minimum.kind}: {minimum.required}", minimum.counted(plan)
        if detectable is None:
            noise = rounded_text(2 * minimum.margin)
            return (
                f"quality: `{key}` is within the noise ({noise} {counted}), so even an empty file "
                "may pass; give `quality` a larger epsilon"
            )
        noticed = rounded_text(detectable)
        return (
            f"quality: `{key}` stops a file with fewer than {noticed} {counted} in {sure} of runs"
        )
    share = rounded_text(minimum.required, 3)
    if detectable is None:
        return (
            f"quality: `min_readable: {share}` notices that no cell of a column can be read "
            f"in files of {minimum.rows_needed:,} {rows} or more, in {sure} of runs; give "
            "`quality` a larger epsilon for smaller files"
        )
    return (
        f"quality: `min_readable: {share}` stops a file of {minimum.rows:,} {rows} when less "
        f"than {percent_text(detectable)} of the cells of a column can be read, in {sure} of "
        "runs"
    )


def counted_rows_note(plan: CentralPlan) -> str:
    """Which rows the check counts; empty if the privacy unit is a row."""
    unit = plan.spec.privacy.unit
    if not isinstance(unit, PersonUnit):
        return ""
    without_id = "" if unit.singletons_without_id else ", and none without an id"
    return f"Counted are the {plan.spec.rows_are} that the limits on people let in{without_id}."
