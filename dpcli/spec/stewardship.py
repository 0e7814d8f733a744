"""What the steward declares: answers that no program can find out.

They change no noise and no price. The report, the registry record and the hazards
quote them as the words of whoever wrote the spec.
"""

from __future__ import annotations

from dpcli.spec.findings import Findings
from dpcli.spec.model import Declarations
from dpcli.spec.nodes import Mapping, Node, Word
from dpcli.spec.scope import read_number
from dpcli.spec.wording import shown

LONGEST = 2_000
"""Characters of an answer: a paragraph, not a document."""

MOST_PEOPLE = 10**11
"""More than there ever were."""


def read_declarations(section: Node | None, findings: Findings) -> Declarations:
    """The declarations; problems are recorded, and what has one is left out."""
    if not isinstance(section, Mapping):
        return Declarations()
    texts = {
        name: word.text.strip()
        for name, (_, word) in section.pairs.items()
        if isinstance(word, Word) and name != "population" and _is_answer(name, word, findings)
    }
    return Declarations(_population(section.word("population"), findings), tuple(texts.items()))


def _is_answer(name: str, word: Word, findings: Findings) -> bool:
    """Whether a text says something, and not too much."""
    if 1 <= len(word.text.strip()) <= LONGEST:
        return True
    findings.add(
        "bad-declaration",
        f"`{name}` has {len(word.text.strip()):,} characters, expected 1 to {LONGEST:,}",
        "answer in a few sentences, or leave it out: the report then says that it is open",
        word.span,
    )
    return False


def _population(word: Word | None, findings: Findings) -> int | None:
    """How many people the data may be about."""
    value = None if word is None else read_number(word, "`population`", findings)
    if word is None or value is None:
        return None
    if value.denominator == 1 and 1 <= value <= MOST_PEOPLE:
        return value.numerator
    findings.add(
        "bad-declaration",
        f"`population` is {shown(word.text)}, expected a whole number from 1 to {MOST_PEOPLE:,}",
        "write how many people the data may be about, from what is known publicly; a rough "
        "number will do",
        word.span,
    )
    return None
