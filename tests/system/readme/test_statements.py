"""Numbers that the pages state are those of the program."""

from __future__ import annotations

import re
from inspect import getdoc

import pytest

from dpcli.cli.main import _root
from dpcli.planning.planner import make_plan
from dpcli.report.render import MAX_LINES
from dpcli.specification.load import parse_central_spec, read_central_spec
from dpcli.statistics import STATISTICS
from dpcli.statistics.postprocessing import FLAGS, UNRELIABLE
from tests.support.cli import ROOT, Command

PRIVATE_KEYS = """\
dpcli: 1
dataset: town
privacy:
  unit: {column: person_id, max_rows: 3, max_groups: 2, max_rows_per_group: 2}
  neighbors: add-remove
  budget: {epsilon: 3, delta: 1e-6}
columns:
  person_id: {type: id}
  city: {type: category}
statistics:
  - {name: n, statistic: STATISTIC, by: [city], keys: private, epsilon: 0.5, delta: 1e-7}
"""


def lines(name: str) -> str:
    """A page of `docs/`."""
    return (ROOT / "docs" / f"{name}.md").read_text("utf-8")


def page(name: str) -> str:
    """The same as one line."""
    return " ".join(lines(name).split())


def test_thresholds_of_private_keys() -> None:
    """The thresholds of the example are the ones that the page states."""
    thresholds = []
    for statistic in ("count_distinct", "count"):
        text = PRIVATE_KEYS.replace("STATISTIC", statistic)
        (part,) = make_plan(parse_central_spec(text, "page")).statistics[0].queries
        assert part.calibrated.partition_selection is not None
        thresholds.append(part.calibrated.partition_selection.threshold)

    assert f"Here it is {thresholds[0]}; for a `count`," in page("people")
    assert f"it would be {thresholds[1]}." in page("people")


@pytest.mark.parametrize("epsilon", ["1", "3", "10"])
def test_what_someone_can_learn(epsilon: str, dpcli: Command) -> None:
    """The page states the probabilities that `dpcli explain privacy` prints."""
    explained = dpcli("explain", "privacy", "--epsilon", epsilon).out
    sure, _ = re.findall(r"^ +10% +[\d.e-]+% +([\d.]+)%$", explained, re.MULTILINE)

    assert f"{sure}%" in page("budget")


def test_how_often_beliefs_leave_their_bounds(dpcli: Command) -> None:
    """The page states the two probabilities that the command on it prints."""
    explained = dpcli("explain", "privacy", "--epsilon", "1", "--delta", "1e-6").out
    present, fact = re.findall(r"1 in [\d,]+", explained)

    stated = f"{present} for whether a person is in the data at all, and {fact} for a fact"
    assert stated in page("budget")


def test_a_dozen_releases() -> None:
    """The budget of the sample allows twelve releases and no more."""
    plan = make_plan(read_central_spec(ROOT / "specs" / "town.yaml"))

    assert plan.spec.privacy.budget.epsilon / plan.bound.loss.epsilon == 12
    assert "allows a dozen releases" in page("ledger")


def test_every_statistic_is_in_the_table() -> None:
    """The table of questions names each statistic of the registry."""
    table = lines("statistics").split("\n\n")[2]
    named = set(re.findall(r"`(\w+)`", table))

    assert table.startswith("| question | statistic |")
    assert {statistic.name for statistic in STATISTICS} <= named


def test_flags_and_lengths() -> None:
    """The page states the flags, the share that decides, and the length of a report's tables."""
    text = page("outputs")

    assert all(f"`{flag}`" in text for flag in FLAGS if flag)
    assert f"is more than {float(UNRELIABLE)} of the value" in text
    assert f"the first {MAX_LINES:,} lines" in text


def test_exit_statuses() -> None:
    """The page lists every status that the help lists."""
    statuses = re.findall(r"^\| (\d) \|", lines("scripts"), re.MULTILINE)
    helped = (getdoc(_root) or "").split("Exit status:")[1]

    assert statuses == sorted(re.findall(r"(?:^| )(\d) [a-z]", helped, re.MULTILINE))
