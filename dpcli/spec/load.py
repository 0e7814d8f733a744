"""The entrance: from the text of a spec to a `Spec`, or to all of its problems."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from dpcli.errors import Problem, SpecError, describe_system_error
from dpcli.messages import shown
from dpcli.spec.columns import declare
from dpcli.spec.csv_section import read_dialect
from dpcli.spec.entries import resolve_entries
from dpcli.spec.findings import Findings
from dpcli.spec.model import Spec
from dpcli.spec.nodes import Listing, Mapping
from dpcli.spec.privacy import read_privacy
from dpcli.spec.quality import read_quality
from dpcli.spec.responses import Local, resolve_local
from dpcli.spec.sections import declarations_of, read_heading, rows_name
from dpcli.spec.text import MOST_BYTES, find_placeholders, read_text

LOCAL = "local"
"""The model in which each record is randomized by itself."""

DATA_NAMES = (".csv", ".tsv", ".gz", ".parquet", ".xlsx", ".sqlite")
"""How names of files end that are not opened as specs."""


def load_any(text: bytes | str, source: str, folder: Path | None = None) -> Spec:
    """The spec that a text says; `SpecError` with every problem if it says none.

    `source` names the text in messages; files that it names lie in `folder`.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    root, findings, decoded = read_text(raw, source)
    spec = _resolve(root, findings, folder or Path()) if root is not None else None
    if findings or spec is None:
        raise SpecError(findings.problems)
    digest = hashlib.sha256(raw)
    for table in spec.tables:
        digest.update(hashlib.sha256(table).digest())
    return replace(spec.spec, text=decoded, digest=digest.hexdigest())


@dataclass(frozen=True, slots=True)
class _Resolved:
    """A spec without its text, and the bytes of the tables that stand in other files."""

    spec: Spec
    tables: tuple[bytes, ...]


def _resolve(root: Mapping, findings: Findings, folder: Path) -> _Resolved | None:
    """What a tree says; its problems are recorded, and without a guarantee it says nothing."""
    find_placeholders(root, findings)
    model = root.word("model")
    local = model is not None and model.text == LOCAL
    heading = read_heading(root, findings, local=local)
    columns, statistics, section = (root.get(key) for key in ("columns", "statistics", "privacy"))
    scope = declare(columns if isinstance(columns, Mapping) else None, findings)
    privacy = read_privacy(section, scope) if isinstance(section, Mapping) else None
    quality = read_quality(root.get("quality"), scope) if not local else None
    listing = statistics if isinstance(statistics, Listing) and not local else None
    entries = resolve_entries(listing, scope)
    collected = resolve_local(root, scope, folder) if local else Local()
    dialect = read_dialect(root.get("csv"), columns, findings)
    rows_are = rows_name(heading, scope.unit)
    if privacy is None:
        return None
    spec = Spec(
        dataset=heading.values.dataset or "",
        privacy=privacy,
        columns=tuple(column for column in scope.columns.values() if column is not None),
        entries=entries,
        confidence=heading.values.confidence,
        text="",
        digest="",
        declarations=declarations_of(heading),
        dialect=dialect,
        quality=quality,
        rows_are=rows_are,
        must_exist=heading.values.ledger is not None,
        responses=collected.responses,
        public=collected.public,
        files=tuple(path for path, _ in collected.tables),
    )
    return _Resolved(spec, tuple(table for _, table in collected.tables))


def load_spec(text: bytes | str, source: str) -> Spec:
    """As `load_any`, of a spec of the central model."""
    return _central(load_any(text, source), source)


def read_any(path: Path | str) -> Spec:
    """The spec in a file; `SpecError` if it cannot be read or is wrong."""
    if Path(path).name.casefold().endswith(DATA_NAMES):
        # Problems show the line that they are on, and lines of data are not to be shown.
        raise _unread(path, "has the name of a data file", "name the spec first, then the data")
    try:
        with Path(path).open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        why, fix = describe_system_error(error)
        if isinstance(error, FileNotFoundError):
            fix += ", or draft a spec with `dpcli init DATA`"
        raise _unread(path, f"cannot be read: {why}", fix) from None
    return load_any(raw, str(path), Path(path).parent)


def read_spec(path: Path | str) -> Spec:
    """As `read_any`, of a spec of the central model."""
    return _central(read_any(path), str(path))


def read_local(path: Path | str) -> Spec:
    """As `read_any`, of a spec of the local model."""
    spec = read_any(path)
    if spec.is_local:
        return spec
    raise _wrong_model(str(path), "central", "write `model: local` and `responses:` in it, or")


def _central(spec: Spec, source: str) -> Spec:
    if not spec.is_local:
        return spec
    raise _wrong_model(source, "local", "use `dpcli local randomize SPEC DATA`, or")


def _wrong_model(source: str, model: str, hint: str) -> SpecError:
    message = f"the spec {shown(source)} is of the {model} model, which this command is not for"
    return SpecError([Problem("wrong-model", message, f"{hint} name another spec")])


def _unread(path: Path | str, why: str, hint: str) -> SpecError:
    return SpecError([Problem("spec-unreadable", f"the spec {shown(str(path))} {why}", hint)])
