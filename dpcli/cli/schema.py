"""`dpcli schema`: the JSON Schema of the spec, for editors."""

from __future__ import annotations

import json
import sys


def schema() -> None:
    """Print the JSON Schema of the spec, for completion and checks in an editor.

    Example: dpcli schema > dpcli.schema.json
    """
    from dpcli.spec.schema import spec_schema

    sys.stdout.write(json.dumps(spec_schema(), indent=2) + "\n")
