"""The first errors that a new user meets say what to do next."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcli.cli.console import print_failure
from dpcli.problems.errors import Problem, SpecError
from tests.support.cli import PEOPLE, Command, edit


def test_data_named_as_the_spec_are_not_shown(dpcli: Command, spec: Path, tmp_path: Path) -> None:
    """The error says that spec and data are exchanged, and shows no line of the data."""
    data = tmp_path / "people.CSV"
    data.write_text("name,age\nsecret: [,1\n", encoding="utf-8")
    for words in (
        ("release", data, spec),
        ("check", data),
        ("plan", spec, "--diff", data),
        ("local", "randomize", PEOPLE, spec),
    ):
        outcome = dpcli(*words)
        assert outcome.status == 3
        assert "name the spec first, then the data" in outcome.err
        assert "secret" not in outcome.err and "name,age" not in outcome.err


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("statistic: mean", "statistic: average", "did you mean `mean`?"),
        ("epsilon: 1}\n  - {name: by_sex", "epsilon: 0,5}\n  - {name: by_sex", "`0.5`, not `0,5`"),
        ("neighbors:", "neighbours:", "did you mean `neighbors`?"),
        ("type: integer, bounds: [0, 100]", "type: integer", "add `bounds: ["),
        ("type: integer", "type: int", "did you mean `integer`?"),
        ("type: integer", "type: FILL_IN", "write `integer`, `number`"),
        ("column: age", "column: Age", "did you mean `age`?"),
        ("budget: {epsilon: 10", "budget: {epsilon: 3", "multiply every epsilon by 0.5"),
    ],
)
def test_hints_can_be_acted_on(old: str, new: str, hint: str, dpcli: Command, spec: Path) -> None:
    """The hint has the word, the number or the key to write."""
    assert hint in dpcli("check", edit(spec, (old, new))).err


@pytest.mark.parametrize(
    ("option", "near"), [("--epsilon", None), ("--detail", "--details"), ("--row", "--rows")]
)
def test_an_option_is_meant_only_if_it_is_alike(
    option: str, near: str | None, dpcli: Command, spec: Path
) -> None:
    """Dashes, which all have, make no option like another."""
    found = dpcli("plan", spec, option, "3").err
    assert ("did you mean" in found) is bool(near) and (near is None or near in found)


def test_an_empty_budget_suggests_no_smaller_request(
    dpcli: Command, spec: Path, data: Path
) -> None:
    """When nothing is left, no hint suggests a smaller epsilon."""
    edit(spec, ("budget: {epsilon: 10, delta: 1e-5}", "budget: {epsilon: 6, delta: 1e-6}"))
    first, second = (dpcli("release", spec, data, "-q") for _ in range(2))

    assert (first.status, second.status) == (0, 5)
    assert "dpcli ledger export ID" in second.err


def test_a_terminal_names_the_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A terminal shows the page to read; logs stay as they are."""
    failure = SpecError([Problem("missing-bounds", "no bounds", "add some")])
    print_failure(failure)
    plain = capsys.readouterr().err
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    print_failure(failure)
    shown = capsys.readouterr().err

    assert plain == "error[missing-bounds]: no bounds\nhint: add some\n"
    assert shown.endswith("more: dpcli explain missing-bounds\n")
