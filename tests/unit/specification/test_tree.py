"""Reading goes on after a problem, and what depends on an unreadable value is silent."""

from __future__ import annotations

import pytest

from dpcli.spec_values import Number, Shape, Unreadable
from dpcli.specification.tree import Findings, Mapping, Span, Word, attempt, read_all, readable
from dpcli.specification.validation import read_shape
from dpcli.specification.yaml_reader import read_text


class Two(Shape):
    """Two numbers."""

    first: Number
    second: Number


def tree(text: str) -> tuple[Mapping, Findings]:
    """The tree of a good text, and its problems so far."""
    root, findings, _ = read_text(text.encode(), "spec.yaml")
    assert root is not None
    return root, findings


def even(word: Word) -> int:
    """A reader that refuses odd numbers."""
    if int(word.text) % 2:
        raise word.span.report("not-a-number", name="it", found=word.text, advice="write 2")
    return int(word.text)


def words(*texts: str) -> tuple[list[Word], Findings]:
    """Words one after the other on a line, and their problems so far."""
    findings = Findings("spec.yaml", [" ".join(texts)])
    return [Word(text, Span(findings, 1, 1 + 2 * n, 1)) for n, text in enumerate(texts)], findings


def test_an_unreadable_value_is_reported_once() -> None:
    """What was read in vain can be asked for again and again, and is silent."""
    (odd,), findings = words("3")
    read = attempt(even, odd)
    for _ in range(2):
        with pytest.raises(Unreadable):
            read()
    assert len(findings.problems) == 1


def test_all_items_are_read_before_one_is_given_up() -> None:
    """`read_all` reports every problem; `readable` keeps the other items."""
    every, findings = words("1", "2", "3")
    with pytest.raises(Unreadable):
        read_all(even, every)
    assert [one.place.column for one in findings.problems if one.place] == [1, 5]
    assert read_all(even, every[1:2]) == readable(even, every) == [2]


def test_a_spoiled_place_is_silent() -> None:
    """After a placeholder nothing more is reported where it stands."""
    (word,), findings = words("1")
    word.span.spoil("placeholder", text="FILL_IN")
    with pytest.raises(Unreadable):
        even(word)
    assert [one.code for one in findings.problems] == ["placeholder"]


@pytest.mark.parametrize("text", ["first: 1\nsecond: x", "first: 1"])
def test_a_wrong_field_cannot_be_used_by_mistake(text: str) -> None:
    """The other fields are read; one that is wrong or missing raises at each use."""
    root, findings = tree(text)
    part = read_shape(Two, root, "the two")
    assert part.values.first == 1 and part.bad == {"second"}
    with pytest.raises(Unreadable):
        _ = part.values.second
    for keys in ((), ("second",)):
        with pytest.raises(Unreadable):
            part.require(*keys)
    part.require("first")
    assert len(findings.problems) == 1
