"""What examples in docstrings call: the sensitivities that a plan states."""

from __future__ import annotations

from dpcli.planning.planner import make_plan
from dpcli.specification.load import parse_central_spec

SPEC = """\
dpcli: 1
dataset: town
privacy: {{unit: {unit}, neighbors: {neighbors}, budget: {{epsilon: 10}}}}
columns: {{{columns}}}
statistics: [{{name: n, epsilon: 1, {statistic}}}]
"""


def l1(statistic: str, *, unit: str = "row", **columns: str) -> dict[str, list[int | float]]:
    """The L1 sensitivity of each query of a statistic, for both neighboring relations.

    `columns` are declared by name; without any there is a column that nothing asks about.
    """
    declared = columns or {"unused": "{type: boolean}"}
    found = {}
    for neighbors in ("add-remove", "change-one"):
        text = SPEC.format(
            unit=unit,
            neighbors=neighbors,
            columns=", ".join(f"{name}: {one}" for name, one in declared.items()),
            statistic=statistic,
        )
        (entry,) = make_plan(parse_central_spec(text, "docstring")).statistics
        changes = [part.l1 for part in entry.queries]
        found[neighbors] = [int(one) if one.denominator == 1 else float(one) for one in changes]
    return found
