"""What may be asked. Each is one line in STATISTICS."""

from __future__ import annotations

from dpcli.statistics.choices import Choose, Mode, TopK
from dpcli.statistics.counts import Count, CountDistinct, Histogram, Mean, Sum
from dpcli.statistics.linear_regression import LinearRegression
from dpcli.statistics.marginals import Marginals
from dpcli.statistics.quantile import Maximum, Median, Minimum, Quantile
from dpcli.statistics.spread import Correlation, Covariance, StandardDeviation, Variance
from dpcli.statistics.statistic import Statistic

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
