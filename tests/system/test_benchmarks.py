"""The benchmarks on small files, so that those on large files work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.accuracy import dpcli_draws
from tests.benchmarks.questions import Question, questions
from tests.benchmarks.timing import run
from tests.benchmarks.workloads import SHAPES as FILES
from tests.benchmarks.workloads import WORKLOADS, make_file

pytestmark = pytest.mark.extended


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_and_its_query_run(name: str, tmp_path: Path) -> None:
    """Each command succeeds and uses some memory."""
    data = tmp_path / "data.csv"
    make_file(data, 1000)
    for command in WORKLOADS[name].commands(tmp_path / "spec.yaml", data):
        assert run(command).megabytes > 0


@pytest.mark.parametrize("shape", FILES)
def test_each_shape_of_file_is_released_and_queried(shape: str, tmp_path: Path) -> None:
    """Both commands succeed on the file."""
    data = tmp_path / f"data{FILES[shape].suffix}"
    make_file(data, 1000, FILES[shape])
    for command in WORKLOADS["people"].commands(tmp_path / "spec.yaml", data, FILES[shape]):
        assert run(command).megabytes > 0


@pytest.mark.parametrize("question", [*questions()], ids=lambda question: question.name)
def test_each_question_of_accuracy_has_all_its_numbers(question: Question) -> None:
    """Draws without numbers would be compared with none."""
    assert [len(draw) for draw in dpcli_draws(question, 2)] == [question.numbers] * 2
