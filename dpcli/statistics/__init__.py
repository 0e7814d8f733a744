"""What may be asked. One file and one line each; the line goes in STATISTICS."""

from __future__ import annotations

from dpcli.statistics.base import Statistic
from dpcli.statistics.choose import Choose
from dpcli.statistics.correlation import Correlation
from dpcli.statistics.count import Count
from dpcli.statistics.count_distinct import CountDistinct
from dpcli.statistics.covariance import Covariance
from dpcli.statistics.extremes import Maximum, Minimum
from dpcli.statistics.histogram import Histogram
from dpcli.statistics.linear_regression import LinearRegression
from dpcli.statistics.marginals import Marginals
from dpcli.statistics.mean import Mean
from dpcli.statistics.median import Median
from dpcli.statistics.mode import Mode
from dpcli.statistics.quantile import Quantile
from dpcli.statistics.std import StandardDeviation
from dpcli.statistics.sum import Sum
from dpcli.statistics.top_k import TopK
from dpcli.statistics.variance import Variance

STATISTICS: tuple[Statistic, ...] = (
    Count(),
    Sum(),
    Mean(),
    Variance(),
    StandardDeviation(),
    Histogram(),
    Marginals(),
    CountDistinct(),
    Quantile(),
    Median(),
    Minimum(),
    Maximum(),
    Mode(),
    TopK(),
    Choose(),
    Covariance(),
    Correlation(),
    LinearRegression(),
)
"""Every statistic that a spec may name, in the order in which they are listed."""
