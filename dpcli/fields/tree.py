"""The tree of nodes of a spec, and the problems that are found in it.

A scalar keeps its text as written. A reader of a node returns a value, or records a problem and
raises `AlreadyReportedError`. `attempt`, `read_all` and `read_valid` continue after that, so all
problems are found in one run. Whatever depends on a value with a problem reports nothing more. A
place can also be suppressed, such as that of a placeholder: readers then record nothing there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Generic, NamedTuple, ParamSpec, TypeVar

from dpcli.fields.values import NUMBER, AlreadyReportedError
from dpcli.problems.errors import Place, Problem, make_problem
from dpcli.problems.light_dataclasses import dataclass
from dpcli.problems.messages import MAX_CHOICES, closest_match, message_and_hint, quote, quoted_list

A = TypeVar("A")
P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Path = tuple[str | int, ...]
"""Keys, and indexes of items, that lead to a value of a spec."""

MAX_SHOWN_PROBLEMS = 100
"""The most problems to show; further ones are only counted."""

MAX_FOUND_PROBLEMS = 1000
"""Reading stops after this number of problems."""


class TooManyProblemsError(Exception):
    """Reading stops at `MAX_FOUND_PROBLEMS`; the problems found are recorded."""


class Findings:
    """The problems of one text."""

    def __init__(self, source: str, lines: list[str]) -> None:
        self.source, self.lines = source, lines
        self._problems: list[tuple[Span, Problem]] = []
        self._suppressed: set[tuple[int, int]] = set()

    def __bool__(self) -> bool:
        return bool(self._problems)

    @property
    def is_full(self) -> bool:
        """Whether as many problems are recorded as are shown; more are only counted."""
        return len(self._problems) >= MAX_SHOWN_PROBLEMS

    def add(self, span: Span, code: str, message: str, hint: str) -> None:
        """Records a problem; raises `TooManyProblemsError` at the limit."""
        self._problems.append((span, Problem(code, message, hint, span.place)))
        if len(self._problems) >= MAX_FOUND_PROBLEMS:
            raise TooManyProblemsError

    def suppress(self, span: Span) -> None:
        """Records no further problems at the place of a span."""
        self._suppressed.add(span.start)

    def is_suppressed(self, span: Span) -> bool:
        """Whether no further problems are recorded at the place of a span."""
        return span.start in self._suppressed

    @property
    def problems(self) -> list[Problem]:
        """The problems in the order of their places; those beyond the limit are counted."""
        sorted_problems = sorted(self._problems, key=lambda pair: pair[0].start)
        problems = [problem for _, problem in sorted_problems]
        if len(problems) <= MAX_SHOWN_PROBLEMS:
            return problems
        than = "more than " * (len(problems) >= MAX_FOUND_PROBLEMS)
        count = len(problems) - MAX_SHOWN_PROBLEMS
        more = make_problem("more-problems", count=count, than=than)
        return [*problems[:MAX_SHOWN_PROBLEMS], more]


class Span(NamedTuple):
    """A part of one line, counted from one, and where its problems are recorded."""

    findings: Findings
    line: int
    column: int
    length: int

    @property
    def start(self) -> tuple[int, int]:
        """The line and the column at which the span starts."""
        return self.line, self.column

    @property
    def place(self) -> Place:
        """The place of the span in its source line, limited to the text of the line."""
        lines = self.findings.lines
        line = min(max(self.line, 1), max(len(lines), 1))
        text = lines[line - 1] if lines else ""
        column = min(max(self.column, 1), len(text) + 1) if line == self.line else len(text) + 1
        length = max(1, min(self.length, len(text) - column + 1))
        return Place(self.findings.source, line, column, length, text)

    def report(self, code: str, /, **arguments: object) -> AlreadyReportedError:
        """Records a problem; returns an error for readers that cannot continue to raise.

        The `arguments` fill the template of the code. If they have a `word` and `choices`, the hint
        names the choice that is most similar to the word. If no choice is similar, the hint is
        that of the template, or lists all choices.
        """
        if not self.findings.is_suppressed(self):
            message, hint = message_and_hint(code, **arguments)
            word, choices = arguments.get("word"), arguments.get("choices")
            if isinstance(word, str) and isinstance(choices, Iterable):
                options = list(choices)
                near = None if self.findings.is_full else closest_match(word, options)
                if near:
                    hint = f"did you mean {quote(near)}?"
                elif not hint and options:
                    listed = quoted_list(options, "or", MAX_CHOICES)
                    hint = f"use {'one of ' * (len(options) > 1)}{listed}"
            self.findings.add(self, code.partition(".")[0], message, hint)
        return AlreadyReportedError()

    def report_and_suppress(self, code: str, /, **arguments: object) -> AlreadyReportedError:
        """Records a problem, and suppresses further ones at the start of this span."""
        reported = self.report(code, **arguments)
        self.findings.suppress(self)
        return reported


class Attempt(Generic[T_co]):
    """What a reader gave: a value, or a problem that it has recorded."""

    __slots__ = ("_values",)

    def __init__(self, *values: T_co) -> None:
        self._values = values

    @property
    def has_value(self) -> bool:
        """Whether the reader has recorded no problem."""
        return bool(self._values)

    @property
    def value(self) -> T_co:
        """The value; raises `AlreadyReportedError` if there is none."""
        if not self._values:
            raise AlreadyReportedError
        return self._values[0]

    def require(self) -> None:
        """Raises `AlreadyReportedError` if there is no value."""
        if not self._values:
            raise AlreadyReportedError


def attempt(read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Attempt[T]:
    """Calls a reader, whose problems may be raised later."""
    try:
        return Attempt(read(*args, **kwargs))
    except AlreadyReportedError:
        return Attempt()


def read_all(read: Callable[[A], T], items: Iterable[A]) -> list[T]:
    """The values of all items; `AlreadyReportedError` if any item has a problem."""
    return [one.value for one in [attempt(read, item) for item in items]]


def read_valid(read: Callable[[A], T], items: Iterable[A]) -> list[T]:
    """The values of the items without problems."""
    return [one.value for one in (attempt(read, item) for item in items) if one.has_value]


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A scalar: its text, without a type."""

    text: str
    span: Span

    @property
    def form(self) -> str:
        """What messages call a value where another form is expected."""
        return "a number" if NUMBER.fullmatch(self.text) else "a text"

    @property
    def shown(self) -> str:
        """The text as messages quote it."""
        return quote(self.text)


