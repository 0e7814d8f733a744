"""Accounting: the loss of several answers together.

`composition.py` defines `Composition`, what every composition states, and `sequential`; open it
first. It also composes answers about disjoint rows, before a composition counts them. `advanced`,
`zcdp` and `pld` are the other compositions that a spec may name.

To add a composition, write one file and add one line to `COMPOSITIONS`.
"""

from __future__ import annotations

from dpcli.privacy.accounting.advanced import AdvancedComposition
from dpcli.privacy.accounting.composition import Composition, SequentialComposition
from dpcli.privacy.accounting.pld import PldComposition
from dpcli.privacy.accounting.zcdp import ZcdpComposition

COMPOSITIONS: tuple[Composition, ...] = (
    SequentialComposition(),
    AdvancedComposition(),
    ZcdpComposition(),
    PldComposition(),
)
"""Every composition that a spec may name; the first is the default."""
