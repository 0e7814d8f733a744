"""Lies about a release, told consistently: head and digest of the report are made again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from dpcli.proof.verify import content_digest, exact, whole

Report = dict[str, Any]

ZERO = Fraction(0)


def remade(report: Report) -> Report:
    """A report with the head of its entry, and the digest of its content, made again."""
    chain = report["ledger"]["chain"]
    events = [query["event"] for query in _queries(report, ("statistics", "responses"))]
    if report.get("quality") and "ledger" not in report["quality"]:
        events = [query["event"] for query in report["quality"]["queries"]] + events
    text = json.dumps(events, sort_keys=True, separators=(",", ":"), default=whole)
    digest = hashlib.sha256()
    for piece in (
        *(chain["previous"], str(report["ledger"]["entry"]), "release"),
        *(report["spec"]["dataset"], chain["name"], chain["period"], text, chain["payload"]),
    ):
        encoded = (piece or "").encode()
        size = b"\xff" * 8 if piece is None else len(encoded).to_bytes(8, "big")
        digest.update(size + encoded)
    report["ledger"]["head"] = digest.hexdigest()
    report["content_sha256"] = content_digest(report)
    return report


def _queries(report: Report, keys: tuple[str, ...] = ("statistics",)) -> Iterator[Any]:
    for key in keys:
        for part in report.get(key) or []:
            yield from part.get("queries") or [part]


def _first_of_each(report: Report) -> None:
    for part in report["statistics"]:
        first = part["queries"][0]
        part["mechanism"], part["sensitivity"] = first["mechanism"], first["sensitivity"]


def half_noise(report: Report) -> None:
    """Half of the noise, for the same losses."""
    for query in _queries(report):
        query["event"]["scale"] = str(exact(query["event"]["scale"]) / 2)
        query["mechanism"]["scale"] /= 2
        query["error95"] /= 2
    _first_of_each(report)


def half_sensitivity(report: Report) -> None:
    """Half of the noise and of the sensitivity, which have the same losses."""
    half_noise(report)
    for query in _queries(report):
        for key, size in (("l1", 2), ("l2_squared", 4), ("linf", 2)):
            query["event"][key] = str(exact(query["event"][key]) / size)
        for key in ("l1", "l2", "linf"):
            query["sensitivity"][key] /= 2


def half_bounds(report: Report) -> None:
    """Columns whose values lie between the lower bound and the next value."""
    for query in _queries(report):
        for factor in query["terms"].get("factors") or []:
            factor["upper"] = factor["lower"] + 1


def no_columns(report: Report) -> None:
    """Sums of ones in place of those of a column."""
    for query in _queries(report):
        query["terms"].pop("factors", None)


def small_total(report: Report) -> None:
    """Half of the loss in total."""
    privacy = report["privacy"]
    for key in ("spent", "after"):
        privacy[key]["epsilon"] /= 2
    left = privacy["budget"]["epsilon"] - privacy["after"]["epsilon"]
    privacy["remaining"]["epsilon"] = left


def disjoint_rows(report: Report, column: str = "part") -> None:
    """Entries about the same rows that count once."""
    entries, privacy = report["statistics"], report["privacy"]
    for index, part in enumerate(entries):
        for query in part["queries"]:
            query["event"]["disjoint"] = [column, Fraction(index)]
    losses = [part["epsilon"] for part in entries]
    for key in ("spent", "after"):
        privacy[key]["epsilon"] += max(losses) - sum(losses)
    left = privacy["budget"]["epsilon"] - privacy["after"]["epsilon"]
    privacy["remaining"]["epsilon"] = left


def no_terms(report: Report) -> None:
    """Nothing that decides the sensitivities, as in earlier versions, but all else."""
    for query in _queries(report):
        del query["event"]


def few_groups(report: Report) -> None:
    """Fewer groups than are published.

    Comparisons and series publish other lines than groups; if a unit is in one group alone, their
    sensitivities are the same.
    """
    for one in report["statistics"]:
        for query in one["queries"] if one["statistic"] != "comparison" else ():
            terms = query["terms"]
            if terms["rule"] != "repeated" and (terms["groups"] or 0) > 1:
                terms["groups"], query["cells"] = Fraction(1), terms["numbers"]
                query["event"]["cells"] = terms["numbers"]


def other_column(report: Report) -> None:
    """Sums of a column that is not in the spec, and so has any bounds."""
    for query in _queries(report):
        for factor in query["terms"].get("factors") or []:
            factor["column"] += " again"


def small_clamp(report: Report) -> None:
    """Clamps that no one asked for, and that leave little of each row."""
    for query in _queries(report):
        if query["terms"]["rule"] == "sums" and query["terms"].get("factors"):
            query["terms"]["clamp"] = [Fraction(0), Fraction(1)]


def half_quality(report: Report) -> None:
    """Half of the loss and of the minimums of the quality check."""
    if report.get("quality"):
        for part in (report["quality"], *report["quality"]["queries"]):
            part["epsilon"] /= 2
        report["quality"]["min_readable"] = dict.fromkeys(report["quality"]["min_readable"], ZERO)


def large_delta(report: Report) -> None:
    """A budget with a delta that the spec does not allow."""
    for key in ("budget", "remaining"):
        report["privacy"][key]["delta"] += Fraction(1, 10)


def long_window(report: Report) -> None:
    """A budget for more periods than that of the spec."""
    if report["ledger"].get("window"):
        report["ledger"]["window"]["periods"] *= 2


def exact_answers(report: Report) -> None:
    """Counts of all rows, which reveal nothing where their number is public."""
    for query in _queries(report):
        query["terms"].pop("skips", None)
        query["terms"]["offset"] = Fraction(1)


def all_rows(report: Report) -> None:
    """Numbers about some rows that are stated to be about all."""
    for one in report["statistics"]:
        one["where"] = []


def _of_own_noise(report: Report) -> Iterator[Any]:
    """Counts and sums whose intervals follow from the noise of one query."""
    for one in report["statistics"]:
        is_plain = one["statistic"] in ("count", "sum", "histogram") and not one["post"]
        if is_plain and one.get("noise_of_numbers") == "own" and one["cells"]:
            yield one


def known_range(report: Report) -> None:
    """Limits of what is possible that follow from the published numbers, not from the spec."""
    for one in _of_own_noise(report):
        ends = [[cell[key] for cell in one["cells"]] for key in ("lower", "upper")]
        one["layout"]["possible"] = [[min(ends[0]), max(ends[1])]]


def own_step(report: Report) -> None:
    """A step after the noise that no one asked for, so that intervals may have any width."""
    for one in _of_own_noise(report):
        one["post"] = ["whole"]


LIES: tuple[Callable[[Report], None], ...] = (
    *(half_noise, half_sensitivity, half_bounds, no_columns),
    *(small_total, disjoint_rows, no_terms, few_groups, other_column, small_clamp),
    *(half_quality, large_delta, long_window, exact_answers),
    *(all_rows, known_range, own_step),
)
