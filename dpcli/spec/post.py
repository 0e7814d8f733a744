"""`post` and `raw`: what is done to noisy answers before they are published."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpcli.privacy.relation import PersonUnit
from dpcli.spec.asking import Asking
from dpcli.spec.nodes import Listing, Mapping, Node, Word, at
from dpcli.spec.scope import read_number
from dpcli.spec.wording import listed, shown
from dpcli.statistics.post import PLAIN, STEPS, Clamp, Step, SuppressBelow, Withhold

BY_NAME = {step.name: step for step in PLAIN}


def read_post(asking: Asking) -> tuple[Step, ...] | None:
    """The steps in their order; None after problems are recorded."""
    node = asking.node.get("post")
    if node is None:
        return tuple(BY_NAME[name] for name in _default_steps(asking))
    if not isinstance(node, Listing):
        return None
    steps = [_step(asking, item) for item in node.items]
    good = tuple(step for step in steps if step is not None)
    if len(good) < len(steps):
        return None
    if any(step.name == "consistent" for step in good[1:]):
        asking.problem(
            "step-order",
            "`consistent` is made of the noisy answers, and is not the first step of `post`",
            "write it first: `post: [consistent, ...]`",
            "post",
        )
        return None
    return good


def _default_steps(asking: Asking) -> tuple[str, ...]:
    """The steps of a statistic that names none.

    Where the limits on people keep other rows for each table, tables need not agree: what
    made them agree would move them from the answers that their intervals are about.
    """
    unit = asking.scope.unit
    limited = isinstance(unit, PersonUnit) and unit.limits_groups
    return () if limited else asking.statistic.default_steps


def read_withhold(asking: Asking) -> tuple[Withhold, ...] | None:
    """The step that leaves out wide intervals, if there is one; None after a problem."""
    word = at(asking.node, "withhold", "wider_than")
    if not isinstance(word, Word):
        return ()
    if asking.statistic.chooses:
        asking.problem(
            "field-not-taken",
            f"{shown(asking.statistic.name)} takes no `withhold`: a choice has no interval",
            "remove `withhold`",
            "withhold",
        )
        return None
    share = read_number(word, "`wider_than`", asking.scope.findings)
    if share is None:
        return None
    if share <= 0:
        asking.scope.findings.add(
            "not-in-range",
            f"`wider_than` is {shown(word.text)}, expected a number above zero",
            "write `withhold: {wider_than: 0.5}` to leave out numbers that can be off by half "
            "of their value",
            word.span,
        )
        return None
    return (Withhold(share),)


def read_raw(asking: Asking, steps: Sequence[Step]) -> bool | None:
    """Whether noisy answers are published too; None after a problem is recorded.

    By default they are where totals were made consistent, unless some numbers are left out: what
    is left out must not stand in the table under another name.
    """
    word = asking.node.word("raw")
    if word is None:
        names = {step.name for step in steps}
        return bool(asking.statistic.default_steps) and names == {"consistent"}
    if word.text not in ("true", "false"):
        asking.scope.findings.add(
            "not-true-or-false",
            f"`raw` is {shown(word.text)}, expected `true` or `false`",
            "write `raw: true` to publish the noisy answers too",
            word.span,
        )
        return None
    if word.text == "true" and not asking.statistic.keeps_raw:
        asking.problem(
            "raw-not-taken",
            f"{shown(asking.statistic.name)} has no number of its own before what is done to it",
            "remove `raw`",
            "raw",
        )
        return None
    if word.text == "true" and any(step.name == Withhold.name for step in steps):
        asking.problem(
            "raw-of-withheld",
            f"{asking.user} withholds wide intervals, and `raw: true` would publish the numbers "
            "that are left out",
            "remove `raw`; without `withhold`, the column `flag` still marks wide intervals",
            "raw",
        )
        return None
    return word.text == "true"


def _step(asking: Asking, node: Node) -> Step | None:
    """One step, by its name or by its name and numbers."""
    findings = asking.scope.findings
    if isinstance(node, Word):
        name, inner, span = node.text, None, node.span
    elif isinstance(node, Mapping) and len(node.pairs) == 1:
        ((name, (key, inner)),) = node.pairs.items()
        span = key.span
    else:
        findings.add(
            "wrong-shape",
            "a step of `post` has several names, expected one",
            "write a list: `post: [nonnegative, {clamp: [0, 100]}]`",
            node.span,
        )
        return None
    names = [step.name for step in STEPS]
    if name not in names:
        findings.unknown(
            "unknown-step",
            f"the step of `post` is {shown(name)}, expected {listed(names, 'or')}",
            name,
            names,
            span,
        )
        return None
    if name not in asking.statistic.steps:
        takes = listed(asking.statistic.steps) if asking.statistic.steps else "none"
        findings.add(
            "step-not-taken",
            f"{shown(asking.statistic.name)} takes no step {shown(name)} in `post`; "
            f"it takes {takes}",
            "remove the step",
            span,
        )
        return None
    if (name in BY_NAME) != (inner is None):
        example = {"clamp": "{clamp: [0, 100]}", "suppress_below": "{suppress_below: 10}"}
        findings.add(
            "step-numbers",
            f"the step {shown(name)} {'takes no numbers' if name in BY_NAME else 'needs numbers'}",
            f"write `{example.get(name, name)}`",
            span,
        )
        return None
    return BY_NAME[name] if inner is None else _numbered(asking, name, inner)


def _numbered(asking: Asking, name: str, node: Node) -> Step | None:
    """A step with its numbers."""
    findings = asking.scope.findings
    items = node.items if isinstance(node, Listing) else (node,)
    wanted = 2 if name == "clamp" else 1
    words = [item for item in items if isinstance(item, Word)]
    if len(words) != wanted or len(items) != wanted:
        findings.add(
            "step-numbers",
            f"the step {shown(name)} has {len(items)} numbers, expected {wanted}",
            "write `{clamp: [0, 100]}`" if wanted == 2 else "write `{suppress_below: 10}`",
            node.span,
        )
        return None
    read = [read_number(word, f"the number of {shown(name)}", findings) for word in words]
    numbers = [value for value in read if value is not None]
    if len(numbers) < wanted:
        return None
    if wanted == 1:
        return SuppressBelow(numbers[0])
    if numbers[0] > numbers[1]:
        findings.add(
            "bounds-order",
            f"the lower end {shown(words[0].text)} of `clamp` is above {shown(words[1].text)}",
            f"write `clamp: [{words[1].text}, {words[0].text}]`",
            node.span,
        )
        return None
    return Clamp(Fraction(numbers[0]), Fraction(numbers[1]))
