"""Every word of specs and command lines that has a page; by part of a spec."""

from __future__ import annotations

from dpcli.reference import Page, pages
from dpcli.words.choices import PAGES as CHOICES
from dpcli.words.columns import PAGES as COLUMNS
from dpcli.words.declarations import PAGES as DECLARATIONS
from dpcli.words.entries import PAGES as ENTRIES
from dpcli.words.files import PAGES as FILES
from dpcli.words.local import PAGES as LOCAL
from dpcli.words.prices import PAGES as PRICES
from dpcli.words.sections import PAGES as SECTIONS

PAGES: tuple[Page, ...] = (
    *SECTIONS,
    *FILES,
    *pages("privacy"),
    *COLUMNS,
    *ENTRIES,
    *CHOICES,
    *PRICES,
    *LOCAL,
    *DECLARATIONS,
    *pages("commands"),
)
"""Every page, in the order of a spec."""
