"""Random changes of a published report, or of its table: one number, word, key or line."""

from __future__ import annotations

import copy
import csv
import io
from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Any

from dpcli.proof.verify import canonical, content_digest, number_text

Path = tuple[str | int, ...]

KINDS = ("number", "number", "word", "missing key", "cell", "missing line", "repeated line")


def written(value: Any) -> bytes:
    """JSON of a parsed report."""
    return canonical(value).encode()


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """The path of each number, text and word of a parsed report."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in items:
            yield from places(one, (*path, key))
    else:
        yield path


def at(value: Any, path: Path) -> Any:
    """What stands at a path."""
    for key in path:
        value = value[key]
    return value


def forged(
    random: Random, report: Any, table: bytes, *, rehash: bool = False
) -> tuple[Any, bytes, str]:
    """A report and a table of which one thing was changed, and what it was.

    With `rehash`, a number of the report outside of its published ones and of their covariances,
    and the digest is made again.
    """
    kind = "number" if rehash else random.choice(KINDS)
    if kind in ("cell", "missing line", "repeated line"):
        return report, _changed_table(random, table, kind), kind
    while True:
        forgery = copy.deepcopy(report)
        path = random.choice([*places(report)])
        old = at(report, path)
        is_free = rehash and ("cells" in path or "noise_covariance" in path)
        if kind == "number" and (not isinstance(old, Fraction) or is_free):
            continue
        if kind == "missing key":
            path = path[: random.randint(1, len(path))]
            del at(forgery, path[:-1])[path[-1]]
        else:
            at(forgery, path[:-1])[path[-1]] = _other(random, old)
        if canonical(forgery) == canonical(report):
            continue
        if rehash:
            forgery["content_sha256"] = content_digest(forgery)
        return forgery, table, f"{kind} at {path}"


def _other(random: Random, old: Any) -> Any:
    """Another value of the same type."""
    if isinstance(old, Fraction):
        return _other_number(random, old)
    if old is None or isinstance(old, bool):
        return not old
    digits = [place for place, mark in enumerate(old) if mark.isdigit()]
    if not digits:
        return f"{old}x"
    place = random.choice(digits)
    return f"{old[:place]}{(int(old[place]) + random.randint(1, 9)) % 10}{old[place + 1 :]}"


def _other_number(random: Random, value: Fraction) -> Fraction:
    changes = [value + 1, value * 2, value / 2, value * Fraction(101, 100), -value - 1]
    return Fraction(number_text(random.choice(changes)))


def _changed_table(random: Random, table: bytes, kind: str) -> bytes:
    lines = list(csv.reader(io.StringIO(table.decode(), newline="")))
    place = random.randrange(1, len(lines))
    if kind == "cell":
        line = lines[place]
        line[random.randrange(len(line))] += "1"
    elif kind == "missing line":
        del lines[place]
    else:
        lines.insert(place, lines[place])
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue().encode()
