"""A spec with chosen bounds: read again with them; and the bounds as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpcli.errors import SpecError
from dpcli.specification.load import parse_spec, require_model
from dpcli.specification.model import CentralSpec
from dpcli.statistics.bounds_choice import ChosenBounds, bounds_name
from dpcli.statistics.limit_choice import LIMIT_NAME, MAX_ROWS

ByHistogram = Mapping[str, ChosenBounds]
"""What was chosen, by the name of the histogram."""


def with_chosen_bounds(spec: CentralSpec, chosen: ByHistogram) -> CentralSpec:
    """The same spec with the bounds and the limit that were chosen.

    Its digest is that of its text: the bounds are stored under the id of the release. Raises
    SpecError if a file that the spec names is no longer the same.
    """
    kept = {one.name: one.bounds for one in spec.kept}
    read = parse_spec(spec.text, spec.dataset, spec.folder, {**kept, **chosen})
    bounded = require_model(read, CentralSpec, spec.dataset)
    if bounded.named_files != spec.named_files:
        raise SpecError.about("code-list.changed")
    return replace(bounded, digest=spec.digest)


def narrowest_and_widest(spec: CentralSpec) -> list[CentralSpec]:
    """The spec with the narrowest bounds and limits that can be chosen, and with the widest.

    Narrowest bounds of numbers on both sides of zero end there: first all begin at zero, then all
    end at it. Each other choice contains narrowest bounds, and lies within the widest ones.
    """
    extremes: list[ByHistogram] = [
        {choice.name: choice.narrowest[0] for choice in spec.choices},
        {choice.name: choice.narrowest[-1] for choice in spec.choices},
        {choice.name: choice.at_rung(-1) for choice in spec.choices},
    ]
    distinct = [chosen for at, chosen in enumerate(extremes) if chosen not in extremes[:at]]
    return [with_chosen_bounds(spec, chosen) for chosen in distinct]


def to_json(chosen: ByHistogram) -> bytes:
    """What was chosen as the ledger stores it; numbers are exact fractions as text."""
    columns = [
        {
            "column": name.removeprefix(bounds_name("")),
            "lower": str(bounds.lower),
            "upper": str(bounds.upper),
            **_counts(bounds),
        }
        for name, bounds in chosen.items()
        if name != LIMIT_NAME
    ]
    limit = chosen.get(LIMIT_NAME)
    rows = {} if limit is None else {MAX_ROWS: {"limit": str(limit.upper), **_counts(limit)}}
    return json.dumps({"bounds": columns, **rows}, ensure_ascii=False, indent=1).encode()


def _counts(bounds: ChosenBounds) -> dict[str, object]:
    return {"counts": list(bounds.counts), "decided": bounds.decided}


def from_json(stored: bytes) -> dict[str, ChosenBounds]:
    """What `to_json` wrote, by the name of the histogram."""
    facts = json.loads(stored)
    chosen = {
        bounds_name(str(one["column"])): _chosen(one, one["lower"], one["upper"])
        for one in facts["bounds"]
    }
    if MAX_ROWS in facts:
        chosen[LIMIT_NAME] = _chosen(facts[MAX_ROWS], "0", facts[MAX_ROWS]["limit"])
    return chosen


def _chosen(one: Mapping[str, Any], lower: str, upper: str) -> ChosenBounds:
    counts = tuple(int(count) for count in one["counts"])
    return ChosenBounds(Fraction(lower), Fraction(upper), counts, decided=bool(one["decided"]))
