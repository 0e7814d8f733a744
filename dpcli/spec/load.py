"""The entrance: from the text of a spec to a `Spec`, or to all of its problems."""

from __future__ import annotations

import hashlib
from pathlib import Path

from dpcli.errors import Problem, SpecError
from dpcli.spec.model import Spec
from dpcli.spec.sense import resolve
from dpcli.spec.text import MOST_BYTES, read_text
from dpcli.spec.wording import shown


def load_spec(text: bytes | str, source: str) -> Spec:
    """The spec that a text says; `SpecError` with every problem if it says none.

    `source` names the text in messages.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    root, findings, decoded = read_text(raw, source)
    sense = resolve(root, findings) if root is not None else None
    if findings or sense is None or sense.privacy is None:
        raise SpecError(findings.problems)
    return Spec(
        dataset=sense.dataset,
        privacy=sense.privacy,
        columns=sense.columns,
        entries=sense.entries,
        confidence=sense.confidence,
        text=decoded,
        digest=hashlib.sha256(raw).hexdigest(),
    )


def read_spec(path: Path | str) -> Spec:
    """The spec in a file; `SpecError` if it cannot be read or is wrong."""
    try:
        with Path(path).open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    return load_spec(raw, str(path))


def _unreadable(path: Path | str, error: Exception) -> SpecError:
    """Why a file cannot be read, in our own words."""
    why, hint = "cannot be read", "check the name and the disk"
    match error:
        case FileNotFoundError():
            why, hint = "does not exist", "check the name, or draft a spec with `dpcli init DATA`"
        case IsADirectoryError():
            why, hint = "is a directory", "name the file itself"
        case PermissionError():
            why, hint = "may not be read by you", "check its permissions"
    return SpecError([Problem("spec-unreadable", f"the spec {shown(str(path))} {why}", hint)])
