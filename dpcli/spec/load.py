"""The entrance: from the text of a spec to a `Spec`, or to all of its problems."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpcli.dialect import UNDECLARED
from dpcli.errors import SpecError, describe_system_error
from dpcli.spec.columns import declare
from dpcli.spec.csv_section import read_dialect
from dpcli.spec.entries import resolve_entries
from dpcli.spec.findings import Findings, Stop, attempt
from dpcli.spec.model import Spec
from dpcli.spec.nodes import Mapping
from dpcli.spec.part import Part, read_shape
from dpcli.spec.privacy import read_privacy
from dpcli.spec.quality import read_quality
from dpcli.spec.responses import Local, resolve_local
from dpcli.spec.sections import Document, LocalDocument, declarations_of, rows_name
from dpcli.spec.text import MOST_BYTES, find_placeholders, read_text
from dpcli.values import Unreadable

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
    with suppress(Stop, Unreadable):
        spec, tables = _resolve(root, findings, folder or Path())
        if not findings:
            digest = hashlib.sha256(raw)
            for table in tables:
                digest.update(hashlib.sha256(table).digest())
            return replace(spec, text=decoded, digest=digest.hexdigest())
    raise SpecError(findings.problems)


def _resolve(
    root: Mapping | None, findings: Findings, folder: Path
) -> tuple[Spec, tuple[bytes, ...]]:
    """What a tree says, without text and digest, and what the files hold that it names."""
    if root is None:
        raise Unreadable
    find_placeholders(root)
    model = root.word("model")
    local = model is not None and model.text == LOCAL
    # The sections are read on their own.
    heading: Part[Any] = read_shape(LocalDocument if local else Document, root, "the spec")
    values, scope = heading.values, declare(root.mapping("columns"), findings)
    section, check, dialect = (root.mapping(key) for key in ("privacy", "quality", "csv"))
    privacy = attempt(read_privacy, section, scope) if section else None
    quality = attempt(read_quality, check, scope) if check and not local else None
    entries = attempt(resolve_entries, root.listing("statistics"), scope) if not local else None
    collected = attempt(resolve_local, heading, scope, folder) if local else None
    written = attempt(read_dialect, dialect, root.mapping("columns")) if dialect else None
    rows_are = attempt(rows_name, heading, scope.unit)
    heading.require()
    if privacy is None:
        raise Unreadable
    ours = collected() if collected else Local()
    spec = Spec(
        dataset=values.dataset,
        privacy=privacy(),
        columns=tuple(column for column in scope.columns.values() if column is not None),
        entries=entries() if entries else (),
        confidence=values.confidence,
        text="",
        digest="",
        declarations=declarations_of(heading),
        dialect=written() if written else UNDECLARED,
        quality=quality() if quality else None,
        rows_are=rows_are(),
        must_exist=values.ledger is not None,
        responses=ours.responses,
        public=ours.public,
        files=tuple(path for path, _ in ours.tables),
    )
    return spec, tuple(table for _, table in ours.tables)


def read_any(path: Path | str) -> Spec:
    """The spec in a file; `SpecError` if it cannot be read or is wrong."""
    if Path(path).name.casefold().endswith(DATA_NAMES):
        # Problems show the line that they are on, and lines of data are not to be shown.
        raise SpecError.about("spec-unreadable.data", spec=Path(path))
    try:
        with Path(path).open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        why, fix = describe_system_error(error)
        missing = isinstance(error, FileNotFoundError)
        code = "spec-unreadable.missing" if missing else "spec-unreadable"
        raise SpecError.about(code, spec=Path(path), why=why, fix=fix) from None
    return load_any(raw, str(path), Path(path).parent)


def load_spec(text: bytes | str, source: str) -> Spec:
    """As `load_any`, of a spec of the central model."""
    return _of_model(load_any(text, source), source, local=False)


def read_spec(path: Path | str) -> Spec:
    """As `read_any`, of a spec of the central model."""
    return _of_model(read_any(path), str(path), local=False)


def read_local(path: Path | str) -> Spec:
    """As `read_any`, of a spec of the local model."""
    return _of_model(read_any(path), str(path), local=True)


def _of_model(spec: Spec, source: str, *, local: bool) -> Spec:
    if spec.is_local == local:
        return spec
    raise SpecError.about("wrong-model.local" if spec.is_local else "wrong-model", spec=source)