class SequenceNode(list[object]):
    """A list of nodes; as a list it has their values without places.

    `members` are the models of the mappings in the list, or None if these are not read by
    themselves.
    """

    form: ClassVar = "a list"
    shown: ClassVar = form
    text: ClassVar = ""

    def __init__(self, items: tuple[Node, ...], span: Span) -> None:
        super().__init__(item.text if isinstance(item, ScalarNode) else item for item in items)
        self.items, self.span = items, span
        self.members: Any = None

    def __bool__(self) -> bool:
        return True  # Also without items.


class MappingNode(dict[str, object]):
    """Different keys with their values, in the order of the text.

    As a dictionary it has the values without places; `pairs` are the nodes of keys and values.
    `path` leads to the mapping. `wrong` are the keys of the fields whose problems have been
    recorded. `model` is the model that has read the mapping, or None; `members` are the models of
    the mappings in it, or None if these are not read by themselves.
    """

    form: ClassVar = "a mapping"
    shown: ClassVar = form
    text: ClassVar = ""

    def __init__(
        self, pairs: dict[str, tuple[ScalarNode, Node]], span: Span, path: Path = ()
    ) -> None:
        super().__init__(
            (key, node.text if isinstance(node, ScalarNode) else node)
            for key, (_, node) in pairs.items()
        )
        self.pairs, self.span, self.path = pairs, span, path
        self.wrong: frozenset[str] = frozenset()
        self.model: Any = None
        self.members: Any = None

    def __bool__(self) -> bool:
        return True  # Also without keys.

    def value(self, key: str) -> Node | None:
        """The node of the value of a key; None without the key."""
        pair = self.pairs.get(key)
        return pair[1] if pair else None

    def scalar(self, key: str) -> ScalarNode | None:
        """The value of a key; None if it is not a scalar."""
        node = self.value(key)
        return node if isinstance(node, ScalarNode) else None

    def mapping(self, key: str) -> MappingNode | None:
        """The value of a key; None if it is not a mapping."""
        node = self.value(key)
        return node if isinstance(node, MappingNode) else None

    def sequence(self, key: str) -> SequenceNode | None:
        """The value of a key; None if it is not a list."""
        node = self.value(key)
        return node if isinstance(node, SequenceNode) else None

    def key_span(self, key: str) -> Span:
        """The span of a key; the span of the mapping if it does not have the key."""
        pair = self.pairs.get(key)
        return pair[0].span if pair else self.span


Node = ScalarNode | SequenceNode | MappingNode


def node_at(node: Node, *path: str | int) -> Node:
    """The node at the end of a path, or the last node on the way that exists."""
    for part in path:
        if isinstance(node, MappingNode) and isinstance(part, str) and part in node.pairs:
            node = node.pairs[part][1]
        elif isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
        else:
            break
    return node


def scalars_of(node: Node | None) -> tuple[ScalarNode, ...]:
    """The scalars of a list, or a scalar alone as a list of one."""
    items = node.items if isinstance(node, SequenceNode) else (node,)
    return tuple(item for item in items if isinstance(item, ScalarNode))
