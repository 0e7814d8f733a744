"""What several answers reveal together. A file and a line each, in COMPOSITIONS."""

from __future__ import annotations

from dpcli.composition.advanced import Advanced
from dpcli.composition.base import Composition, Sequential
from dpcli.composition.pld import Pld
from dpcli.composition.zcdp import Zcdp

COMPOSITIONS: tuple[Composition, ...] = (Sequential(), Advanced(), Zcdp(), Pld())
"""Every composition rule a spec may name; the first is the default."""
