"""Registries: members by name, each imported when it is first needed.

Until then, a member is a path within a package: a module and a class in it, as in
`counts.counts:Sum`. Reading the names imports no member, and neither does the question whether a
class is registered.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar

Kind = TypeVar("Kind")
Member = TypeVar("Member")


class Classes(Collection[type[Kind]], Generic[Kind]):
    """Registered classes, in order.

    Privacy: a class is a member only if it is the object that stands at a registered path. Neither
    a subclass nor a copy is, whatever name it has.
    """

    def __init__(self, package: str, *members: type[Kind] | str) -> None:
        self._package, self._members = package, members
        self._places = {f"{package}.{member}" for member in members if isinstance(member, str)}
        self._known = {member for member in members if not isinstance(member, str)}

    def with_member(self, kind: type[Kind]) -> Classes[Kind]:
        """The registered classes with one more at the end."""
        return Classes(self._package, *self._members, kind)

    @property
    def loaded(self) -> Iterator[type[Kind]]:
        """The classes whose modules are imported."""
        for member in self._members:
            module = f"{self._package}.{member}".partition(":")[0]
            if not isinstance(member, str) or module in sys.modules:
                yield _class_at(self._package, member)

    def __contains__(self, kind: object) -> bool:
        if isinstance(kind, type) and kind not in self._known:
            place = f"{kind.__module__}:{kind.__qualname__}"
            module, _, name = place.partition(":")
            found = getattr(sys.modules.get(module), name, None) if place in self._places else None
            if found is not None and found is kind:
                self._known.add(found)
                # What is put there later is another class.
                self._places.remove(place)
        return kind in self._known

    def __iter__(self) -> Iterator[type[Kind]]:
        return (_class_at(self._package, member) for member in self._members)

    def __len__(self) -> int:
        return len(self._members)


class Registry(Collection[Member], Generic[Member]):
    """Members by name, in order: one object of each class, or the class.

    A registry `makes` objects by default. The attribute `key` of a member has its name.
    """

    def __init__(
        self,
        package: str,
        members: Mapping[str, Member | str],
        *,
        key: str = "name",
        makes: bool = True,
    ) -> None:
        self._package, self._members = package, dict(members)
        self._key, self._makes = key, makes
        classes = (one if isinstance(one, str | type) else type(one) for one in members.values())
        self.classes: Classes[Any] = Classes(package, *classes)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all members."""
        return tuple(self._members)

    def named(self, name: str) -> Member | None:
        """The member with this name; None if no member has this name."""
        return self[name] if name in self._members else None

    def with_member(self, member: Member) -> Registry[Member]:
        """The registry with one more member at the end."""
        members = {**self._members, getattr(member, self._key): member}
        return Registry(self._package, members, key=self._key, makes=self._makes)

    def __getitem__(self, name: str) -> Member:
        member = self._members[name]
        if isinstance(member, str):
            found: Any = _class_at(self._package, member)
            made: Member = found() if self._makes else found
            if getattr(made, self._key, None) != name:
                raise TypeError(f"{member} is not the member {name}")
            member = self._members[name] = made
        return member

    def __iter__(self) -> Iterator[Member]:
        return map(self.__getitem__, self.names)

    def __contains__(self, member: object) -> bool:
        return member in self._members.values()

    def __len__(self) -> int:
        return len(self._members)


def _class_at(package: str, member: type[Any] | str) -> type[Any]:
    return class_at(f"{package}.{member}") if isinstance(member, str) else member


def class_at(path: str) -> type[Any]:
    """The class at a path, such as `package.module:Class`, whose module is imported."""
    module, _, name = path.partition(":")
    found: type[Any] = getattr(import_module(module), name)
    return found
