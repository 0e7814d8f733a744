"""What readers of the numbers of a release must know, in sentences; not escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dpcli.data.polars_text import pl
from dpcli.report.captions import together
from dpcli.report.numbers import POPULATION
from dpcli.statistics.quality.completeness import Complete

if TYPE_CHECKING:
    from dpcli.report.first_counts import QualityReport
    from dpcli.report.numbers import NumberTable
    from dpcli.report.report import Report
    from dpcli.report.statistic import StatisticReport

EQUAL = {"index": 100}
"""What an item is if both compared numbers are equal; ratios are one."""


def quality_note(check: QualityReport, report: Report) -> str:
    """What a quality check that passed has counted."""
    # Earlier versions counted all rows, in the first line.
    fine = check.table[len(check.counts) - 1 if check.counts else 0]
    required = [line for line in check.table if check.counts and line[2] and line[4]]
    label, about, low, high, *_ = [*required, fine][0]
    if check.counts and not required:
        stated = report.release
        units = stated.spec.rows_are if stated.privacy.unit == "row" else "people"
        label = f"{units} without a fault"
    return f"quality check: about {about} {label} ({low} to {high}), no minimum missed"


def left_out_notes(report: Report) -> Iterator[str]:
    """What is left out of numbers, or may be, with the names of their statistics."""
    left_out = []
    for one in report.release.statistics:
        whole = "" if one.complete == Complete.YES else one.complete_sentence
        left_out += [(one.name, sentence) for sentence in (one.left_out, whole) if sentence]
    yield from map(": ".join, together(left_out))


def comparison_notes(report: Report) -> Iterator[str]:
    """Whether published differences are more than noise."""
    for statistic, numbers in zip(report.release.statistics, report.numbers, strict=True):
        for sentence in comparison_sentences(statistic, numbers, report.percent):
            yield f"{statistic.name}: {sentence}"


def release_notes(report: Report) -> Iterator[str]:
    """What readers of a release must know of its check and its numbers."""
    if check := report.release.quality:
        yield quality_note(check, report)
    yield from left_out_notes(report)
    yield from comparison_notes(report)


def comparison_sentences(
    stated: StatisticReport, tables: Sequence[NumberTable], percent: str
) -> Iterator[str]:
    """For each compared label, whether its difference is more than noise.

    There is no final point. Sentences follow from published intervals alone, of the confidence
    `percent`. Nothing for statistics that compare nothing. In a population, chance decides as well.
    """
    for numbers in tables if stated.between else ():
        if len(numbers.frame):
            is_population = numbers.name.endswith(POPULATION)
            yield from _sentences(stated, numbers.frame, percent, is_population=is_population)


def _sentences(
    stated: StatisticReport, frame: pl.DataFrame, percent: str, *, is_population: bool
) -> Iterator[str]:
    assert stated.between is not None
    cause, place = ("noise and chance", " in the population") if is_population else ("noise", "")
    items = frame["item"].unique(maintain_order=True).to_list()
    others = len(stated.between.labels) - 1
    differences, ratios = items[others + 1 : 2 * others + 1], items[2 * others + 1 :]
    for index, item in enumerate(differences):
        seen, groups = _excluding(frame, item, 0)
        if not groups:
            continue
        name = f"the difference {item}".removesuffix(" difference") + place
        if stated.by:
            where = f"in {seen:,} of {groups:,} groups: there"
            sentence = f"{name} is more than {cause} {where} its {percent} interval excludes zero"
        elif seen:
            sentence = f"{name} is more than {cause}: its {percent} interval excludes zero"
        else:
            sentence = f"{name} may be {cause} alone: its {percent} interval does not exclude zero"
        if ratios:
            equal = EQUAL.get(ratios[index], 1)
            seen, _ = _excluding(frame, ratios[index], equal)
            number = "one" if equal == 1 else str(equal)
            found = f"{'excludes' if seen else 'does not exclude'} {number}"
            found = f"excludes {number} in {seen:,}" if stated.by else found
            sentence = f"{sentence}; that of {ratios[index]} {found}"
        yield sentence


def _excluding(frame: pl.DataFrame, item: str, number: int) -> tuple[int, int]:
    """How many intervals of an item exclude a number, of how many numbers shown."""
    own = frame.filter((pl.col("item") == item) & (pl.col("value") != ""))
    lower, upper = (own[end].cast(pl.Float64, strict=False) for end in ("lower", "upper"))
    # A blank end excludes nothing.
    return int(((lower > number) | (upper < number)).fill_null(value=False).sum()), len(own)
