"""`dpcli aggregate`: writes a sealed part for `dpcli release --partials`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpcli.cli import options
from dpcli.cli.accounts import warn
from dpcli.cli.console import print_json, print_line
from dpcli.cli.options import input_file, refuse_first, require_new_file
from dpcli.cli.progress import shown_progress
from dpcli.engine.files.content import PARTIAL_ENDING
from dpcli.planning.planner import make_plan
from dpcli.problems.errors import UsageError
from dpcli.releasing.publishing import is_device, write_private
from dpcli.releasing.steps import pack_data, reading_warnings
from dpcli.specification.load import read_central_spec


def aggregate(
    spec: options.SpecFile,
    data: options.DataFiles,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="OUT.sealed", help="The new part; its name ends in .sealed."
        ),
    ],
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Add up DATA as SPEC asks, and seal it for a later release.

    Reads DATA once, and writes a part: what its rows add up to, exactly, without noise. It is as
    confidential as the rows, for its owner alone to read, and replaces no file. Needs no ledger
    and spends nothing. `dpcli release SPEC --partials PART...` merges the parts of all rows, adds
    noise and charges for them. Each row must be in one part only.

    Examples:
        dpcli aggregate spec.yaml data.csv -o data.sealed
        ls data*.csv | xargs -P4 -I{} dpcli aggregate spec.yaml {} -o {}.sealed
        dpcli release spec.yaml --partials parts/*.sealed -o noisy.csv

    Exits 3: spec, 4: DATA, 7: OUT.sealed.

    See also: dpcli release
    """
    # A part is confidential: it must not look like a table, or go to a terminal or a log.
    fits = output.name.lower().endswith(PARTIAL_ENDING) and not is_device(output)
    refuse_first({"bad-option.part-name": not fits}, output=output)
    plan = make_plan(read_central_spec(spec))
    if plan.chooses_bounds:
        raise UsageError.about("chosen-bounds.partials")
    require_new_file(output, spec, *plan.spec.files, *map(input_file, data))
    warn(reading_warnings(plan, data))
    with shown_progress(quiet=quiet) as progress:
        part = pack_data(plan, tuple(data), progress)
    write_private(part, output)
    if not quiet:
        print_line(
            f"wrote the part `{output}`: it is as confidential as the data, so keep it where "
            "they are kept"
        )
    if as_json:
        print_json({"part": str(output), "confidential": True})
