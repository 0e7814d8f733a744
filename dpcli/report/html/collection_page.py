"""The page of a local collection: how each record responded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpcli.report.html import sections
from dpcli.report.html.element import Part, element
from dpcli.report.html.release_page import budget, opening, record
from dpcli.report.local_facts import RESPONSE, exact, local_limits, response_rows

if TYPE_CHECKING:
    from dpcli.local.randomize import Randomized


def html_collection(collection: Randomized) -> bytes:
    """The report as a page."""
    return sections.page(f"Privacy report: {collection.plan.spec.dataset}", _parts(collection))


def _parts(collection: Randomized) -> Iterator[Part]:
    """Everything on the page."""
    plan = collection.plan
    spec = plan.spec
    order = "in random order" if collection.shuffled else "in the order of the file"
    yield from opening(
        plan,
        f"On {collection.created[:10]}, each record was randomized by itself, before anybody "
        f"collected it; the responses are published {order}.",
    )
    yield from sections.what_it_means(plan)
    yield element(
        "p",
        "This holds for every record by itself, also against whoever collects the responses.",
    )
    yield from budget(collection.standing)
    yield from sections.section(
        "How each record responded",
        sections.plain_table(RESPONSE, response_rows(plan)),
    )
    yield from sections.notes("What is published exactly", list(exact(plan)))
    yield from sections.notes(
        "What is not protected", list(local_limits(plan, shuffled=collection.shuffled))
    )
    yield from sections.risks(plan, collection.standing.terms.window)
    yield from record(collection.release_id, collection.created, spec.digest, collection.standing)
    yield sections.pairs((("Responses, SHA-256", collection.digest or ""),))
    yield from sections.the_spec(spec.text)
