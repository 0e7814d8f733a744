"""Every error code, what it means and how to mend it; one module per family."""

from __future__ import annotations

from dpcli.codes.base import Code
from dpcli.codes.budget import CODES as BUDGET
from dpcli.codes.data import CODES as DATA
from dpcli.codes.internal import CODES as INTERNAL
from dpcli.codes.ledger import CODES as LEDGER
from dpcli.codes.local import CODES as LOCAL
from dpcli.codes.output import CODES as OUTPUT
from dpcli.codes.plan import CODES as PLAN
from dpcli.codes.spec import CODES as SPEC
from dpcli.codes.usage import CODES as USAGE

CODES: tuple[Code, ...] = SPEC + LOCAL + PLAN + DATA + BUDGET + LEDGER + OUTPUT + USAGE + INTERNAL
"""Every code that a user can meet."""
