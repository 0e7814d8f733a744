"""The privacy report of a local collection, as JSON and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpcli.plan.model import Plan
from dpcli.privacy.shuffling import Shuffled
from dpcli.report.facts import comparison_facts
from dpcli.report.json_report import json_text
from dpcli.report.local_facts import (
    RESPONSE,
    exact,
    local_facts,
    local_limits,
    local_plan_facts,
    response_rows,
)
from dpcli.report.markdown import (
    account,
    cost,
    described,
    escaped,
    heading,
    risks,
    table_lines,
    the_spec,
)
from dpcli.report.stewardship import descriptions

if TYPE_CHECKING:
    from dpcli.ledger.outlook import Outlook
    from dpcli.local.randomize import Randomized


def local_json(collection: Randomized) -> bytes:
    """The facts of a collection."""
    return json_text(local_facts(collection)).encode()


def local_plan_json(
    plan: Plan,
    found: Outlook,
    records: int | None,
    amplified: Shuffled | None,
    *,
    compared: bool,
) -> str:
    """The facts of a plan."""
    told = local_plan_facts(plan, found, records, amplified)
    return json_text({**told, **({"compared": comparison_facts(plan)} if compared else {})})


def local_markdown(collection: Randomized) -> bytes:
    """The report as UTF-8 text."""
    return ("\n".join(_lines(collection)) + "\n").encode()


def _lines(collection: Randomized) -> Iterator[str]:
    """Every line of the report."""
    plan = collection.plan
    spec = plan.spec
    order = "random" if collection.shuffled else "that of the file"
    yield from heading(
        f"{spec.dataset}, randomized record by record",
        collection.release_id,
        collection.created,
        spec.digest,
        ("Responses", f"SHA-256 {collection.digest}"),
        ("Order", order),
        *descriptions(spec.declarations),
    )
    yield from described(spec.declarations)
    yield from cost(plan, collection.standing.before)
    yield "This holds for every record by itself, also against whoever collects the responses."
    yield ""
    yield from account(collection.standing)
    yield "## How each record responded"
    yield ""
    yield from table_lines(RESPONSE, response_rows(plan))
    limits = local_limits(plan, shuffled=collection.shuffled)
    for title, notes in (
        ("What is published exactly", exact(plan)),
        ("What is not protected", limits),
    ):
        yield f"## {title}"
        yield ""
        yield from (f"- {escaped(note)}" for note in notes)
        yield ""
    yield from risks(plan, collection.standing.terms.window)
    yield from the_spec(spec.text)
