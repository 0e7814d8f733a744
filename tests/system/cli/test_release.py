"""The complete flow, as a person or a cron job runs it."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.support.cli import (
    DATA,
    PEOPLE,
    SPECS,
    Command,
    copied_spec,
    edit,
    remove_ledger,
    reported,
    sample_of,
    written,
)
from tests.support.fork_server import fast_dpcli
from tests.support.rules import mostly_extended

DPCLI = [sys.executable, "-m", "dpcli"]
LEDGER = "dpcli-ledger.sqlite"


def lines(text: str) -> list[list[str]]:
    """A CSV text as lists of cells."""
    return list(csv.reader(io.StringIO(text)))


SAMPLES = [path for path in SPECS if path.name != "pums.yaml"]


# Most are released by default as well, in `tests/system/test_frozen.py`.
@pytest.mark.parametrize("path", mostly_extended(SAMPLES, *SAMPLES[::4]), ids=lambda p: p.stem)
def test_every_sample_spec_is_released(path: Path, dpcli: Command, tmp_path: Path) -> None:
    """Each spec in specs/ gives a table of plain decimals and both reports."""
    reports = ["--report", tmp_path / "r.json", "--report", tmp_path / "r.md"]
    # A copy, so that each test has a ledger of its own.
    copied = copied_spec(path, tmp_path)
    dpcli("release", copied, sample_of(path), "-o", tmp_path / "out.csv", *reports).succeeded()

    header, *rows = lines((tmp_path / "out.csv").read_text(encoding="utf-8"))
    assert header[0] == "statistic"
    assert header[-7:] == ["item", "value", "lower", "upper", "flag", "complete", "unit"]
    for row in rows:
        numbers = [number for number in row[-6:-3] if number]
        # A choice has no interval, and a suppressed number is blank.
        assert len(numbers) in (0, 1, 3)
        if all(re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", number) for number in numbers):
            assert numbers[1:] == sorted(numbers[1:])
        else:
            assert all(re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", number) for number in numbers)
            assert len(numbers) < 3 or Decimal(numbers[1]) <= Decimal(numbers[2])
    report = reported(tmp_path / "r.json")
    assert sum(len(statistic["cells"]) for statistic in report["statistics"]) == len(rows)
    assert (tmp_path / "r.md").read_text(encoding="utf-8").startswith("# Privacy report: ")


@pytest.mark.parametrize("words", [(), ("-o", "-"), ("-o", "/dev/null")])
def test_the_table_goes_to_stdout_and_all_else_to_stderr(
    words: tuple[str, ...], dpcli: Command, spec: Path, data: Path
) -> None:
    """Without -o or with a dash, stdout has only the table; a device gets no report next to it."""
    before = {*Path("/dev").glob("*.json")}
    outcome = dpcli("release", spec, data, *words).succeeded()

    assert outcome.out.startswith("statistic,") is ("/dev/null" not in words)
    assert all(len(line) == 9 for line in lines(outcome.out))
    assert "spent epsilon 6, delta 1e-6; epsilon 4," in outcome.err
    assert {*Path("/dev").glob("*.json")} == before and not Path("-").exists()


def test_a_retry_reads_a_pipe_to_its_end(spec: Path, data: Path) -> None:
    """If the release exists already, no signal stops the program that writes into the pipe."""
    data.write_text(DATA + DATA.splitlines(keepends=True)[1] * 100_000, encoding="utf-8")
    release = shlex.join([fast_dpcli(), "release", str(spec), "-", "-q", "--release-id", "one"])
    script = f"set -o pipefail; cat {shlex.quote(str(data))} | {release}"
    tables = [
        subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout
        for _ in range(2)
    ]

    assert tables[0] == tables[1]


def test_standard_input_and_file_agree_to_the_byte_under_the_same_noise(
    dpcli: Command,
    freeze: Callable[[], None],
    spec: Path,
    data: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only the noise differs between a pipe and a file."""
    freeze()
    read = dpcli("release", spec, data, "-q").out
    freeze()
    reader, writer = os.pipe()
    os.write(writer, DATA.encode())
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        piped = dpcli("release", spec, "-", "-q").out

    assert piped == read


ENDS = ("", "_lower", "_upper", "_flag", "_complete")


def with_intervals(*names: str) -> list[str]:
    """The columns of statistics in a wide table."""
    return [f"{name}{end}" for name in names for end in ENDS]


