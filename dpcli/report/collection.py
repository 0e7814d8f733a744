"""What the report of a local collection states."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from dpcli.fields.json import JsonNumber, JsonObject, if_known, number
from dpcli.numeric.exact import rounded_text
from dpcli.planning.words.guarantee import collection_limitations, unprotected_notes
from dpcli.problems.light_dataclasses import dataclass
from dpcli.report.privacy import LedgerReport
from dpcli.report.release import AnyReport, Instant, Sha256, published_fields
from dpcli.specification.model import Response

if TYPE_CHECKING:
    from dpcli.ledger.charge import RandomizedCollection


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseReport(JsonObject):
    """How records respond for one column."""

    column: str
    collected: list[str]
    mechanism: str
    parameters: dict[str, object]
    """Of the randomizer, exactly."""
    description: str
    """How a record responds, in words."""
    by: list[str]
    post: list[str]
    epsilon: JsonNumber
    delta: JsonNumber
    rho: JsonNumber
    event: dict[str, object] | None = None
    """What the ledger records of it, exactly; absent in reports of earlier versions."""

    @classmethod
    def of(cls, response: Response) -> ResponseReport:
        """How records respond for one column."""
        randomizer = response.randomizer
        return ResponseReport(
            column=response.column.name,
            collected=list(response.names),
            mechanism=response.mechanism.name,
            parameters={name: _parameter(value) for name, value in randomizer.record().items()},
            description=randomizer.describe(),
            by=[column.name for column in response.by],
            post=list(response.steps),
            epsilon=number(randomizer.loss.epsilon),
            delta=number(randomizer.loss.delta),
            rho=number(randomizer.guarantee.rho),
            event=randomizer.event(response.column.name, response.mechanism.name).to_json(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedResponseReport(ResponseReport):
    """How a given number of records respond for one column."""

    standard_error: JsonNumber | None

    @classmethod
    def expect(cls, response: Response, records: int) -> PlannedResponseReport:
        """How this number of records responds for one column, with the expected error."""
        error = response.randomizer.standard_error(len(response.column.labels), records)
        digits = None if error is None else rounded_text(Fraction(error), 6, plain=True)
        return ResponseReport.of(response).extended(
            cls, standard_error=if_known(JsonNumber, digits)
        )


def _parameter(value: object) -> object:
    if isinstance(value, list):
        return [_parameter(item) for item in value]
    return JsonNumber(value) if isinstance(value, int) else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionReport(AnyReport):
    """Report of a local collection."""

    model: Literal["local"]
    release_id: str
    created: Instant
    """UTC."""
    responses: list[ResponseReport]
    is_shuffled: bool
    responses_sha256: Sha256
    """Of the file of responses."""
    ledger: LedgerReport
    content_sha256: Sha256 | None = None
    """Of the content of all other keys; absent in reports of earlier versions."""

    @classmethod
    def of(cls, collection: RandomizedCollection) -> CollectionReport:
        """The report of a collection."""
        plan = collection.plan
        return cls(
            **published_fields(plan, collection),
            model="local",
            responses=list(map(ResponseReport.of, plan.spec.responses)),
            is_shuffled=collection.shuffled,
            responses_sha256=collection.digest,
            unprotected=[*unprotected_notes(plan)],
            limits=[*collection_limitations(plan, shuffled=collection.shuffled)],
        )
