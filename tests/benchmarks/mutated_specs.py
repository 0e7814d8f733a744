"""What two checkouts say of the same wrong specs: `python -m tests.benchmarks.mutated_specs OLD`.

The specs of this checkout, and the texts of its golden cases, are changed at random: keys are
misspelled, moved or left out, values get another form or another word. Each checkout reads all of
them in a process of its own. What differs is printed: acceptance, codes, places, words, and the
losses and scales of plans that are accepted by both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]

WORDS = (
    "", "0", "1", "-1", "0.5", "1e-6", "1e60", "1/3", "true", "no", "none", "drop", "x", "age",
    "sex", "income", "region", "day", "rows", "sum", "count", "mean", "median", "top_k", "laplace",
    "gaussian", "id", "integer", "number", "category", "boolean", "date", "private", "2020-01-01",
    "2020-13-01", "%d/%m/%Y", "10%", "1,000", "ignore", "auto", "simplex", "FILL_IN", "=1", "a\tb",
)  # fmt: skip
"""Values that are right somewhere."""

KEYS = (
    "column", "columns", "by", "where", "epsilon", "rho", "delta", "error", "share", "bounds",
    "step", "values", "missing", "na", "case", "other", "format", "zone", "from", "choose", "up_to",
    "cover", "type", "unit", "mechanism", "post", "raw", "keys", "bound", "unit_bounds", "weight",
    "bins", "width", "edges", "quantiles", "candidates", "k", "ways", "min", "max", "above", "not",
    "any", "all", "between", "comparison", "max_rows", "max_groups", "title", "note", "group_by",
)  # fmt: skip
"""Keys that are right somewhere."""


def bases() -> list[list[tuple[str, Any]]]:
    """The trees of correct and of wrong specs, each with the folder of the files that it names."""
    from tests.support.diagnostics import FOLDER, read_cases

    files = [*(ROOT / "specs").glob("*.yaml"), *ROOT.glob("tests/system/**/*.yaml")]
    correct = [(path.parent, path.read_bytes()) for path in sorted(files)]
    wrong = [(FOLDER, case.raw) for case in read_cases() if len(case.raw) < 20_000]
    found: list[list[tuple[str, Any]]] = [[], []]
    for trees, texts in zip(found, (correct, wrong), strict=True):
        for folder, raw in texts:
            # A case may be no YAML, or too deep.
            with suppress(yaml.YAMLError, RecursionError, ValueError):
                tree = yaml.load(raw, Loader=yaml.BaseLoader)
                trees.extend([(str(folder), tree)] if isinstance(tree, dict) else [])
    return found


def places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Each part of a tree, as its parent and its key or index there."""
    for key, value in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
        yield tree, key
        if isinstance(value, dict | list):
            yield from places(value)


def changed(tree: Any, others: list[Any], random: Random) -> Any:
    """A copy of a tree with one change."""
    tree = deepcopy(tree)
    parent, key = random.choice(list(places(tree)) or [(tree, None)])
    if key is None:
        return tree
    value = parent[key]
    match random.randrange(9):
        case 0:
            parent[key] = random.choice(WORDS)
        case 1:
            parent[key] = [value]
        case 2:
            parent[key] = {random.choice(KEYS): value}
        case 3:
            del parent[key]
        case 4 if isinstance(parent, dict) and len(key) > 1:
            at = random.randrange(len(key))
            parent[key[:at] + key[at + 1 :]] = parent.pop(key)
        case 5 if isinstance(parent, dict):
            parent[random.choice(KEYS)] = parent.pop(key)
        case 6 if isinstance(parent, dict):
            parent[random.choice(KEYS)] = random.choice(WORDS)
        case 7 if isinstance(parent, list):
            parent.append(deepcopy(value))
        case _:
            alike = [other[name] for one in others for other, name in places(one) if name == key]
            parent[key] = deepcopy(random.choice(alike or [value]))
    return tree


def specs(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Changed specs as text, each with the folder of its files."""
    random, (correct, wrong) = Random(seed), bases()
    for number in range(count):
        folder, tree = random.choice(wrong if number % 3 == 0 else correct)
        for _ in range(random.choice((0, 1, 1, 1, 2, 3)) if number % 3 else 1):
            others = [one for _, one in random.sample(wrong, 8) + random.sample(correct, 4)]
            tree = changed(tree, others, random)
        yield folder, yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)


def read(folder: str, text: str) -> Any:
    """What this checkout says of a spec: its problems, or the figures of its plan."""
    from dpcli import DpcliError, plan
    from dpcli.specification.load import parse_spec

    try:
        planned = plan(parse_spec(text, "spec.yaml", Path(folder)))
    except DpcliError as error:
        return [
            [problem.code, str(problem.place), problem.message, problem.hint]
            for problem in error.problems
        ]
    except Exception as error:  # noqa: BLE001 - what it is, is compared
        return f"{type(error).__name__}: {error}"
    return {
        "cost": repr(planned.cost),
        "statistics": [
            [one.name, [[str(part.scale), str(part.l1), str(part.l2)] for part in one.queries]]
            for one in planned.all_statistics
        ],
    }


def answers(checkout: Path, file: Path) -> list[Any]:
    """What a checkout says of each spec in a file."""
    command = [sys.executable, str(Path(__file__).resolve()), "--read", str(file)]
    path = os.pathsep.join([str(checkout), str(ROOT)])
    done = subprocess.run(
        command, capture_output=True, check=True, text=True, cwd=checkout,
        env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def codes(answer: Any) -> Any:
    """What must not change: acceptance, codes, or figures."""
    return sorted(problem[0] for problem in answer) if isinstance(answer, list) else answer


def main(old: Path, count: int, seed: int) -> None:
    """Print what differs."""
    drawn = list(specs(count, seed))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "specs.jsonl"
        file.write_text("".join(json.dumps(one) + "\n" for one in drawn), encoding="utf-8")
        pairs = list(zip(drawn, answers(old, file), answers(ROOT, file), strict=True))
    found: Counter[str] = Counter(
        "accepted" if isinstance(new, dict) else "refused" for _, _, new in pairs
    )
    for (_, text), before, after in pairs:
        if before == after:
            continue
        found["other codes or figures" if codes(before) != codes(after) else "other words"] += 1
        print(f"---\n{text}\n< {json.dumps(before, indent=1)}\n> {json.dumps(after, indent=1)}")
    print(dict(found))


if __name__ == "__main__":
    if sys.argv[1] == "--read":
        with Path(sys.argv[2]).open(encoding="utf-8") as lines:
            for line in lines:
                print(json.dumps(read(*json.loads(line))))
    else:
        count, seed = [*sys.argv[2:], *("5000", "1")[len(sys.argv) - 2 :]]
        main(Path(sys.argv[1]).resolve(), int(count), int(seed))
