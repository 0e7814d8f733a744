"""What may be asked. One file and one line each; the line goes in STATISTICS."""

from __future__ import annotations

from dpcli.statistics.base import Statistic
from dpcli.statistics.choose import Choose
from dpcli.statistics.count import Count
from dpcli.statistics.count_distinct import CountDistinct
from dpcli.statistics.covariance import Correlation, Covariance
from dpcli.statistics.histogram import Histogram
from dpcli.statistics.linear_regression import LinearRegression
from dpcli.statistics.marginals import Marginals
from dpcli.statistics.mean import Mean
from dpcli.statistics.quantile import Maximum, Median, Minimum, Quantile
from dpcli.statistics.sum import Sum
from dpcli.statistics.top_k import Mode, TopK
from dpcli.statistics.variance import StandardDeviation, Variance

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
