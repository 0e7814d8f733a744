"""Every word of specs and command lines that has a page; one module per part."""

from __future__ import annotations

from dpcli.words.base import Page
from dpcli.words.choices import PAGES as CHOICES
from dpcli.words.columns import PAGES as COLUMNS
from dpcli.words.commands import PAGES as COMMANDS
from dpcli.words.declarations import PAGES as DECLARATIONS
from dpcli.words.entries import PAGES as ENTRIES
from dpcli.words.files import PAGES as FILES
from dpcli.words.local import PAGES as LOCAL
from dpcli.words.prices import PAGES as PRICES
from dpcli.words.privacy import PAGES as PRIVACY
from dpcli.words.sections import PAGES as SECTIONS

PAGES: tuple[Page, ...] = (
    *SECTIONS,
    *FILES,
    *PRIVACY,
    *COLUMNS,
    *ENTRIES,
    *CHOICES,
    *PRICES,
    *LOCAL,
    *DECLARATIONS,
    *COMMANDS,
)
"""Every page, in the order of a spec."""
