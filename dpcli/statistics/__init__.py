"""Statistics: the queries of each, and the estimate from their noisy answers.

`Statistic` in `statistic.py` is the interface; open it first. Each statistic is one class in one
of the other files and one line in `STATISTICS`. A `Request` is an entry of a spec with its names
resolved; `Statistic.queries` turns it into `WeightedQuery`s, and `Statistic.estimate` turns their
`NoisyAnswer`s into `Estimates`, which hold the published numbers and their intervals. Intervals
come from the noise itself where one answer is published (`estimates.py`), and from `fiducial.py`
where a number is computed from several answers. `postprocessing.py` has the steps of `post`.
"""

from __future__ import annotations

from dpcli.statistics.choices import Choose, Mode, TopK
from dpcli.statistics.comparison import Comparison
from dpcli.statistics.counts import Count, Sum
from dpcli.statistics.distinct import CountDistinct
from dpcli.statistics.histogram import Histogram
from dpcli.statistics.linear_regression import LinearRegression
from dpcli.statistics.logistic_regression import LogisticRegression
from dpcli.statistics.marginals import Marginals
from dpcli.statistics.mean import Mean
from dpcli.statistics.proportion import PROPORTION
from dpcli.statistics.quantile import Maximum, Median, Minimum, Quantile
from dpcli.statistics.ratio import Ratio
from dpcli.statistics.selections import CountMissing, Selections
from dpcli.statistics.spread import Correlation, Covariance, StandardDeviation, Variance
from dpcli.statistics.statistic import Statistic

STATISTICS: tuple[Statistic, ...] = (
    Count(),
    Sum(),
    Mean(),
    PROPORTION,
    Ratio(),
    Comparison(),
    Variance(),
    StandardDeviation(),
    Histogram(),
    Marginals(),
    CountDistinct(),
    Selections(),
    CountMissing(),
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
    LogisticRegression(),
)
"""Every statistic that a spec may name, in the order in which they are listed."""
