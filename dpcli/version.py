"""The version of dpcli, and of what it runs on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

__version__ = "0.6.0"

COMMIT = Path(__file__).with_name("commit.txt")
"""Written when a wheel is built from a repository; a checkout has none."""

LIBRARIES = ("pydantic", "typer", "pyyaml", "jinja2", "rich")
"""Distributions that every installation has, besides those of a build."""


class Build(NamedTuple):
    """What makes a release: versions, the platform, and the commit that was built.

    `changed` stands behind the `commit` if files were not committed. It is empty in a checkout,
    whose files may have changed since.
    """

    dpcli: str
    commit: str
    python: str
    polars: str
    numpy: str
    platform: str


def this_build() -> Build:
    """The build that runs."""
    # Small commands start without these.
    import sysconfig
    from importlib.metadata import version

    return Build(
        dpcli=__version__,
        commit=COMMIT.read_text(encoding="utf-8").strip() if COMMIT.exists() else "",
        python=".".join(map(str, sys.version_info[:3])),
        polars=version("polars"),
        numpy=version("numpy"),
        platform=sysconfig.get_platform(),
    )


def environment() -> dict[str, str | dict[str, str]]:
    """The build that runs, and the versions of other libraries."""
    from importlib.metadata import version

    libraries = {name: version(name) for name in LIBRARIES}
    return {**this_build()._asdict(), "libraries": libraries}
