"""Mechanisms of the central model: how an answer gets its noise.

`mechanism.py` defines what a mechanism states about itself; open it first. `pure`, `gaussian`,
`choices` and `objective_perturbation` have those that a spec may name. `calibrated_mechanism.py`
calibrates one to a query and is the only place that opens confidential values. `query_sensitivity`
gives it the sensitivity of a query. `local/` has the mechanisms of the local model.

To add a mechanism, write one file and add one line to `MECHANISMS`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from dpcli.mechanisms.mechanism import Mechanism
from dpcli.noise.distribution import ADDITIVE, Family
from dpcli.problems.registry import Registry

MECHANISMS: Final[Registry[Mechanism]] = Registry(
    "dpcli.mechanisms",
    {
        "laplace": "pure:Laplace",
        "gaussian": "gaussian:Gaussian",
        "geometric": "pure:Geometric",
        "k_norm": "k_norm:KNorm",
        "permute_and_flip": "choices:PermuteAndFlip",
        "exponential": "choices:Exponential",
        "objective": "objective_perturbation:ObjectivePerturbation",
    },
)
"""Every mechanism. A spec may name all but those of vectors (`spec_names`).

The first additive mechanism is the default for numbers, the first selection mechanism for choices.
"""

FAMILIES: Final[dict[str, Family]] = {
    "laplace": "l1",
    "gaussian": "l2",
    "geometric": "l1",
    "k_norm": "vector",
    "permute_and_flip": "choice",
    "exponential": "choice",
    "objective": "slope",
}
"""The family of each mechanism, by which it is found before it is imported."""


def family_of(name: str) -> Family:
    """The family of a mechanism."""
    return FAMILIES.get(name) or MECHANISMS[name].family


def spec_names() -> list[str]:
    """The names that a spec may give: designs themselves choose those of vectors."""
    return [name for name in MECHANISMS.names if FAMILIES.get(name) != "vector"]


def mechanisms_of(families: Collection[Family]) -> list[str]:
    """The names of the mechanisms with noise of these families, the default first.

    Mechanisms that choose come before mechanisms that add noise to counts. If there are both, the
    first of each kind is a default: the plan takes the better one, or counts that have intervals.
    """
    suitable = [name for name in MECHANISMS.names if family_of(name) in families]
    return sorted(suitable, key=lambda name: family_of(name) in ADDITIVE)
