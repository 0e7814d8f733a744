"""A local Spark session for all tests of a process, which repeats failed tasks."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.cli import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For few rows: to compile code for speed takes longer than to run it."""

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.driver.extraJavaOptions": QUICK_JAVA,
    "spark.python.daemon.module": "tests.support.spark_daemon",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session with two threads, in which a task may fail three times."""
    pytest.importorskip("pyspark", reason="Spark is not installed: pip install -e '.[spark]'")
    if not shutil.which("java") and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, and there is none")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Tasks of tests are classes of tests.
    os.environ["PYTHONPATH"] = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
    builder: Any = SparkSession.builder
    session = builder.master("local[2,4]").config(map=SETTINGS).getOrCreate()
    yield session
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session.stop()
