"""A draft for the public registry of differential-privacy deployments, as YAML.

What the tool knows is filled in; what only people know is quoted from the declarations of
the spec, or marked. The form is that of the OpenDP Deployments Registry
(opendp/deployments-registry-data, schemas/deployments-schema.yaml, as of 2026).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcli.plan import notes
from dpcli.plan.meaning import promise
from dpcli.plan.model import Plan
from dpcli.plan.numbers import exact_or_up, plain
from dpcli.privacy.loss import loss_text
from dpcli.privacy.relation import Neighbors, RowUnit

if TYPE_CHECKING:
    from dpcli.local.randomize import Randomized
    from dpcli.release import Release

TO_FILL = "TO FILL IN"
"""What marks a field that only people can fill in."""


def record(source: Release | Randomized) -> dict[str, object]:
    """What the template of a draft needs; it words all else by itself."""
    plan, standing = source.plan, source.standing
    privacy, declared = plan.spec.privacy, plan.spec.declarations
    return {
        "to_fill": TO_FILL,
        "answer": lambda key, question: declared.answer(key) or f"{TO_FILL}: {question}",
        "plan": plan,
        "standing": standing,
        "window": standing.terms.window,
        "created": source.created,
        "shuffled": getattr(source, "shuffled", False),
        "slug": re.sub(r"[^a-z0-9]+", "-", plan.spec.dataset.lower()).strip("-") or "dataset",
        "domain": _domain(plan),
        "person": not isinstance(privacy.unit, RowUnit),
        "promise": promise(plan.spec),
        "bounding": notes.bounding(plan),
        "spent": loss_text(plan.spent),
        "budget": loss_text(standing.terms.budget),
        "mechanisms": list(_mechanisms(plan)),
        "composing": [] if plan.is_local else notes.composing(plan),
        "unprotected": list(notes.unprotected(plan)),
        "steps": [*notes.selections(plan), *notes.post_processing(plan)],
    }


def _domain(plan: Plan) -> str:
    privacy = plan.spec.privacy
    named = ", ".join(f"{column.name} ({column.kind})" for column in plan.spec.columns)
    what = "any number of rows"
    if privacy.neighbors is not Neighbors.ADD_REMOVE:
        what = "a public number of rows"
        if not isinstance(privacy.unit, RowUnit):
            what = "a public number of people, with any rows"
    return f"Tables of {what} with the columns {named}; every cell may hold any text"


def _mechanisms(plan: Plan) -> Iterator[str]:
    for one in plan.spec.responses:
        name = one.randomizer.name.replace("_", " ")
        yield f"{one.column.name}: {name}, {one.channel.describe()}"
    for planned in plan.entries:
        for part in planned.parts:
            scale = exact_or_up(part.noise.scale * part.question.unit)
            how = f"{part.mechanism.name.replace('_', ' ')}, scale {scale}"
            role = part.question.role
            yield f"{planned.name}, {role}: {'exact' if part.public else how}"


def listed(sentences: Iterable[str]) -> str:
    """Sentences as a Markdown list, for that is how the registry shows texts."""
    lines = [line for line in sentences if line]
    return lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)


def yaml_scalar(value: str | int | Fraction, depth: int = 0) -> str:
    """A scalar of YAML: a plain number, a block of lines `depth` deep, or a quoted text.

    Texts are quoted in characters that every reader of YAML takes.
    """
    if isinstance(value, Fraction):
        return plain(value)
    if isinstance(value, int):
        return str(value)
    lines = value.split("\n")
    if len(lines) > 1 and all(one.isprintable() and one.strip() == one != "" for one in lines):
        return "\n".join(["|-", *(f"{'  ' * depth}{line}" for line in lines)])
    return "".join(
        character if character.isprintable() else rf"\U{ord(character):08x}"
        for character in json.dumps(value, ensure_ascii=False)
    )
