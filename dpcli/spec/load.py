"""The entrance: from the text of a spec to a `Spec`, or to all of its problems."""

from __future__ import annotations

import hashlib
from pathlib import Path

from dpcli.errors import Problem, SpecError, describe_system_error
from dpcli.spec.model import Spec
from dpcli.spec.sense import resolve
from dpcli.spec.text import MOST_BYTES, read_text
from dpcli.spec.wording import shown

DATA_NAMES = (".csv", ".tsv", ".gz", ".parquet", ".xlsx", ".sqlite")
"""How names of files end that are not opened as specs."""


def load_any(text: bytes | str, source: str, folder: Path | None = None) -> Spec:
    """The spec that a text says; `SpecError` with every problem if it says none.

    `source` names the text in messages; files that it names lie in `folder`.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    root, findings, decoded = read_text(raw, source)
    sense = resolve(root, findings, folder or Path()) if root is not None else None
    if findings or sense is None or sense.privacy is None:
        raise SpecError(findings.problems)
    digest = hashlib.sha256(raw)
    local = sense.local
    tables = local.tables if local else ()
    for _, table in tables:
        digest.update(hashlib.sha256(table).digest())
    return Spec(
        dataset=sense.dataset,
        privacy=sense.privacy,
        columns=sense.columns,
        entries=sense.entries,
        confidence=sense.confidence,
        text=decoded,
        digest=digest.hexdigest(),
        declarations=sense.declarations,
        dialect=sense.dialect,
        quality=sense.quality,
        rows_are=sense.rows_are,
        must_exist=sense.must_exist,
        responses=local.responses if local else (),
        public=local.public if local else (),
        files=tuple(path for path, _ in tables),
    )


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
    """The spec itself, if it is of the central model."""
    if not spec.is_local:
        return spec
    raise _wrong_model(source, "local", "use `dpcli local randomize SPEC DATA`, or")


def _wrong_model(source: str, model: str, hint: str) -> SpecError:
    """A spec that is right, but not for this command."""
    message = f"the spec {shown(source)} is of the {model} model, which this command is not for"
    return SpecError([Problem("wrong-model", message, f"{hint} name another spec")])


def _unread(path: Path | str, why: str, hint: str) -> SpecError:
    """A file that is not read as a spec."""
    return SpecError([Problem("spec-unreadable", f"the spec {shown(str(path))} {why}", hint)])
