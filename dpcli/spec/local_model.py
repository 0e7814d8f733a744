"""What a correct spec of the local model says: who responds how."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from dpcli.columns import CategoryColumn, NumericColumn
from dpcli.dialect import UNDECLARED, Dialect
from dpcli.randomizers.base import Channel, Randomizer
from dpcli.spec.model import Declarations, Privacy

Cell = CategoryColumn | NumericColumn
"""A column whose cells are declared."""


@dataclass(frozen=True, slots=True)
class Response:
    """One column, how each record responds for it, and what is estimated from that.

    Estimates are made for each group of the public columns `by`; `steps` of
    post-processing are done to them in order.
    """

    column: Cell
    randomizer: Randomizer
    channel: Channel
    by: tuple[CategoryColumn, ...] = ()
    steps: tuple[str, ...] = ()

    @property
    def outputs(self) -> tuple[str, ...]:
        """The texts that a response may be, for those that are labels."""
        labels = self.column.labels if isinstance(self.column, CategoryColumn) else ()
        return self.channel.outputs or labels

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are collected."""
        if self.channel.form == "bits":
            return tuple(f"{self.column.name}={label}" for label in self.outputs)
        return (self.column.name,)


@dataclass(frozen=True, slots=True)
class LocalSpec:
    """A checked spec of the local model; `digest` covers its text and its tables in `files`.

    With `must_exist` no collection creates a ledger or opens an account.
    """

    dataset: str
    privacy: Privacy
    columns: tuple[Cell, ...]
    responses: tuple[Response, ...]
    public: tuple[Cell, ...]
    confidence: Fraction
    text: str
    digest: str
    files: tuple[Path, ...] = ()
    declarations: Declarations = field(default_factory=Declarations)
    dialect: Dialect = UNDECLARED
    must_exist: bool = False

    @property
    def kept(self) -> Iterator[Response | Cell]:
        """What is collected, in the declared order of the columns: responses and public ones."""
        by_name: dict[str, Response | Cell] = {column.name: column for column in self.public}
        by_name |= {response.column.name: response for response in self.responses}
        return (by_name[column.name] for column in self.columns if column.name in by_name)

    @property
    def header(self) -> tuple[str, ...]:
        """The names of the collected columns."""
        return tuple(
            name
            for one in self.kept
            for name in (one.names if isinstance(one, Response) else (one.name,))
        )
