"""What is told of a local collection and of its plan, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from dpcli import __version__
from dpcli.plan.model import Plan, standard_error
from dpcli.privacy.shuffling import Shuffled
from dpcli.report.facts import guarantee_facts, ledger_facts, loss_fact, outlook_facts
from dpcli.report.notes import LIMITS
from dpcli.report.numbers import Fact, exact_or_up, number, short
from dpcli.report.stewardship import stewardship_facts
from dpcli.spec.model import Response
from dpcli.spec.names import mixed_scripts

if TYPE_CHECKING:
    from dpcli.ledger.outlook import Outlook
    from dpcli.local.randomize import Randomized

REPEATED = (
    "Somebody with several records reveals that many times as much, and a record that is "
    "randomized again pays again: the mean of many responses tells the truth."
)
ORDERED = (
    "Responses stand in the order of the file: where that tells whose is whose, each is protected "
    "by its own noise alone, and an order by something private tells that. `--shuffle` hides it."
)
BARE = "Rounding, clamping and constants for missing cells come before the noise and are public."


def local_facts(collection: Randomized) -> dict[str, Fact]:
    """Everything that the report of a collection tells."""
    plan = collection.plan
    return {
        "dpcli_version": __version__,
        "model": "local",
        "release_id": collection.release_id,
        "created": collection.created,
        **guarantee_facts(plan, collection.standing.balance.remaining, collection.standing.before),
        "responses": [response_facts(one, None) for one in plan.spec.responses],
        "shuffled": collection.shuffled,
        "responses_sha256": collection.digest,
        "unprotected": list(exact(plan)),
        "limits": list(local_limits(plan, shuffled=collection.shuffled)),
        **stewardship_facts(plan, collection.standing.terms.window),
        "ledger": ledger_facts(collection.standing),
    }


def local_plan_facts(
    plan: Plan, found: Outlook, records: int | None, amplified: Shuffled | None
) -> dict[str, Fact]:
    """What is known of a collection before any record is read."""
    told: dict[str, Fact] = {
        "dpcli_version": __version__,
        "model": "local",
        **outlook_facts(plan, found),
        "records": records,
        "responses": [response_facts(one, records) for one in plan.spec.responses],
        "unprotected": list(exact(plan)),
        "limits": list(local_limits(plan, shuffled=amplified is not None)),
        **stewardship_facts(plan, found.window),
    }
    if amplified is not None:
        epsilon = amplified.epsilon
        told["shuffled"] = {
            "records": amplified.records,
            "delta": number(amplified.delta),
            "epsilon": None if epsilon is None else number(epsilon),
            "enough_records": amplified.enough,
            "condition": hiding(plan),
        }
    return told


def response_facts(response: Response, records: int | None) -> dict[str, Fact]:
    """How records respond for one column; with `records`, the expected error too."""
    channel = response.channel
    parameters: dict[str, Fact] = {name: _plain(value) for name, value in channel.record().items()}
    told: dict[str, Fact] = {
        "column": response.column.name,
        "collected": list(response.names),
        "mechanism": response.randomizer.name,
        "parameters": parameters,
        "told": channel.told(),
        "by": [column.name for column in response.by],
        "post": list(response.steps),
        **{key: value for key, value in loss_fact(channel.loss).items() if key != "rho"},
        "rho": number(channel.guarantee.rho),
    }
    if records is not None:
        error = standard_error(response, records)
        told["standard_error"] = None if error is None else number(Fraction(short_float(error)))
    return told


def response_rows(plan: Plan) -> list[tuple[str, ...]]:
    """How records respond, in words and in few digits: one line per column."""
    return [
        (
            one.column.name,
            one.randomizer.name.replace("_", " "),
            one.channel.told(),
            exact_or_up(one.channel.loss.epsilon),
            exact_or_up(one.channel.loss.delta),
        )
        for one in plan.spec.responses
    ]


RESPONSE = ("column", "mechanism", "how", "epsilon", "delta")
"""The headings of these lines."""


def hiding(plan: Plan) -> str:
    """Which records hide each other, and from whom."""
    names = ", ".join(column.name for column in plan.spec.public)
    among = f" that agree in {names}, by which others are told apart" if names else ""
    return f"so many records{among}; against those who see the shuffled responses alone"


def _plain(value: object) -> Fact:
    """A recorded parameter as a fact."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if isinstance(value, int) else str(value)


def short_float(value: float) -> str:
    """A float to six digits, without an exponent."""
    return short(Fraction(value), 6)


def exact(plan: Plan) -> Iterator[str]:
    """What is published as it is."""
    yield "the number of records"
    if plan.spec.public:
        names = ", ".join(column.name for column in plan.spec.public)
        yield f"{names}: declared public, and published as they are"


def local_limits(plan: Plan, *, shuffled: bool) -> Iterator[str]:
    """What a collection does not protect."""
    yield REPEATED
    if not shuffled:
        yield ORDERED
    yield BARE
    yield from LIMITS
    condition = plan.spec.privacy.composition.condition
    if condition:
        yield condition
    mixed = mixed_scripts(plan.spec.dataset)
    if mixed:
        yield mixed
