"""dpcli with more members in each of its registries, in a process of its own.

`python -m tests.support.toy_registry plan SPEC` is `dpcli plan SPEC`; for pytest it is a plugin.
"""

from __future__ import annotations

from dpcli import mechanisms, noise, statistics
from dpcli.data import derived, kinds
from dpcli.data.labels import CategoryColumn
from dpcli.mechanisms import query_sensitivity
from tests.support.toy_column import DurationColumn, PercentageColumn
from tests.support.toy_derivation import Distance
from tests.support.toy_family.capped_counts import CappedCountQuery
from tests.support.toy_family.statistic import CappedCount
from tests.support.toy_mechanism import TwoLaplaces, TwoLaplacesMechanism
from tests.support.toy_option import Prefix
from tests.support.toy_statistic import HighCount

CategoryColumn.takes = (Prefix, *CategoryColumn.takes)
setattr(kinds, "COLUMNS", kinds.COLUMNS.with_member(PercentageColumn))  # noqa: B010 - final
setattr(noise, "NOISES", noise.NOISES.with_member(TwoLaplaces))  # noqa: B010 - final
setattr(mechanisms, "MECHANISMS", mechanisms.MECHANISMS.with_member(TwoLaplacesMechanism()))  # noqa: B010 - final
setattr(query_sensitivity, "QUERIES", query_sensitivity.QUERIES.with_member(CappedCountQuery))  # noqa: B010 - final
setattr(kinds, "COLUMNS", kinds.COLUMNS.with_member(DurationColumn))  # noqa: B010 - final
setattr(derived, "DERIVED", derived.DERIVED.with_member(Distance))  # noqa: B010 - final
statistics.STATISTICS = statistics.STATISTICS.with_member(HighCount())
statistics.STATISTICS = statistics.STATISTICS.with_member(CappedCount())

if __name__ == "__main__":
    # The registry must be complete before it is read.
    from dpcli.cli.main import main

    main()
