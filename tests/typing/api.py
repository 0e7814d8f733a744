"""What users of the public API write: `mypy --strict` accepts it, and knows the types."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import assert_type

import polars as pl

from dpcli import DpcliError, Ledger, Release, estimate, load_spec, plan, randomize, release


def nightly(folder: Path, visits: pl.LazyFrame, day: str) -> Release | None:
    """A job that releases a table in memory and reports why it cannot."""
    wanted = plan(load_spec(folder / "survey.yaml"))
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        assert_type(ledger.balances()["town"].remaining.epsilon, Fraction)
        assert_type([one.cost.epsilon for one in ledger.releases()], list[Fraction])
        try:
            return release(wanted, visits, ledger=ledger, release_id=day, period=day)
        except DpcliError as failure:
            print(failure.status, [(one.code, one.place, one.hint) for one in failure.problems])
    return None


def files(names: list[Path]) -> None:
    """A release of several files, and what it has."""
    made = release(plan(load_spec("survey.yaml")), names, ledger="ledger.sqlite", release_id="r")
    assert_type(made.table, pl.DataFrame)
    assert_type(made.report("markdown"), str)
    assert_type(made.cost.epsilon, Fraction)
    assert_type(made.remaining.delta, Fraction)
    assert_type(made.charged, bool)
    assert_type(made.warnings, tuple[str, ...])


def responses(collected: str) -> None:
    """A collection of the local model, and estimates from it."""
    spec = load_spec("local.yaml")
    assert_type(randomize(plan(spec), "people.csv", collected).cost.epsilon, Fraction)
    assert_type(estimate(spec, collected), pl.DataFrame)


def days(day: date) -> None:
    """A release of a day, read by Spark."""
    release(plan(load_spec("survey.yaml")), "day.csv", period=day, engine="spark")
    release("survey.yaml", ["a.csv", "b.csv"], sha256=["0" * 64, "1" * 64], recipient="ministry")


def wrong(made: Release) -> None:
    """What is refused: other data, a seed, and a release that changes."""
    release(plan(load_spec("survey.yaml")), 7)  # type: ignore[arg-type]
    release(plan(load_spec("survey.yaml")), "people.csv", seed=1)  # type: ignore[call-arg]
    release(7, "people.csv")  # type: ignore[arg-type]
    made.charged = False  # type: ignore[misc]
    made.report("pdf")  # type: ignore[arg-type]
    plan(7)  # type: ignore[arg-type]
