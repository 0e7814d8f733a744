"""Fields that only some statistics take: which are there, and what they say."""

from __future__ import annotations

from collections.abc import Callable

from dpcli.queries import LinearQuery
from dpcli.spec.asking import Asking
from dpcli.spec.candidates import read_candidates, read_picks, read_quantiles, read_utility
from dpcli.spec.entry_shape import Entry as EntryShape
from dpcli.spec.regression import read_method
from dpcli.spec.several import read_columns, read_inputs, read_label
from dpcli.spec.wording import listed, shown
from dpcli.statistics.base import Question, Request
from dpcli.vector_queries import MinimiserQuery

COMMON = {"name", "statistic", "by", "where", "post", "raw", "withhold"}
COMMON |= {"mechanism", "epsilon", "rho", "error", "share", "delta", "calibration"}
"""Fields that every statistic takes."""

FURTHER = tuple(name for name in EntryShape.model_fields if name not in COMMON)
"""Fields that only some take."""

ELSEWHERE = ("bound", "unit_bounds", "keys")
"""Fields that are refused where they are read."""

ADVICE = {
    "columns": "add `columns: [..., ...]`",
    "on": "add `on: [..., ...]` with the columns that predict",
    "ways": "add `ways: 2` or so: how many of the columns each table has",
    "quantiles": "add `quantiles: [0.25, 0.5, 0.75]` or so",
    "candidates": "add `candidates: [..., ...]` or `candidates: {step: ...}`",
    "utility": "add `utility: revenue` or `utility: accuracy`",
    "k": "add `k: 3` or so: how many labels are chosen",
}
"""What to add, for fields that are needed."""

MOST_PRODUCT = 1 << 80
"""Products of steps stay below it, so that the sums of any file fit 128 bits."""

Reader = Callable[[Asking, Request], Request | None]

READERS: tuple[Reader, ...] = (
    read_columns,
    read_inputs,
    read_label,
    read_candidates,
    read_quantiles,
    read_utility,
    read_picks,
    read_method,
)


def right_fields(asking: Asking) -> bool:
    """Whether the fields are those that the statistic takes; what is not is recorded."""
    fields = asking.statistic.fields
    good = True
    for key in FURTHER:
        if key in ELSEWHERE:
            continue
        if asking.node.get(key) is not None and key not in fields.all:
            good = False
            taken = [name for name in EntryShape.model_fields if name in COMMON | fields.all]
            asking.problem(
                "field-not-taken",
                f"{shown(asking.statistic.name)} takes no {shown(key)}; it takes {listed(taken)}",
                f"remove {shown(key)}"
                + (", or use `statistic: histogram`" if key == "bins" else ""),
                key,
            )
    needed = (*(["columns"] if fields.columns else []), *fields.needs)
    for key in dict.fromkeys(needed):
        if asking.node.get(key) is None:
            good = False
            asking.scope.findings.add(
                "missing-field",
                f"{shown(asking.statistic.name)} needs `{key}`, and {asking.user} has none",
                ADVICE[key],
                asking.node.span,
            )
    return good


def read_further(asking: Asking, request: Request) -> Request | None:
    """The request with all that its further fields say; None after problems."""
    good = True
    for reader in READERS:
        read = reader(asking, request)
        good = good and read is not None
        request = read or request
    return request if good else None


def fine_enough(asking: Asking, questions: tuple[Question, ...]) -> bool:
    """Whether products of columns are small enough to be summed; recorded if not."""
    queries = [question.query for question in questions]
    parts = [
        part
        for query in queries
        for part in (query.moments if isinstance(query, MinimiserQuery) else [query])
    ]
    sums = (part for part in parts if isinstance(part, LinearQuery))
    most = max((part.influence.big for part in sums), default=0)
    if most < MOST_PRODUCT:
        return True
    asking.scope.findings.add(
        "grid-too-fine",
        f"{asking.user} multiplies columns, and a product can be 2^80 steps or more",
        "use narrower bounds, or larger steps",
        asking.node.span,
    )
    return False
