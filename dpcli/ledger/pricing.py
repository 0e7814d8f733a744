"""What recorded answers reveal: from the mechanisms and parameters in an entry."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from dpcli.composition.parallel import Placed, worst_unit
from dpcli.mechanisms import MECHANISMS
from dpcli.privacy.guarantee import PUBLIC, Guarantee, approximate, pure, together
from dpcli.privacy.loss import Loss
from dpcli.privacy.noise import Noise
from dpcli.privacy.relation import Neighbors
from dpcli.privacy.sensitivity import Sensitivity
from dpcli.randomizers import RANDOMIZERS

Answers = tuple[tuple[Guarantee, int], ...]
"""What a release reveals, and how often each."""


RECOVERED = "recovered"
"""Stands for all answers of a release of which only the plain sum of losses is known."""

BY_NAME = {mechanism.name: mechanism for mechanism in MECHANISMS}

RESPONDING = {randomizer.name for randomizer in RANDOMIZERS} - BY_NAME.keys()
"""Ways in which records respond that are no noise, but probabilities: they are pure."""


class UnknownMechanism(Exception):
    """An entry records a mechanism that this version does not know."""


@lru_cache(maxsize=4096)
def answers_of(parts: str, neighbors: str) -> Answers:
    """The guarantees of recorded parts, disjoint ones not added up.

    Each is stated anew by its mechanism, so that a better argument for one prices the past as
    well. The same few texts recur night after night.
    """
    recorded = json.loads(parts)
    if not any(part.get("joint") or "disjoint" in part for part in recorded):
        found = Counter(map(guarantee_of, recorded))
        del found[PUBLIC]
        return tuple(found.items())
    joint: dict[object, list[Guarantee]] = {}
    branches: dict[object, tuple[str, int] | None] = {}
    for place, part in enumerate(recorded):
        # Parts that are protected jointly count as one answer.
        name = (part["statistic"], "" if part.get("joint") else place)
        joint.setdefault(name, []).append(guarantee_of(part))
        disjoint = part.get("disjoint")
        branches[name] = (str(disjoint[0]), int(disjoint[1])) if disjoint else None
    placed = [
        Placed((together(each) if len(each) > 1 else each[0],), branches[name])
        for name, each in joint.items()
    ]
    return tuple(worst_unit(placed, Neighbors(neighbors)).items())


def guarantee_of(part: Mapping[str, object]) -> Guarantee:
    """What a recorded part reveals; `UnknownMechanism` if this version cannot say."""
    name = str(part["mechanism"])
    if name == "none":
        return PUBLIC
    if name == RECOVERED:
        return approximate(Loss(_exact(part["epsilon"]), _exact(part["delta"])))
    if name in RESPONDING:
        return pure(_exact(part["epsilon"]))
    mechanism = BY_NAME.get(name)
    if mechanism is None:
        raise UnknownMechanism(name)
    return mechanism.guarantee(
        Noise(mechanism.kind, _exact(part["scale"])),
        Sensitivity(*(int(str(part[norm])) for norm in ("l0", "l1", "l2_squared", "linf"))),
        Loss(_exact(part["epsilon"]), _exact(part["delta"])),
        _exact(part["keys_delta"]) if "keys_delta" in part else Fraction(0),
    )


def _exact(recorded: object) -> Fraction:
    """A recorded fraction; thousands are read at once, so without the general parser."""
    above, _, below = str(recorded).partition("/")
    return Fraction(int(above), int(below or 1))
