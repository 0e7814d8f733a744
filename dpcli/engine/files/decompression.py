"""Packed data files: gzip data and zip archives with one member, up to a size."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, BinaryIO, cast

from dpcli.engine.files.decoding import CountingReader, read_blocks
from dpcli.problems.errors import DataError

LARGEST_UNPACKED = 1 << 36
"""64 GiB: a compressed file with more content is refused."""


def decompress(packed: CountingReader, name: str) -> Iterator[bytes]:
    """The content of gzip data, one block at a time.

    Members that follow each other are one content. Zeros after a member are padding, as on tapes.
    Raises DataError `data-not-gzip` for other bytes there and for a member that is not whole, and
    `data-too-large` beyond `LARGEST_UNPACKED`.
    """
    damaged = DataError.about("data-not-gzip", file=name)
    try:
        yield from unpacked_blocks(gzip.GzipFile(fileobj=cast("BinaryIO", packed)).read, name)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise damaged from None
    if not packed.count:
        raise damaged


def unpacked_blocks(read: Callable[[int], bytes], name: str) -> Iterator[bytes]:
    """Unpacked content, block by block; `data-too-large` beyond `LARGEST_UNPACKED`."""
    total = 0
    for block in read_blocks(read):
        total += len(block)
        if total > LARGEST_UNPACKED:
            raise DataError.about("data-too-large", file=name)
        yield block


ENCRYPTED = 1
"""The flag of members that need a password."""


EXTRAS = "__MACOSX/"
"""The folder of files that macOS adds to every archive; they are no data."""


def zip_member(packed: BinaryIO | CountingReader, name: str) -> tuple[str, Iterator[bytes]]:
    """The name of the only member of a zip archive, and its content, block by block.

    Raises DataError `data-not-zip` for other content, for several members or none, for encryption,
    and while the member is read, if it is damaged.
    """
    with _zip_damage_reported(name):
        archive = zipfile.ZipFile(cast("IO[bytes]", packed))
        members = [
            member
            for member in archive.infolist()
            if not member.is_dir() and not member.filename.startswith(EXTRAS)
        ]
        if len(members) != 1:
            raise DataError.about("data-not-zip.members", file=name)
        (member,) = members
        if member.flag_bits & ENCRYPTED:
            raise DataError.about("data-not-zip.encrypted", file=name)
        file = archive.open(member)

    def blocks() -> Iterator[bytes]:
        with _zip_damage_reported(name):
            yield from unpacked_blocks(file.read, name)

    # The ending of the name of the member states its format.
    return member.filename, blocks()


@contextmanager
def _zip_damage_reported(name: str) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, EOFError, NotImplementedError, ValueError, zlib.error, OSError):
        raise DataError.about("data-not-zip", file=name) from None
