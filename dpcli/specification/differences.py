"""The keys in which two specs differ, by their paths."""

from __future__ import annotations

from collections.abc import Iterator

from dpcli.fields.tree import MappingNode, Node, ScalarNode, SequenceNode
from dpcli.problems.light_dataclasses import dataclass
from dpcli.specification.model import Spec
from dpcli.specification.yaml_reader import read_tree

NAME = "name"
"""The key by which entries of a list are compared, in whatever order they stand."""


MARKS = frozenset(",:[]{}")
"""Characters that the flow form of YAML has between texts."""

SHORT = 6
"""Up to this many items, lists are shown whole; else the changed items."""


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A key with its texts in an old and a new spec; None where it is absent."""

    path: str
    before: str | None
    after: str | None

    @property
    def words(self) -> str:
        """The two values, or the one that was added or removed."""
        if self.before is None:
            return f"added {self.after}" if self.after else "changed"
        return f"removed {self.before}" if self.after is None else f"{self.before} -> {self.after}"


def key_changes(old: Spec, new: Spec) -> Iterator[KeyChange]:
    """Every key that was added, removed or changed, and every changed file.

    Comments, blanks, quotes and the order of keys make no difference.
    """
    trees = [read_tree(spec.text.encode(), "")[0] for spec in (old, new)]
    yield from _changes("", *trees)
    before, after = (
        {file.name: file.sha256[:8] for file in spec.named_files} for spec in (old, new)
    )
    for name in before.keys() & after.keys():
        if before[name] != after[name]:
            yield KeyChange(f"SHA-256 of {name}", before[name], after[name])


def _changes(path: str, old: Node | None, new: Node | None) -> Iterator[KeyChange]:
    before, after = _members(old), _members(new)
    if before is None or after is None:
        was, now = _text(old), _text(new)
        if was == now:
            return
        lists = [node for node in (old, new) if isinstance(node, SequenceNode)]
        if len(lists) > 1 and max(map(len, lists)) > SHORT:
            items = [[str(_text(item)) for item in listed.items] for listed in lists]
            was, now = (
                ", ".join(item for item in some if item not in others) or None
                for some, others in (items, items[::-1])
            )
            path += " (items)" if was or now else " (order)"
        yield KeyChange(path, was, now)
        return
    for key in after | before:
        inner = f"{path}.{key}" if path else key
        yield from _changes(inner, before.get(key), after.get(key))
    if isinstance(new, SequenceNode) and [*before] != [*after] and before.keys() == after.keys():
        yield KeyChange(f"{path} (order)", ", ".join(before), ", ".join(after))


def _members(node: Node | None) -> dict[str, Node] | None:
    """The values of a mapping by key, or entries by name; None of another node."""
    if isinstance(node, MappingNode):
        return {key: value for key, (_, value) in node.pairs.items()}
    if not isinstance(node, SequenceNode):
        return None
    names = [item.scalar(NAME) for item in node.items if isinstance(item, MappingNode)]
    if len(names) < len(node.items) or None in names:
        return None
    return {name.text: item for name, item in zip(names, node.items, strict=True) if name}


def _text(node: Node | None) -> str | None:
    """A node in the flow form of YAML, on one line; None if absent."""
    return None if node is None else " ".join(_flow(node).split())


def _flow(node: Node) -> str:
    if isinstance(node, ScalarNode):
        return f'"{node.text}"' if MARKS & {*node.text} else node.text
    if isinstance(node, SequenceNode):
        return f"[{', '.join(map(_flow, node.items))}]"
    return f"{{{', '.join(f'{key}: {_flow(value)}' for key, (_, value) in node.pairs.items())}}}"
