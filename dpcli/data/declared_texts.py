"""Texts of a spec: visible, different, run by no spreadsheet; and as YAML."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, partial
from itertools import zip_longest
from typing import Annotated, Any

from dpcli.data.characters import plain_minus
from dpcli.fields.tree import ScalarNode, attempt, read_all
from dpcli.fields.values import (
    TEXT_SCHEMA,
    AlreadyReportedError,
    NumberSyntaxError,
    ParsedText,
    invalid_value,
    parse_number,
)

DROP = "drop"
"""The value of `missing` by which a missing cell stays missing."""

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "'")
"""First characters of cells that a spreadsheet evaluates, or hides.

Declared labels do not begin with them, except for numbers. So a label is the same text in every
format. A private key from the data that begins with one of them gets an apostrophe in CSV.
"""

MAX_FORMS = 100
"""How many affixes, formats or footers are read: each cell is compared with all."""

INVISIBLE_CATEGORIES = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories that a declared text must not contain."""

FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Letters and marks without a shape."""

VARIANTS = re.compile("[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Characters that choose a form of the one before them."""

OTHER_SHAPES = ("<super>", "<sub>", "<fraction>", "<circle>", "<square>")
"""Compatible characters that look different: `m\u00b2` is not `m2`."""

TWINS = str.maketrans(
    # Cyrillic, Greek, letters of one script, dashes and quotes.
    "\u0410\u0412\u0415\u0405\u0406\u0408\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425"
    "\u0430\u0435\u0455\u0456\u0458\u043e\u0440\u0441\u0443\u0445\u04bb\u0501\u051b\u051d\u04cf\u04c0"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
    "\u03b1\u03b9\u03bd\u03bf\u03c1\u03c5\u03ba\u00d0\u0189\u0327\u06a9\u06cc\u0649"
    "\u2010\u2011\u2012\u2013\u2212\u2018\u2019\u201b\u02bc\u201c\u201d\u201e\u201f"
    "\u04ae\u051c\u050c\u0474\u0475\u04d9\u04d8\u04e9\u0251\u0261\u0585\u2215\u2044",
    "ABESIJKMHOPCTYX"
    "aesijopcyxhdqwlI"
    "ABEZHIKMNOPTYX"
    "aivopu\u043a\u0110\u0110\u0326\u0643\u064a\u064a"
    "-----" + 4 * "'" + 4 * '"' + "YWGVv\u0259\u018f\u0275ago//",
)
"""Characters that look like another one, and that one."""


def is_invisible(text: str) -> bool:
    """Whether a text contains a character that cannot be seen."""
    return any(unicodedata.category(character) in INVISIBLE_CATEGORIES for character in text)


def unseen_character(text: str) -> str:
    """The first character that no one sees, or that turns text; empty if none is.

    Joiners are seen next to the letters of scripts that need them, and to emoji.
    """
    for index, character in enumerate(text):
        if character in FILLERS or unicodedata.category(character) in (*INVISIBLE_CATEGORIES, "Cf"):
            near = text[max(0, index - 1) : index] + text[index + 1 : index + 2]
            if character not in "\u200c\u200d" or not any(map(_takes_joiners, near)):
                return character
    return ""


def _takes_joiners(character: str) -> bool:
    # The virama of Indic scripts, letters of Arabic script, and emoji with their forms.
    is_sign = unicodedata.combining(character) == 9 or VARIANTS.match(character) is not None
    kinds = unicodedata.bidirectional(character), unicodedata.category(character)
    return is_sign or not {"AL", "So", "Sk"}.isdisjoint(kinds)


def look(text: str) -> str:
    """What a text looks like: the same for texts that a reader may confuse.

    They differ in Unicode forms, width, blanks, characters that no one sees, or in `TWINS`. Other
    characters that are similar (0 and O, 1 and l) are different.
    """
    if not text.isascii():
        text = "".join(map(_plain_shape, unicodedata.normalize("NFC", VARIANTS.sub("", text))))
        while hidden := unseen_character(text):
            text = text.replace(hidden, "")
        text = unicodedata.normalize("NFD", text).translate(TWINS)
    return plain_minus(" ".join(text.split()))


@cache
def _plain_shape(character: str) -> str:
    """The characters for which a compatible one stands that looks like them."""
    is_other = unicodedata.decomposition(character).startswith(OTHER_SHAPES)
    return character if is_other else unicodedata.normalize("NFKC", character)


def report_twins(what: str, pairs: Iterable[tuple[ScalarNode, str]]) -> None:
    """Report texts that look the same and have different labels."""
    seen: dict[str, tuple[ScalarNode, str]] = {}
    for scalar, label in pairs:
        first, meaning = seen.setdefault(look(scalar.text), (scalar, label))
        if meaning != label and (text := first.text) != scalar.text:
            letters = zip_longest(scalar.text, text, fillvalue="")
            found, other = map(code_point, next(pair for pair in letters if pair[0] != pair[1]))
            arguments = dict(zip(("line", "column"), first.span.start, strict=True))
            report = partial(scalar.span.report, "twin-values", what=what, text=scalar.text)
            report(found=found, other=other, **arguments)


