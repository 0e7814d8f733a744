"""The budget: the most that all releases from a dataset may reveal."""

from __future__ import annotations

from fractions import Fraction

from dpcli.composition.base import Composition
from dpcli.privacy.concentrated import zcdp_epsilon
from dpcli.privacy.loss import Loss
from dpcli.spec.findings import Findings
from dpcli.spec.nodes import Mapping, Node, Word
from dpcli.spec.prices import MOST_BUDGET, read_delta, read_epsilon, read_rho
from dpcli.spec.wording import shown


def read_budget(
    node: Node | None, composition: Composition | None, findings: Findings
) -> Loss | None:
    """The budget in epsilon and delta, or in rho at a delta; None after problems."""
    if not isinstance(node, Mapping):
        return None
    if (node.get("epsilon") is None) == (node.get("rho") is None):
        _refuse_count(node, findings)
        return None
    way = "rho" if node.get("epsilon") is None else "epsilon"
    word, delta_word = node.get(way), node.get("delta")
    size = delta = None
    if isinstance(word, Word):
        read = read_epsilon if way == "epsilon" else read_rho
        size = read(word, findings, MOST_BUDGET)
    if delta_word is None:
        delta = Fraction(0)
    elif isinstance(delta_word, Word):
        delta = read_delta(delta_word, findings, zero=True)
    if size is None or delta is None or composition is None:
        return None
    if way == "rho" and composition.name != "zcdp":
        findings.add(
            "rho-not-taken",
            f"the budget is a `rho`, which {shown(composition.name)} composition does not bound",
            "use `composition: zcdp`, or give `epsilon`",
            node.key_span("rho"),
        )
        return None
    if composition.needs_delta and not delta:
        findings.add(
            "delta-required",
            f"{shown(composition.name)} composition needs a `delta`, and the budget has none",
            "add `delta: 1e-6` or so to `budget`, far below one divided by the number of people, "
            "or use `composition: sequential`",
            node.span,
        )
        return None
    return Loss(size, delta) if way == "epsilon" else Loss(zcdp_epsilon(size, delta), delta, size)


def _refuse_count(node: Mapping, findings: Findings) -> None:
    """Records that there is no size of the budget, or that there are two."""
    if node.get("rho") is None:
        findings.add(
            "missing-field",
            "`budget` has no `epsilon`",
            "add `epsilon: ...`, such as `epsilon: 0.5`; smaller protects more",
            node.span,
        )
        return
    findings.add(
        "price-twice",
        "`budget` has `epsilon` and `rho`",
        "keep one of them",
        node.key_span("rho"),
    )
