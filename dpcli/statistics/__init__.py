"""What may be asked. One file and one line each; the line goes in STATISTICS."""

from __future__ import annotations

from dpcli.statistics.base import Statistic
from dpcli.statistics.count import Count
from dpcli.statistics.count_distinct import CountDistinct
from dpcli.statistics.histogram import Histogram
from dpcli.statistics.mean import Mean
from dpcli.statistics.sum import Sum

STATISTICS: tuple[Statistic, ...] = (
    Count(),
    Sum(),
    Mean(),
    Histogram(),
    CountDistinct(),
)
"""Every statistic that a spec may name, in the order in which they are listed."""
