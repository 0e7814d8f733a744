"""The recipes and the entries by wish are right."""

from __future__ import annotations

import configparser
import datetime
import re
import shlex
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
import yaml

from dpcli import check
from tests.support.cli import ROOT
from tests.system.readme.test_readme import FENCE, NightlyJob, nightly

__all__ = ["nightly"]

RECIPES = (ROOT / "docs" / "recipes.md").read_text("utf-8")
WISHES = (ROOT / "docs" / "wishes.md").read_text("utf-8")

DATA = ("sample_data/people.csv", "--release-id", "pandas")

SPEC = """\
dpcli: 1
dataset: wishes
privacy:
  unit: {column: person_id, max_rows: 2, max_groups: 2}
  neighbors: add-remove
  budget: {epsilon: 100}
quality: none
columns:
  person_id: {type: id}
  visit: {type: date, bounds: [2021-01-01, 2021-12-31]}
  age: {type: integer, bounds: [0, 110]}
  sex: {type: category, values: {0: male, 1: female, 2: other}}
  region: {type: category, values: [Old Town, Hillside]}
  employment: {type: category, values: [employed, self-employed, unemployed, student, retired]}
  hours: {type: integer, bounds: [0, 60]}
  income: {type: number, bounds: [0, 10000], step: 10}
  insured: {type: boolean, values: ["no", "yes"]}
  first_visit: {type: boolean, values: ["0", "1"]}
derive:
  month: {part: month, of: visit}
statistics:
"""


def unit(name: str) -> configparser.ConfigParser:
    """The unit of systemd with a section of that name."""
    blocks = [match["text"] for match in FENCE.finditer(RECIPES) if match["language"] == "ini"]
    (text,) = (block for block in blocks if f"[{name}]" in block)
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return parser


def systemd_job() -> str:
    """What the service of systemd starts, as a shell reads it."""
    words = shlex.split(unit("Service")["Service"]["ExecStart"], posix=True)
    assert words[:2] == ["/bin/sh", "-c"]
    return words[2].replace("$$", "$").replace("%%", "%").replace(".venv/bin/", "")


def kubernetes_job() -> str:
    """What the job of Kubernetes starts, with its folders as this one."""
    (text,) = (match["text"] for match in FENCE.finditer(RECIPES) if match["language"] == "yaml")
    job = yaml.safe_load(text)
    assert job["spec"]["timeZone"] == "Etc/UTC"
    assert job["spec"]["concurrencyPolicy"] == "Forbid"
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounted.keys() == {volume["name"] for volume in pod["volumes"]}
    assert container["command"] == ["/bin/sh", "-c"]
    (script,) = container["args"]
    for folder in mounted.values():
        script = script.replace(f"{folder}/", "")
    return str(script).replace(" && ", "; ")


@pytest.mark.parametrize("job", [systemd_job, kubernetes_job])
def test_scheduled_jobs_release_yesterday(job: object, nightly: NightlyJob) -> None:
    """The commands of both schedulers release a day once, whenever they are repeated."""
    assert callable(job)
    day = datetime.date(2027, 1, 1)
    nightly.write_visits(day)
    for _ in range(2):
        done = nightly.run(day, job().replace("; exec ", "; "))
        assert done.status == 0, done.err
        assert Path(f"nightly-{day}.csv").is_file()
    assert [entry["release_id"] for entry in nightly.history()] == [str(day)]


def test_pandas_reads_a_table(nightly: NightlyJob) -> None:
    """The lines for pandas show the numbers of one statistic that have no flag."""
    (block,) = (match["text"] for match in FENCE.finditer(RECIPES) if match["language"] == "python")
    assert nightly.dpcli("release", "survey.yaml", *DATA, "-o", "survey.csv", "-q").status == 0
    with redirect_stdout(StringIO()) as printed:
        exec(compile(block, "recipes.md", "exec"), {})

    shown = printed.getvalue().splitlines()
    assert len(shown) in (3, 4) and all("people" in line for line in shown[1:])


def test_every_entry_by_wish_is_valid(tmp_path: Path) -> None:
    """Each entry of the page has a `statistic`, and a spec with all of them has no problem."""
    entries = re.findall(r"\| `\{(statistic: [^`]+)\}`", WISHES)
    lines = [
        f"  - {{name: n{number}, {entry}{'' if 'error' in entry else ', epsilon: 0.5'}}}\n"
        for number, entry in enumerate(entries)
    ]
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC + "".join(lines), encoding="utf-8")

    assert len(entries) > 20
    assert list(check(spec)) == []
