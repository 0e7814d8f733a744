"""Large specs are refused or planned within bounded time and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpcli.planning.planner import make_plan
from dpcli.problems.errors import SpecError
from dpcli.specification.load import parse_spec
from dpcli.specification.model import CentralSpec
from tests.support.rules import mostly_extended
from tests.support.sizes import FULL, QUICK, Maker


@pytest.mark.parametrize(
    "make", mostly_extended(QUICK, *list(QUICK)[1::6]), ids=lambda make: make.__name__
)
def test_time_grows_with_the_size_alone(make: Maker) -> None:
    """A spec near the limits is planned, or refused, in seconds of work."""
    text = make(QUICK[make])
    begun = time.process_time()
    try:
        spec = parse_spec(text, "spec.yaml")
        if isinstance(spec, CentralSpec):
            make_plan(spec)
    except SpecError as failure:
        assert len(failure.problems) <= 101
    # About one on an idle machine.
    assert time.process_time() - begun < 4


@pytest.mark.slow
@pytest.mark.parametrize("command", ["check", "plan"])
@pytest.mark.parametrize(
    ("make", "size"), FULL, ids=[f"{make.__name__}-{size}" for make, size in FULL]
)
def test_full_sizes_stay_within_memory_and_time(
    make: Maker, size: int, command: str, tmp_path: Path
) -> None:
    """The whole process needs less than ten seconds of work and two gigabytes."""
    path = tmp_path / "spec.yaml"
    path.write_text(make(size), encoding="utf-8")
    program = str(Path(sys.executable).with_name("dpcli"))
    process = subprocess.Popen(
        [program, command, str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)

    # 5: the plan is complete, and the small budget of these specs refuses it.
    assert process.returncode in (0, 3, 5)
    assert used.ru_utime + used.ru_stime < 10
    assert used.ru_maxrss < 2 * 10**6
