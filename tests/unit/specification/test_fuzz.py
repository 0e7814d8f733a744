"""Any text at all gives a spec or a list of problems."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from dpcli.problems.errors import Problem, SpecError
from dpcli.problems.excerpts import render_problem
from dpcli.specification.load import parse_spec
from tests.support.refusals import refused
from tests.support.specs import SECTIONS, completed

GOOD = completed("")
SPECS = [
    path.read_text(encoding="utf-8")
    for path in sorted((Path(__file__).parents[3] / "specs").glob("*.yaml"))
] or [GOOD]

MARKS = "{}[]:,\n'\"|>#%\t\\~0 \u00e9\u2028\U0001f600"
NAMES = "name epsilon FILL_IN age sex count bins width"
PIECES = st.sampled_from(
    [
        *(*MARKS, *NAMES.split(), ""),
        *(": ", "\n  ", "- ", "? ", "&a", "*a", "!x ", "<<", "---\n", "1e-6"),
    ]
)

SCALARS = (
    "local region smoker colour randomized_response unary_encoding matrix laplace 3/4 1/0 0 1 -1 "
    "0.5 1e-6 1e60 2020-01-01 simplex clamp row count sum mean histogram age sex income day flag "
    "who x true no drop gaussian id integer number category boolean date male FILL_IN '' '=1' ~ "
    "add-remove classic '\u202e' \"\\0\""
)
WORDS = st.sampled_from([*SCALARS.split(), "{false: {a: 1/2, b: 1/2}, true: {a: 1}}"])
FIELDS = (
    "model responses public mechanism probability matrix post by name statistic column where bins "
    "width edges epsilon delta calibration type bounds step missing values min max unit neighbors "
    "budget composition max_rows age sex income day |text"
)
KEYS = st.sampled_from(FIELDS.split())
VALUES = st.recursive(
    WORDS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda items: f"[{', '.join(items)}]"),
        st.dictionaries(KEYS, inner, max_size=5).map(
            lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs.items()) + "}"
        ),
    ),
    max_leaves=12,
)


def problems_of(text: str | bytes) -> tuple[Problem, ...]:
    """The problems of a text; nothing if it is a valid spec."""
    try:
        parse_spec(text, "fuzz.yaml")
    except SpecError as failure:
        return failure.problems or (Problem("none", "a failure without problems"),)
    return ()


def check(text: str | bytes) -> None:
    """Loads a text; every problem must be printable and lie inside the text."""
    for problem in problems_of(text):
        assert render_problem(problem)
        place = problem.place
        if place is None:
            assert problem.code == "more-problems"
            continue
        assert place.source == "fuzz.yaml"
        assert place.line >= 1
        assert 1 <= place.column <= len(place.text) + 1
        assert 1 <= place.length <= max(1, len(place.text) - place.column + 1)
        if isinstance(text, str) and problem.code != "not-utf8":
            lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
            assert lines.split("\n")[place.line - 1] == place.text


@settings(max_examples=60, deadline=None)
@given(st.one_of(st.text(), st.binary()))
def test_any_text(text: str | bytes) -> None:
    """Any text or bytes give a spec or problems with places inside the text."""
    check(text)


@settings(max_examples=60, deadline=None)
@given(st.lists(PIECES, max_size=60).map("".join))
def test_any_yaml(text: str) -> None:
    """Any mixture of the special characters of YAML gives a spec or problems."""
    check(text)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_edit_of_a_good_spec(data: st.DataObject) -> None:
    """A good spec with a part cut out and a piece put in gives a spec or problems."""
    text = data.draw(st.sampled_from([GOOD, *SPECS]))
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, min(len(text), start + 30)))
    piece = data.draw(st.one_of(PIECES, st.text(max_size=5)))
    check(text[:start] + piece + text[stop:])


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(SECTIONS)), VALUES)
def test_any_value_of_a_section(section: str, value: str) -> None:
    """A section with any value gives a spec or problems."""
    check(completed(f"{section}: {value}"))


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=5), VALUES)
def test_any_response(fields: dict[str, str], public: str) -> None:
    """A response with any fields, with any public columns, gives a spec or problems."""
    given_fields = {"column": "smoker", "mechanism": "randomized_response"} | fields
    text = ", ".join(f"{key}: {value}" for key, value in given_fields.items())
    check(completed(f"model: local\nresponses:\n  - {{{text}}}\npublic: {public}"))


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(KEYS, VALUES, max_size=4), st.sampled_from(["statistic", "column", "privacy"])
)
def test_any_field(fields: dict[str, str], where: str) -> None:
    """A statistic, column or privacy section with any fields gives a spec or problems."""
    text = ", ".join(f"{key}: {value}" for key, value in fields.items())
    match where:
        case "statistic":
            given_fields = {"name": "n", "statistic": "count", "epsilon": "1"} | fields
            text = ", ".join(f"{key}: {value}" for key, value in given_fields.items())
            check(completed(f"statistics:\n  - {{{text}}}"))
        case "column":
            check(completed(f"columns:\n  age: {{{text}}}"))
        case _:
            check(completed(f"privacy: {{{text}}}"))


def test_lone_surrogates() -> None:
    """A text that cannot be encoded as UTF-8 is refused like any other."""
    with refused("not-utf8"):
        parse_spec("dataset: \ud800", "fuzz.yaml")
