"""What readers of the numbers of a release must know, in sentences; not escaped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpcli.statistics.quality.completeness import Complete

if TYPE_CHECKING:
    from dpcli.report.first_counts import QualityReport
    from dpcli.report.report import Report


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
    left_out: dict[str, list[str]] = {}
    for statistic in report.release.statistics:
        is_whole = statistic.complete == Complete.YES
        for sentence in (statistic.left_out, "" if is_whole else statistic.complete_sentence):
            if sentence:
                left_out.setdefault(sentence, []).append(statistic.name)
    for sentence, names in left_out.items():
        yield f"{', '.join(names)}: {sentence}"


def release_notes(report: Report) -> Iterator[str]:
    """What readers of a release must know of its check and its numbers."""
    if check := report.release.quality:
        yield quality_note(check, report)
    yield from left_out_notes(report)
