"""Packed partials: files for a later release, which merges them.

A packed partial is a file with a magic word, the SHA-256 of all that follows, and blocks, each
after its length: a header as JSON (format, digest of the spec, random id), then frames as Arrow
files.
"""

from __future__ import annotations

import hashlib
import io
import json
import secrets
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import polars as pl

from dpcli.engine.files.dataset import Dataset
from dpcli.engine.files.decoding import PARTIAL_MARK
from dpcli.engine.files.source import open_file
from dpcli.engine.sums.aggregate import ConfidentialAnswers, QueryAggregator
from dpcli.engine.sums.blocks import pack_blocks, unpack_blocks
from dpcli.engine.sums.joint_tables import Partial
from dpcli.problems.errors import DataError, Problem
from dpcli.queries.query import BoundedQuery
from dpcli.version import __version__

if TYPE_CHECKING:
    from dpcli.engine.sums.sealed import SealedSums

FORMAT = f"2 of dpcli {__version__}"
"""Layout of the frames: other versions may number tables and columns otherwise."""

DIGEST_BYTES = hashlib.sha256().digest_size


SHOWN_DIGITS = 12
"""Digits of a digest that messages show."""


def read_frames(blocks: Iterable[bytes]) -> Partial:
    """The frames that blocks of `pack_blocks` hold as Arrow files."""
    return [pl.read_ipc(io.BytesIO(block)) for block in blocks]


def pack_partial(digest: str, frames: Partial, period: str = "") -> bytes:
    """The bytes of a file with a new partial, of this digest of a spec and period."""
    header = {"format": FORMAT, "spec": digest, "part": secrets.token_hex(16), "period": period}
    body = pack_blocks([json.dumps(header).encode(), *frames])
    return PARTIAL_MARK + hashlib.sha256(body).digest() + body


def aggregate_partials(
    queries: Sequence[BoundedQuery],
    digest: str,
    names: Sequence[str],
    period: str = "",
    sealed: SealedSums | None = None,
) -> ConfidentialAnswers:
    """The confidential answer to every query, from the partials of all rows.

    Raises DataError with the problems of all files: files that cannot be read, and `not-a-part` for
    a file that is no partial, damaged, of another spec, period or format, or named twice.
    """
    problems: list[Problem] = []
    partials: list[Partial] = []
    names_by_id: dict[str, str] = {}
    for name in names:
        with DataError.collected(problems), open_file(name) as file, Dataset(()).redacted_errors():
            partials.append(_read_partial(file.read(), name, (digest, period), names_by_id))
    DataError.require_none(problems)
    with Dataset(()).redacted_errors():
        aggregator = QueryAggregator(queries)
        return aggregator.confidential_answers(aggregator.merge_users(partials), sealed)


def _read_partial(
    content: bytes, name: str, of: tuple[str, str], names_by_id: dict[str, str]
) -> Partial:
    """The frames of a packed partial, which must be `of` this digest and period.

    `names_by_id` has the files of earlier partials by their ids; this file is added to it.
    """
    if not content.startswith(PARTIAL_MARK):
        raise DataError.about("not-a-part", file=name)
    body = content[len(PARTIAL_MARK) + DIGEST_BYTES :]
    if content[len(PARTIAL_MARK) :][:DIGEST_BYTES] != hashlib.sha256(body).digest():
        raise DataError.about("not-a-part.damaged", file=name)
    first, *blocks = unpack_blocks(body)
    header: dict[str, str] = json.loads(first)
    (digest, period), about = of, header.get("period", "")
    layout, spec, part = header["format"], header["spec"], header["part"]
    if layout != FORMAT:
        found = {"what": "the format", "found": layout, "expected": FORMAT}
        raise DataError.about("not-a-part.spec", file=name, **found)
    if spec != digest:
        digests = {"found": spec[:SHOWN_DIGITS], "expected": digest[:SHOWN_DIGITS]}
        raise DataError.about("not-a-part.spec", file=name, what="the spec", **digests)
    if about != period:
        periods = {"found": about or "none", "expected": period or "none"}
        raise DataError.about("not-a-part.spec", file=name, what="the period", **periods)
    if part in names_by_id:
        raise DataError.about("not-a-part.twice", file=name, same=names_by_id[part])
    names_by_id[part] = name
    return read_frames(blocks)
