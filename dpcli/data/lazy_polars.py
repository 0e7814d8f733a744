"""Polars, loaded at the first use: a plan needs columns, but no cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["pl"]

if TYPE_CHECKING:
    import polars as pl
else:

    class _Polars:
        def __getattr__(self, name: str) -> Any:
            import polars

            setattr(self, name, getattr(polars, name))
            return getattr(polars, name)

    pl = _Polars()
