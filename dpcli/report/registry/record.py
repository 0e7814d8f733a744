"""The draft of a record, in the order of the register."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dpcli import __version__
from dpcli.plan.model import Plan
from dpcli.report.local_facts import exact
from dpcli.report.notes import bounding, post_processing, selections, unprotected
from dpcli.report.registry import known
from dpcli.report.registry.lines import TO_FILL, Marked, Value, yaml_lines

if TYPE_CHECKING:
    from dpcli.ledger.charge import Standing
    from dpcli.local.randomize import Randomized
    from dpcli.release import Release

CELLWISE = "values are rounded to a declared grid and clamped to declared bounds, cell by cell"


def registry_record(release: Release) -> bytes:
    """The draft of a release."""
    plan = release.plan
    return _draft(
        plan,
        release.created,
        release.standing,
        model="Central",
        mechanisms=known.mechanisms_of(plan),
        unprotected_quantities=list(unprotected(plan)),
        post_processing_steps=[*selections(plan), *post_processing(plan)],
        before=[*bounding(plan)],
    )


def registry_collection(collection: Randomized) -> bytes:
    """The draft of a local collection."""
    plan = collection.plan
    return _draft(
        plan,
        collection.created,
        collection.standing,
        model="Shuffle" if collection.shuffled else "Local",
        mechanisms=[
            f"{one.column.name}: {one.randomizer.name.replace('_', ' ')}, {one.channel.told()}"
            for one in plan.spec.responses
        ],
        unprotected_quantities=list(exact(plan)),
        post_processing_steps=[
            f"{one.column.name}: {', '.join(one.steps)}" for one in plan.spec.responses if one.steps
        ],
        before=[],
    )


def _draft(
    plan: Plan,
    created: str,
    standing: Standing,
    *,
    model: str,
    mechanisms: list[str],
    unprotected_quantities: list[str],
    post_processing_steps: list[str],
    before: list[str],
) -> bytes:
    """The record in the order of the register."""
    spec = plan.spec
    declared = spec.declarations
    record: dict[str, Value] = {
        "url_slug": re.sub(r"[^a-z0-9]+", "-", spec.dataset.lower()).strip("-") or "dataset",
        "deployment": {
            "basic": {
                "name": spec.dataset,
                "data_curators": [
                    {
                        "data_curator_name": known.answer(declared, "curator", "who publishes"),
                        "data_curator_type": Marked(
                            "Government", "Government, Industry, Nonprofit"
                        ),
                    }
                ],
                "description": known.answer(declared, "description", "what is published"),
                "intended_use": known.answer(declared, "intended_use", "what it is meant for"),
                "data_product_type": "Summary statistics" if not plan.is_local else "Dataset",
                "data_product_region": known.answer(
                    declared, "region", "which place, and whose law"
                ),
                "data_product_sector": Marked(
                    "Government", "Technology, Healthcare, Education, Government, Energy, Finance"
                ),
                "publication_date": created[:10],
            },
            "dp_variant": {
                "variant_name": known.variant(plan),
                "data_domain": known.domain(plan),
                "unprotected_quantities": known.listed(unprotected_quantities) or "none",
            },
            "privacy_loss": known.loss(plan, standing),
            "deployment_model": {
                "model_name": model,
                "trust_assumptions": known.answer(
                    declared, "access", "who must be trusted, and why"
                ),
                "actors": known.answer(declared, "collection", "who sees the data or the results"),
                **known.occasions(standing),
                "data_source_type": Marked("Static", "Static, Dynamic"),
                "access_type": "Non-interactive",
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": known.listed(
                    [
                        *before,
                        CELLWISE,
                        known.answer(
                            declared, "bounds", "how bounds, limits and epsilon were chosen"
                        ),
                    ]
                ),
                "mechanisms": known.listed([*mechanisms, *known.safeguards(declared)]),
                "composition": known.listed(known.composition(plan, standing)),
                "post_processing": known.listed(post_processing_steps) or "none",
                "justification": f"{TO_FILL}: why these parameters, and who agreed to them",
                "additional_information": known.listed(
                    [
                        f"spec: SHA-256 {spec.digest}",
                        "other releases: "
                        + known.answer(declared, "other_releases", "of these people"),
                    ]
                ),
            },
            "administrative": {
                "status": "Draft",
                "registry_authors": [f"{TO_FILL}: who wrote this record"],
                "tier": 3,
            },
        },
    }
    lines = [
        f"# A draft, made by dpcli {__version__}. Search for {TO_FILL!r}, and check every choice.",
        *yaml_lines(record, 0),
    ]
    return ("\n".join(lines) + "\n").encode()
