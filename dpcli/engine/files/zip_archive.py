"""Zip archives with one member, which is unpacked as it is read.

Which member that is, and its name, are in the directory of the archive, not in a record.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, BinaryIO, cast

from dpcli.engine.files.content import CountingReader, unpacked_blocks
from dpcli.problems.errors import DataError

ENCRYPTED = 1
"""The flag of members that need a password."""

EXTRAS = "__MACOSX/"
"""The folder of files that macOS adds to every archive; they are no data."""


class ZipMember:
    """The only member of a zip archive.

    Raises DataError `data-not-zip` for other content, for several members or none, for encryption,
    and while the member is read, if it is damaged.
    """

    def __init__(self, packed: BinaryIO | CountingReader, name: str) -> None:
        self._archive_name = name
        with self._damage_reported():
            archive = zipfile.ZipFile(cast("IO[bytes]", packed))
            members = [
                member
                for member in archive.infolist()
                if not member.is_dir() and not member.filename.startswith(EXTRAS)
            ]
            if len(members) != 1:
                raise DataError.about("data-not-zip.members", file=name)
            (self._member,) = members
            if self._member.flag_bits & ENCRYPTED:
                raise DataError.about("data-not-zip.encrypted", file=name)
            self._file = archive.open(self._member)

    @property
    def name(self) -> str:
        """The name of the member, whose ending states its format."""
        return self._member.filename

    def blocks(self) -> Iterator[bytes]:
        """The content, one block at a time."""
        with self._damage_reported():
            yield from unpacked_blocks(self._file.read, self._archive_name)

    @contextmanager
    def _damage_reported(self) -> Iterator[None]:
        try:
            yield
        except (zipfile.BadZipFile, EOFError, NotImplementedError, ValueError, zlib.error, OSError):
            raise DataError.about("data-not-zip", file=self._archive_name) from None
