"""Bytes in quoted cells, found 64 at a time, are those that a loop over all bytes finds."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from dpcli.data.formats import Dialect
from dpcli.engine.files import csv_normalizer
from dpcli.engine.files.csv_normalizer import PlainText
from dpcli.engine.files.quoted_bytes import packed, quoted_bytes, unpacked
from tests.support.rules import for_each

SIZES = [0, 1, 2, 63, 64, 65, 127, 128, 129, 1000]


@pytest.mark.parametrize("size", SIZES)
def test_packed_flags_are_unpacked(size: int) -> None:
    """Sizes are about the bits of a word."""
    flags = np.random.default_rng(size).random(size) < 0.3
    words = packed(flags)
    assert len(words) == -(-size // 64)
    assert (unpacked(words, size) == flags).all()


@pytest.mark.parametrize("size", SIZES)
def test_a_byte_is_quoted_after_an_odd_number_of_quotes(size: int) -> None:
    """Bytes after the end of the text count no more."""
    is_quote = np.random.default_rng(size).random(size) < 0.1
    expected, within = [], False
    for quote in is_quote:
        within ^= bool(quote)
        expected.append(within)
    found = quoted_bytes(packed(is_quote))
    assert unpacked(found, size).tolist() == expected


PARTS = (
    b'"abc",', b'"a""b",', b"x,", b'"",', b'"z"\n', b'"",\n', b'"l\nm",', b"\r\n", b"\n\n",
    b'"', b",", b"a", b'"' + b"q" * 38 + b'",', b'"' + b"q" * 39 + b'",', b'"' + b"q" * 70 + b'",',
)  # fmt: skip
"""Parts of texts; the numbers of letters are about the longest cell of this test."""


def whole_records(text: bytes, longest: int) -> int:
    """The length of the whole records at the start of a text, byte by byte; zero if one is odd."""
    within, begun, end = False, 0, 0
    for index, byte in enumerate(text):
        before, after = text[index - 1 : index], text[index + 1 : index + 2]
        if byte == ord('"'):
            touched = after if within else before
            if touched and touched not in b',\r\n"':
                return 0
            if not within and before != b'"':
                begun = index
            if within and after != b'"' and index - begun > longest:
                return 0
            within = not within
        elif byte == ord("\n") and not within:
            end = index + 1
    return end if within else len(text)


@for_each(range(300))
def test_whole_records_are_those_of_a_loop_over_bytes(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the texts end with a whole record, and some are odd."""
    random = Random(number)
    monkeypatch.setattr(csv_normalizer, "LONGEST_CELL", 40)
    common = PARTS[: random.choice([5, 7, len(PARTS)])]
    text = b"\n" + b"".join(random.choices(common, k=random.choice([2, 10, 40, 200])))
    text += random.choice([b"\n", b'"open', b'"open\nx'])
    plain = PlainText(Dialect(multiline=True), 2)
    expected = whole_records(text, 40) if plain.has_plain_lines(text) else 0
    assert plain.well_quoted_length(text) == expected
