"""The tree of a text, its problems and their places, and how reading goes on.

Every scalar is a word: its text is kept as written, and nothing is resolved. A reader returns a
plain value, or reports a problem and raises `Unreadable`. Who can go on reads by `attempt` or
`read_all`: all problems are found at once, and what depends on an unreadable value is silent.
A place that is spoiled (a placeholder, an alias) has been reported once; what later readers find
there is a consequence, and is not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import ClassVar, NamedTuple, NoReturn, ParamSpec, TypeVar

from dpcli.errors import Place, Problem, problem
from dpcli.messages import SHOWN, listed, shown, words
from dpcli.spec_values import Unreadable

A = TypeVar("A")
P = ParamSpec("P")
T = TypeVar("T")

MOST = 100
"""No one fixes more problems than this at once."""

ENOUGH = 1000
"""After this number, looking for more would only cost time."""


class Stop(Exception):
    """Reading on would not help; what was found has been recorded."""


class Findings:
    """Everything wrong with one text, in the order of its lines."""

    def __init__(self, source: str, lines: list[str]) -> None:
        self.source, self.lines = source, lines
        self._found: list[tuple[Span, Problem]] = []
        self._spoiled: set[tuple[int, int]] = set()

    def __bool__(self) -> bool:
        return bool(self._found)

    @property
    def many(self) -> bool:
        """Whether further problems are only counted."""
        return len(self._found) >= MOST

    def add(self, span: Span, code: str, message: str, hint: str) -> None:
        """One more problem; `Stop` if there are enough."""
        self._found.append((span, Problem(code, message, hint, span.place)))
        if len(self._found) >= ENOUGH:
            raise Stop

    def spoil(self, span: Span) -> None:
        """Silences what is found at a place from now on."""
        self._spoiled.add(span.start)

    def is_spoiled(self, span: Span) -> bool:
        """Whether more about a place would be noise."""
        return span.start in self._spoiled

    @property
    def problems(self) -> list[Problem]:
        """All problems by place, the first hundred in full."""
        found = [one for _, one in sorted(self._found, key=lambda pair: pair[0].start)]
        if len(found) <= MOST:
            return found
        than = "more than " * (len(found) >= ENOUGH)
        return [*found[:MOST], problem("more-problems", count=len(found) - MOST, than=than)]


class Span(NamedTuple):
    """Part of one line, counted from one, and where its problems are recorded."""

    findings: Findings
    line: int
    column: int
    length: int

    @property
    def start(self) -> tuple[int, int]:
        """Line and column."""
        return self.line, self.column

    @property
    def place(self) -> Place:
        """The same with its source line, held inside the text."""
        lines = self.findings.lines
        line = min(max(self.line, 1), max(len(lines), 1))
        text = lines[line - 1] if lines else ""
        column = min(max(self.column, 1), len(text) + 1) if line == self.line else len(text) + 1
        length = max(1, min(self.length, len(text) - column + 1))
        return Place(self.findings.source, line, column, length, text)

    def report(self, code: str, /, **facts: object) -> Unreadable:
        """Records a problem in the words of its template; `raise` what it returns to give up.

        If a `word` is none of some `choices`, the hint names the likeliest choice. Without one
        it is that of the template, or lists all.
        """
        if not self.findings.is_spoiled(self):
            message, hint = words(code, **facts)
            word, choices = facts.get("word"), facts.get("choices")
            if isinstance(word, str) and isinstance(choices, Iterable):
                every = list(choices)
                near = None if self.findings.many else similar(word, every)
                if near:
                    hint = f"did you mean {shown(near)}?"
                elif not hint and every:
                    hint = f"use {'one of ' * (len(every) > 1)}{listed(every, 'or')}"
            self.findings.add(self, code.partition(".")[0], message, hint)
        return Unreadable()

    def spoil(self, code: str, /, **facts: object) -> Unreadable:
        """The same for a problem after which nothing more is reported here."""
        unreadable = self.report(code, **facts)
        self.findings.spoil(self)
        return unreadable


def attempt(read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Callable[[], T]:
    """Reads now; the result returns the value, or raises `Unreadable` at each use."""
    try:
        value = read(*args, **kwargs)
    except Unreadable:
        return _unreadable
    return lambda: value


def _unreadable() -> NoReturn:
    raise Unreadable


def read_all(read: Callable[[A], T], items: Iterable[A]) -> list[T]:
    """What is read of each item; `Unreadable` after all of them if one cannot be read."""
    return [one() for one in [attempt(read, item) for item in items]]


def readable(read: Callable[[A], T], items: Iterable[A]) -> list[T]:
    """What is read of the items that can be read."""
    return [one() for one in [attempt(read, item) for item in items] if one is not _unreadable]


COMPARED = 500
"""Above this number of choices no similar one is looked for: it would take too long."""

LIKENESS, LIKENESS_OF_SHORT = 0.7, 0.66
"""The least share of letters in common; one slip in three letters leaves two thirds."""


def similar(word: str, choices: Iterable[str]) -> str | None:
    """The choice that was probably meant: another case, or most of its letters."""
    every = choices if isinstance(choices, Sequence) else list(choices)
    if len(every) > COMPARED or not 2 <= len(word) <= SHOWN:
        return None
    plain = {choice.casefold().replace("-", "_"): choice for choice in every}
    folded = word.casefold().replace("-", "_")
    if folded in plain:
        return plain[folded]
    for choice in every:
        if min(len(word), len(choice)) > 2 and (choice.startswith(word) or word.startswith(choice)):
            return choice
    least = LIKENESS if len(word) > 3 else LIKENESS_OF_SHORT
    return next(iter(get_close_matches(word, every, 1, least)), None)


@dataclass(frozen=True, slots=True)
class Word:
    """A scalar, as text."""

    text: str
    span: Span
    form: ClassVar = "a text"

    @property
    def shown(self) -> str:
        """The text as messages quote it."""
        return shown(self.text)

    def plain(self) -> str:
        """The text alone."""
        return self.text


@dataclass(frozen=True, slots=True)
class Listing:
    """A sequence of nodes."""

    items: tuple[Node, ...]
    span: Span
    form: ClassVar = "a list"
    shown: ClassVar = form
    text: ClassVar = ""

    def plain(self) -> list[object]:
        """The same without places."""
        return [item.plain() for item in self.items]


@dataclass(frozen=True, slots=True)
class Mapping:
    """Keys with their values, in the order written; each key occurs once."""

    pairs: dict[str, tuple[Word, Node]]
    span: Span
    form: ClassVar = "a mapping"
    shown: ClassVar = form
    text: ClassVar = ""

    def plain(self) -> dict[str, object]:
        """The same without places."""
        return {key: value.plain() for key, (_, value) in self.pairs.items()}

    def get(self, key: str) -> Node | None:
        """The value of a key, if the key is there."""
        pair = self.pairs.get(key)
        return pair[1] if pair else None

    def word(self, key: str) -> Word | None:
        """The value of a key, if it is a word."""
        node = self.get(key)
        return node if isinstance(node, Word) else None

    def mapping(self, key: str) -> Mapping | None:
        """The value of a key, if it is a mapping."""
        node = self.get(key)
        return node if isinstance(node, Mapping) else None

    def listing(self, key: str) -> Listing | None:
        """The value of a key, if it is a list."""
        node = self.get(key)
        return node if isinstance(node, Listing) else None

    def key_span(self, key: str) -> Span:
        """Where a key is written, or the mapping itself without it."""
        pair = self.pairs.get(key)
        return pair[0].span if pair else self.span


Node = Word | Listing | Mapping


def at(node: Node, *path: str | int) -> Node:
    """The node at the end of a path, or the last one there is along it."""
    for part in path:
        if isinstance(node, Mapping) and isinstance(part, str) and part in node.pairs:
            node = node.pairs[part][1]
        elif isinstance(node, Listing) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
        else:
            break
    return node


def words_of(node: Node | None) -> tuple[Word, ...]:
    """The words of a list, or the only word."""
    items = node.items if isinstance(node, Listing) else (node,)
    return tuple(item for item in items if isinstance(item, Word))
