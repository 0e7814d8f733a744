"""Sealed parts: what the rows of some files add up to, until they are released.

A part is as confidential as the rows. The parts of one spec merge to what one scan of all
their rows finds. Such a file holds a magic word, the SHA-256 of all that follows, and blocks
behind their lengths: facts as JSON (format, digest of the spec, random id of the part), then
frames as Arrow files.
"""

from __future__ import annotations

import hashlib
import io
import json
import secrets
from collections.abc import Iterable, Sequence

import polars as pl

from dpcli import __version__
from dpcli.engine.aggregate import Aggregation, SealedAnswers
from dpcli.engine.file_content import SEALED
from dpcli.engine.rollup import Partial
from dpcli.engine.source import Dataset, collected, open_file
from dpcli.errors import DataError, Problem
from dpcli.privacy.unit import Unit
from dpcli.queries import Query

FORMAT = f"1 of dpcli {__version__}"
"""What the frames mean: other versions may number batches and columns in another way."""

LENGTH = 8
"""Bytes in which the length of a block is written."""

SUM = hashlib.sha256().digest_size

SHOWN = 12
"""Digits of a digest that tell two specs apart."""


def packed(blocks: Iterable[bytes | pl.DataFrame]) -> bytes:
    """Blocks behind their lengths, frames as Arrow files."""
    parts: list[bytes] = []
    for block in blocks:
        if isinstance(block, pl.DataFrame):
            buffer = io.BytesIO()
            block.write_ipc(buffer)
            block = buffer.getvalue()  # noqa: PLW2901 - the same in bytes
        parts += len(block).to_bytes(LENGTH), block
    return b"".join(parts)


def unpacked(content: bytes) -> list[bytes]:
    """The blocks in their order."""
    found, start = [], 0
    while start < len(content):
        begin = start + LENGTH
        start = begin + int.from_bytes(content[start:begin])
        found.append(content[begin:start])
    return found


def frames_of(blocks: Iterable[bytes]) -> Partial:
    """Frames from Arrow files."""
    return [pl.read_ipc(io.BytesIO(block)) for block in blocks]


def seal_partial(digest: str, frames: Partial) -> bytes:
    """The file of a new part, made for the spec with this digest."""
    facts = {"format": FORMAT, "spec": digest, "part": secrets.token_hex(16)}
    body = packed([json.dumps(facts).encode(), *frames])
    return SEALED + hashlib.sha256(body).digest() + body


def aggregate_partials(
    queries: Sequence[Query], unit: Unit, digest: str, names: Sequence[str]
) -> SealedAnswers:
    """The exact answer to every query, sealed, from the parts of all rows.

    Raises DataError with the problems of all files: those of files that cannot be read, and
    `not-a-part` for what is no part, damaged, of another spec or format, or named twice.
    """
    problems: list[Problem] = []
    parts: list[Partial] = []
    seen: dict[str, str] = {}
    for name in names:
        with collected(problems), open_file(name) as file, Dataset(()).redacted_errors():
            parts.append(_frames(file.read(), name, digest, seen))
    if problems:
        raise DataError(problems)
    with Dataset(()).redacted_errors():
        aggregation = Aggregation(queries, unit)
        return aggregation.sealed(aggregation.bounded(parts))


def _frames(content: bytes, name: str, digest: str, seen: dict[str, str]) -> Partial:
    """The frames of a part of this spec; `seen` has the names of others by their ids."""
    if not content.startswith(SEALED):
        raise DataError.about("not-a-part", file=name)
    body = content[len(SEALED) + SUM :]
    if content[len(SEALED) :][:SUM] != hashlib.sha256(body).digest():
        raise DataError.about("not-a-part.damaged", file=name)
    first, *blocks = unpacked(body)
    facts: dict[str, str] = json.loads(first)
    wrote, spec, part = facts["format"], facts["spec"], facts["part"]
    if wrote != FORMAT:
        raise DataError.about("not-a-part.format", file=name, found=wrote, expected=FORMAT)
    if spec != digest:
        words = {"found": spec[:SHOWN], "expected": digest[:SHOWN]}
        raise DataError.about("not-a-part.spec", file=name, **words)
    if part in seen:
        raise DataError.about("not-a-part.twice", file=name, same=seen[part])
    seen[part] = name
    return frames_of(blocks)
