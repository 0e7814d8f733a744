"""`dpcli init --ask`: a dialogue ends in a spec that is ready, or in nothing."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcli.cli.answers import Prompter
from dpcli.cli.interview import Interview
from dpcli.data.formats import STANDARD_DIALECT
from dpcli.planning.planner import make_plan, require_plan_fits
from dpcli.problems.errors import UsageError
from dpcli.specification.declarations import DeclarationsModel
from dpcli.specification.load import parse_central_spec
from tests.support.cli import PEOPLE, ROOT, Command, Outcome

HEADER = "person_id,age,sex,region,income,since,insured,note\n"

PEOPLE_DIALOGUE = """\
yes
clinic
person_id
add-remove
2
integer
0, 110
45
-99

category
0=male, 1=female

category
Old Town, "Harbour, East"
drop
number
100
0 to 8000

-1, -2
space
date
2021-01-01 2021-12-31

%d/%m/%Y
boolean
no, yes

skip
yes
12

most

sum
0 20000
last

mean
mean, histogram
20
yes
no
median sum
histogram
90
yes
no
1000
12
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A file whose rows must not be read."""
    path = tmp_path / "table.csv"
    path.write_text(HEADER + 'P1,"\xff', encoding="latin-1")
    return path


Ask = Callable[..., Outcome]


@pytest.fixture
def ask(dpcli: Command, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """`init --ask` with these answers piped in."""

    def run(answers: str, *words: str | Path) -> Outcome:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(answers.encode())))
        return dpcli("init", *words, "--ask")

    return run


def test_a_dialogue_ends_in_a_spec_that_is_ready(
    ask: Ask, dpcli: Command, table: Path, tmp_path: Path
) -> None:
    """The answers are in the spec, and check, plan and release accept it."""
    spec = tmp_path / "spec.yaml"
    outcome = ask(PEOPLE_DIALOGUE, table, "-o", spec)
    text = spec.read_text(encoding="utf-8")

    assert (outcome.status, outcome.out) == (0, "")
    assert "unit: {column: person_id}" in text
    assert "sum_income: {sum: income, bounds: [0, 20000], step: 100}" in text
    assert "last_since: {last: since}" in text
    assert 'region: {type: category, values: ["Old Town", "Harbour, East"], missing: drop}' in text
    assert "age: {type: integer, bounds: [0, 110], missing: 45, na: [-99]}" in text
    assert "missing: drop, na: [-1, -2], thousands: space}" in text
    assert 'missing: drop, format: "%d/%m/%Y"}' in text
    assert "\nepsilon: 0.166\n" in text
    assert "{name: mean_age, statistic: mean, column: mean_age}" in text
    # The check takes as much as it needs to notice that a fifth of the people are missing.
    check = re.search(r"quality: {epsilon: (\S+), min_people: 1000, min_readable: 0.98}", text)
    assert check and float(check[1]) > 0.0166
    assert dpcli("check", spec, table).status == 0
    plan = dpcli("plan", spec)
    assert plan.status == 0 and "fits" in plan.out
    parsed = parse_central_spec(text, "spec.yaml")
    assert make_plan(parsed).cost.epsilon * 12 <= 2


def test_what_is_unknown_is_left_to_noisy_counts(
    ask: Ask, dpcli: Command, table: Path, tmp_path: Path
) -> None:
    """`unknown` leads to choices, each with a tenth of the budget, where a statistic uses them."""
    answers = {"person_id": "", "age": "integer\nunknown\n0 200\ndrop\nnone\nnone\n"}
    spec, header = tmp_path / "spec.yaml", HEADER.strip().split(",")
    columns = "".join(answers.get(name.strip(), "skip\n") for name in header)
    start = "town\nperson_id\nadd-remove\n1\n"
    people = "yes\nno\nmax\nhistogram\nmean\n"
    rows = "yes\nunknown\n500\nyes\nmean\n"
    outcome = ask(f"yes\n{start}{columns}{people}{rows}skip\n1\n", table, "-o", spec)
    text = spec.read_text(encoding="utf-8")

    assert outcome.status == 0, outcome.err
    assert "max_rows: {choose: 1-2-5, up_to: 500, epsilon: 0.1}" in text
    assert "{max: age, bounds: {choose: 1-2-5, up_to: 200, epsilon: 0.1}}" in text
    # Bins need bounds before the release.
    assert "histogram, age" not in text
    plan = dpcli("plan", spec).succeeded()
    assert "fits" in plan.out


def test_a_draft_proposes_the_column_of_ids(dpcli: Command, tmp_path: Path) -> None:
    """The comment names the column, or any where no column is likely."""
    for header, column in (("day,customer_no,sum", "customer_no"), ("day,sum", "ID")):
        data = tmp_path / "data.csv"
        data.write_text(f"{header}\n", encoding="utf-8")
        lines = f"# Who is protected: {{column: {column}}}, the column that says whose row it is"
        assert lines in dpcli("init", data).out


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("my data\n", "`dataset` is `my data`"),
        ("d\nperson-id\n", "did you mean `person_id`"),
        ("d\nperson_id\n\n1\ndone\nyes\nno\nyes\n0\n", "expected a whole number from 1"),
        ("d\nrow\nswap\n", "`neighbors` is `swap`"),
        ("d\nrow\nadd-remove\n1,5\n", "`epsilon` is `1,5`"),
        ("d\nrow\nadd-remove\n-1\n", "`epsilon` is `-1`"),
        ("d\nrow\n\n1\nint\n", "`int` is none of the answers; did you mean `integer`?"),
        ("d\nrow\n\n1\ninteger\n100 0\n", "is not below the upper bound"),
        ("d\nrow\n\n1\ninteger\n7\n", "`bounds` has 1 item, expected at least 2"),
        ("d\nrow\n\n1\ninteger\n0 10\n11\n", "expected a value from `0` to `10`"),
        ("d\nrow\n\n1\nnumber\n0\n", "`step` is `0`"),
        ("d\nrow\n\n1\nnumber\n10\n0 15\n", "expected a multiple of the step"),
        ("d\nrow\n\n1\ndate\n2021-02-31 2021-12-31\n", "expected a date"),
        ("d\nrow\n\n1\ncategory\n\n", "list the texts"),
        ('d\nrow\n\n1\ncategory\na, "b\n', "a quote is not closed"),
        ("d\nrow\n\n1\ncategory\na=1, b\n", "a label is empty"),
        ("d\nrow\n\n1\ncategory\na, a\n", "is listed twice"),
        ("d\nrow\n\n1\nboolean\nyes\n", "expected at least 2"),
        ("d\nrow\n\n1\ndone\nmaybe\n", "answer `yes`, `no`, `y` or `n`"),
        ("d\nrow\n\n1\ninteger\n0 10\n\n\n\ndone\nyes\nmedain\n", "did you mean `median`"),
        ("d\nrow\n\n1\ninteger\n0 10\n\n\n\ndone\nyes\nhistogram\n0\n", "`width` is `0`"),
        ("d\nrow\n\n1\ndone\nno\n", "A spec needs at least one statistic"),
        ("d\nrow\n\n1\ndone\nyes\n0\n", "a whole number from 1"),
    ],
)
def test_questions_with_wrong_answers_are_repeated(
    wrong: str, reason: str, ask: Ask, table: Path
) -> None:
    """The reason is reported at once, in the words of the loader; nothing is written at the end."""
    outcome = ask(f"yes\n{wrong}", table)

    assert (outcome.status, outcome.out) == (2, "")
    assert reason in outcome.err.replace("\n  ", " ")
    assert "error[no-answer]" in outcome.err
    assert "Traceback" not in outcome.err


def test_a_column_of_people_is_the_default_unit(ask: Ask, table: Path, tmp_path: Path) -> None:
    """Without a column that sounds like people, there is no default."""
    outcome = ask("yes\n\n\n\n\ndone\n\n\n\n\n\n", table)
    assert "unit: {column: person_id}" in outcome.out
    other = tmp_path / "other.csv"
    other.write_text("age,sex\n", encoding="utf-8")
    outcome = ask("yes\n\n\n", other)
    assert outcome.status == 2 and "answer `row`, `age` or `sex`" in outcome.err


def test_a_decimal_mark_is_asked_for(ask: Ask, tmp_path: Path) -> None:
    """If cells are not separated by commas, a comma may be the decimal mark."""
    path = tmp_path / "my data.csv"
    path.write_text("weight;sex\n", encoding="utf-8")
    spec = tmp_path / "my spec.yaml"
    outcome = ask("yes\nd\nrow\n\n\n\ndone\n\n\n\n", path, "--delimiter", ";", "-o", spec)

    assert outcome.status == 0
    assert 'csv: {delimiter: ";", decimal: ","}' in spec.read_text("utf-8")
    assert f"next: dpcli check '{spec}' '{path}'; dpcli plan '{spec}'; " in outcome.err


def test_declarations_are_asked_for(ask: Ask, dpcli: Command, table: Path, tmp_path: Path) -> None:
    """With an answer to each, no question of a risk is open, and reports lack nothing."""
    spec, count = tmp_path / "spec.yaml", len(DeclarationsModel.model_fields)
    answers = "yes\n" + "Our answer: it's so\n30000\n" * count
    assert ask(f"{PEOPLE_DIALOGUE}{answers}", table, "-o", spec).status == 0
    declared = parse_central_spec(spec.read_bytes(), "spec.yaml").declarations
    risks = dpcli("plan", spec, "--risks", "--json").json["risks"]

    assert declared.population == 30000 and len(declared.answers) == count - 1
    assert [risk["risk"] for risk in risks if risk["verdict"] == "open"] == []
    assert "not stated" not in dpcli("check", spec, table).err


def test_rows_are_never_read(ask: Ask, table: Path, tmp_path: Path) -> None:
    """The questions and the spec do not depend on anything after the header."""
    other = tmp_path / "other" / "table.csv"
    other.parent.mkdir()
    other.write_text(HEADER + "P1,30,0,Old Town,100,2021-03-01,yes,secret\n", encoding="utf-8")
    first, second = (ask(PEOPLE_DIALOGUE, path) for path in (table, other))

    assert first.out == second.out
    assert "secret" not in second.err
    assert first.err.splitlines()[:-1] == second.err.splitlines()[:-1]


def test_nothing_is_overwritten(ask: Ask, dpcli: Command, table: Path, tmp_path: Path) -> None:
    """An existing file is refused before the first question, and no hint suggests --force."""
    spec = tmp_path / "spec.yaml"
    spec.write_text("mine", encoding="utf-8")
    for refused in (ask("", table, "-o", spec), dpcli("init", table, "-o", spec)):
        assert refused.status == 2
        assert "error[output-exists]" in refused.err and "--force" not in refused.err
        assert "Name of the dataset" not in refused.err
    assert ask("", table, "-o", table).status == 2
    assert spec.read_text(encoding="utf-8") == "mine"


def test_endless_wrong_answers_end(ask: Ask, table: Path, tmp_path: Path) -> None:
    """After a limited number of wrong answers from a pipe, the dialogue ends."""
    spec = tmp_path / "spec.yaml"
    outcome = ask("yes\n" + "my data\n" * 10_000, table, "-o", spec)

    assert outcome.status == 2 and not spec.exists()
    assert "only wrong" in outcome.err


@pytest.mark.parametrize(
    ("name", "dataset"),
    [("Visits (2021) v2.csv", "Visits-2021-v2"), ("患者.csv", "患者"), ("+.csv", "FILL_IN")],
)
def test_a_name_for_the_dataset_is_proposed(
    name: str, dataset: str, dpcli: Command, tmp_path: Path
) -> None:
    """It is the name of the file, with hyphens in place of other characters."""
    (tmp_path / name).write_text("age,sex\n", encoding="utf-8")

    assert f"dataset: {dataset}" in dpcli("init", tmp_path / name).out.replace('"', "")


def test_data_and_answers_cannot_share_a_pipe(ask: Ask) -> None:
    """With `-` for DATA, there is no input for the answers."""
    assert "error[bad-option]" in ask("", "-").err


ANSWERS = st.one_of(
    st.sampled_from(
        ["", "row", "id", "a", "1", "0.5", "yes", "no", "integer", "number", "category",
         "boolean", "date", "skip", "0 10", "a, b", "0=a, 1=b", "mean histogram", "median", "5",
         "done", "2021-01-01, 2021-12-31", "change-one", "unknown"]
    ),
    st.text(max_size=8),
)  # fmt: skip


random_answers = given(st.lists(st.text(max_size=5), max_size=4), st.lists(ANSWERS, max_size=60))


@settings(max_examples=15)
@random_answers
def test_random_answers_end_in_a_valid_spec_or_a_refusal(
    header: list[str], answers: list[str]
) -> None:
    """Any dialogue ends in a spec that can be planned, or in its refusal."""
    require_end(header, answers)


@pytest.mark.extended
@settings(max_examples=200)
@random_answers
def test_more_random_answers_end_so(header: list[str], answers: list[str]) -> None:
    """The same of many more dialogues."""
    require_end(header, answers)


def require_end(header: list[str], answers: list[str]) -> None:
    """A dialogue ends in a spec that can be planned, or in its refusal."""
    lines = "".join(f"{answer}\n" for answer in answers).encode("utf-8", "surrogatepass")
    prompter = Prompter(io.BytesIO(lines), terminal=False)
    try:
        interview = Interview(prompter, STANDARD_DIALECT)
        text = interview.spec(["a", *header], "data", certain=True)
    except UsageError as refused:
        assert refused.problems[0].code == "no-answer"
        return
    require_plan_fits(make_plan(parse_central_spec(text, "answers")))


def typed(folder: Path, keys: list[bytes]) -> tuple[int, str]:
    """The status of `init --ask` in a terminal after some keys, and what it showed."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "dpcli", "init", str(PEOPLE), "--ask", "-o", "spec.yaml"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
        preexec_fn=_own_terminal,  # noqa: PLW1509 - no thread is running
    )
    os.close(follower)
    shown = b""
    for key in keys:
        shown += _until_asked(leader)
        os.write(leader, key)
    while True:
        if not select.select([leader], [], [], 5)[0]:
            if process.poll() is not None:
                break
            # A key that is pressed during an import may be lost: press it again.
            os.write(leader, keys[-1])
            continue
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(leader)
    return process.wait(timeout=60), shown.decode()


