"""What several answers reveal together. A file and a line each, in COMPOSITIONS."""

from __future__ import annotations

from dpcli.privacy.accounting.advanced import Advanced
from dpcli.privacy.accounting.composition import Composition, Sequential
from dpcli.privacy.accounting.pld import Pld
from dpcli.privacy.accounting.zcdp import Zcdp

COMPOSITIONS: tuple[Composition, ...] = (Sequential(), Advanced(), Zcdp(), Pld())
"""Every composition rule a spec may name; the first is the default."""
