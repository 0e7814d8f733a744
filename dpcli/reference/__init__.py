"""Reference texts: what error codes and words mean, kept as data files.

`codes/*.toml` has one file per family of error codes, `pages/*.toml` the words of specs and
of the command line, `risks.toml` and `notes.toml` what plans and reports state in sentences. A
file is read when a text of it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import Any, Literal

FOLDER = Path(__file__).parent

Kind = Literal["key", "type", "idea", "command line"]

WIDTH = 78
"""Columns of a page where no terminal says otherwise: it fits on one of eighty."""

FAMILIES = ("spec", "plan", "data", "budget", "ledger", "output", "usage", "internal")

TITLES: dict[Kind, str] = {
    "key": "key of a spec",
    "type": "type of a column",
    "idea": "word of a spec",
    "command line": "word of the command line",
}
"""How a page says what kind of word it is about."""


@dataclass(frozen=True, slots=True)
class Code:
    """One error code: its meaning, a text or situation that produces it, and what to do.

    Names are kebab-case and never change their meaning.
    """

    name: str
    family: str
    meaning: str
    example: str
    fix: str

    def text(self, width: int = WIDTH) -> str:
        """The whole page, as plain text."""
        example = "\n".join(f"    {line}" for line in self.example.splitlines())
        return (
            f"{self.name} ({self.family} error)\n\n{filled(self.meaning, width)}\n\n"
            f"For example:\n\n{example}\n\n{filled(f'Fix: {self.fix}', width)}\n"
        )


@dataclass(frozen=True, slots=True)
class Use:
    """What a key means at some places of a spec: the sentence that an editor shows.

    A place is the thing that has the key: `spec`, `privacy`, `statistic`, a type of column
    and so on. The example is a line of YAML; without one it is that of the page.
    """

    places: tuple[str, ...]
    says: str
    example: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """One word: its meaning, its values, an example, and what holds if it is absent.

    Pages of keys list their uses. `see` names other words that `dpcli explain` knows.
    """

    name: str
    kind: Kind
    meaning: str
    example: str
    see: tuple[str, ...]
    values: str = ""
    absent: str = ""
    uses: tuple[Use, ...] = ()

    def use(self, place: str) -> Use | None:
        """What the key means at a place."""
        return next((use for use in self.uses if place in use.places), None)

    def text(self, width: int = WIDTH) -> str:
        """The whole page, as plain text."""
        parts = [f"{self.name} ({TITLES[self.kind]})", filled(self.meaning, width)]
        if len(self.uses) > 1:
            uses = [f"in {', '.join(use.places)}: {use.says}" for use in self.uses]
            parts.append("\n".join(filled(use, width, "  ", "      ") for use in uses))
        # An example is copied as it is, so it stays on one line.
        example = f"Example:   {self.example}"
        lines = [
            filled(f"Allowed:   {self.values}", width, "", " " * 11) if self.values else "",
            example if len(example) < width else f"Example:\n  {self.example}",
            filled(f"If absent: {self.absent}", width, "", " " * 11) if self.absent else "",
            see_also(self.see, width),
        ]
        return "\n\n".join([*parts, "\n".join(line for line in lines if line)]) + "\n"


@cache
def codes() -> tuple[Code, ...]:
    """Every error code that a user can meet, by family."""
    found = [
        Code(name, **{key: table[key] for key in ("family", "meaning", "example", "fix")})
        for name, table in code_tables().items()
    ]
    return tuple(sorted(found, key=lambda code: FAMILIES.index(code.family)))


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
    """The templates of one file, `risks` or `notes`, by table and key."""
    return _prose(_read(FOLDER / f"{name}.toml"))


def variant(code: str, name: str) -> str:
    """The variant of a code that is about a `name`, if it has words for it; else the code."""
    return f"{code}.{name}" if isinstance(code_tables()[code].get(name), dict) else code


PARTS = ("sections", "privacy", "keys", "commands")
"""The files of pages about words, in the order of a spec."""


@cache
def word_pages() -> tuple[Page, ...]:
    """Every page about a word of specs or of the command line."""
    files = (_read(FOLDER / "pages" / f"{part}.toml") for part in PARTS)
    return tuple(_page(name, _prose(table)) for file in files for name, table in file.items())


@cache
def synonyms() -> dict[str, str]:
    """What other tools call the words of specs: from their word to ours."""
    return _read(FOLDER / "synonyms.toml")


def _read(path: Path) -> dict[str, Any]:
    # Every command imports this module, and few of them read a text.
    import tomllib  # noqa: PLC0415

    return tomllib.loads(path.read_text("utf-8"))


def filled(text: str, width: int, first: str = "", rest: str = "") -> str:
    """A paragraph in lines of at most `width` columns; no word is broken."""
    return fill(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=False,
    )


def see_also(words: Iterable[str], width: int) -> str:
    """The last lines of a page: words to read next."""
    return filled(f"See also:  dpcli explain {' | '.join(words)}", width, "", " " * 11)


def _page(name: str, table: dict[str, Any]) -> Page:
    uses = tuple(Use(**{**use, "places": tuple(use["places"])}) for use in table.get("uses", ()))
    return Page(name, **{**table, "see": tuple(table["see"]), "uses": uses})


def _prose(table: dict[str, Any]) -> dict[str, Any]:
    """Texts as one line each; examples keep their lines."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        found[key] = _prose(value) if isinstance(value, dict) else value
        if isinstance(value, str):
            found[key] = value.strip() if key == "example" else " ".join(value.split())
    return found
