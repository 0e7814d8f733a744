"""The syntax of the package, which is read once for all tests of a process."""

from __future__ import annotations

import ast
from functools import cache

from tests.benchmarks.coupling import sources


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax of every module of the package, by its path from the root of the repository."""
    return {path: ast.parse(text) for path, text in sources().items()}
