"""The planted faults, and the one place in the code of each."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("faults.toml")


class NoPlaceError(Exception):
    """The text of a fault is not exactly once in the code."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A text of the code, the faulty one that takes its place, and the promise that it breaks.

    `found_by` is the id, without parameters, of a default test that finds it. `audit` names a spec
    and an entry of which `dpcli audit` finds it; `suite` if only that test does. Both may be empty.
    """

    name: str
    breaks: str
    find: str
    replace: str
    found_by: str = ""
    audit: str = ""

    def planted(self, root: Path) -> tuple[Path, str]:
        """The file with the text below `root`, and its code with the fault; NoPlaceError else."""
        codes = {path: path.read_text(encoding="utf-8") for path in root.glob("dpcli/**/*.py")}
        counts = {path: code.count(self.find) for path, code in codes.items() if self.find in code}
        if sum(counts.values()) != 1:
            names = ", ".join(str(path.relative_to(root)) for path in counts) or "no file"
            raise NoPlaceError(f"{self.name}: its text must be once in dpcli/; it is in {names}")
        (path,) = counts
        return path, codes[path].replace(self.find, self.replace)


def faults() -> Iterator[Fault]:
    """All faults, in the order of the list."""
    for fields in tomllib.loads(LIST.read_text(encoding="utf-8"))["fault"]:
        yield Fault(**fields)
