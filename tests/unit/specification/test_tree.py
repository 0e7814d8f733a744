"""Reading continues after a problem; uses of a wrong value report nothing more."""

from __future__ import annotations

import pytest

from dpcli.fields.section import SectionModel
from dpcli.fields.tree import Findings, MappingNode, ScalarNode, Span, attempt, read_all, read_valid
from dpcli.fields.values import AlreadyReportedError, Number
from dpcli.specification.yaml_reader import read_tree, without_comments


class Two(SectionModel):
    """Two numbers."""

    first: Number
    second: Number


def tree(text: str) -> tuple[MappingNode, Findings]:
    """The tree of a good text, and its problems so far."""
    root, findings, _ = read_tree(text.encode(), "spec.yaml")
    assert root is not None
    return root, findings


def even(word: ScalarNode) -> int:
    """A reader that refuses odd numbers."""
    if int(word.text) % 2:
        raise word.span.report("not-a-number", name="it", found=word.text, advice="write 2")
    return int(word.text)


def words(*texts: str) -> tuple[list[ScalarNode], Findings]:
    """Scalars on one line, and their problems so far."""
    findings = Findings("spec.yaml", [" ".join(texts)])
    return [
        ScalarNode(text, Span(findings, 1, 1 + 2 * n, 1)) for n, text in enumerate(texts)
    ], findings


def test_an_unreadable_value_is_reported_once() -> None:
    """A value with a problem can be used several times, and reports nothing more."""
    (odd,), findings = words("3")
    read = attempt(even, odd)
    for _ in range(2):
        with pytest.raises(AlreadyReportedError):
            read.require()
    assert len(findings.problems) == 1


def test_all_items_are_read_before_one_is_given_up() -> None:
    """`read_all` reports every problem; `read_valid` keeps the other items."""
    scalars, findings = words("1", "2", "3")
    with pytest.raises(AlreadyReportedError):
        read_all(even, scalars)
    assert [problem.place.column for problem in findings.problems if problem.place] == [1, 5]
    assert read_all(even, scalars[1:2]) == read_valid(even, scalars) == [2]


def test_a_suppressed_place_reports_nothing_more() -> None:
    """After a placeholder nothing more is reported at its place."""
    (word,), findings = words("1")
    word.span.report_and_suppress("placeholder", text="FILL_IN")
    with pytest.raises(AlreadyReportedError):
        even(word)
    assert [problem.code for problem in findings.problems] == ["placeholder"]


@pytest.mark.parametrize("text", ["first: 1\nsecond: x", "first: 1"])
def test_a_wrong_field_cannot_be_used_by_mistake(text: str) -> None:
    """Valid fields are read; a wrong or missing field raises an error at each use."""
    root, findings = tree(text)
    part = Two.read(root)
    assert part.first == 1 and part.is_wrong("second")
    with pytest.raises(AlreadyReportedError):
        _ = part.second
    for keys in ((), ("second",)):
        with pytest.raises(AlreadyReportedError):
            part.require(*keys)
    part.require("first")
    assert len(findings.problems) == 1


def test_a_spec_without_comments_has_the_same_tree() -> None:
    """Marks in quotes and blocks of text stay; lines of comments and empty lines do not."""
    text = "a: 1  # one\n\n# two\nb: 'x # y'\nc: |\n  # text\n  z#\n# three\nd: [q#, r]\n"

    assert without_comments(text) == "a: 1\nb: 'x # y'\nc: |\n  # text\n  z#\nd: [q#, r]"
    assert without_comments("a: [") == "a: ["
