"""The key that opens a `Confidential`; imported by `dpcli.mechanisms.base` only."""

from __future__ import annotations

from typing import TypeVar

from dpcli.privacy.confidential import Confidential

T = TypeVar("T")


def unseal(sealed: Confidential[T]) -> T:
    """The confidential value itself, for a mechanism that is about to perturb it."""
    value: T = sealed._Confidential__sealed  # type: ignore[attr-defined]  # noqa: SLF001 - the key
    return value
