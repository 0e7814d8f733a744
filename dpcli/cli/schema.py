"""`dpcli schema`: the JSON Schema of the spec, for editors."""

from __future__ import annotations

import json
import sys


def schema() -> None:
    """Print the JSON Schema of specs, for editors.

    Editors that speak YAML (by yaml-language-server) offer keys and values and explain
    them, when the first line of a spec names the schema. Reads and spends nothing.

        # yaml-language-server: $schema=dpcli.schema.json

    Examples:
        dpcli schema > dpcli.schema.json
        dpcli schema | grep -c description

    The editor catches slips while you type; `dpcli check` finds everything.

    See also: dpcli init, dpcli check, dpcli explain
    """
    from dpcli.spec.schema import spec_schema

    sys.stdout.write(json.dumps(spec_schema(), indent=2) + "\n")
