"""From bytes to a tree with places, by a small and strict part of YAML.

Scalars stay texts. Whatever could make a text mean something else than it seems
to say is refused: aliases, tags, merge keys, directives, duplicate keys.
"""

from __future__ import annotations

import re

import yaml

from dpcli.messages import shown
from dpcli.spec.findings import Findings
from dpcli.spec.nodes import Mapping, Span
from dpcli.spec.syntax import in_plain_words
from dpcli.spec.tree import Composer, Stop

MOST_BYTES = 2**20

LINE_BREAK = re.compile(r"\r\n|\r|\n")
REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
REFUSED_BEYOND_ASCII = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"
"""Left uncompiled: most specs are ASCII, and such a set takes long to compile."""

DIRECTIVE = re.compile(r"^%.*", re.MULTILINE)


def read_text(raw: bytes, source: str) -> tuple[Mapping | None, Findings, str]:
    """The tree of a text, its problems, and the text; no tree if it is unusable."""
    if len(raw) > MOST_BYTES:
        findings = Findings(source, _lines(raw[:1000].decode("utf-8", "replace"))[:1])
        findings.add(
            "spec-too-large",
            f"the spec has more than {MOST_BYTES:,} bytes",
            "name the spec first, then the data; a category with very many values can have private "
            "keys instead (`dpcli explain keys`)",
            Span(1, 1, 1),
        )
        return None, findings, ""
    try:
        text = raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        return None, _not_utf8(raw, error.start, source), ""
    findings = Findings(source, _lines(text))
    try:
        _refuse_characters(text, findings)
        return _document(text, findings), findings, text
    except Stop:
        return None, findings, text


def _lines(text: str) -> list[str]:
    return LINE_BREAK.split(text)


def _not_utf8(raw: bytes, position: int, source: str) -> Findings:
    """The problem of a byte that is no UTF-8, at its place."""
    before = _lines(raw[:position].decode("utf-8").removeprefix("\ufeff"))
    findings = Findings(source, _lines(raw.decode("utf-8", "replace").removeprefix("\ufeff")))
    message = f"byte 0x{raw[position]:02x} is not UTF-8 text"
    hint = "save the spec as UTF-8"
    findings.add("not-utf8", message, hint, Span(len(before), len(before[-1]) + 1, 1))
    return findings


def _refuse_characters(text: str, findings: Findings) -> None:
    """Stops at characters that cannot be seen, and at directives."""
    found = REFUSED.search(text) if text.isascii() else re.search(REFUSED_BEYOND_ASCII, text)
    if found:
        message = f"the invisible character U+{ord(found[0]):04X} is in the text"
        hint = "delete the character, or write it as an escape in double quotes"
        findings.add("control-character", message, hint, _span(text, found.start(), 1))
        raise Stop
    found = DIRECTIVE.search(text)
    if found:
        message = f"the line begins with {shown('%')}, a YAML directive, expected the spec"
        hint = "begin with `dpcli: 1`; a spec has no directives"
        findings.add("yaml-directive", message, hint, _span(text, found.start(), len(found[0])))
        raise Stop


def _span(text: str, position: int, length: int) -> Span:
    before = _lines(text[:position])
    return Span(len(before), len(before[-1]) + 1, length)


def _document(text: str, findings: Findings) -> Mapping | None:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return Composer(yaml.parse(text, Loader=loader), findings).document()
    except yaml.MarkedYAMLError as error:
        message, hint, mark = in_plain_words(error, findings.lines)
        findings.add("yaml-syntax", message, hint, mark)
    except (yaml.YAMLError, RecursionError):
        findings.add("yaml-syntax", "the text is not YAML", "check its quotes", Span(1, 1, 1))
    return None
