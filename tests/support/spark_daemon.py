"""The process from which Spark forks its Python workers, after it has imported what tasks need.

A worker that is killed is replaced at once, without imports of its own.
"""

from __future__ import annotations

from pyspark.daemon import manager

import dpcli.spark.tasks  # noqa: F401

if __name__ == "__main__":
    manager()
