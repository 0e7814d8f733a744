"""`dpcli local`: the responses of each record, their cost, and the messages."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pytest

from dpcli.ledger.ledger import OpenLedger
from dpcli.ledger.options import DEFAULT
from dpcli.ledger.store import Store
from dpcli.local import outbox
from dpcli.noise import entropy
from dpcli.problems.errors import OutputError, Problem
from tests.laws.test_canary import MALFORMED
from tests.support.cli import LOCAL, Command, Outcome, edit, history, reported, table, written
from tests.support.rules import mostly_extended
from tests.support.streams import Stream

SPEC = """\
dpcli: 1
model: local
dataset: survey
privacy: {unit: row, neighbors: change-one, budget: {epsilon: 14, delta: 1e-6}}
columns:
  region: {type: category, values: {n: north, s: "south, far"}}
  since:  {type: date, bounds: [2020-01-01, 2020-12-31]}
  rent:   {type: number, bounds: [-10, 10], step: 0.25}
  smoker: {type: boolean, values: ["no", "yes"], missing: false}
  color: {type: category, values: [red, green, blue], missing: red}
  pet:    {type: category, values: [cat, dog, none], missing: none}
  age:    {type: integer, bounds: [0, 100], missing: 50}
  income: {type: number, bounds: [-1000, 5000], step: 0.5, missing: 0}
  vote:   {type: boolean, values: [a, b], missing: false}
responses:
  - {column: smoker, mechanism: randomized_response, probability: 3/4, by: [region]}
  - {column: color, mechanism: generalized_randomized_response, epsilon: 1, post: [simplex]}
  - {column: pet, mechanism: unary_encoding, epsilon: 1}
  - {column: age, mechanism: laplace, epsilon: 1, post: [clamp], by: [region]}
  - {column: income, mechanism: gaussian, epsilon: 1, delta: 1e-9}
  - {column: vote, mechanism: matrix, matrix: votes.csv}
public: [since, region, rent]
"""
VOTES = "vote,left,right,silent\nfalse,0.5,1/4,1/4\ntrue,1/4,0.5,1/4\n"
HEADER = "region,since,rent,smoker,color,pet,age,income,vote,note"
ROWS = [
    "n,2020-03-01,1.5,yes,red,cat,30,1000.5,a,plain",
    's,2020-07-09,-0.25,no,green,dog,41,-20,b,"a, b"',
    "n,2020-12-31,0,yes,blue,none,77,4999.75,a,",
    ",,,,,,,,,",
    "x,tomorrow,NaN,maybe,pink,cow,old,rich,?,?",
]
COLLECTED = "region,since,rent,smoker,color,pet=cat,pet=dog,pet=none,age,income,vote"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A spec with every randomizer, next to its table."""
    (tmp_path / "votes.csv").write_text(VOTES, encoding="utf-8")
    (path := tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A few records, usual and unusual."""
    path = tmp_path / "data.csv"
    path.write_text("\n".join([HEADER, *ROWS]) + "\n", encoding="utf-8")
    return path


def entries(folder: Path, dpcli: Command) -> int:
    """The number of releases in the ledger of a folder."""
    return len(history(dpcli, folder))


Collect = Callable[..., Outcome]


@pytest.fixture
def collect(dpcli: Command, spec: Path, data: Path) -> Collect:
    """Collect the records into `o.csv` under an id, or with other words in place of the file."""

    def collected(*words: str | Path, to: Path | None = None, name: str = "a") -> Outcome:
        out = to or spec.parent / "o.csv"
        return dpcli("local", "randomize", spec, data, "-o", out, "--release-id", name, *words)

    return collected


@contextmanager
def crash() -> Iterator[None]:
    """Let each collection end as by Ctrl-C, when its responses would be published."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpcli.releasing.responses.publish_file", _interrupted)
        yield


def waiting(folder: Path) -> list[Path]:
    """The charged responses that wait to be published."""
    return list(folder.glob(f".*{outbox.ENDING}"))


