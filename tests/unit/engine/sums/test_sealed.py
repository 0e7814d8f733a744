"""Files of sealed sums: what was packed, or nothing."""

from __future__ import annotations

import hashlib
import random
from contextlib import suppress

import pytest

from dpcli.engine.sums.sealed import MARK, SealedPeriod, pack_sums, unpack_sums
from dpcli.numeric.arrays import integer_array

NUMBERS = [0, -1, 7, (1 << 62) - 1, -(1 << 63), 1 << 200]


def _content() -> bytes:
    periods = [
        SealedPeriod(str(at), integer_array(NUMBERS[: 3 + at]), integer_array(NUMBERS[-3 - at :]))
        for at in (0, 0)
    ]
    return pack_sums(periods)


def test_sums_are_unpacked_as_they_were_packed() -> None:
    """Also numbers beyond 64 bits."""
    found = unpack_sums(_content(), 3)
    assert [period.token for period in found] == ["0", "0"]
    assert [period.sums.tolist() for period in found] == [NUMBERS[:3]] * 2
    assert [period.estimates.tolist() for period in found] == [NUMBERS[-3:]] * 2


def test_sums_of_another_number_of_cells_are_refused() -> None:
    """Numbers would be added to those of other cells."""
    for cells in (1, 2, 4):
        with pytest.raises(ValueError, match="cells"):
            unpack_sums(_content(), cells)


@pytest.mark.parametrize("is_hashed", [False, True])
def test_a_changed_file_is_refused_or_has_numbers_for_each_cell(is_hashed: bool) -> None:
    """Whatever bytes someone writes, also with the SHA-256 of them, nothing else is raised."""
    generator, content = random.Random(1), _content()
    for _ in range(2_000):
        changed = bytearray(content)
        for _ in range(generator.randint(1, 3)):
            changed[generator.randrange(len(changed))] = generator.randrange(256)
        del changed[generator.choice([len(changed), generator.randrange(len(changed))]) :]
        if is_hashed:
            body = changed[len(MARK) + 32 :]
            changed = bytearray(MARK + hashlib.sha256(body).digest() + body)
        with suppress(ValueError):
            found = unpack_sums(bytes(changed), 3)
            assert is_hashed or not found or changed == content
            assert all(len(period.sums) == len(period.estimates) == 3 for period in found)
