"""dpcli with one more line in the registry of mechanisms, in a process of its own.

`python -m tests.support.toy_registry plan SPEC` is `dpcli plan SPEC`; for pytest it is a plugin.
"""

from __future__ import annotations

from dpcli import mechanisms
from tests.support.toy_mechanism import TwoLaplacesMechanism

mechanisms.MECHANISMS = (*mechanisms.MECHANISMS, TwoLaplacesMechanism())

if __name__ == "__main__":
    # The registry must be complete before it is read.
    from dpcli.cli.main import main

    main()
