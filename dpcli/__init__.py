"""dpcli: differentially private releases of CSV files.

A spec says what to publish. A plan lists the queries, their sensitivities, the mechanisms and the
privacy cost; it is complete before any row is read. The engine turns rows into confidential
integers. Only a calibrated mechanism turns confidential values into noisy ones. The ledger charges
for them and stores the outputs in one transaction. Published files are copies of what the ledger
holds. Everything after the mechanism is post-processing, at no privacy cost.

From Python, a release takes three calls; `docs/python.md` shows them:

    from dpcli import load_spec, plan, release

    result = release(plan(load_spec("survey.yaml")), "people.csv", release_id="first")
"""

import os

from dpcli.version import __version__ as __version__

KEPT_VARIABLES = ("POLARS_TEMP_DIR", "POLARS_FMT_", "POLARS_SKIP_CPU_CHECK")
"""Prefixes of variables of polars that are kept.

They change neither what polars reads nor what it prints while reading.
"""

KEPT_VALUES = {
    # Polars starts as many threads as are asked for.
    "POLARS_MAX_THREADS": (*map(str, range(1, 257)),),
    "POLARS_PREFER_PKG": ("32", "64", "compat"),
    "POLARS_FORCE_PKG": ("32", "64", "compat"),
}
"""Variables of polars that are kept at these values; most others end the process."""

for _name in [*os.environ]:
    # One prints what is read. Another maps data files into memory, and to touch a page of a mapped
    # file that was cut off ends the process. Others end the process at an error, or choose another
    # engine. Polars reads most of them when it is loaded.
    if not _name.startswith("POLARS_") or _name.startswith(KEPT_VARIABLES):
        continue
    if os.environ[_name] not in KEPT_VALUES.get(_name, ()):
        os.environ.pop(_name)
    elif _name == "POLARS_FORCE_PKG":
        from importlib.util import find_spec

        # Without the package that it names, polars cannot be used at all.
        if find_spec(f"_polars_runtime_{os.environ[_name]}") is None:
            os.environ.pop(_name)

__all__ = [
    "Collection",
    "DpcliError",
    "Ledger",
    "Release",
    "Simulation",
    "check",
    "estimate",
    "load_spec",
    "plan",
    "randomize",
    "release",
    "simulate",
]

HOMES = {"DpcliError": "dpcli.problems.errors", "Ledger": "dpcli.ledger.public"}
"""The modules of the public names that `dpcli.api` does not define."""

TYPE_CHECKING = False  # type checkers read it as true; to import it would take longer than the rest

if TYPE_CHECKING:
    from dpcli.api import (
        Collection,
        Release,
        Simulation,
        check,
        estimate,
        load_spec,
        plan,
        randomize,
        release,
        simulate,
    )
    from dpcli.ledger.public import Ledger
    from dpcli.problems.errors import DpcliError
else:

    def __getattr__(name: str) -> object:
        """A public name, which loads when it is first asked for."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(HOMES.get(name, "dpcli.api")), name)

    def __dir__() -> list[str]:
        """The public names alone, which consoles and notebooks offer."""
        return [*__all__, "__version__"]
