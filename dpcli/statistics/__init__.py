"""Statistics: the designs of each, and the estimate from noisy answers.

`Statistic` in `statistic.py` is the interface; open it first. Each statistic is one class in the
folder of its family, with its queries and designs, and one line in `STATISTICS`. A `Inputs` is an
entry of a spec with its names resolved. `Statistic.designs` gives every `Design` that may answer
it: `WeightedQuery`s, for which noise and budget they are meant, and which error to expect
(`design.py`). `Design.estimate` turns the `NoisyAnswer`s to one of them into `Estimates`, the
published numbers with intervals. Intervals come from the noise itself where one answer is published
(`estimates.py`), and from `intervals.py` where a number is computed from several answers.
`postprocessing.py` has the steps of `post`.
"""

from __future__ import annotations

from dpcli.problems.registry import Registry
from dpcli.statistics.statistic import Statistic

STATISTICS: Registry[Statistic] = Registry(
    "dpcli.statistics",
    {
        "count": "counts.counts:Count",
        "sum": "counts.counts:Sum",
        "mean": "means.mean:Mean",
        "proportion": "means.ratio:Proportion",
        "ratio": "means.ratio:Ratio",
        "comparison": "means.comparison:Comparison",
        "variance": "means.spread:Variance",
        "std": "means.spread:StandardDeviation",
        "describe": "means.description:Description",
        "histogram": "counts.counts:Histogram",
        "inequality": "means.inequality:Inequality",
        "marginals": "tables.marginals:Marginals",
        "count_distinct": "counts.distinct:CountDistinct",
        "selections": "counts.multiple_answers:Selections",
        "count_missing": "counts.multiple_answers:CountMissing",
        "quantile": "quantiles.quantile:Quantile",
        "median": "quantiles.quantile:Median",
        "min": "quantiles.quantile:Minimum",
        "max": "quantiles.quantile:Maximum",
        "mode": "choices.top_values:Mode",
        "top_k": "choices.top_values:TopK",
        "choose": "choices.top_values:Choose",
        "covariance": "means.spread:Covariance",
        "correlation": "means.spread:Correlation",
        "linear_regression": "regression.linear:LinearRegression",
        "logistic_regression": "regression.logistic:LogisticRegression",
    },
)
"""The paths of the statistics that a spec may name, in the order of lists."""

SERIES: Registry[Statistic] = Registry(
    "dpcli.statistics",
    {
        "count": "series.series:CountSeries",
        "sum": "series.series:SumSeries",
        "histogram": "series.series:HistogramSeries",
    },
)
"""The paths of the statistics of running series, which entries with `series` are."""
