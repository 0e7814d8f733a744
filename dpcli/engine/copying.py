"""Content that cannot be read where it is: unpacked, decoded, and copied.

A copy is a private temporary file that has no name.
"""

from __future__ import annotations

import codecs
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from dpcli.dialect import ENCODINGS, UTF8, UTF16, Dialect
from dpcli.engine.records import UTF8_MARK
from dpcli.errors import DataError

BLOCK = 1 << 20

LARGEST_UNPACKED = 1 << 36
"""64 GiB: a compressed file that unpacks to more is refused."""


def blocks_of(raw: BinaryIO) -> Iterator[bytes]:
    """The content, a block at a time."""
    while block := raw.read(BLOCK):
        yield block


def unpacked(blocks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The content of gzip data, a block at a time, up to the size limit.

    Members that follow each other are one content. Zeros behind a member are padding, as on
    tapes; any other bytes there, and a member that is not whole, are damage.
    """
    broken = DataError.of(
        "data-not-gzip",
        f"`{name}` is named `.gz` but does not hold whole gzip data",
        "compress it with gzip, or drop the `.gz` from its name",
    )
    total = members = 0
    unpack: zlib._Decompress | None = None
    for block in blocks:
        rest = block.lstrip(b"\0") if members and unpack is None else block
        while rest:
            unpack = unpack or zlib.decompressobj(wbits=31)
            try:
                plain = unpack.decompress(rest, BLOCK)
            except zlib.error:
                raise broken from None
            total += len(plain)
            if total > LARGEST_UNPACKED:
                raise DataError.of(
                    "data-too-large",
                    f"`{name}` unpacks to more than 64 GiB",
                    "unpack it yourself and name the plain file",
                )
            yield plain
            rest = unpack.unconsumed_tail
            if unpack.eof:
                rest, unpack = unpack.unused_data.lstrip(b"\0"), None
                members += 1
    if unpack is not None or not members:
        raise broken


def headed(blocks: Iterable[bytes], dialect: Dialect) -> Iterator[bytes]:
    """The same text in UTF-8, with a header line that stands for declared names.

    Native readers look at the first bytes for compression and the like: these must never be
    those of a record.
    """
    text = decoded(blocks, dialect.encoding, marked=not dialect.names)
    if not dialect.names:
        yield from text
        return
    columns = (f"c{place}" for place in range(len(dialect.names)))
    yield dialect.delimiter.join(columns).encode() + b"\n"
    start, rest = started(text, len(UTF8_MARK))
    yield start.removeprefix(UTF8_MARK)
    next(rest)
    yield from rest


def decoded(blocks: Iterable[bytes], encoding: str, *, marked: bool) -> Iterator[bytes]:
    """The same text in UTF-8; what cannot be decoded becomes the replacement character.

    Nothing that a text holds decides how it is read, but for the mark of UTF-16 at the start
    of a header line, if it is `marked`; without one, the lesser byte comes first.
    """
    if encoding == UTF8:
        yield from blocks
        return
    codec = ENCODINGS[encoding]
    start, rest = started(blocks, 2)
    if marked and encoding == UTF16 and start.startswith(codecs.BOM_UTF16_BE):
        codec = "utf_16_be"
    decoder = codecs.getincrementaldecoder(codec)("replace")
    for block in rest:
        yield decoder.decode(block).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def started(blocks: Iterable[bytes], least: int) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes, at least so many if there are, and the blocks from the start."""
    upcoming = iter(blocks)
    start = b""
    while len(start) < least and (block := next(upcoming, None)) is not None:
        start += block

    def again() -> Iterator[bytes]:
        yield start
        yield from upcoming

    return start, again()


def copied(blocks: Iterable[bytes]) -> BinaryIO:
    """The content in a private temporary file that has no name."""
    copy = tempfile.TemporaryFile(prefix="dpcli-")  # noqa: SIM115 - closed by the caller
    try:
        for block in blocks:
            copy.write(block)
        copy.flush()
    except OSError:
        copy.close()
        raise DataError.of(
            "no-space",
            "there is no room for a temporary copy of the data",
            "free space in the temporary folder, or set TMPDIR to a roomier one",
        ) from None
    except BaseException:
        copy.close()
        raise
    copy.seek(0)
    return copy
