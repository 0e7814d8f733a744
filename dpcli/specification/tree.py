"""The tree of a text, its problems and their places, and how reading goes on.

Every scalar is a word: its text is kept as written, and nothing is resolved. A reader returns a
plain value, or reports a problem and raises `AlreadyReportedError`. `attempt` and `read_all` go on
after that: all problems are found at once, and what depends on an unreadable value is silent.
A place that is spoiled (a placeholder, an alias) has been reported once; what later readers find
there is a consequence, and is not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import ClassVar, NamedTuple, NoReturn, ParamSpec, TypeVar

from dpcli.errors import Place, Problem, make_problem
from dpcli.messages import MAX_QUOTED, message_and_hint, quote, quoted_list
from dpcli.spec_values import AlreadyReportedError

A = TypeVar("A")
P = ParamSpec("P")
T = TypeVar("T")

MAX_SHOWN_PROBLEMS = 100
"""No one fixes more problems than this at once."""

MAX_FOUND_PROBLEMS = 1000
"""After this number, looking for more would only cost time."""


class TooManyProblemsError(Exception):
    """Reading on would not help; what was found has been recorded."""


class Findings:
    """Everything wrong with one text, in the order of its lines."""

    def __init__(self, source: str, lines: list[str]) -> None:
        self.source, self.lines = source, lines
        self._found: list[tuple[Span, Problem]] = []
        self._suppressed: set[tuple[int, int]] = set()

    def __bool__(self) -> bool:
        return bool(self._found)

    @property
    def many(self) -> bool:
        """Whether further problems are only counted."""
        return len(self._found) >= MAX_SHOWN_PROBLEMS

    def add(self, span: Span, code: str, message: str, hint: str) -> None:
        """One more problem; `TooManyProblemsError` if there are enough."""
        self._found.append((span, Problem(code, message, hint, span.place)))
        if len(self._found) >= MAX_FOUND_PROBLEMS:
            raise TooManyProblemsError

    def suppress(self, span: Span) -> None:
        """Silences what is found at a place from now on."""
        self._suppressed.add(span.start)

    def is_suppressed(self, span: Span) -> bool:
        """Whether more about a place would be noise."""
        return span.start in self._suppressed

    @property
    def problems(self) -> list[Problem]:
        """All problems by place, the first hundred in full."""
        found = [one for _, one in sorted(self._found, key=lambda pair: pair[0].start)]
        if len(found) <= MAX_SHOWN_PROBLEMS:
            return found
        than = "more than " * (len(found) >= MAX_FOUND_PROBLEMS)
        return [
            *found[:MAX_SHOWN_PROBLEMS],
            make_problem("more-problems", count=len(found) - MAX_SHOWN_PROBLEMS, than=than),
        ]


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

    def report(self, code: str, /, **facts: object) -> AlreadyReportedError:
        """Records a problem in the words of its template; `raise` what it returns to give up.

        If a `scalar` is none of some `choices`, the hint names the likeliest choice. Without one
        it is that of the template, or lists all.
        """
        if not self.findings.is_suppressed(self):
            message, hint = message_and_hint(code, **facts)
            word, choices = facts.get("word"), facts.get("choices")
            if isinstance(word, str) and isinstance(choices, Iterable):
                every = list(choices)
                near = None if self.findings.many else closest_match(word, every)
                if near:
                    hint = f"did you mean {quote(near)}?"
                elif not hint and every:
                    hint = f"use {'one of ' * (len(every) > 1)}{quoted_list(every, 'or')}"
            self.findings.add(self, code.partition(".")[0], message, hint)
        return AlreadyReportedError()

    def report_and_suppress(self, code: str, /, **facts: object) -> AlreadyReportedError:
        """The same for a problem after which nothing more is reported here."""
        unreadable = self.report(code, **facts)
        self.findings.suppress(self)
        return unreadable


def attempt(read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Callable[[], T]:
    """Reads now; the result returns the value, or raises `AlreadyReportedError` at each use."""
    try:
        value = read(*args, **kwargs)
    except AlreadyReportedError:
        return _unreadable
    return lambda: value


def _unreadable() -> NoReturn:
    raise AlreadyReportedError


def read_all(read: Callable[[A], T], items: Iterable[A]) -> list[T]:
    """What is read of each item; `AlreadyReportedError` after all of them if one cannot be read."""
    return [one() for one in [attempt(read, item) for item in items]]


def read_valid(read: Callable[[A], T], items: Iterable[A]) -> list[T]:
    """What is read of the items that can be read."""
    return [one() for one in [attempt(read, item) for item in items] if one is not _unreadable]


MAX_COMPARED = 500
"""Above this number of choices no similar one is looked for: it would take too long."""

MIN_SIMILARITY, MIN_SIMILARITY_OF_SHORT = 0.7, 0.66
"""The least share of letters in common; one slip in three letters leaves two thirds."""


def closest_match(word: str, choices: Iterable[str]) -> str | None:
    """The choice that was probably meant: another case, or most of its letters."""
    every = choices if isinstance(choices, Sequence) else list(choices)
    if len(every) > MAX_COMPARED or not 2 <= len(word) <= MAX_QUOTED:
        return None
    plain = {choice.casefold().replace("-", "_"): choice for choice in every}
    folded = word.casefold().replace("-", "_")
    if folded in plain:
        return plain[folded]
    for choice in every:
        if min(len(word), len(choice)) > 2 and (choice.startswith(word) or word.startswith(choice)):
            return choice
    least = MIN_SIMILARITY if len(word) > 3 else MIN_SIMILARITY_OF_SHORT
    return next(iter(get_close_matches(word, every, 1, least)), None)


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A scalar, as text."""

    text: str
    span: Span
    form: ClassVar = "a text"

    @property
    def shown(self) -> str:
        """The text as messages quote it."""
        return quote(self.text)

    def plain(self) -> str:
        """The text alone."""
        return self.text


@dataclass(frozen=True, slots=True)
class SequenceNode:
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
class MappingNode:
    """Keys with their values, in the order written; each key occurs once."""

    pairs: dict[str, tuple[ScalarNode, Node]]
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

    def scalar(self, key: str) -> ScalarNode | None:
        """The value of a key, if it is a word."""
        node = self.get(key)
        return node if isinstance(node, ScalarNode) else None

    def mapping(self, key: str) -> MappingNode | None:
        """The value of a key, if it is a mapping."""
        node = self.get(key)
        return node if isinstance(node, MappingNode) else None

    def sequence(self, key: str) -> SequenceNode | None:
        """The value of a key, if it is a list."""
        node = self.get(key)
        return node if isinstance(node, SequenceNode) else None

    def key_span(self, key: str) -> Span:
        """Where a key is written, or the mapping itself without it."""
        pair = self.pairs.get(key)
        return pair[0].span if pair else self.span


Node = ScalarNode | SequenceNode | MappingNode


def node_at(node: Node, *path: str | int) -> Node:
    """The node at the end of a path, or the last one there is along it."""
    for part in path:
        if isinstance(node, MappingNode) and isinstance(part, str) and part in node.pairs:
            node = node.pairs[part][1]
        elif isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
        else:
            break
    return node


def scalars_of(node: Node | None) -> tuple[ScalarNode, ...]:
    """The words of a list, or the only word."""
    items = node.items if isinstance(node, SequenceNode) else (node,)
    return tuple(item for item in items if isinstance(item, ScalarNode))
