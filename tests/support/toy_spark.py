"""Answers from columns of the tests alone, on the local engine and on Spark.

A process that imports this module knows the toys, and so do the processes of its tasks.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import tests.support.toy_registry  # noqa: F401 - it registers the toys
from dpcli.data.cell_options import MissingMarks
from dpcli.data.formats import STANDARD_DIALECT
from dpcli.data.kinds import Axis
from dpcli.data.labels import CategoryColumn
from dpcli.privacy.unit import RowUnit
from dpcli.queries.query import LinearQuery, Query
from dpcli.queries.sums import Factor
from dpcli.spark import aggregate
from dpcli.spark.tasks import Tasks
from tests.oracles.opened import bounded, engine, opened
from tests.support.toy_column import DurationColumn
from tests.support.toy_option import Prefix

SITE = CategoryColumn(
    "site", (("north", "n"), ("south", "s")), options=(Prefix("AB-"), MissingMarks(("AB-none",)))
)
SPENT = DurationColumn("spent", bounds=(0, 600), options=(MissingMarks(("-",)),))
QUERIES: list[Query] = [LinearQuery(by=(Axis(SITE),)), LinearQuery(factors=(Factor(SPENT),))]


class ToyTasks(Tasks):
    """Tasks that are found here, so that their processes know the toys."""

    __slots__ = ()


def main() -> None:
    """Print the answers from a file, of both engines."""
    path = sys.argv[1]
    os.environ["PYSPARK_PYTHON"] = sys.executable
    setattr(aggregate, "Tasks", ToyTasks)  # noqa: B010 - not exported
    columns = (SITE, SPENT)
    queries = bounded(QUERIES, RowUnit())
    sealed = aggregate.aggregate_with_spark(queries, STANDARD_DIALECT, columns, (path,))
    print("local:", engine(QUERIES, RowUnit(), Path(path)))
    print("spark:", opened(sealed))