def test_wide_tables_have_five_columns_per_statistic(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """One file per set of keys; the bins of a histogram are the keys of its table."""
    dpcli("release", spec, data, "--layout", "wide", "-o", tmp_path / "out.csv").succeeded()

    tables = {path.name: lines(path.read_text("utf-8")) for path in tmp_path.glob("out.*.csv")}
    assert {name: table[0] for name, table in tables.items()} == {
        "out.total.csv": with_intervals("people", "average", "new"),
        "out.sex.csv": ["sex", *with_intervals("by_sex", "total")],
        "out.age.csv": ["age", *with_intervals("ages")],
    }
    assert [line[0] for line in tables["out.sex.csv"][1:]] == ["female", "male"]
    ages = [line[0] for line in tables["out.age.csv"][1:]]
    assert ages == ["0-24", "25-49", "50-74", "75-99", "100"]


def test_a_budget_that_is_too_small_is_refused_before_any_read(
    dpcli: Command, spec: Path, tmp_path: Path
) -> None:
    """Exit 5 states the inputs, the limit and what would fit; no file is opened."""
    edit(spec, ("epsilon: 10", "epsilon: 4"))
    outcome = dpcli("release", spec, tmp_path / "absent.csv", "-o", tmp_path / "out.csv")

    assert outcome.status == 5
    assert "asks for epsilon 6, but the budget allows 4" in outcome.err
    assert "multiply every epsilon by 0.666" in outcome.err
    assert list(tmp_path.iterdir()) == [spec]


def test_exactly_the_budget_is_allowed(dpcli: Command, data: Path, tmp_path: Path) -> None:
    """0.1 and 0.2 make 0.3, and nothing more fits."""
    spec = tmp_path / "spec.yaml"
    for extra, status in (("", 0), ("  - {name: c, statistic: count, epsilon: 1e-12}\n", 5)):
        spec.write_text(
            "dpcli: 1\ndataset: d\n"
            "privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 0.3}}\n"
            "columns: {}\nstatistics:\n"
            "  - {name: a, statistic: count, epsilon: 0.1}\n"
            "  - {name: b, statistic: count, epsilon: 0.2}\n" + extra,
            encoding="utf-8",
        )
        remove_ledger(tmp_path)
        assert dpcli("release", spec, data, "-q").status == status


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["release"], 2),
        (["release", "SPEC", "DATA", "--nonsense"], 2),
        (["release", "SPEC", "DATA", "--layout", "tall"], 2),
        (["release", "SPEC", "DATA", "--report", "report.txt"], 2),
        (["release", "SPEC", "DATA", "-o", "DATA"], 2),
        (["release", "SPEC", "DATA", "-o", "SPEC", "--force"], 2),
        (["release", "SPEC", "DATA", "-o", "no/such/folder.csv"], 2),
        (["release", "SPEC", "absent.csv"], 4),
        (["release", "absent.yaml", "DATA"], 3),
        (["check", "SPEC", "SPEC"], 4),
        (["check", "DATA"], 3),
        (["check", "SPEC", "DATA"], 0),
        (["plan", "SPEC", "--json"], 0),
        (["explain", "nonsense"], 2),
        (["nonsense"], 2),
        (["--version"], 0),
        (["--help"], 0),
        (["release", "--help"], 0),
    ],
)
def test_statuses_are_as_documented(
    words: list[str], status: int, dpcli: Command, spec: Path, data: Path
) -> None:
    """Each kind of mistake has its exit status and message, and never a traceback."""
    places = {"SPEC": str(spec), "DATA": str(data)}
    outcome = dpcli(*(places.get(word, word) for word in words))

    assert outcome.status == status
    assert "Traceback" not in outcome.err
    assert outcome.err or not status


