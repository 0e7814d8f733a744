"""Reads the reference texts: data files with messages, pages and sentences.

- `codes/*.toml`: the templates of messages and their explanations. The family of an error code is
  the first word of the name of its file, unless its table states one.
- `pages/*.toml`: the pages of `dpcli explain` about words of specs and of the command line.
- `risks.toml`: what plans and reports state of risks.
- `syntax_advice.toml`: what to write instead of a text with a syntax error.
- `synonyms.toml`: words of other tools, and ours.
- `zones.txt`: the time zones that specs may name, the same on every machine.
- `usual_cells.toml`: marks, units and words that cells of many files have.

A file is read when one of its texts is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import Any

from dpcli.problems.light_dataclasses import dataclass

FOLDER = Path(__file__).parent

WIDTH = 78
"""The default width of a page: it fits a terminal of 80 columns."""

FAMILIES = ("spec", "plan", "data", "budget", "ledger", "output", "usage", "internal")

TITLES = {
    "key": "key of a spec",
    "type": "type of a column",
    "term": "term",
    "command line": "word of the command line",
}


@dataclass(frozen=True, slots=True)
class KeyUse:
    """What a key means at some places of a spec: the sentence that editors show.

    A place is what contains the key: `spec`, `privacy`, `statistic`, a type of column and so on.
    The example is a line of YAML; the default is the example of the page.
    """

    places: tuple[str, ...]
    says: str
    example: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page about one word or error code: meaning, example, fix, related words.

    The meaning has one or more paragraphs; those with indented lines are not refilled. `also` are
    other words that the page explains. Pages of keys list their uses, their values, and the meaning
    of an `absent` key. Names of error codes are kebab-case and never change their meaning.
    """

    name: str
    kind: str
    meaning: str
    example: str = ""
    see: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    values: str = ""
    absent: str = ""
    fix: str = ""
    uses: tuple[KeyUse, ...] = ()

    @property
    def title(self) -> str:
        """The kind of the page, in words."""
        return TITLES.get(self.kind, self.kind)

    def use(self, place: str) -> KeyUse | None:
        """The use of the key at a place; None if the key does not occur there."""
        return next((use for use in self.uses if place in use.places), None)

    def text(self, width: int = WIDTH) -> str:
        """The page as plain text. Examples and formulas keep their lines."""
        parts = [
            part if "\n " in f"\n{part}" else wrap_paragraph(part, width)
            for part in (f"{self.name} ({self.title})", *self.meaning.split("\n\n"))
        ]
        if len(self.uses) > 1:
            uses = [f"in {', '.join(use.places)}: {use.says}" for use in self.uses]
            parts.append("\n".join(wrap_paragraph(use, width, "  ", "      ") for use in uses))
        example = f"Example:   {self.example}"
        if len(example) >= width or "\n" in example:
            example = "\n  ".join(["Example:", *self.example.splitlines()])
        labels = {
            "Also": ", ".join(self.also),
            "Allowed": self.values,
            "If absent": self.absent,
            "Fix": self.fix,
        }
        labels["See also"] = f"dpcli explain {' | '.join(self.see)}" if self.see else ""
        lines = [
            wrap_paragraph(f"{label + ':':11}{text}", width, "", " " * 11) if text else ""
            for label, text in labels.items()
        ]
        lines.insert(2, example if self.example else "")
        return "\n\n".join([*parts, "\n".join(line for line in lines if line)]).rstrip() + "\n"


@cache
def code_pages() -> tuple[Page, ...]:
    """The pages of all error codes, by family.

    The fix of a code without one is its hint, which then has no arguments.
    """
    pages = [
        Page(
            name,
            f"{table['family']} error",
            table["meaning"],
            table["example"],
            see=tuple(table.get("see", ())),
            fix=table.get("fix") or f"{table['hint'][:1].upper()}{table['hint'][1:].format()}.",
        )
        for name, table in code_tables().items()
    ]
    return tuple(sorted(pages, key=lambda page: FAMILIES.index(page.kind.split()[0])))


