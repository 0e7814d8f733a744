"""Accounting: the loss of several answers together.

`composition.py` defines `Composition`, what every composition states, and `sequential`; open it
first. It also composes answers about disjoint rows, before a composition counts them. `advanced`,
`zcdp` and `pld` are the other compositions that a spec may name.

To add a composition, write one file and add one line to `COMPOSITIONS`.
"""

from __future__ import annotations

from dpcli.privacy.accounting.composition import Composition
from dpcli.problems.registry import Registry

COMPOSITIONS: Registry[Composition] = Registry(
    "dpcli.privacy.accounting",
    {
        "sequential": "composition:SequentialComposition",
        "advanced": "advanced:AdvancedComposition",
        "zcdp": "zcdp:ZcdpComposition",
        "pld": "pld:PldComposition",
    },
)
"""Every composition that a spec may name; the first is the default."""
