"""Options that several commands have, with the same words and meaning."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

DataFiles = Annotated[
    list[str],
    typer.Argument(metavar="DATA", help="CSV, .gz or Parquet; all as one; - for stdin."),
]
Reports = Annotated[
    list[Path] | None,
    typer.Option(
        "--report", metavar="PATH", help="A report: .html, .md, .json, .yaml; repeatable."
    ),
]
Format = Annotated[
    Literal["json", "markdown", "html", "registry"] | None,
    typer.Option("--format", metavar="NAME", help="json, markdown, html or registry [by ending]."),
]
ReleaseId = Annotated[
    str | None,
    typer.Option("--release-id", metavar="ID", help="The release's name, to retry it [random]."),
]
Book = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="PATH",
        envvar="DPCLI_LEDGER",
        readable=False,
        show_envvar=False,
        help="The ledger [$DPCLI_LEDGER, else one beside SPEC].",
    ),
]
Period = Annotated[
    str | None,
    typer.Option("--period", metavar="YYYY-MM-DD", help="The day of the data, for a window."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace outputs that exist.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No summary on stderr.")]

STDIN = Path("/dev/stdin")
"""What stands for standard input among the files that no output may replace."""


def input_file(data: str) -> Path:
    """The file that a command reads; standard input may be one too."""
    return STDIN if data == "-" else Path(data)


def input_files(data: Sequence[str]) -> list[Path]:
    """The files that a command reads."""
    return [input_file(name) for name in data]
