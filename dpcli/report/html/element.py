"""Elements of a page, built as a tree, so that no text can become markup."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element, tostring

Part = Element | str | None
"""What an element may hold; None is nothing."""

Parts = Part | Iterable["Part"]


def element(tag: str, *parts: Parts, **attributes: str | int | float) -> Element:
    """An element with its children.

    Names of attributes are written with an underscore for a hyphen, and one at the end
    where Python has a word of that name.
    """
    made = Element(tag)
    for name, value in attributes.items():
        made.set(name.rstrip("_").replace("_", "-"), str(value))
    for part in parts:
        if part is None or isinstance(part, str | Element):
            _add(made, part)
        else:
            for one in part:
                _add(made, one)
    return made


def _add(made: Element, part: Part) -> None:
    """One more child, or more text behind the last one."""
    if part is None:
        return
    if isinstance(part, Element):
        made.append(part)
    elif len(made):
        made[-1].tail = (made[-1].tail or "") + part
    else:
        made.text = (made.text or "") + part


def label(text: str) -> Element:
    """A text from the spec or the data, kept apart from the direction of its surroundings."""
    return element("bdi", text)


def document(root: Element) -> bytes:
    """The whole page in UTF-8."""
    return ("<!DOCTYPE html>\n" + tostring(root, encoding="unicode", method="html") + "\n").encode()