def code_point(character: str) -> str:
    """The number and the name of a character, such as `U+0430`."""
    name = unicodedata.name(character, "no name") if character else ""
    return f"U+{ord(character):04X} ({name})" if character else "its end"


def require_few(texts: list[Any]) -> list[Any]:
    """Raise a problem if there are more than `MAX_FORMS` texts."""
    if len(texts) > MAX_FORMS:
        raise invalid_value("too-many-forms", path=(MAX_FORMS,), most=MAX_FORMS)
    return texts


def require_short(text: str, max_length: int) -> str:
    """Raise a problem for a text that is too long to become a part of a pattern."""
    if len(text) > max_length:
        raise invalid_value("too-many-forms.long", most=max_length)
    return text


def require_distinct_texts(pairs: Sequence[tuple[ScalarNode, ScalarNode | None]]) -> None:
    """Checks pairs of a text and its label, and that no text occurs twice."""
    seen: dict[str, ScalarNode] = {}

    def check(pair: tuple[ScalarNode, ScalarNode | None]) -> None:
        text, label = pair
        check_text = attempt(require_text, text, "value", published=label is text)
        if label is not None and label is not text:
            require_text(label, "label", published=True)
        first = seen.setdefault(text.text, text)
        if first is not text:
            line, column = first.span.start
            text.span.report("duplicate-value", value=text.text, line=line, column=column)
        check_text.require()

    read_all(check, pairs)


def require_text(scalar: ScalarNode, what: str, *, published: bool) -> None:
    """Checks that a cell can contain a text, and if `published` that it is harmless.

    Raises `AlreadyReportedError` after the problem of this `what` is recorded.
    """
    text, span = scalar.text, scalar.span
    if span.findings.is_suppressed(span):
        raise AlreadyReportedError
    code = text_fault(text, published=published)
    if code == "formula-label":
        if what not in {"label", "value"}:
            raise span.report("formula-label.stated", what=what, label=text, first=text[0])
        quoted = text.replace("'", "''")
        raise span.report(code, label=text, first=text[0], quoted=quoted)
    if code:
        unseen = code_point(unseen_character(text))
        raise span.report(code, what=what, text=text, stripped=text.strip(), character=unseen)


def text_fault(text: str, *, published: bool = False) -> str:
    """The code of the fault of a declared text, perhaps `published`; empty if none."""
    if not text:
        return "empty-text"
    if is_invisible(text):
        return "control-character"
    if text.strip() != text:
        return "surrounding-space"
    if not look(text) or (published and unseen_character(text)):
        return "control-character.label"
    if published and text.startswith(FORMULA_STARTS):
        try:
            parse_number(text)
        except NumberSyntaxError:
            return "formula-label"
    return ""


MAX_TITLE, MAX_UNIT, MAX_NOTE = 120, 40, 1_000
"""Characters of a title, a unit and a note."""

DIRECTIONS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
"""Unicode classes of characters that change the order in which a text is shown."""


def _parse_caption(text: str, max_length: int) -> str:
    plain = text.strip()
    if not 1 <= len(plain) <= max_length:
        raise invalid_value("bad-caption", count=len(plain), most=max_length)
    turns = any(unicodedata.bidirectional(character) in DIRECTIONS for character in plain)
    if turns or is_invisible(plain) or not any(map(str.isprintable, plain)):
        raise invalid_value("bad-caption.invisible")
    return plain


def _caption_type(max_length: int) -> ParsedText:
    schema = {**TEXT_SCHEMA, "minLength": 1, "maxLength": max_length}
    return ParsedText(partial(_parse_caption, max_length=max_length), schema)


Title = Annotated[str, _caption_type(MAX_TITLE)]
UnitText = Annotated[str, _caption_type(MAX_UNIT)]
Note = Annotated[str, _caption_type(MAX_NOTE)]


def mapping_text(pairs: Iterable[tuple[str, str]]) -> str:
    """A mapping of YAML on one line; the values are YAML already."""
    return f"{{{', '.join(f'{yaml_text(text)}: {value}' for text, value in pairs)}}}"


def list_text(texts: Iterable[str]) -> str:
    """The texts as a list in YAML; a single text is written without a list."""
    quoted = [yaml_text(text) for text in texts]
    return quoted[0] if len(quoted) == 1 else f"[{', '.join(quoted)}]"


def flow_text(value: bool | int | str | tuple[Any, ...]) -> str:
    """A value of a spec as YAML on one line; pairs are those of a mapping."""
    if isinstance(value, tuple):
        has_pairs = any(isinstance(item, tuple) for item in value)
        return mapping_text(value) if has_pairs else list_text(value)
    return yaml_text(str(value).lower() if isinstance(value, bool) else str(value))


def yaml_text(text: str) -> str:
    """A text as a scalar of YAML, between quotes if it needs them."""
    is_plain = re.fullmatch(r"[A-Za-z0-9]([\w ./]*[\w.])?", text) is not None
    return text if is_plain else json.dumps(text, ensure_ascii=False)
