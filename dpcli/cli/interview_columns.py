"""Questions about one column: its bounds or values, and its missing cells."""

from __future__ import annotations

import csv
import re

from dpcli.cli.asking import Asker, Refused, refuse
from dpcli.spec.answered import Answers, as_number, in_list
from dpcli.spec.draft import as_word
from dpcli.spec.findings import shown


def ask_column(asker: Asker, answers: Answers, name: str, kind: str) -> None:
    """Declares a column by its answers."""
    parts = [f"type: {kind}"]

    def declare(part: str) -> None:
        declared = f"{{{', '.join([*parts, part])}}}"
        probe = Answers(columns={name: declared})
        refuse(probe.problems())
        parts.append(part)

    if kind == "number":
        asker.ask(
            "  Rounded to multiples of", lambda text: declare(f"step: {as_number(text)}"), "1"
        )
    if kind in ("integer", "number", "date"):
        example = "2024-01-01, 2024-12-31" if kind == "date" else "0, 100"
        asker.ask(
            f"  Least and greatest value that counts, as in {example}",
            lambda text: declare(f"bounds: {in_list(map(as_number, _pair(text)))}"),
        )
    if kind == "category":
        asker.ask(
            "  Texts, as in a, b, c; or text=label, as in 0=no, 1=yes",
            lambda text: declare(f"values: {_values(text)}"),
        )
    if kind == "boolean":
        asker.ask(
            "  Texts for false and true, as in 0, 1",
            lambda text: declare(f"values: {in_list(map(as_word, texts_between_commas(text)))}"),
            "false, true",
        )
    if kind != "id":
        word = as_word if kind in ("category", "boolean") else as_number
        asker.ask(
            "  A cell that is missing: drop its row, or counts as",
            lambda text: declare(f"missing: {word(text)}"),
            "drop",
        )
    answers.columns[name] = f"{{{', '.join(parts)}}}"


def _pair(text: str) -> list[str]:
    """Two values, between a comma, a space or `to`."""
    found = [part for part in re.split(r"\s*,\s*|\s+to\s+|\s+", text.strip("[] ")) if part]
    if len(found) == 2:
        return found
    raise Refused([f"{shown(text)} is not two values; the lower first, as in 0, 100"])


def texts_between_commas(text: str) -> list[str]:
    """Texts between commas; quotes keep a comma inside."""
    if not text:
        raise Refused(["list the texts with commas between; quotes keep a comma inside"])
    try:
        (found,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        raise Refused(["a quote is not closed, or stands inside a text"]) from None
    return [one.strip() for one in found]


def _values(text: str) -> str:
    """A list of texts, or a mapping from text to label."""
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    texts = texts_between_commas(text)
    # As people type it here, and as specs write it.
    mark = "=" if any("=" in one for one in texts) else ": "
    if not any(mark in one for one in texts):
        return in_list(map(as_word, texts))
    pairs = [one.partition(mark) for one in texts]
    if not all(sign for _, sign, _ in pairs):
        raise Refused(["give every text a label, as in 0=no, 1=yes, or give none"])
    pairs_text = (f"{as_word(key.strip())}: {as_word(label.strip())}" for key, _, label in pairs)
    return f"{{{', '.join(pairs_text)}}}"
