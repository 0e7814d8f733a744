"""What the tool knows of a release for its record in the register."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dpcli import __version__
from dpcli.plan.model import Plan
from dpcli.privacy.loss import loss_text
from dpcli.privacy.relation import Neighbors, RowUnit
from dpcli.report.meaning import promise
from dpcli.report.notes import bounding, composing
from dpcli.report.numbers import exact_or_up
from dpcli.report.registry.lines import TO_FILL, Marked, Value
from dpcli.spec.model import Declarations, Privacy

if TYPE_CHECKING:
    from dpcli.ledger.charge import Standing


def variant(plan: Plan) -> str:
    """Which kind of differential privacy is claimed."""
    if plan.spec.privacy.budget.rho is not None:
        return "Zero-concentrated DP"
    return "Approximate DP" if plan.spent.delta else "Pure DP"


def domain(plan: Plan) -> str:
    """Which data could have been there."""
    named = ", ".join(f"{column.name} ({column.kind})" for column in plan.spec.columns)
    what = "any number of rows" if _unbounded(plan.spec.privacy) else "a public number of rows"
    if not isinstance(plan.spec.privacy.unit, RowUnit) and not _unbounded(plan.spec.privacy):
        what = "a public number of people, with any rows"
    return f"Tables of {what} with the columns {named}; every cell may hold any text"


def _unbounded(privacy: Privacy) -> bool:
    """Whether presence is protected."""
    return privacy.neighbors is Neighbors.ADD_REMOVE


def loss(plan: Plan, standing: Standing) -> dict[str, Value]:
    """Unit and parameters."""
    privacy, spent = plan.spec.privacy, plan.spent
    person = not isinstance(privacy.unit, RowUnit)
    parameters: dict[str, Value] = {"epsilon": spent.epsilon}
    if spent.delta:
        parameters["delta"] = spent.delta
    if spent.rho is not None:
        parameters["rho"] = spent.rho
    people = plan.spec.declarations.population
    return {
        "privacy_unit": "Person-level" if person else "Row-level (one record)",
        "privacy_unit_details": " ".join(
            [
                promise(privacy),
                *(f"{one[:1].upper()}{one[1:]}." for one in _unit_notes(plan)),
                answer(
                    plan.spec.declarations, "privacy_unit", "why the unit is a person, or is not"
                ),
            ]
        ),
        **({"number_of_privacy_units": people} if people is not None and person else {}),
        "privacy_parameters": parameters,
        "privacy_parameters_details": (
            f"This release: {loss_text(spent)}. All releases from the account "
            f"{plan.spec.dataset} together: at most {loss_text(standing.terms.budget)}"
            f"{_window(standing)}."
        ),
    }


def _unit_notes(plan: Plan) -> list[str]:
    """How people were bounded."""
    return bounding(plan) if not plan.is_local else []


def _window(standing: Standing) -> str:
    """Over which time the budget counts."""
    window = standing.terms.window
    return f" in any {window} consecutive days" if window else ""


def occasions(standing: Standing) -> dict[str, Value]:
    """Whether there is one release or many."""
    window = standing.terms.window
    if window:
        details = f"At most the budget in any {window} consecutive days; nothing bounds all days."
        return {"release_type": "Many releases", "release_type_details": details}
    details = "The account's budget bounds all releases together; what is spent never comes back."
    return {
        "release_type": Marked("One release", "One release, Many releases"),
        "release_type_details": details,
    }


def mechanisms_of(plan: Plan) -> list[str]:
    """How each answer was protected, in a line."""
    return [
        f"{planned.entry.request.name}, {part.question.role}: "
        + (
            "exact"
            if part.public
            else f"{part.mechanism.name.replace('_', ' ')}, scale "
            f"{exact_or_up(part.noise.scale * part.question.unit)}"
        )
        for planned in plan.entries
        for part in planned.parts
    ]


def safeguards(declared: Declarations) -> Iterator[str]:
    """What every release of the tool does against known faults."""
    yield f"implemented by dpcli {__version__}"
    yield (
        "floating point: none from the cell to the noisy answer; discrete noise, drawn exactly "
        "from the generator of the operating system"
    )
    yield f"timing: not protected; {answer(declared, 'timing', 'who can measure a release')}"


def composition(plan: Plan, standing: Standing) -> list[str]:
    """How losses add up, within the release and over the account."""
    told = composing(plan) if not plan.is_local else []
    return [
        f"{plan.spec.privacy.composition.name} composition: {plan.bound.name}",
        *told,
        f"one ledger adds up all releases from the account, this is entry {standing.entry}"
        + (", the first release of the account in it" if standing.first else ""),
    ]


def answer(declared: Declarations, name: str, asked: str) -> str:
    """What is declared, or a mark."""
    return declared.answer(name) or f"{TO_FILL}: {asked}"


def listed(told: Iterable[str]) -> str:
    """Sentences as a Markdown list, for that is how the register shows texts."""
    lines = [line for line in told if line]
    return lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)
