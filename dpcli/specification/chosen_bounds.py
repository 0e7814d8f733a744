"""A spec with chosen bounds: read again with them; and the bounds as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from dpcli.errors import SpecError
from dpcli.specification.load import parse_spec
from dpcli.specification.model import Spec
from dpcli.statistics.bounds_choice import ChosenBounds

ByColumn = Mapping[str, ChosenBounds]


def with_chosen_bounds(spec: Spec, chosen: ByColumn) -> Spec:
    """The same spec with the bounds that were chosen for its columns.

    Its digest is that of its text: the bounds are stored under the id of the release. Raises
    SpecError if a file that the spec names is no longer the same.
    """
    kept = {one.column: one.bounds for one in spec.kept}
    bounded = parse_spec(spec.text, spec.dataset, spec.folder, {**kept, **chosen})
    if bounded.named_files != spec.named_files:
        raise SpecError.about("code-list.changed")
    return replace(bounded, digest=spec.digest)


def narrowest_and_widest(spec: Spec) -> tuple[Spec, Spec]:
    """The spec with the narrowest and the widest bounds that can be chosen."""
    chosen = (
        {choice.column.name: choice.at_rung(place) for choice in spec.choices} for place in (0, -1)
    )
    narrow, wide = (with_chosen_bounds(spec, bounds) for bounds in chosen)
    return narrow, wide


def to_json(chosen: ByColumn) -> bytes:
    """The chosen bounds as the ledger stores them; numbers are exact fractions as text."""
    columns = [
        {
            "column": name,
            "lower": str(bounds.lower),
            "upper": str(bounds.upper),
            "counts": list(bounds.counts),
            "decided": bounds.decided,
        }
        for name, bounds in chosen.items()
    ]
    return json.dumps({"bounds": columns}, ensure_ascii=False, indent=1).encode()


def from_json(stored: bytes) -> dict[str, ChosenBounds]:
    """The chosen bounds that `to_json` wrote, by column."""
    return {
        str(one["column"]): ChosenBounds(
            Fraction(one["lower"]),
            Fraction(one["upper"]),
            tuple(int(count) for count in one["counts"]),
            decided=bool(one["decided"]),
        )
        for one in json.loads(stored)["bounds"]
    }
