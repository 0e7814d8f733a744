"""What a spec of the local model says beyond columns and budget."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from dpcli.columns import FORMULA
from dpcli.privacy.relation import Neighbors, RowUnit
from dpcli.spec.model import Cell, Response
from dpcli.spec.nodes import Listing, Mapping, Word
from dpcli.spec.responses import Responses
from dpcli.spec.scope import Scope
from dpcli.spec.wording import misread, shown


@dataclass(frozen=True, slots=True)
class Local:
    """Responses, public columns, and tables that stand in other files."""

    responses: tuple[Response, ...]
    public: tuple[Cell, ...]
    tables: tuple[tuple[Path, bytes], ...]


def resolve_local(root: Mapping, scope: Scope, folder: Path) -> Local:
    """Everything that is particular to the local model; problems are recorded."""
    privacy = root.get("privacy")
    if isinstance(privacy, Mapping):
        _require_records(privacy, scope)
    public = _public(root, scope)
    reader = Responses(scope, public, folder)
    responses = reader.read(root.get("responses"))
    _require_names(responses, public, root, scope)
    return Local(responses, public, tuple(reader.tables))


def _require_records(privacy: Mapping, scope: Scope) -> None:
    """Records a unit or neighbours that records cannot protect by themselves."""
    unit, neighbors = privacy.get("unit"), privacy.word("neighbors")
    if scope.unit is not None and not isinstance(scope.unit, RowUnit) and unit is not None:
        scope.findings.add(
            "local-unit",
            "in the local model each record responds by itself, and `unit` is a person",
            "write `unit: row`; somebody with several records reveals that many times as much",
            unit.span,
        )
    if neighbors is not None and neighbors.text == Neighbors.ADD_REMOVE.value:
        scope.findings.add(
            "local-neighbors",
            "every record responds, so that the number of records is public, and `neighbors` "
            "is `add-remove`",
            "write `neighbors: change-one`: what a record says is protected, not that it is there",
            neighbors.span,
        )


def _public(root: Mapping, scope: Scope) -> tuple[Cell, ...]:
    """The columns that are published as they are."""
    listing = root.get("public")
    found: dict[str, Cell] = {}
    for word in listing.items if isinstance(listing, Listing) else ():
        if not isinstance(word, Word):
            continue
        column = scope.usable(word.text, word.span, "`public`")
        if column is not None:
            found[word.text] = column
    return tuple(found.values())


def _require_names(
    responses: tuple[Response, ...], public: tuple[Cell, ...], root: Mapping, scope: Scope
) -> None:
    """Records two collected columns of one name."""
    names = [column.name for column in public]
    names += [name for response in responses for name in response.names]
    for name in names:
        if name.startswith(FORMULA):
            scope.findings.add(
                "formula-label",
                f"the collected column {shown(name)} begins with {shown(name[0])}: "
                f"{misread(name, 'its name')}",
                "rename the column in the data file",
                root.key_span("responses"),
            )
    twins = {name for name, count in Counter(names).items() if count > 1}
    for name in sorted(twins):
        scope.findings.add(
            "collected-twice",
            f"two collected columns would be called {shown(name)}",
            "map the label to another one, or rename the column",
            root.key_span("responses"),
        )
