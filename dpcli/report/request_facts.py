"""What a plan and a report state about the spec and a requested statistic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dpcli.data.labels import require_labeled
from dpcli.data.numeric import NumericColumn
from dpcli.report.entry_model import BetweenReport, Ends, StatisticReport
from dpcli.report.json_text import JsonNumber, if_known
from dpcli.report.model import ColumnReport, FileReport, SpecReport
from dpcli.specification.model import Caption, Spec
from dpcli.statistics.design import Request

OPTIONS = (
    "quantiles", "utility", "weight", "label", "k", "ways", "method", "ridge", "rows", "candidates",
    "numerator", "denominator", "values", "between", "max_selected", "per",
)  # fmt: skip
"""Keys of the optional fields of a statistic."""

PARTS = ("numerator", "denominator")
"""The fields of a ratio: a column, or the number of rows."""


def caption_texts(caption: Caption) -> dict[str, Any]:
    """The texts of a caption; None where one is not stated."""
    texts = {"title": caption.title, "unit": caption.unit, "note": caption.note}
    return {key: text or None for key, text in texts.items()}


def spec_report(spec: Spec) -> SpecReport:
    """What a report states about a spec itself."""
    captions = spec.column_captions
    # A file may be named several times.
    digests = {file.name: file.sha256 for file in spec.named_files}
    return SpecReport(
        dataset=spec.dataset,
        digest=spec.digest,
        rows_are=spec.rows_are,
        title=spec.caption.title or None,
        note=spec.caption.note or None,
        numbers=spec.numbers or None,
        columns=[
            ColumnReport(
                name=column.name,
                type=column.kind,
                **caption_texts(captions.get(column.name, Caption())),
            )
            for column in spec.columns
        ],
        text=spec.text,
        files=[FileReport(name=name, sha256=digest) for name, digest in digests.items()] or None,
    )


def statistic_options(request: Request) -> dict[str, Any]:
    """The optional fields of a statistic; None where it has none."""
    own = dict(request.options)
    most, axis = own.get("max_selected"), own.get("between")
    return {
        "quantiles": list(map(JsonNumber.of, request.quantiles)) or None,
        "utility": request.utility or None,
        "weight": request.weight.name if request.weight else None,
        "label": request.label.name if request.label else None,
        "k": request.k if request.k > 1 else None,
        "ways": list(request.ways) if len(request.ways) > 1 else next(iter(request.ways), None),
        "method": request.method or None,
        "ridge": if_known(JsonNumber.of, request.ridge),
        "rows": request.rows or None,
        "candidates": len(request.candidates) or None,
        **{name: own[name].name if own[name] else "rows" for name in PARTS if name in own},
        "values": _labels(request, own.get("values")),
        "between": axis and BetweenReport(column=axis.column.name, labels=list(axis.labels)),
        "max_selected": most if most and most < len(request.checked) else None,
        "per": own.get("per"),
    }


def _labels(request: Request, ranges: Any) -> list[str] | None:
    """The labels at the positions of ranges; None without ranges."""
    if ranges is None:
        return None
    return require_labeled(request.column).range_texts(ranges)


def option_words(statistic: StatisticReport) -> Iterator[str]:
    """The optional fields of a statistic in the words of a request."""
    for name in OPTIONS:
        option = getattr(statistic, name)
        if isinstance(option, BetweenReport):
            yield f"between {' and '.join(option.labels)} of {option.column}"
        elif option is not None:
            listed = ", ".join(map(str, option)) if isinstance(option, list) else option
            yield f"with {name} {listed}"


def bounds_of(request: Request) -> Ends | tuple[str, str] | None:
    """The bounds of the column; None without one."""
    column = request.column
    if not isinstance(column, NumericColumn) or column.bounds is None:
        return None
    low, high = map(column.text, column.bounds)
    return (JsonNumber(low), JsonNumber(high)) if column.date_range is None else (low, high)
