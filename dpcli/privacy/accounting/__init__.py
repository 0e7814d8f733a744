"""What several answers reveal together. A file and a line each, in COMPOSITIONS."""

from __future__ import annotations

from dpcli.privacy.accounting.advanced import AdvancedComposition
from dpcli.privacy.accounting.composition import Composition
from dpcli.privacy.accounting.pld import PldComposition
from dpcli.privacy.accounting.sequential import SequentialComposition
from dpcli.privacy.accounting.zcdp import ZcdpComposition

COMPOSITIONS: tuple[Composition, ...] = (
    SequentialComposition(),
    AdvancedComposition(),
    ZcdpComposition(),
    PldComposition(),
)
"""Every composition rule a spec may name; the first is the default."""
