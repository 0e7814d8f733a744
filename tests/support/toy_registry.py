"""dpcli with one more member in each of its registries, in a process of its own.

`python -m tests.support.toy_registry plan SPEC` is `dpcli plan SPEC`; for pytest it is a plugin.
"""

from __future__ import annotations

from dpcli import mechanisms, noise, statistics
from dpcli.mechanisms import query_sensitivity
from dpcli.specification import column_types
from tests.support.toy_column import Percentage
from tests.support.toy_family.capped_counts import CappedCountQuery
from tests.support.toy_family.statistic import CappedCount
from tests.support.toy_mechanism import TwoLaplaces, TwoLaplacesMechanism
from tests.support.toy_statistic import HighCount

setattr(noise, "NOISES", (*noise.NOISES, TwoLaplaces))  # noqa: B010 - final
setattr(mechanisms, "MECHANISMS", (*mechanisms.MECHANISMS, TwoLaplacesMechanism()))  # noqa: B010 - final
setattr(query_sensitivity, "QUERIES", query_sensitivity.QUERIES | {CappedCountQuery})  # noqa: B010 - final
statistics.STATISTICS = statistics.STATISTICS.with_member(HighCount())
statistics.STATISTICS = statistics.STATISTICS.with_member(CappedCount())
column_types.COLUMN_TYPES = (*column_types.COLUMN_TYPES, Percentage)

if __name__ == "__main__":
    # The registry must be complete before it is read.
    from dpcli.cli.main import main

    main()
