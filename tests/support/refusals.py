"""What is refused, by the codes of its problems."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dpcli.problems.errors import DpcliError


@contextmanager
def refused(*codes: str) -> Iterator[pytest.ExceptionInfo[DpcliError]]:
    """The body must raise an error of dpcli whose problems have these codes, in this order."""
    with pytest.raises(DpcliError) as caught:
        yield caught
    assert [problem.code for problem in caught.value.problems] == [*codes]
