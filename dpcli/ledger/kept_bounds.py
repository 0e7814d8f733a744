"""Bounds and limits that a release chose, as the ledger stores them for others."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from dpcli.ledger.filesystem import is_absent
from dpcli.ledger.options import NAMED, ledger_of
from dpcli.light_dataclasses import dataclass

if TYPE_CHECKING:
    from dpcli.statistics.bounds_choice import ChosenBounds

BOUNDS = "bounds.json"
"""The stored output of a choice of bounds and limits: its noisy counts, and what they chose."""


@dataclass(frozen=True, slots=True)
class LedgerBounds:
    """Finds what releases in a ledger chose; `Published` of a spec.

    The ledger is the named one, or that of the environment, or the one next to the spec. It is
    opened only for a spec that asks. Raises LedgerError if it is in doubt.

    Privacy: what it finds was published by the release that paid for it.
    """

    named: Path | None
    spec: Path

    def __call__(self, release_id: str, histogram: str) -> ChosenBounds | None:
        """What a histogram chose; None if the ledger, the release or the histogram is absent."""
        # Few specs ask.
        from dpcli.ledger.charge import SUFFIX
        from dpcli.ledger.ledger import OpenLedger
        from dpcli.specification.chosen_bounds import from_json

        environment = os.environ.get(NAMED)
        named = self.named or (Path(environment) if environment else None)
        path = ledger_of(named, self.spec.parent)
        if is_absent(path):
            return None
        with closing(OpenLedger.open(path)) as ledger:
            stored = ledger.stored(release_id + SUFFIX)
        return None if stored is None else from_json(stored.outputs[BOUNDS]).get(histogram)
