"""A sequence of statistics, each of which is imported when it is asked for.

A spec names a few of them, and the modules of all take a tenth of the start of a command.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import overload

from dpcli.statistics.statistic import Statistic


class Registry(Sequence[Statistic]):
    """Statistics in order; each has a name, and is a statistic or where its class is.

    A place is a module of this package and a class in it, such as `counts:Sum`.
    """

    def __init__(self, members: Mapping[str, Statistic | str]) -> None:
        self._members = dict(members)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all statistics, none of which is imported for that."""
        return tuple(self._members)

    def named(self, name: str) -> Statistic | None:
        """The statistic of that name; None if there is none."""
        member = self._members.get(name)
        if isinstance(member, str):
            module, _, kind = member.partition(":")
            made = getattr(import_module(f"dpcli.statistics.{module}"), kind)()
            if not isinstance(made, Statistic) or made.name != name:
                raise TypeError(f"{member} is not the statistic {name}")
            member = self._members[name] = made
        return member

    def with_member(self, statistic: Statistic) -> Registry:
        """The registry with one more statistic at the end."""
        return Registry({**self._members, statistic.name: statistic})

    @overload
    def __getitem__(self, place: int) -> Statistic: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Statistic, ...]: ...
    def __getitem__(self, place: int | slice) -> Statistic | tuple[Statistic, ...]:
        return tuple(self)[place]

    def __iter__(self) -> Iterator[Statistic]:
        return filter(None, map(self.named, self.names))

    def __len__(self) -> int:
        return len(self._members)
