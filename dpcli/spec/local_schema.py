"""The part of the JSON Schema that is for the local model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dpcli.randomizers import RANDOMIZERS
from dpcli.spec.prices import MOST_EPSILON
from dpcli.spec.responses import STEPS
from dpcli.spec.sense import LOCAL

Json = dict[str, Any]


def local_fields(document: Json, response: Json) -> Json:
    """What a spec may say beyond the central model: responses and public columns."""
    fields: Json = response["properties"]
    fields["mechanism"] |= {
        "type": "string",
        "oneOf": [
            {"const": one.name, "description": (type(one).__doc__ or "").strip().splitlines()[0]}
            for one in RANDOMIZERS
        ],
    }
    fields["epsilon"] |= {"exclusiveMinimum": 0, "maximum": int(MOST_EPSILON)}
    fields["delta"] |= {"exclusiveMinimum": 0, "exclusiveMaximum": 1}
    fields["post"]["items"] = {"enum": list(STEPS)}
    own: Json = document["properties"]
    items = response | {"allOf": [_of(place) for place in range(len(RANDOMIZERS))]}
    return {
        "responses": own["responses"] | {"minItems": 1, "items": items},
        "public": own["public"],
    }


def _of(place: int) -> Json:
    """What one randomizer takes."""
    randomizer = RANDOMIZERS[place]
    ways = [{"required": [way]} for way in randomizer.prices]
    refused = [way for way in ("epsilon", "probability", "matrix") if way not in randomizer.prices]
    if not randomizer.needs_delta:
        refused.append("delta")
    then: Json = {"oneOf": ways, "properties": dict.fromkeys(refused, False)}
    if randomizer.needs_delta:
        then["required"] = ["delta"]
    return {"if": {"properties": {"mechanism": {"const": randomizer.name}}}, "then": then}


def by_model() -> Iterator[Json]:
    """Which sections each model needs, and which it does not have."""
    local: Json = {"properties": {"model": {"const": LOCAL}}, "required": ["model"]}
    yield {
        "if": local,
        "then": {"required": ["responses"], "properties": {"statistics": False}},
        "else": {
            "required": ["statistics"],
            "properties": {"responses": False, "public": False},
        },
    }