def _own_terminal() -> None:
    """Make the terminal that of the process, so that Ctrl-C reaches it."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _until_asked(leader: int) -> bytes:
    """The text up to the next question."""
    shown = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        # A text that looks like the end of a question may be the middle of a sentence.
        if select.select([leader], [], [], 0.1)[0]:
            shown += os.read(leader, 65536)
        elif shown.endswith(b": "):
            return shown
    raise AssertionError(f"no question follows: {shown.decode()}")


@pytest.mark.extended
def test_a_user_answers_in_a_terminal(tmp_path: Path) -> None:
    """Enter answers with the default, and the end shows the next commands."""
    enter = [b"yes\n", *([b"\n"] * 5)]
    status, shown = typed(tmp_path, [*enter, b"done\n", *([b"\n"] * 5), b"no\n"])

    assert status == 0
    assert "next: dpcli check spec.yaml" in shown
    assert (
        parse_central_spec((tmp_path / "spec.yaml").read_bytes(), "spec.yaml").dataset == "people"
    )


@pytest.mark.parametrize(("key", "status"), [(b"\x03", 130), (b"\x04", 2)])
def test_a_user_leaves_a_terminal(key: bytes, status: int, tmp_path: Path) -> None:
    """Ctrl-C and the end of input end the dialogue at once, and nothing is written."""
    ended, shown = typed(tmp_path, [b"yes\n", b"\n", key])

    assert ended == status
    assert "nothing was written" in shown and "Traceback" not in shown
    assert not (tmp_path / "spec.yaml").exists()
