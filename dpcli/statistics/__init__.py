"""Statistics: the designs of each, and the estimate from noisy answers.

`Statistic` in `statistic.py` is the interface; open it first. Each statistic is one class in the
folder of its family, with its queries and designs, and one line in `STATISTICS`. A `Request` is an
entry of a spec with its names resolved. `Statistic.designs` gives every `Design` that may answer
it: `WeightedQuery`s, for which noise and budget they are meant, and which error to expect
(`design.py`). `Design.estimate` turns the `NoisyAnswer`s to one of them into `Estimates`, the
published numbers with intervals. Intervals come from the noise itself where one answer is published
(`estimates.py`), and from `intervals.py` where a number is computed from several answers.
`postprocessing.py` has the steps of `post`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from importlib import import_module

from dpcli.statistics.statistic import Statistic


class Registry(Collection[Statistic]):
    """Statistics by name, in order; a class is imported when it is first needed.

    Until then, a member is a path: a module of this package and a class in that module, such as
    `counts.counts:Sum`.
    """

    def __init__(self, members: Mapping[str, Statistic | str]) -> None:
        self._members = dict(members)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all statistics; reading the names imports no statistic."""
        return tuple(self._members)

    def named(self, name: str) -> Statistic | None:
        """The statistic with this name; None if no statistic has this name."""
        member = self._members.get(name)
        if isinstance(member, str):
            module, _, kind = member.partition(":")
            made = getattr(import_module(f"dpcli.statistics.{module}"), kind)()
            if not isinstance(made, Statistic) or made.name != name:
                raise TypeError(f"{member} is not the statistic {name}")
            member = self._members[name] = made
        return member

    def with_member(self, statistic: Statistic) -> Registry:
        """The registry with one more statistic at the end."""
        return Registry({**self._members, statistic.name: statistic})

    def __iter__(self) -> Iterator[Statistic]:
        return filter(None, map(self.named, self.names))

    def __contains__(self, member: object) -> bool:
        return member in tuple(self)

    def __len__(self) -> int:
        return len(self._members)


STATISTICS = Registry(
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
        "marginals": "tables.marginals:Marginals",
        "count_distinct": "counts.counts:CountDistinct",
        "selections": "counts.multiple_answers:Selections",
        "count_missing": "counts.multiple_answers:CountMissing",
        "quantile": "quantiles.quantile:Quantile",
        "median": "quantiles.quantile:Median",
        "min": "quantiles.quantile:Minimum",
        "max": "quantiles.quantile:Maximum",
        "mode": "top_values:Mode",
        "top_k": "top_values:TopK",
        "choose": "top_values:Choose",
        "covariance": "means.spread:Covariance",
        "correlation": "means.spread:Correlation",
        "linear_regression": "regression.linear:LinearRegression",
        "logistic_regression": "regression.logistic:LogisticRegression",
    }
)
"""The paths of the statistics that a spec may name, in the order of lists."""