@cache
def code_tables() -> dict[str, dict[str, Any]]:
    """The table of each code in the files, with its family."""
    return {
        name: {"family": path.stem.split("_")[0], **_prose(table)}
        for path in sorted((FOLDER / "codes").iterdir())
        for name, table in _read(path).items()
    }


def template(code: str) -> dict[str, str]:
    """The templates of a code or a `code.variant`; a variant inherits from its code."""
    name, _, variant = code.partition(".")
    table = code_tables()[name]
    own: dict[str, str] = table[variant] if variant else {}
    # A variant with a message must not inherit the expectation of its code, and the reverse.
    replaced = "message" in own or "expected" in own
    keys = ("hint",) if replaced else ("message", "expected", "hint")
    return {key: table[key] for key in keys if key in table} | own


@cache
def texts(name: str) -> dict[str, dict[str, str]]:
    """The texts of one file, such as `risks`, by table and key."""
    return _prose(_read(FOLDER / f"{name}.toml"))


def variant_code(code: str, name: str) -> str:
    """The variant of a code for a `name` if there is one, else the code."""
    return f"{code}.{name}" if isinstance(code_tables()[code].get(name), dict) else code


def advice(kind: str, text: str) -> str:
    """What to write instead of a text; empty if none of `syntax_advice.toml` fits."""
    patterns = texts("syntax_advice")[kind].items()
    return next((says for pattern, says in patterns if re.fullmatch(pattern, text[:100])), "")


def key_example(key: str) -> str:
    """A line of YAML with the key, from its page; empty if it has none."""
    return next((page.example for page in _key_pages(key)), "")


def key_places(key: str) -> tuple[str, ...]:
    """What contains a key in a spec, from its page; empty if it has none."""
    return tuple(place for page in _key_pages(key) for use in page.uses for place in use.places)


def _key_pages(key: str) -> Iterator[Page]:
    return (page for page in word_pages() if page.kind == "key" and page.name == key)


PAGE_FILES = ("sections", "derive", "people", "privacy", "keys", "cells", "terms", "commands")
"""The files of pages about words, in the order of a spec."""


@cache
def word_pages() -> tuple[Page, ...]:
    """All pages about words that specs, the command line and its output use."""
    files = (_read(FOLDER / "pages" / f"{part}.toml") for part in PAGE_FILES)
    return tuple(_page(name, _prose(table)) for file in files for name, table in file.items())


@cache
def usual_cells() -> dict[str, Any]:
    """Marks, units and words that are usual in cells, as lists by their key."""
    return _read(FOLDER / "usual_cells.toml")


@cache
def synonyms() -> dict[str, str]:
    """The words of other tools, each with the word of specs that means the same."""
    return _read(FOLDER / "synonyms.toml")


@cache
def time_zones() -> tuple[str, ...]:
    """The names of the IANA time zones."""
    return tuple((FOLDER / "zones.txt").read_text("utf-8").split())


def _read(path: Path) -> dict[str, Any]:
    # Every command imports this module, and few of them read a text.
    import tomllib  # noqa: PLC0415

    return tomllib.loads(path.read_text("utf-8"))


def wrap_paragraph(text: str, width: int, first_indent: str = "", indent: str = "") -> str:
    """A paragraph in lines of at most `width` columns, without broken words."""
    return fill(
        text,
        width,
        initial_indent=first_indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _page(name: str, table: dict[str, Any]) -> Page:
    uses = tuple(KeyUse(**{**use, "places": tuple(use["places"])}) for use in table.get("uses", ()))
    lists = {key: tuple(table.get(key, ())) for key in ("see", "also")}
    return Page(name, **{**table, **lists, "uses": uses})


def _prose(table: dict[str, Any]) -> dict[str, Any]:
    """The table of a page with each text as one line; examples keep their lines."""
    texts: dict[str, Any] = {}
    for key, value in table.items():
        texts[key] = _prose(value) if isinstance(value, dict) else value
        if isinstance(value, str):
            paragraphs = value.strip("\n").split("\n\n") if key == "meaning" else [value]
            # Paragraphs with indented lines keep them.
            texts[key] = "\n\n".join(
                part if "\n " in f"\n{part}" else " ".join(part.split()) for part in paragraphs
            )
            if key == "example":
                texts[key] = value.strip()
    return texts
