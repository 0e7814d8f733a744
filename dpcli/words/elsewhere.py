"""What other tools call the words of specs."""

from __future__ import annotations

ELSEWHERE = {
    "average": "mean",
    "avg": "mean",
    "total": "sum",
    "stddev": "std",
    "var": "variance",
    "percentile": "quantile",
    "group_by": "by",
    "groupby": "by",
    "filter": "where",
    "status": "exit",
    "float": "number",
    "text": "category",
    "string": "category",
    "noise": "mechanism",
}
"""From their word to ours."""
