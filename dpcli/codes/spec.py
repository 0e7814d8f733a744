"""Error codes of specs: what is wrong with a text, its names or its numbers."""

from __future__ import annotations

from dpcli.codes.base import Code
from dpcli.codes.spec_columns import CODES as COLUMNS
from dpcli.codes.spec_csv import CODES as CSV
from dpcli.codes.spec_fields import CODES as FIELDS
from dpcli.codes.spec_people import CODES as PEOPLE
from dpcli.codes.spec_statistics import CODES as STATISTICS
from dpcli.codes.spec_text import CODES as TEXT

CODES: tuple[Code, ...] = TEXT + COLUMNS + STATISTICS + PEOPLE + FIELDS + CSV
