"""Statistics: the designs of each, and the estimate from noisy answers.

`Statistic` in `statistic.py` is the interface; open it first. Each statistic is one class in one
of the other files and one line in `STATISTICS`. A `Request` is an entry of a spec with its names
resolved. `Statistic.designs` gives every `Design` that may answer it: `WeightedQuery`s, for which
noise and budget they are meant, and which error to expect (`design.py`). `Statistic.estimate` turns
the `NoisyAnswer`s to one of them into `Estimates`, the published numbers with intervals. Intervals
come from the noise itself where one answer is published (`estimates.py`), and from `fiducial.py`
where a number is computed from several answers. `postprocessing.py` has the steps of `post`.
"""

from __future__ import annotations

from dpcli.statistics.registry import Registry

STATISTICS = Registry(
    {
        "count": "counts:Count",
        "sum": "counts:Sum",
        "mean": "mean:Mean",
        "proportion": "proportion:Proportion",
        "ratio": "ratio:Ratio",
        "comparison": "comparison:Comparison",
        "variance": "spread:Variance",
        "std": "spread:StandardDeviation",
        "histogram": "histogram:Histogram",
        "marginals": "marginals:Marginals",
        "count_distinct": "distinct:CountDistinct",
        "selections": "selections:Selections",
        "count_missing": "selections:CountMissing",
        "quantile": "quantile:Quantile",
        "median": "quantile:Median",
        "min": "quantile:Minimum",
        "max": "quantile:Maximum",
        "mode": "choices:Mode",
        "top_k": "choices:TopK",
        "choose": "choices:Choose",
        "covariance": "spread:Covariance",
        "correlation": "spread:Correlation",
        "linear_regression": "linear_regression:LinearRegression",
        "logistic_regression": "logistic_regression:LogisticRegression",
    }
)
"""Every statistic that a spec may name, in the order in which they are listed, and its place."""
