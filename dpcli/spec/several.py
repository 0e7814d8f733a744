"""Fields that name several columns: what is related, and of what tables are made."""

from __future__ import annotations

from dataclasses import replace

from dpcli.columns import CategoryColumn, NumericColumn
from dpcli.spec.asking import Asking
from dpcli.spec.keys import groups
from dpcli.spec.nodes import Listing
from dpcli.spec.wording import shown
from dpcli.statistics.base import Request

MOST_TOGETHER = 20
"""Of k columns there are about k^2/2 products, and epsilon is shared by all."""


def read_columns(asking: Asking, request: Request) -> Request | None:
    """`columns`: numbers that are related to each other, or axes of tables."""
    kinds = asking.statistic.fields.columns
    if not kinds or not isinstance(asking.node.get("columns"), Listing):
        return request
    if "category" in kinds:
        return _margins(asking, request)
    found = asking.columns("columns", kinds)
    if found is None or not _enough(asking, "columns", len(found), 2):
        return None
    return replace(request, columns=tuple(one for one in found if isinstance(one, NumericColumn)))


def read_inputs(asking: Asking, request: Request) -> Request | None:
    """`on`: the columns from which another one is predicted."""
    if not asking.takes("on") or asking.node.get("on") is None:
        return request
    found = asking.columns("on", asking.statistic.fields.column)
    if found is None or not _enough(asking, "on", len(found), 1):
        return None
    if request.column in found and request.column is not None:
        asking.problem(
            "column-twice",
            f"{shown(request.column.name)} would predict itself",
            "remove it from `on`",
            "on",
        )
        return None
    columns = [one for one in (*found, request.column) if isinstance(one, NumericColumn)]
    return replace(request, columns=tuple(columns))


def read_label(asking: Asking, request: Request) -> Request | None:
    """`label`: the boolean column that a threshold should tell."""
    word = asking.node.word("label")
    if word is None or not asking.takes("label"):
        return request
    found = asking.columns("label", ("boolean",))
    if not found:
        return None
    (label,) = found
    assert isinstance(label, CategoryColumn)
    return replace(request, label=label)


def _margins(asking: Asking, request: Request) -> Request | None:
    """The axes of all tables, and how many each has."""
    axes = groups(asking.node.get("columns"), asking.user, asking.scope, "columns")
    if axes is None or not _enough(asking, "columns", len(axes), 1):
        return None
    grouped = {key.column.name for key in request.by}
    for key in axes:
        if key.column.name in grouped or key.open:
            asking.problem(
                *(
                    "duplicate-key-column" if key.column.name in grouped else "values-required",
                    f"{shown(key.column.name)} is in `columns` and in `by` at once"
                    if key.column.name in grouped
                    else f"{shown(key.column.name)} has no declared `values`",
                    "remove it from one of them"
                    if key.column.name in grouped
                    else "add `values: [...]`: tables are made of declared labels",
                    "columns",
                )
            )
            return None
    ways = asking.whole("ways", len(axes), "of the columns each table has")
    return None if ways is None else replace(request, margins=axes, ways=ways)


def _enough(asking: Asking, key: str, count: int, least: int) -> bool:
    """Whether there are not too few columns, nor too many; recorded if not."""
    if least <= count <= MOST_TOGETHER:
        return True
    asking.problem(
        "columns-count",
        f"`{key}` has {count} {'column' if count == 1 else 'columns'}, "
        f"expected {least} to {MOST_TOGETHER}",
        "name the columns that belong together; the fewer, the less noise",
        key,
    )
    return False
