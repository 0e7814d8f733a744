"""Questions about one column: its bounds or values, and its missing cells."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable

from dpcli.cli.asking import Asker, Refused, refuse
from dpcli.messages import shown
from dpcli.spec.answered import Answers, as_number, in_list
from dpcli.spec.column_types import COLUMN_TYPES
from dpcli.spec.draft import as_word
from dpcli.spec.paths import field_examples

LEFT_OUT = ("type", "step")
"""Fields that are not asked for unless a type requires them."""


def ask_column(asker: Asker, answers: Answers, name: str, kind: str) -> None:
    """Declares a column by its answers: for each field of its type, required ones first."""
    shape = next(shape for shape in COLUMN_TYPES if shape.kind == kind)
    fields = shape.model_fields
    parts = [f"type: {kind}"]

    def ask(key: str, question: str, read: Callable[[str], str], default: str = "") -> None:
        def declare(text: str) -> None:
            part = f"{key}: {read(text)}"
            probe = Answers(columns={name: f"{{{', '.join([*parts, part])}}}"})
            refuse(probe.problems())
            parts.append(part)

        asker.ask(f"  {question}", declare, default)

    for key in sorted(fields, key=lambda key: not fields[key].is_required()):
        match key:
            case "step" if fields[key].is_required():
                ask(key, "Rounded to multiples of", as_number, "1")
            case "bounds":
                example = "2024-01-01, 2024-12-31" if kind == "date" else "0, 100"
                question = f"Least and greatest value that counts, as in {example}"
                ask(key, question, lambda text: in_list(map(as_number, _pair(text))))
            case "values" if kind == "boolean":
                ask(key, "Texts for false and true, as in 0, 1", _texts, "false, true")
            case "values":
                ask(key, "Texts, as in a, b, c; or text=label, as in 0=no, 1=yes", _values)
            case "missing" if kind != "id":
                read = as_word if "values" in fields else as_number
                ask(key, "A cell that is missing: drop its row, or counts as", read, "drop")
            case _ if fields[key].is_required() and key not in LEFT_OUT:
                example = str(next(iter(field_examples(fields[key])), ""))
                ask(key, fields[key].description or key, as_number, example)
            case _:
                pass
    answers.columns[name] = f"{{{', '.join(parts)}}}"


def _texts(text: str) -> str:
    """A list of texts."""
    return in_list(map(as_word, texts_between_commas(text)))


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