def test_each_record_responds_and_all_else_is_dropped(
    dpcli: Command, spec: Path, data: Path
) -> None:
    """One row per record, in order; public columns are unchanged, others are randomized."""
    done = dpcli("local", "randomize", spec, data).succeeded()

    assert done.out.splitlines()[0] == COLLECTED
    responses = table(done.out)
    assert [row["region"] for row in responses] == ["north", "south, far", "north", "", ""]
    assert [row["since"] for row in responses] == ["2020-03-01", "2020-07-09", "2020-12-31", "", ""]
    assert [row["rent"] for row in responses] == ["1.50", "-0.25", "0.00", "", ""]
    for row in responses:
        assert row["smoker"] in {"true", "false"}
        assert row["color"] in {"red", "green", "blue"}
        assert {row["pet=cat"], row["pet=dog"], row["pet=none"]} <= {"0", "1"}
        assert row["vote"] in {"left", "right", "silent"}
        assert Decimal(row["age"]) == int(row["age"])
        assert Decimal(row["income"]) % Decimal("0.5") == 0
    assert "each record spent epsilon 5.791" in done.err
    assert "plain" not in done.out + done.err


def test_the_report_states_how_records_responded(
    dpcli: Command, collect: Collect, spec: Path, data: Path
) -> None:
    """Parameters, losses, digest and account; as JSON next to the table, and as Markdown."""
    folder = spec.parent
    collect().succeeded()
    report = reported(folder / "o.report.json")
    assert report["model"] == "local"
    assert [response["column"] for response in report["responses"]] == [
        "smoker", "color", "pet", "age", "income", "vote",
    ]  # fmt: skip
    assert report["responses"][0]["parameters"] == {"categories": 2, "truth": "3/4"}
    assert report["responses"][5]["parameters"]["rows"] == [
        ["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"],
    ]  # fmt: skip
    content = (folder / "o.csv").read_bytes()
    assert report["responses_sha256"] == hashlib.sha256(content).hexdigest()
    assert report["ledger"]["entry"] == 2
    assert report["privacy"]["spent"]["epsilon"] == pytest.approx(5.791759, abs=1e-5)

    done = dpcli("local", "randomize", spec, data, "--report", folder / "r.md", "-q")
    assert done.status == 0 and not done.err
    text = (folder / "r.md").read_text(encoding="utf-8")
    assert "randomized record by record" in text and "pays again" in text and "model: local" in text


