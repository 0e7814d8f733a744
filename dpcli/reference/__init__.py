"""Reference texts: what error codes and words mean, kept as data files.

`codes/*.toml` has one file per family of error codes, `pages/*.toml` the words of specs, of the
command line and of what it prints, `risks.toml` and `notes.toml` what plans and reports state in
sentences, `complaints.toml` what texts that cannot be read are taken for. A file is read when a
text of it is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import Any

FOLDER = Path(__file__).parent

WIDTH = 78
"""Columns of a page where no terminal says otherwise: it fits on one of eighty."""

FAMILIES = ("spec", "plan", "data", "budget", "ledger", "output", "usage", "internal")

TITLES = {
    "key": "key of a spec",
    "type": "type of a column",
    "term": "term",
    "command line": "word of the command line",
}
"""How a page says what kind of word it is about, where that is not the kind itself."""


@dataclass(frozen=True, slots=True)
class KeyUse:
    """What a key means at some places of a spec: the sentence that an editor shows.

    A place is the thing that has the key: `spec`, `privacy`, `statistic`, a type of column
    and so on. The example is a line of YAML; without one it is that of the page.
    """

    places: tuple[str, ...]
    says: str
    example: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """One word or error code: its meaning, an example, what to do, and what to read next.

    The meaning is one paragraph or several; those with indented lines stay as they are. `also`
    are other words that the page explains. Pages of keys list their uses, their values, and what
    holds if they are `absent`. Names of codes are kebab-case and never change their meaning.
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
        """What kind of word it is."""
        return TITLES.get(self.kind, self.kind)

    def use(self, place: str) -> KeyUse | None:
        """What the key means at a place."""
        return next((use for use in self.uses if place in use.places), None)

    def text(self, width: int = WIDTH) -> str:
        """The whole page, as plain text; examples and formulas are not filled."""
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
    """Every error code that a user can meet, by family.

    A hint without facts says how to fix the problem, if nothing else does.
    """
    found = [
        Page(
            name,
            f"{table['family']} error",
            table["meaning"],
            table["example"],
            fix=table.get("fix") or f"{table['hint'][:1].upper()}{table['hint'][1:].format()}.",
        )
        for name, table in code_tables().items()
    ]
    return tuple(sorted(found, key=lambda page: FAMILIES.index(page.kind.split()[0])))


@cache
def code_tables() -> dict[str, dict[str, Any]]:
    """What the files say about each code, with its family."""
    return {
        name: {"family": path.stem.split("_")[0], **_prose(table)}
        for path in sorted((FOLDER / "codes").iterdir())
        for name, table in _read(path).items()
    }


def template(code: str) -> dict[str, str]:
    """The words of a code, or of a `code.variant`, which may take those of its code."""
    name, _, variant = code.partition(".")
    table = code_tables()[name]
    own: dict[str, str] = table[variant] if variant else {}
    # What a variant says itself replaces what its code says, in either of two ways.
    replaced = "message" in own or "expected" in own
    keys = ("hint",) if replaced else ("message", "expected", "hint")
    return {key: table[key] for key in keys if key in table} | own


@cache
def texts(name: str) -> dict[str, dict[str, str]]:
    """The texts of one file, such as `risks` or `notes`, by table and key."""
    return _prose(_read(FOLDER / f"{name}.toml"))


def variant_code(code: str, name: str) -> str:
    """The variant of a code that is about a `name`, if it has words for it; else the code."""
    return f"{code}.{name}" if isinstance(code_tables()[code].get(name), dict) else code


PAGE_FILES = ("sections", "privacy", "keys", "terms", "commands")
"""The files of pages about words, in the order of a spec."""


@cache
def word_pages() -> tuple[Page, ...]:
    """Every page about a word of specs, of the command line or of what it prints."""
    files = (_read(FOLDER / "pages" / f"{part}.toml") for part in PAGE_FILES)
    return tuple(_page(name, _prose(table)) for file in files for name, table in file.items())


@cache
def synonyms() -> dict[str, str]:
    """What other tools call the words of specs: from their word to ours."""
    return _read(FOLDER / "synonyms.toml")


def _read(path: Path) -> dict[str, Any]:
    # Every command imports this module, and few of them read a text.
    import tomllib  # noqa: PLC0415

    return tomllib.loads(path.read_text("utf-8"))


def wrap_paragraph(text: str, width: int, first: str = "", rest: str = "") -> str:
    """A paragraph in lines of at most `width` columns; no word is broken."""
    return fill(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _page(name: str, table: dict[str, Any]) -> Page:
    uses = tuple(KeyUse(**{**use, "places": tuple(use["places"])}) for use in table.get("uses", ()))
    lists = {key: tuple(table.get(key, ())) for key in ("see", "also")}
    return Page(name, **{**table, **lists, "uses": uses})


def _prose(table: dict[str, Any]) -> dict[str, Any]:
    """Texts as one line each; examples keep their lines."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        found[key] = _prose(value) if isinstance(value, dict) else value
        if isinstance(value, str):
            found[key] = value.strip() if key == "example" else " ".join(value.split())
    return found