def test_outputs_are_not_replaced_without_force(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """An existing output stays as it is until --force is given."""
    out = tmp_path / "out.csv"
    out.write_text("precious", encoding="utf-8")

    assert dpcli("release", spec, data, "-o", out).status == 2
    assert out.read_text(encoding="utf-8") == "precious"
    assert dpcli("release", spec, data, "-o", out, "--force").status == 0
    assert out.read_text(encoding="utf-8").startswith("statistic,")


def test_no_half_written_file_is_left(
    dpcli: Command, spec: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a disk is full, no file appears, and the status is 7."""
    words = ["release", spec, data, "-o", tmp_path / "out.csv", "--release-id", "r"]

    def full(source: BinaryIO, sink: BinaryIO) -> None:
        sink.write(source.read(10))
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfileobj", full)
        outcome = dpcli(*words)
    left = sorted(path.name for path in tmp_path.iterdir() if "ledger" not in path.name)
    again = dpcli(*words)

    assert outcome.status == 7
    assert "output-failed" in outcome.err
    assert "--release-id r, which costs nothing" in outcome.err
    assert left == ["data.csv", "spec.yaml"]
    assert again.status == 0
    assert "nothing charged" in again.err


def test_a_closed_pipe_ends_quietly(spec: Path, data: Path) -> None:
    """If the reader ends, the status is 7 and there is no traceback."""
    command = f"{' '.join(DPCLI)} release {spec} {data} -q 2>err; echo $? >status"
    subprocess.run(f"({command}) | true", shell=True, cwd=spec.parent, check=True)

    assert (spec.parent / "status").read_text("utf-8").strip() in {"0", "7"}
    assert "Traceback" not in (spec.parent / "err").read_text("utf-8")


def test_the_draft_fails_helpfully_until_filled_in(
    dpcli: Command, freeze: Callable[[], None], tmp_path: Path
) -> None:
    """init reads only the header; check names each placeholder; when filled in, it releases."""
    spec, _ = written(tmp_path, dpcli("init", PEOPLE).succeeded().out)
    refused = dpcli("check", spec)

    assert refused.status == 3
    assert refused.err.count("error[placeholder]") >= 5
    edit(
        spec,
        ("unit: FILL_IN", "unit: {column: person_id}"),
        ("neighbors: FILL_IN", "neighbors: add-remove"),
        ("budget: {epsilon: FILL_IN}", "budget: {epsilon: 1}"),
        ("epsilon: FILL_IN", "epsilon: 0.5"),
        ("type: FILL_IN", "type: id"),
        ("min_people: FILL_IN", "min_people: 1000"),
        # No statistic uses another column.
        (", min_readable: 0.98", ""),
    )
    # The quality check of a draft stops one good file in a hundred.
    freeze()
    assert dpcli("release", spec, PEOPLE, "-q").status == 0


def test_the_schema_is_json(dpcli: Command) -> None:
    """Editors can read the output of `schema`."""
    assert dpcli("schema").json["$schema"].endswith("2020-12/schema")


def test_there_is_no_way_to_turn_noise_off(dpcli: Command) -> None:
    """No command has an option for a seed, for no noise, or to show rows."""
    for command in ("release", "plan", "check", "init", "explain", "schema"):
        words = re.findall(r"--[a-z-]+", dpcli(command, "--help").out)
        assert not [word for word in words if re.search("seed|noise|debug|verbose|raw", word)]


@pytest.mark.parametrize(
    ("closed", "status"),
    mostly_extended([("<&-", 0), (">&-", 7), ("2>&-", 0)], (">&-", 7), unpack=True),
)
def test_closed_streams_have_a_documented_status(
    spec: Path, data: Path, closed: str, status: int
) -> None:
    """A closed standard stream causes no traceback."""
    command = f"{' '.join(DPCLI)} release {spec} {data} -q {closed}"
    done = subprocess.run(
        f"({command})", shell=True, cwd=spec.parent, capture_output=True, text=True, check=False
    )

    assert done.returncode == status
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["/", ".", "", "loop", "x" * 300, "no/such/out.csv"])
def test_impossible_outputs_are_refused_before_anything_is_spent(
    name: str, dpcli: Command, spec: Path, data: Path, tmp_path: Path
) -> None:
    """A name that no file can have is an error of the command line."""
    (tmp_path / "loop").symlink_to("loop")
    output = tmp_path / name if name == "loop" else name
    outcome = dpcli("release", spec, data, "-q", "-o", output)

    assert outcome.status == 2
    assert not (tmp_path / LEDGER).exists()


def test_tiny_numbers_are_printed_exactly(dpcli: Command, tmp_path: Path) -> None:
    """A delta of 1e-15 and a step of 1e-15 are shown as they are."""
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "dpcli: 1\ndataset: d\n"
        "privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1, delta: 2e-15}}\n"
        "columns: {x: {type: number, bounds: [0, 1e-12], step: 1e-15}}\n"
        "statistics: [{name: s, statistic: sum, column: x, mechanism: gaussian, epsilon: 1, "
        "delta: 1e-15}]\n",
        encoding="utf-8",
    )
    plan = json.loads(dpcli("plan", spec, "--json").out, parse_float=str)

    assert plan["privacy"]["spent"]["delta"] == "0.000000000000001"
    assert plan["privacy"]["budget"]["delta"] == "0.000000000000002"
    assert plan["statistics"][0]["mechanism"]["grid"] == "0.000000000000001"
    assert plan["statistics"][0]["sensitivity"]["l1"] == "0.000000000001"
