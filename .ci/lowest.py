"""Prints the lowest version of each dependency that pyproject.toml allows, for `pip -c`."""

import re
import tomllib
from itertools import chain
from pathlib import Path

NOT_INSTALLED_BY_USERS = {"dev", "notebook", "oracles", "site"}

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = project["optional-dependencies"]
used = [extras[name] for name in extras if name not in NOT_INSTALLED_BY_USERS]
for requirement in chain(project["dependencies"], *used):
    allowed = re.fullmatch(r"([\w.-]+)>=([\d.]+)(,.*)?", requirement)
    if allowed is None:
        raise SystemExit(f"no lowest version: {requirement}")
    print(f"{allowed[1]}=={allowed[2]}")
