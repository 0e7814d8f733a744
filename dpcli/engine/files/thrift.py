"""The compact protocol of Thrift, as far as the footers of Parquet files need it.

A structure is decoded without its definition: its fields are found by their numbers. Content in any
other form raises ValueError.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from dpcli.problems.light_dataclasses import dataclass

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
"""The types of fields."""

SHORT = 15
"""Below it, steps between fields and lengths of lists share a byte with the type."""

DEEPEST = 32
"""The depth of nested values that is decoded at most; footers need less than ten."""


@dataclass(slots=True)
class Structure:
    """Fields by number, each with its type and value; a list has a type of items."""

    fields: dict[int, tuple[int, object]] = field(default_factory=dict)

    def number(self, field_id: int, absent: int | None = None) -> int:
        """The value of a field that is a whole number, or `absent`; else ValueError."""
        _, value = self.fields.get(field_id, (I64, absent))
        if not isinstance(value, int):
            raise ValueError("no number")  # noqa: TRY004 - a file is damaged, no argument wrong
        return value

    def structure(self, field_id: int) -> Structure:
        """The value of a field that is a structure; ValueError for other fields."""
        _, value = self.fields.get(field_id, (STRUCT, None))
        return _structure(value)

    def structures(self, field_id: int) -> list[Structure]:
        """The value of a field that is a list of structures; ValueError for other fields."""
        _, value = self.fields.get(field_id, (LIST, None))
        if not isinstance(value, tuple):
            raise ValueError("no list")  # noqa: TRY004
        return [_structure(item) for item in value[1]]

    def only(self, *field_ids: int) -> Structure:
        """A structure with these fields alone; those that are absent are left out."""
        return Structure(
            {field_id: self.fields[field_id] for field_id in field_ids if field_id in self.fields}
        )

    def replaced(self, values: Mapping[int, tuple[int, object]]) -> Structure:
        """The structure with other values of some fields."""
        return Structure({**self.fields, **values})


def structures(items: Iterable[Structure]) -> tuple[int, object]:
    """The type and the value of a field that is a list of these structures."""
    return LIST, (STRUCT, list(items))


def _structure(value: object) -> Structure:
    if not isinstance(value, Structure):
        raise ValueError("no structure")  # noqa: TRY004
    return value


def decode(content: bytes) -> Structure:
    """The structure at the beginning of the content; ValueError if there is none."""
    try:
        return _structure(_Reader(content).value(STRUCT, 0))
    except IndexError:
        raise ValueError("the content ends within a structure") from None


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def value(self, kind: int, depth: int) -> object:
        """The next value of a type."""
        if depth > DEEPEST:
            raise ValueError("too deep")
        if kind in (TRUE, FALSE, BYTE):
            # In a list, a truth value is a byte.
            return self._byte()
        if kind in (I16, I32, I64):
            return self._signed()
        if kind == DOUBLE:
            return self._bytes(8)
        if kind == BINARY:
            return self._bytes(self._number())
        if kind in (LIST, SET):
            head = self._byte()
            size = head >> 4 if head >> 4 < SHORT else self._number()
            return head & 15, [self.value(head & 15, depth + 1) for _ in range(size)]
        if kind == STRUCT:
            return self._fields(depth)
        raise ValueError("an unknown type")

    def _fields(self, depth: int) -> Structure:
        fields: dict[int, tuple[int, object]] = {}
        field_id = 0
        while head := self._byte():
            kind = head & 15
            field_id = field_id + (head >> 4) if head >> 4 else self._signed()
            # The type of a truth value is its value.
            value = None if kind in (TRUE, FALSE) else self.value(kind, depth + 1)
            fields[field_id] = kind, value
        return Structure(fields)

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _bytes(self, size: int) -> bytes:
        self._at += size
        if self._at > len(self._content):
            raise IndexError
        return self._content[self._at - size : self._at]

    def _number(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 128:
            number |= (byte & 127) << shift
            shift += 7
        return number | byte << shift

    def _signed(self) -> int:
        number = self._number()
        return number >> 1 ^ -(number & 1)


def encode(structure: Structure) -> bytes:
    """The bytes of a structure."""
    return b"".join(_pieces(STRUCT, structure))


def _pieces(kind: int, value: object) -> Iterable[bytes]:
    if isinstance(value, Structure):
        last = 0
        for field_id, (inner, part) in sorted(value.fields.items()):
            step = field_id - last
            is_short = 0 < step <= SHORT
            yield bytes([step << 4 | inner]) if is_short else bytes([inner]) + _signed(field_id)
            yield from _pieces(inner, part)
            last = field_id
        yield b"\0"
    elif isinstance(value, tuple):
        inner, items = value
        short = len(items) < SHORT
        yield bytes([(len(items) if short else SHORT) << 4 | inner])
        yield b"" if short else _number(len(items))
        for item in items:
            yield from _pieces(inner, item)
    elif isinstance(value, int):
        yield bytes([value]) if kind in (TRUE, FALSE, BYTE) else _signed(value)
    elif isinstance(value, bytes):
        yield value if kind == DOUBLE else _number(len(value)) + value


def _number(number: int) -> bytes:
    content = bytearray()
    while number > 127:
        content.append(number & 127 | 128)
        number >>= 7
    return bytes([*content, number])


def _signed(number: int) -> bytes:
    return _number(number << 1 if number >= 0 else -number * 2 - 1)
