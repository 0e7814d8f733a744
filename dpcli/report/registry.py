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

from dpcli import __version__
from dpcli.plan.meaning import promise
from dpcli.plan.model import Plan
from dpcli.plan.notes import bounding, capital, composing, post_processing, selections, unprotected
from dpcli.plan.numbers import exact_or_up, plain_or_up
from dpcli.privacy.loss import loss_text
from dpcli.privacy.relation import Neighbors, RowUnit

if TYPE_CHECKING:
    from dpcli.ledger.charge import Standing
    from dpcli.local.randomize import Randomized
    from dpcli.release import Release

TO_FILL = "TO FILL IN"
"""What marks a field that only people can fill in."""

Value = str | int | Fraction

EXACT = (
    "floating point: none from the cell to the noisy answer; discrete noise, drawn exactly from "
    "the generator of the operating system"
)
CELLWISE = "values are rounded to a declared grid and clamped to declared bounds, cell by cell"


def record(source: Release | Randomized) -> dict[str, object]:
    """The values of a draft that depend on the release."""
    plan, standing = source.plan, source.standing
    spec, privacy = plan.spec, plan.spec.privacy
    person = not isinstance(privacy.unit, RowUnit)
    parameters = {"epsilon": plan.spent.epsilon, "delta": plan.spent.delta or None}
    window = standing.terms.window

    def answer(name: str, question: str) -> str:
        return spec.declarations.answer(name) or f"{TO_FILL}: {question}"

    unit = [promise(spec), *(f"{capital(one)}." for one in bounding(plan))]
    unit.append(answer("privacy_unit", "why the unit is a person, or is not"))
    bounds = answer("bounds", "how bounds, limits and epsilon were chosen")
    timing = answer("timing", "who can measure a release")
    others = answer("other_releases", "of these people")
    days = f" in any {window} consecutive days" if window else ""
    steps = [*selections(plan), *post_processing(plan)]
    return {
        "version": __version__,
        "to_fill": TO_FILL,
        "slug": re.sub(r"[^a-z0-9]+", "-", spec.dataset.lower()).strip("-") or "dataset",
        "answer": answer,
        "plan": plan,
        "created": source.created,
        "variant": _variant(plan),
        "domain": _domain(plan),
        "unprotected": _listed(unprotected(plan)) or "none",
        "person": person,
        "unit": " ".join(unit),
        "population": spec.declarations.population if person else None,
        "parameters": {**parameters, "rho": plan.spent.rho},
        "parameters_details": (
            f"This release: {loss_text(plan.spent)}. All releases from the account {spec.dataset} "
            f"together: at most {loss_text(standing.terms.budget)}{days}."
        ),
        "model": "Central"
        if not plan.is_local
        else "Shuffle"
        if getattr(source, "shuffled", False)
        else "Local",
        "window": window,
        "preparation": _listed([*bounding(plan), CELLWISE, bounds]),
        "mechanisms": _listed(
            [
                *_mechanisms(plan),
                f"implemented by dpcli {__version__}",
                EXACT,
                f"timing: not protected; {timing}",
            ]
        ),
        "composition": _listed(_composition(plan, standing)),
        "steps": _listed(steps) or "none",
        "more": _listed([f"spec: SHA-256 {spec.digest}", f"other releases: {others}"]),
    }


def _variant(plan: Plan) -> str:
    if plan.spec.privacy.budget.rho is not None:
        return "Zero-concentrated DP"
    return "Approximate DP" if plan.spent.delta else "Pure DP"


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
            yield f"{planned.entry.request.name}, {role}: {'exact' if part.public else how}"


def _composition(plan: Plan, standing: Standing) -> Iterator[str]:
    """How losses add up, within the release and over the account."""
    yield f"{plan.spec.privacy.composition.name} composition: {plan.bound.name}"
    if not plan.is_local:
        yield from composing(plan)
    first = ", the first release of the account in it" if standing.first else ""
    yield f"one ledger adds up all releases from the account, this is entry {standing.entry}{first}"


def _listed(sentences: Iterable[str]) -> str:
    """Sentences as a Markdown list, for that is how the registry shows texts."""
    lines = [line for line in sentences if line]
    return lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)


def yaml_scalar(value: Value, depth: int = 0) -> str:
    """A scalar of YAML: a plain number, a block of lines `depth` deep, or a quoted text.

    Texts are quoted in characters that every reader of YAML takes.
    """
    if isinstance(value, Fraction):
        return plain_or_up(value)
    if isinstance(value, int):
        return str(value)
    lines = value.split("\n")
    if len(lines) > 1 and all(one.isprintable() and one.strip() == one != "" for one in lines):
        return "\n".join(["|-", *(f"{'  ' * depth}{line}" for line in lines)])
    return "".join(
        character if character.isprintable() else rf"\U{ord(character):08x}"
        for character in json.dumps(value, ensure_ascii=False)
    )
