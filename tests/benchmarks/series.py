"""Errors of a year of a running series, as planned, as computed and as simulated.

`python -m tests.benchmarks.series [RUNS]` prints a line for each delta, number of cells of a
person, window and shown number: the mechanism that the plan takes, and the root mean square and the
worst error over 365 days in units of the data, by dense matrices and by simulation. The last column
is the error of the plan's mechanism over that of the better one, at equal loss of the window, as
the account counts it. `designs` prints that ratio alone, for each composition.
With `days FOLDER [NUMBER]`, it makes a folder with a series of 50 days, or of another number, and
the file of one more. `night FOLDER FOLDER ...` releases that one in each, in turn, and prints the
least time of each, and that of a plain release of the same file.
"""

from __future__ import annotations

import datetime
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import cast

import numpy as np

from dpcli import Ledger, release
from dpcli.engine.sums.sealed import SealedPeriod, pack_sums, unpack_sums
from dpcli.ledger.balance import from_events_json
from dpcli.ledger.ledger import OpenLedger
from dpcli.numeric.arrays import Floats, integer_array
from dpcli.planning.plan import PlannedStatistic
from dpcli.planning.planner import make_plan
from dpcli.planning.series import ComparedSeries
from dpcli.privacy.accounting import COMPOSITIONS
from dpcli.privacy.series import BLOCK, KEPT, UNIT, coefficients
from dpcli.specification.load import parse_central_spec
from dpcli.specification.model import CentralSpec
from dpcli.statistics.design import NoisyAnswer
from dpcli.statistics.series.designs import SeriesDesign
from dpcli.statistics.series.past import Past, PublicState
from tests.support.series import errors_of_year

DAYS = 365

LENGTHS = {"period": 1, "to_date": DAYS, "last_7": 7}

SPEC = """
dpcli: 1
dataset: d
privacy:
  unit: {{column: who, max_rows: 8, max_rows_per_group: 1, max_groups: {cells}}}
  neighbors: add-remove
  budget: {{epsilon: 1000, delta: 1e-3, window: {window}}}
  composition: {composition}
period: {{column: day}}
quality: none
columns:
  who: {{type: id}}
  day: {{type: date, bounds: [2026-01-01, 2036-12-31]}}
  ward: {{type: category, values: [a, b, c, d, e, f, g, h]}}
statistics:
  - {{name: n, statistic: count, by: [ward], epsilon: 1{more},
     series: {{every: day, show: [period, to_date, last_7]}}}}
"""


def planned(
    cells: int, window: int, more: str, composition: str = "sequential"
) -> tuple[PlannedStatistic, CentralSpec]:
    """The plan of a series in which a person is in at most this number of cells, and its spec."""
    text = SPEC.format(cells=cells, window=window, more=more, composition=composition)
    plan = make_plan(parse_central_spec(text, "spec.yaml"))
    return plan.statistics[0], plan.spec


def ratio_of_errors(
    cells: int, window: int, delta: float, composition: str = "sequential"
) -> float:
    """The error of the planned mechanism over that of the better one, at the planned loss."""
    forms = [", mechanism: laplace"]
    forms += [f", mechanism: gaussian, delta: {delta}"] if delta else []
    statistic, spec = planned(cells, window, f", delta: {delta}" if delta else "", composition)
    loss = ComparedSeries(statistic, spec).loss()
    errors = {
        one.mechanism.name: ComparedSeries(one, spec).error(loss)
        for one, _ in (planned(cells, window, form, composition) for form in forms)
    }
    return errors[statistic.mechanism.name] / min(errors.values())


@cache
def exact_errors(kind: str) -> dict[str, Floats]:
    """The error of each shown number on each day, in deviations of the noise, by dense matrices."""
    estimates = _of_root() if kind == "gaussian" else _of_blocks()
    found: dict[str, list[float]] = {name: [] for name in LENGTHS}
    for end, inverse in enumerate(estimates, 1):
        for name, length in LENGTHS.items():
            weights = np.zeros(end)
            weights[max(0, end - length) :] = 1
            found[name].append(float(np.linalg.norm(weights @ inverse[:end])))
    return {name: np.array(errors) for name, errors in found.items()}


def _of_root() -> Iterator[Floats]:
    """The estimates of days as functions of the noises of the answers, for each last day."""
    column, lags = np.array(coefficients()) / UNIT, np.subtract.outer(range(DAYS), range(DAYS))
    root = np.where((lags >= 0) & (lags < KEPT), column[np.clip(lags, 0, KEPT - 1)], 0)
    inverse = np.linalg.inv(root)
    yield from (inverse for _ in range(DAYS))


def _of_blocks() -> Iterator[Floats]:
    """The least squares estimates of days, from days and closed blocks, for each last day."""
    for end in range(1, DAYS + 1):
        sums = np.kron(np.eye(end // BLOCK), np.ones((1, BLOCK)))
        closed = np.zeros((len(sums), end))
        closed[:, : sums.shape[1]] = sums
        answers = np.vstack([np.eye(end), closed])
        yield np.array(np.linalg.solve(answers.T @ answers, answers.T), np.float64)


def _rms(errors: Floats) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))


STORED_BYTES = 25_000
"""About the packed outputs of a night."""


