"""The keys of reports, plans and simulations of version 1, as version 2 calls them, and back.

`python -m tests.support.report_keys < old.json > new.json` renames the keys of a file.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

KEYS = {
    "asked": "requested",
    "dummy": "synthetic",
    "hazard": "risk",
    "hazards": "risks",
    "in_dummy": "in_synthetic",
    "influence": "row_contribution",
    "parts": "queries",
    "question": "description",
    "readings": "samplings",
    "says": "sentences",
}
"""The keys of version 2, by those of version 1."""

NAMED_BY_USERS = {"declarations", "event", "keys", "min_readable", "readable", "parameters"}
"""Keys of objects whose keys are names of columns and the like, or those of the ledger."""


def version_2(value: Any) -> Any:
    """A JSON value of version 1 with the keys of version 2."""
    if isinstance(value, list):
        return [version_2(item) for item in value]
    if isinstance(value, dict):
        return {
            KEYS.get(key, key): item if key in NAMED_BY_USERS else version_2(item)
            for key, item in value.items()
        }
    return value


NEW_IN_3 = (
    r' *"counted": ".*",\n *"units": \[[^]]*\],\n', r' *"completeness": \{[^}]*\},\n',
)  # fmt: skip
"""What version 3 states and version 2 does not, as lines of a report."""


def without_version_3(text: str) -> str:
    """The text of a report of version 3 as version 2 writes it."""
    for lines in NEW_IN_3:
        text = re.sub(lines, "", text)
    return text.replace('"report_version": 3', '"report_version": 2')


def version_1(text: str) -> str:
    """The text of a report as version 1 writes it; names in its spec are none of these keys."""
    text = re.sub(r' *"report_version": 2,\n', "", text)
    text = re.sub(r'"description": (".*",\n *"verdict")', r'"question": \1', text)
    for old, new in KEYS.items():
        text = text if new == "description" else text.replace(f'"{new}":', f'"{old}":')
    return text


if __name__ == "__main__":
    json.dump(version_2(json.load(sys.stdin)), sys.stdout, indent=2, ensure_ascii=False)