@pytest.mark.parametrize("where", range(len(ROWS) + 1))
def test_an_odd_record_is_one_row_and_changes_nothing_else(
    where: int, dpcli: Command, spec: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For any cell, the number of rows, the messages and the status stay the same."""
    # A new ledger draws its name.
    book = spec.parent / "book.sqlite"
    dpcli("ledger", "init", book).succeeded()
    outcomes: list[object] = []
    for odd in ("n,2020-05-05,0,yes,red,cat,1,1,a,x", "CANARY7f3a,1e999,=1+1,\x00,�,-,NaN,inf,,"):
        lines = [HEADER, *ROWS[:where], odd, *ROWS[where:]]
        data.write_text("\n".join(lines) + "\n", encoding="utf-8")
        monkeypatch.setattr(entropy, "source", Stream("odd"))
        named = ("--release-id", f"r{len(outcomes)}", "--ledger", book)
        done = dpcli("local", "randomize", spec, data, *named, "-q")
        responses = table(done.out)
        public = [(row["region"], row["since"], row["rent"]) for row in responses]
        coins = [row["smoker"] for row in responses]
        # The first release of an account is announced, for any records.
        words = [line for line in done.err.splitlines() if not line.startswith("first release")]
        outcomes.append((done.status, words, public[:where], public[where + 1 :], coins[:where]))
        assert len(responses) == len(ROWS) + 1
        assert "ANARY" not in done.out + done.err

    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("kind", mostly_extended(MALFORMED, *[*MALFORMED][::6]))
def test_no_cell_is_shown_in_any_malformed_file(
    kind: str, dpcli: Command, spec: Path, tmp_path: Path
) -> None:
    """A canary in any cell, also of a public column, is in no output and no message."""
    header, *records = ([*line.split(",")][:9] for line in [HEADER, *ROWS[:1], *ROWS[2:]])
    statuses = set()
    data = tmp_path / "data.csv"
    # Each record has one canary, each time in another column.
    for column in range(0, 9, 2):
        lines = [header, *(list(cells) for cells in records)]
        for row, cells in enumerate(lines[1:]):
            cells[(column + row) % 9] = "CANARY7f3a"
        data.write_bytes(MALFORMED[kind](lines))
        (tmp_path / "dpcli-ledger.sqlite").unlink(missing_ok=True)
        (tmp_path / "dpcli-ledger.sqlite.anchor").unlink(missing_ok=True)
        done = dpcli("local", "randomize", spec, data, "-o", tmp_path / "o.csv", "--force")
        statuses.add(done.status)
        texts = done.out + done.err
        for path in tmp_path.iterdir():
            if path != data:
                texts += path.read_text(encoding="utf-8", errors="replace")
        assert "ANARY" not in texts
    assert statuses == {0}


def test_the_same_id_gives_the_same_responses_at_no_cost(
    dpcli: Command, collect: Collect, spec: Path, data: Path
) -> None:
    """A retry reads and charges nothing; without the file, it names what is missing."""
    folder, out = spec.parent, spec.parent / "o.csv"
    collect().succeeded()
    first = out.read_bytes()
    data.write_text("\n".join([HEADER, *ROWS, *ROWS]) + "\n", encoding="utf-8")
    assert "published again, nothing charged" in collect().succeeded().err
    assert out.read_bytes() == first

    out.rename(folder / "moved.csv")
    gone = collect()
    assert gone.status == 6
    assert "responses-gone" in gone.err and hashlib.sha256(first).hexdigest() in gone.err
    assert entries(folder, dpcli) == 1

    collect("--force", name="b").succeeded()
    assert entries(folder, dpcli) == 2
    # A record that is randomized twice is charged twice.
    (account,) = dpcli("ledger", "show", "--json", "--spec", spec).json
    assert float(account["spent_epsilon"]) == pytest.approx(2 * 5.79175946923)
    assert account["more_runs"] == 0
    third = collect("--force", name="c")
    assert third.status == 5 and "account-exhausted" in third.err


@pytest.mark.parametrize("other", ["table", "order"])
def test_the_same_id_keeps_its_table_and_its_order(
    other: str, collect: Collect, spec: Path
) -> None:
    """The digest covers the file that the spec names, and a retry has the same order."""
    words = ["--shuffle"] if other == "order" else []
    for _ in range(2):
        collect(*words).succeeded()
    if other == "table":
        edit(spec.parent / "votes.csv", ("1/4,1/4", "0.2,0.3"))
    done = collect()

    assert done.status == 6 and "release-id-taken" in done.err
    assert ("--shuffle" in done.err) is (other == "order")
    assert reported(spec.parent / "o.report.json").get("shuffled", False) is (other == "order")


def _interrupted(*_: object, **__: object) -> None:
    """Raise what Ctrl-C raises."""
    raise KeyboardInterrupt


def test_a_crash_before_the_charge_leaves_nothing(
    dpcli: Command, collect: Collect, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Responses that were not charged are removed, and nothing is spent."""
    with monkeypatch.context() as patch:
        patch.setattr(OpenLedger, "commit", _interrupted)
        done = collect()
        assert done.status == 130 and "interrupted" in done.err
    assert not (spec.parent / "o.csv").exists()
    assert not waiting(spec.parent)
    assert entries(spec.parent, dpcli) == 0
    assert collect().status == 0


@pytest.mark.parametrize("target", ["o.csv", "-"])
def test_a_crash_after_the_charge_loses_nothing(
    target: str, dpcli: Command, collect: Collect, spec: Path
) -> None:
    """Charged responses stay in the outbox, under a name that only their owner can read."""
    out = spec.parent / target if target != "-" else Path("-")
    with crash():
        assert collect(to=out).status == 130
    (path,) = waiting(spec.parent)
    kept = path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    assert entries(spec.parent, dpcli) == 1

    again = collect(to=out).succeeded()
    assert (again.out.encode() if target == "-" else out.read_bytes()) == kept
    assert entries(spec.parent, dpcli) == 1
    assert not waiting(spec.parent)


def test_a_closed_pipe_can_be_retried(spec: Path, data: Path) -> None:
    """A closed pipe is status 7; a retry writes all of the same responses at no cost."""
    data.write_text("\n".join([HEADER, *ROWS * 2_000]) + "\n", encoding="utf-8")
    command: list[str] = [sys.executable, "-m", "dpcli", "local", "randomize", str(spec), str(data)]
    command += ["--release-id", "a"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        start = process.stdout.read(1000)
        process.stdout.close()
        errors = process.stderr.read()
        assert process.wait() == 7, errors
    again = subprocess.run(command, capture_output=True, check=False)

    assert again.returncode == 0, again.stderr
    assert again.stdout.startswith(start)
    assert again.stdout.count(b"\n") == 10_001
    assert b"nothing charged" in again.stderr


def test_ids_with_a_common_beginning_have_their_own_files(
    dpcli: Command, collect: Collect, spec: Path
) -> None:
    """No release touches the outbox of another id."""
    edit(spec, ("epsilon: 14", "epsilon: 100"))
    with crash():
        for name in ("1", "1.2", "1.2.3"):
            assert collect(to=spec.parent / f"{name}.csv", name=name).status == 130
    assert len(waiting(spec.parent)) == 3
    for name in ("1.2", "1", "1.2.3"):
        collect(to=spec.parent / f"{name}.csv", name=name).succeeded()
    assert entries(spec.parent, dpcli) == 3


def test_a_signal_right_after_the_charge_loses_nothing(
    dpcli: Command, collect: Collect, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the charge is on disk, its responses stay, in any end of the command."""
    remember = Store.update_anchor

    def remembered(store: Store) -> None:
        if store.entries("kind = 'release'"):
            raise KeyboardInterrupt
        remember(store)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "update_anchor", remembered)
        assert collect().status == 130
    assert entries(spec.parent, dpcli) == 1
    assert "nothing charged" in collect().succeeded().err
    assert (spec.parent / "o.csv").read_text(encoding="utf-8").startswith(COLLECTED)


def test_responses_do_not_replace_a_file_that_appears_meanwhile(
    dpcli: Command, collect: Collect, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other file stays, and the charged responses are written elsewhere at no cost."""
    out, other = spec.parent / "o.csv", spec.parent / "p.csv"
    name = outbox.Outbox.name

    def named(self: outbox.Outbox, path: Path) -> None:
        out.write_text("another file", encoding="utf-8")
        name(self, path)

    with monkeypatch.context() as patch:
        patch.setattr(outbox.Outbox, "name", named)
        done = collect()
    assert done.status == 7 and "it exists already" in done.err and "nothing is lost" in done.err
    assert out.read_text(encoding="utf-8") == "another file"
    collect(to=other).succeeded()
    assert other.read_text(encoding="utf-8").startswith(COLLECTED)
    assert entries(spec.parent, dpcli) == 1
    assert not waiting(spec.parent)


def test_two_datasets_collect_under_one_id(
    dpcli: Command, collect: Collect, spec: Path, data: Path
) -> None:
    """Responses of both wait next to their ledger, and each is published once, to its own file."""
    other, out = spec.with_name("other.yaml"), spec.parent / "p.csv"
    other.write_text(SPEC.replace("dataset: survey", "dataset: other"), encoding="utf-8")
    words = ("local", "randomize", other, data, "-o", out, "--release-id", "a")
    with crash():
        assert collect().status == dpcli(*words).status == 130
    assert len(waiting(spec.parent)) == 2
    collect().succeeded()
    dpcli(*words).succeeded()
    assert not waiting(spec.parent) and entries(spec.parent, dpcli) == 2
    assert len({path.read_bytes() for path in (out, spec.parent / "o.csv")}) == 2


def test_a_report_that_cannot_be_written_has_status_7(
    dpcli: Command, collect: Collect, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The responses are published, the report is not; a retry writes it at no cost."""

    def refused(_: object) -> None:
        raise OutputError([Problem("output-failed", "no room", "make some")])

    with monkeypatch.context() as patch:
        patch.setattr("dpcli.cli.outputs.publish", refused)
        assert collect().status == 7
    first = (spec.parent / "o.csv").read_bytes()
    assert collect().status == 0
    assert (spec.parent / "o.csv").read_bytes() == first
    assert (spec.parent / "o.report.json").exists()
    assert entries(spec.parent, dpcli) == 1


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no second drive")
@pytest.mark.parametrize("force", [False, True])
def test_responses_reach_another_drive(force: bool, collect: Collect, spec: Path) -> None:
    """They are copied completely under a temporary name, and then renamed."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        out = Path(name) / "o.csv"
        collect(*(["--force"] * force), to=out).succeeded()
        assert len(table(out)) == len(ROWS)
        assert {path.name for path in out.parent.iterdir()} == {"o.csv", "o.report.json"}
        assert not waiting(spec.parent)


def test_a_failed_attempt_keeps_the_outbox_of_another_process(tmp_path: Path) -> None:
    """It removes only the file that it wrote itself."""
    path = tmp_path / "waiting"
    with outbox.Outbox(tmp_path) as mine, outbox.Outbox(tmp_path) as theirs:
        theirs.name(path)
        mine.unname()
        assert path.exists()
        theirs.unname()
        assert not path.exists()


def test_the_next_collection_removes_responses_without_a_charge(
    collect: Collect, spec: Path
) -> None:
    """They are from a process that died before its charge; other files in the outbox stay."""
    book = spec.parent / DEFAULT
    with crash():
        assert collect(to=Path("-")).status == 130
    left, other = outbox.waiting_path(book, "dead"), outbox.waiting_path(book, "a")
    stranger = outbox.waiting_path(book.with_name("other.sqlite"), "dead")
    for path in (left, stranger):
        path.write_text("responses", encoding="utf-8")
    assert collect(to=Path("-"), name="b").status == 0
    assert not left.exists()
    assert other.exists() and stranger.exists()
    assert collect(to=Path("-")).status == 0


def test_a_link_to_a_ledger_has_the_same_outbox(tmp_path: Path) -> None:
    """The outbox is next to the ledger itself."""
    book = tmp_path / "book.sqlite"
    book.touch()
    link = tmp_path / "sub" / "link.sqlite"
    link.parent.mkdir()
    link.symlink_to(book)

    assert outbox.waiting_path(link, "a") == outbox.waiting_path(book, "a")


def test_files_without_a_name_are_not_needed(
    collect: Collect, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On other systems, responses have a temporary name until they are charged."""
    monkeypatch.setattr("dpcli.problems.system.nameless_file", lambda _: None)
    assert collect().status == 0
    assert len(table(spec.parent / "o.csv")) == len(ROWS)
    names = {path.name for path in spec.parent.iterdir()}
    assert not any(name.endswith((".tmp", outbox.ENDING)) for name in names), names


def test_a_link_in_the_outbox_is_not_followed(collect: Collect, spec: Path, tmp_path: Path) -> None:
    """Another user could have created it."""
    with crash():
        assert collect().status == 130
    (path,) = waiting(spec.parent)
    secret = path.rename(tmp_path / "secret")
    path.symlink_to(secret)

    assert collect().status == 7
    assert secret.stat().st_mode & 0o777 == 0o600
    assert not (spec.parent / "o.csv").exists()


def test_the_table_of_the_spec_is_an_input(dpcli: Command, spec: Path, data: Path) -> None:
    """Responses never replace the table of probabilities that they were drawn with."""
    votes = spec.parent / "votes.csv"
    for command in (("randomize", spec, data), ("estimate", spec, data)):
        done = dpcli("local", *command, "-o", votes, "--force")
        assert done.status == 2 and "output-is-input" in done.err
    assert votes.read_text(encoding="utf-8") == VOTES


def test_the_ledger_keeps_reports_of_collections_and_no_responses(
    dpcli: Command, spec: Path, data: Path
) -> None:
    """`export` publishes a report again, and states where the responses are."""
    folder = spec.parent
    book = ("--ledger", folder / "dpcli-ledger.sqlite")
    report = folder / "r.json"
    dpcli("local", "randomize", spec, data, "--release-id", "a", "--report", report).succeeded()
    refused = dpcli("ledger", "export", "a", "-o", folder / "x.csv", *book)
    assert refused.status == 6 and "responses-not-stored" in refused.err
    again = dpcli("ledger", "export", "a", "--report", folder / "again.json", *book)
    assert again.status == 0 and not again.out
    assert (folder / "again.json").read_bytes() == report.read_bytes()
    dpcli("ledger", "verify", "--against", report, *book).succeeded()
    assert b"north" not in (folder / "dpcli-ledger.sqlite").read_bytes()


def test_each_command_is_for_its_model(dpcli: Command, spec: Path, data: Path) -> None:
    """A local spec cannot be released, and a central one cannot be randomized."""
    central = LOCAL.with_name("minimal.yaml")
    for command in (
        ("release", spec, data),
        ("local", "randomize", central, data),
        ("local", "estimate", central, data),
    ):
        done = dpcli(*command)
        assert done.status == 3 and "wrong-model" in done.err
    for option in (("--shuffle", "5"), ("--delta", "1e-6")):
        assert dpcli("plan", central, *option).status == 2
    assert dpcli("plan", spec, "--diff", central).status == 2


def test_check_reads_the_header(dpcli: Command, spec: Path, data: Path) -> None:
    """A local spec is checked like any other, and its data file must have its columns."""
    done = dpcli("check", spec, data)
    assert done.status == 0 and "6 responses, no problems" in done.out
    data.write_text("region,since\nn,2020-01-01\n", encoding="utf-8")
    assert dpcli("check", spec, data).status == 4
    missing = dpcli("local", "randomize", spec, data)
    assert missing.status == 4 and "`smoker`" in missing.err


@pytest.fixture
def collected(collect: Collect, spec: Path, data: Path) -> Path:
    """Four thousand responses; all records of the north smoke."""
    body = [
        f"{'n' if place % 2 else 's'},2020-01-01,0,{'yes' if place % 2 else 'no'},red,cat,"
        f"{place % 100},10,b," for place in range(4000)
    ]  # fmt: skip
    data.write_text("\n".join([HEADER, *body]) + "\n", encoding="utf-8")
    collect("-q").succeeded()
    return spec.parent / "o.csv"


def test_estimates_are_near_the_truth_and_spend_nothing(
    dpcli: Command, spec: Path, collected: Path
) -> None:
    """They are a table; with `-o`, the same numbers are summed up for people, unless `--quiet`.

    `tests/unit/mechanisms/test_local_estimates.py` measures their errors and intervals.
    """
    book, out = spec.parent / DEFAULT, spec.parent / "e.csv"
    before = book.read_bytes()
    done = dpcli("local", "estimate", spec, collected)
    assert done.status == 0 and not done.err
    header = "column,estimate,region,item,records,value,standard_error,lower,upper"
    assert done.out.splitlines()[0] == header
    estimates = {(row["column"], row["region"], row["item"]): row for row in table(done.out)}
    for key, truth in {
        ("smoker", "north", "true"): 1,
        ("smoker", "south, far", "true"): 0,
        ("color", "", "red"): 1,
        ("pet", "", "dog"): 0,
        ("age", "north", ""): 50,
        ("income", "", ""): 10,
        ("vote", "", "true"): 1,
    }.items():
        row = estimates[key]
        value, error = Decimal(row["value"]), Decimal(row["standard_error"])
        assert abs(value - truth) < 5 * error, row
        assert Decimal(row["lower"]) <= value <= Decimal(row["upper"])
    assert estimates["smoker", "north", "true"]["records"] == "2000"
    colors = [Decimal(estimates["color", "", item]["value"]) for item in ("red", "green", "blue")]
    assert all(0 <= value <= 1 for value in colors) and abs(float(sum(colors)) - 1) < 0.01

    summary = dpcli("local", "estimate", spec, collected, "-o", out)
    assert summary.status == 0 and not summary.out
    assert out.read_text(encoding="utf-8") == done.out
    assert "estimates of survey; lower and upper with 95% confidence" in summary.err
    for row in table(done.out):
        assert row["value"] in summary.err and row["standard_error"] in summary.err
    assert not dpcli("local", "estimate", spec, collected, "-o", out, "--force", "-q").err
    assert book.read_bytes() == before


def test_invalid_responses_are_left_out_and_counted(
    dpcli: Command, spec: Path, collected: Path
) -> None:
    """An invalid response is not interpreted; no response can be immense, so that is one."""
    with collected.open("a", encoding="utf-8") as file:
        file.write("north,,,perhaps,purple,2,0,1,NaN,1e999,?\nwest,,,true,red,1,1,1,1,1,left\n")
        file.write("north,,,true,red,1,0,1,1e308,1e308,left\n")
    done = dpcli("local", "estimate", spec, collected).succeeded()
    for column, count in (
        ("smoker", 2), ("color", 1), ("pet", 1), ("age", 3), ("income", 2), ("vote", 1),
    ):  # fmt: skip
        assert f"{column}: {count} records left out" in done.err
    for row in table(done.out):
        assert row["records"] in {"2000", "2001", "4001", "4002"}
        assert row["estimate"] != "mean" or abs(float(row["value"])) < 5000


def test_an_empty_collection_has_no_estimates(dpcli: Command, spec: Path, collected: Path) -> None:
    """Groups without records have blank numbers; a file of another kind is refused."""
    collected.write_text(COLLECTED + "\n", encoding="utf-8")
    estimates = table(dpcli("local", "estimate", spec, collected).succeeded().out)
    assert {(row["records"], row["value"]) for row in estimates} == {("0", "")}
    collected.write_text("a,b\n1,2\n", encoding="utf-8")
    assert dpcli("local", "estimate", spec, collected).status == 4


def test_a_plan_lists_each_response_and_its_error(dpcli: Command, spec: Path) -> None:
    """Mechanisms, probabilities, epsilons and the standard error; every composition if asked."""
    words = ("plan", spec, "--records", "10000")
    done, report = dpcli(*words).succeeded(), dpcli(*words, "--json").json
    assert "standard error of 10,000 records" in done.out
    assert "0.00866025" in done.out  # sqrt(0.75 * 0.25 / 0.25 / 10000)
    assert "5.79175946923 of 14 per record: fits" in done.out
    assert report["responses"][0]["standard_error"] == pytest.approx(0.00866025)
    assert report["fits"] is True and not report.get("compared")
    compared = dpcli("plan", spec, "--compare").succeeded().out
    assert "zcdp" in compared and "cheapest" in compared
    assert dpcli("plan", spec, "--compare", "--json").json["compared"]


def without_noise(spec: Path, *changes: tuple[str, str]) -> Path:
    """The spec without its Gaussian responses, which have a delta."""
    lines = [line for line in SPEC.splitlines() if "gaussian" not in line]
    spec.write_text("\n".join(lines), encoding="utf-8")
    return edit(spec, *changes)


def test_shuffling_is_for_pure_responses_and_a_delta(dpcli: Command, spec: Path) -> None:
    """Each condition of the bound is checked."""
    gaussian = dpcli("plan", spec, "--shuffle", "1000000")
    assert gaussian.status == 2 and "shuffle-pure" in gaussian.err and "income" in gaussian.err
    no_public = ("public: [since, region, rent]", "")
    without_noise(spec, no_public, (", delta: 1e-6", ""), (", by: [region]", ""))
    many = ("plan", spec, "--shuffle", "10000000")
    none = dpcli(*many)
    assert none.status == 2 and "shuffle-delta" in none.err
    done = dpcli(*many, "--delta", "1e-6").succeeded()
    assert "10,000,000 responses of epsilon 4.79175946923 in random order" in done.out
    few = dpcli("plan", spec, "--shuffle", "1000", "--delta", "1e-6").succeeded()
    assert "nothing is proven for 1,000 records" in few.out
    assert 0 < dpcli(*many, "--delta", "1e-6", "--json").json["shuffled"]["epsilon"] < 0.5


def test_public_columns_are_part_of_the_condition(dpcli: Command, spec: Path) -> None:
    """Records with different public values do not hide each other, also in JSON."""
    words = ("plan", without_noise(spec), "--shuffle", "10000000")
    assert "that agree in since, region, rent" in dpcli(*words).out
    report = dpcli(*words, "--json").json
    assert "that agree in since, region, rent" in report["shuffled"]["condition"]
    assert report["records"] == 10_000_000
    assert report["responses"][0]["standard_error"] > 0


def test_a_small_budget_is_refused_before_a_record_is_read(dpcli: Command, spec: Path) -> None:
    """The total of a record is checked against the budget before anything is read."""
    edit(spec, ("epsilon: 14", "epsilon: 5"))
    done = dpcli("plan", spec)
    assert done.status == 5 and "does not fit" in done.out
    assert dpcli("local", "randomize", spec, "nowhere.csv").status == 5


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "SPEC", "--delta", "abc"),
        ("plan", "SPEC", "--records", "1" + "0" * 400),
        ("local", "epsilon", "SPEC", "--scale", "3"),
        ("local", "epsilon", "SPEC", "--bounds", "1", "5"),
        ("local", "epsilon", "--scale", "0", "--bounds", "18", "100"),
        ("local", "epsilon", "--scale", "3", "--bounds", "100", "18"),
        ("local", "epsilon", "--scale", "x", "--bounds", "18", "100"),
        ("local", "epsilon", "--scale", "3"),
        ("local", "epsilon"),
    ],
)
def test_options_are_never_ignored(words: tuple[str, ...], dpcli: Command, spec: Path) -> None:
    """A delta without shuffling, and options of noise with a table or without each other."""
    assert dpcli(*(spec if word == "SPEC" else word for word in words)).status == 2


THIRDS = ",yes,no,maybe\nfirst,1/3,1/3,1/3\nsecond,0.5,0.25,0.25\nthird,1/9,4/9,4/9\n"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (THIRDS, ["epsilon  1.50407739678 (ln 9/2)",
                  "worst    output yes: probability 0.5 for input second, 1/9 for third"]),
        ("0.75,0.25\n0.25,0.75\n", ["epsilon  1.09861228867 (ln 3)"]),
        ("0.5,0.5\n0.5,0.5\n", ["epsilon  0 (ln 1)"]),
        ("1,0\n0.5,0.5\n", ["epsilon  infinity"]),
        (",a,b,c\nx,0.5,0.5,0\ny,0.25,0.75,0\n", ["epsilon  0.69314718056 (ln 2)"]),
    ],
)  # fmt: skip
def test_the_epsilon_of_a_table_is_exact(
    text: str, lines: list[str], dpcli: Command, tmp_path: Path
) -> None:
    """With the worst output and inputs; without names, difference or limit; thirds sum to one."""
    path = written(tmp_path, "", text)[1]
    assert dpcli("local", "epsilon", path).succeeded().out.splitlines()[: len(lines)] == lines
    if text == THIRDS:
        assert dpcli("local", "epsilon", path, "--json").json == {
            "epsilon": "1.50407739678", "infinite": False, "ratio": "9/2", "output": "yes",
            "inputs": ["second", "third"], "probabilities": ["1/2", "1/9"],
        }  # fmt: skip


def test_the_epsilon_of_laplace_noise(dpcli: Command) -> None:
    """Scale 3 on numbers from 18 to 100 is 82/3."""
    done = dpcli("local", "epsilon", "--scale", "3", "--bounds", "18", "100").succeeded()
    assert done.out.startswith("epsilon  27.3333333334 (82/3)\n")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (",a,b\nx,0.5,0.4\ny,1/3,1/3\n", "row-sum"),
        (",a,b\nx,-0.5,1.5\n", "not-a-probability"),
        (",a,b\nx,0.5\n", "table-form"),
        (",a,a\nx,0.5,0.5\n", "table-form"),
        (",a,b\n", "table-form"),
        ("", "table-form"),
        (",a,b\nx,half,0.5\n", "not-a-probability"),
    ],
)
def test_errors_in_a_table_have_their_places(
    text: str, code: str, dpcli: Command, tmp_path: Path
) -> None:
    """The first error has its line, since others may follow from it; status 3."""
    done = dpcli("local", "epsilon", written(tmp_path, "", text)[1])
    assert done.status == 3 and not done.out
    assert done.err.count(f"error[{code}]") == 1, done.err
    assert dpcli("local", "epsilon", tmp_path / "none.csv").status == 3


def test_many_long_fractions_are_summarized(dpcli: Command, tmp_path: Path) -> None:
    """A sum of hundreds of unusual fractions is accepted, and is not printed."""
    cells = [f"1000000000000000/{10**17 + 2 * place + 1}" for place in range(400)]
    header = ",".join(f"o{place}" for place in range(400))
    text = f"x,{header}\na,{','.join(cells)}\n"
    done = dpcli("local", "epsilon", written(tmp_path, "", text)[1])
    assert done.status == 3 and "row-sum" in done.err
    assert len(done.err.splitlines()[0]) < 120


def test_a_file_of_records_in_place_of_a_table_is_not_shown(dpcli: Command, tmp_path: Path) -> None:
    """No line, cell or name of it is printed, for a large or a small file."""
    rows = "".join(f"canary{place},0.5,secret{place}\n" for place in range(50))
    table = tmp_path / "table.csv"
    for text in ("name,chance,note\n" + rows, rows, rows * 200, "a,b\nx,0.25\ncanary,0.5\n"):
        table.write_text(text, encoding="utf-8")
        refused = dpcli("local", "epsilon", table)

        assert refused.status == 3
        assert not re.search(
            r"canary|secret|0\.25", refused.out + refused.err.replace("`0.25`", "")
        )