def make_days(folder: Path, days: int = 50) -> None:
    """A folder with a series of some days, and the file of one more.

    The days are simulated, and their entries are written at once. Only the last one has a state.
    """
    folder.mkdir()
    gaussian = ", mechanism: gaussian, delta: 1e-6"
    text = SPEC.format(cells=1, window=1, more=gaussian, composition="sequential")
    (folder / "spec.yaml").write_text(text, encoding="utf-8")
    path = folder / "dpcli-ledger.sqlite"
    Ledger.create(path).close()
    first = datetime.date(2026, 1, 1)
    for day in (0, days):
        rows = [
            f"{row},{first + datetime.timedelta(day)},{'abcdefgh'[row % 8]}" for row in range(200)
        ]
        (folder / "last.csv").write_text("\n".join(["who,day,ward", *rows]), encoding="utf-8")
        if day == 0:
            release(
                folder / "spec.yaml", folder / "last.csv", ledger=path, release_id="0",
                period=first, any_period=True,
            )  # fmt: skip
    with closing(OpenLedger.open(path)) as ledger:
        (entry,), payload = ledger.releases("d"), ledger.releases("d")[0].content()
        events = from_events_json(entry.events_json)
        plan = make_plan(parse_central_spec(text, "spec.yaml"))
        (statistic,) = plan.statistics
        design, noise = cast("SeriesDesign", statistic.design), statistic.noises[0]
        state = PublicState.from_json(ledger.series_state("n", "d")[0])
        sums = integer_array([25] * 8)
        kept = unpack_sums(path.with_name(f"{path.name}.d.n.sums").read_bytes(), 8)
        with ledger.writing():
            for day in range(1, days):
                date = first + datetime.timedelta(day)
                own = tuple(one.estimates for one in kept)
                past = Past(state, own, date.toordinal(), f"{day:032x}")
                known, earlier = replace(design, past=past), [one.sums for one in kept]
                answer = design.query.with_earlier(sums, earlier, day)
                answers = [NoisyAnswer(answer + np.array(noise.sample(8, many=True)), noise)]
                confidence = plan.spec.confidence
                numbers = known.estimate(answers, confidence)
                history = known.history(numbers, answers, confidence)
                digest = state.design
                state, estimates = known.next_state(answers)
                state = replace(state, design=digest, history=history)
                kept = [SealedPeriod(past.token, sums, estimates), *kept][: design.query.kept]
                outputs = {"report.json": os.urandom(STORED_BYTES), "series/n": state.to_json()}
                made = ledger.next_entry("release", "d", payload, events, str(day), str(date))
                ledger.append(made, outputs if day == days - 1 else {**outputs, "series/n": b"{}"})
        ledger.update_anchor()
        path.with_name(f"{path.name}.d.n.sums").write_bytes(pack_sums(kept))


ROUNDS = 10


def time_nights(folders: Sequence[Path]) -> None:
    """Print the least processor seconds of a night after each series, and of a plain release.

    Nights take turns, because other processes share the machine. Each is made in a copy of its
    ledger.
    """
    plain = Path(shutil.copytree(folders[0], folders[0].with_name(f"{folders[0].name}-plain")))
    for file in plain.glob("dpcli-ledger*"):
        file.unlink()
    text = re.sub(r",\s*series: .*}}", "}", (plain / "spec.yaml").read_text("utf-8"))
    (plain / "spec.yaml").write_text(text, encoding="utf-8")
    seconds: dict[Path, list[float]] = {folder: [] for folder in (*folders, plain)}
    for _ in range(ROUNDS):
        for folder, found in seconds.items():
            with tempfile.TemporaryDirectory(dir=folder.parent) as copied:
                shutil.copytree(folder, copied, dirs_exist_ok=True)
                day = (Path(copied) / "last.csv").read_text("utf-8").split(",")[3]
                words = ("spec.yaml", "last.csv", "--period", day, "--any-period", "-o", "o.csv")
                command = [sys.executable, "-m", "dpcli", "release", *words, "-q", "--report"]
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run([*command, "r.html"], cwd=copied, check=True)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    for folder, found in seconds.items():
        pairs = (own / other for own, other in zip(found, seconds[folders[0]], strict=True))
        ratio = f"{min(found) / min(seconds[folders[0]]):.2f} of the first"
        print(
            f"{folder.name:<20} {min(found):.3f} s, {ratio}, median {statistics.median(pairs):.2f}"
        )
    shutil.rmtree(plain)


def main() -> None:
    """Print a line for each setting."""
    if sys.argv[1:2] == ["days"]:
        make_days(Path(sys.argv[2]), *map(int, sys.argv[3:]))
        return
    if sys.argv[1:2] == ["night"]:
        time_nights([*map(Path, sys.argv[2:])])
        return
    settings = [*product((0, 1e-6), (1, 2, 4, 8), (1, 3, 7))]
    if sys.argv[1:2] == ["designs"]:
        for (delta, cells, window), rule in product(settings, COMPOSITIONS.names):
            ratio = ratio_of_errors(cells, window, delta, rule)
            print(f"{delta:<6} {cells:<6} {window:<7} {rule:<11} {ratio:.3f}", flush=True)
        return
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print("delta  cells  window  number   mechanism  exact rms, worst  simulated rms, worst  ratio")
    for delta, cells, window in settings:
        statistic, _ = planned(cells, window, f", delta: {delta}" if delta else "")
        noise, ratio = statistic.noises[0], ratio_of_errors(cells, window, delta)
        simulated, unit = errors_of_year(noise, runs), UNIT if noise.kind == "gaussian" else 1
        for name, relative in exact_errors(noise.kind).items():
            exact = relative * noise.discrete_variance**0.5 / unit
            numbers = [_rms(exact), float(exact.max()), _rms(simulated[name])]
            numbers.append(float(simulated[name][exact.argmax()]))
            texts = " ".join(f"{number:8.2f}" for number in numbers)
            setting = f"{delta:<6} {cells:<6} {window:<7} {name:<8} {noise.kind:<9}"
            print(f"{setting} {texts}  {ratio:.3f}", flush=True)


if __name__ == "__main__":
    main()
