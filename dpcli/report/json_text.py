"""Facts of a report as JSON text: exact numbers keep all of their digits."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from fractions import Fraction

from dpcli.light_dataclasses import dataclass
from dpcli.numeric.number_text import plain_decimal
from dpcli.privacy.loss import Loss


@dataclass(frozen=True, slots=True)
class JsonNumber:
    """A plain decimal that JSON shows as a number, digit for digit."""

    digits: str


Fact = (
    None | bool | int | str | JsonNumber | Fraction | Loss
    | Sequence["Fact"] | Mapping[str, "Fact"]
)  # fmt: skip
"""A value of a report. A rational is written exactly if it is short, else rounded up."""

Facts = dict[str, Fact]
"""Values of a report by their JSON keys."""

_MARK = "\u0000number:"
_MARKED = r'"\\u0000number:(-?[0-9]+(?:\.[0-9]+)?)"'


def json_text(fact: Fact) -> str:
    """Indented JSON in a fixed order."""
    text = json.dumps(fact, indent=2, ensure_ascii=False, default=_encodable)
    return re.sub(_MARKED, r"\1", text) + "\n"


def _encodable(fact: JsonNumber | Fraction | Loss) -> object:
    """A loss as its fields; a number as a marked string, so that it never becomes a float."""
    if isinstance(fact, Loss):
        return {field.name: getattr(fact, field.name) for field in fields(fact)}
    return _MARK + (fact.digits if isinstance(fact, JsonNumber) else plain_decimal(fact))
