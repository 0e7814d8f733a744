"""How tightly the code is coupled: `python -m tests.benchmarks.coupling [--features MOST]`.

Type switches on kinds of queries and columns outside the file that defines them, flags that split
two models, import cycles, long functions, what one mean passes in its second release in a process,
and which modules a command imports that releases it. It prints numbers and asserts nothing.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import median
from types import FrameType

from dpcli.statistics import STATISTICS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "dpcli"

SPEC = """
dpcli: 1
dataset: one-mean
privacy: {unit: row, neighbors: add-remove, budget: {epsilon: 1000}}
columns:
  income: {type: number, bounds: [0, 10000], step: 0.01}
statistics:
  - {name: income, statistic: mean, column: income, epsilon: 1}
"""


def sources() -> dict[str, str]:
    """The text of every module of the package, by its path."""
    return {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for path in sorted(PACKAGE.rglob("*.py"))
    }


@cache
def walked(tree: ast.Module) -> tuple[ast.AST, ...]:
    """All nodes of a module; several figures look at each."""
    return tuple(ast.walk(tree))


def subclasses(trees: Mapping[str, ast.Module], base: str) -> dict[str, str]:
    """The classes that inherit from a class, and it, with the path of the file of each."""
    classes = {
        node.name: (path, [ast.unparse(parent).split("[")[0] for parent in node.bases])
        for path, tree in trees.items()
        for node in walked(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = {base}
    while True:
        more = {name for name, (_, parents) in classes.items() if found & set(parents)} - found
        if not more:
            return {name: classes[name][0] for name in found if name in classes}
        found |= more


def column_kinds(trees: Mapping[str, ast.Module]) -> dict[str, str]:
    """The kinds of columns that the engine knows, with the path of the file of each."""
    return {
        node.name: path
        for path, tree in trees.items()
        if path.startswith("dpcli/data/")
        for node in walked(tree)
        if isinstance(node, ast.ClassDef) and node.name.endswith("Column")
    }


def type_switches(tree: ast.Module, kinds: Iterable[str]) -> Iterator[int]:
    """The lines that choose by the class of an object: each form in which Python writes that."""
    kinds = with_named_tuples(tree, kinds)
    for node in walked(tree):
        if not isinstance(node, ast.Call | ast.MatchClass | ast.Compare | ast.Dict):
            continue
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, classes]):
                if kinds & names(classes):
                    yield node.lineno
            case ast.Call(func=ast.Attribute(attr="register"), args=[classes, *_]):
                if kinds & names(classes):
                    yield node.lineno
            case ast.MatchClass(cls=classes) if kinds & names(classes):
                yield classes.lineno
            case ast.Compare() if "type(" in ast.unparse(node) and kinds & names(node):
                yield node.lineno
            case ast.Dict(keys=keys) if any(key and kinds & names(key) for key in keys):
                yield node.lineno


def with_named_tuples(tree: ast.Module, kinds: Iterable[str]) -> set[str]:
    """The kinds, and the names of tuples of them, as in `isinstance(query, SCORED)`."""
    found = set(kinds)
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Tuple() | ast.BinOp() as value):
                found |= {name} if found & names(value) else set()
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Tuple() | ast.BinOp() as value):
                found |= {name} if found & names(value) else set()
    return found


def names(node: ast.AST) -> set[str]:
    """The names and attributes in an expression."""
    return {
        part.id if isinstance(part, ast.Name) else part.attr
        for part in ast.walk(node)
        if isinstance(part, ast.Name | ast.Attribute)
    }


def switches_outside(trees: Mapping[str, ast.Module], kinds: Mapping[str, str]) -> Counter[str]:
    """The number of type switches in each file, but for those on kinds that it defines."""
    return Counter(
        path
        for path, tree in trees.items()
        for _ in type_switches(tree, {name for name, home in kinds.items() if home != path})
    )


def lines_with(texts: Mapping[str, str], pattern: str) -> int:
    """How many lines match a pattern."""
    return sum(
        bool(re.search(pattern, line)) for text in texts.values() for line in text.splitlines()
    )


def module_name(path: str) -> str:
    """The name by which a file is imported."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imports(trees: Mapping[str, ast.Module]) -> dict[str, set[str]]:
    """The modules that each module imports, inside functions and for types too.

    The package itself, whose `__init__` names the public API, is left out.
    """
    modules = {module_name(path) for path in trees}
    found: dict[str, set[str]] = {}
    for path, tree in trees.items():
        named = found.setdefault(module_name(path), set())
        for node in walked(tree):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names} & modules
            elif isinstance(node, ast.ImportFrom) and node.module in modules:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                named |= inner & modules or {node.module}
    found.pop("dpcli", None)
    return {name: named - {"dpcli", name} for name, named in found.items()}


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of modules that import each other."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = lowest[name] = len(order)
        stack.append(name)
        for below in graph.get(name, ()):
            if below not in order:
                visit(below)
            if below in stack:
                lowest[name] = min(lowest[name], lowest[below])
        if lowest[name] == order[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    for name in graph:
        if name not in order:
            visit(name)
    return sorted(found)


def long_functions(trees: Mapping[str, ast.Module], longest: int = 60) -> list[str]:
    """The functions with more lines than stated, without their signature and docstring."""
    return [
        f"{path}:{node.name} {lines}"
        for path, tree in trees.items()
        for node in walked(tree)
        if isinstance(node, ast.FunctionDef) and (lines := _body_lines(node)) > longest
    ]


def _body_lines(node: ast.FunctionDef) -> int:
    is_documented = ast.get_docstring(node) is not None
    first, last = node.body[0], node.body[-1]
    start = first.end_lineno if is_documented else first.lineno - 1
    return (last.end_lineno or 0) - (start or 0)


@dataclass(frozen=True, slots=True)
class Trace:
    """What one statistic passes: named functions, modules, and changes of module by calls.

    `classes` counts those of which it makes objects.
    """

    functions: int
    modules: int
    changes: int
    designs_built: int
    classes: int


def trace_of_a_mean() -> Trace:
    """The second release of one mean in a process, in all its threads."""
    from dpcli import load_spec, plan, release
    from dpcli.statistics.means.mean import Mean

    calls: list[tuple[str, str]] = []
    classes: set[type] = set()
    package = str(PACKAGE)
    # Those of the standard library, which these replace, stand in no file either.
    made = str(PACKAGE / "problems" / "light_dataclasses.py")

    def profile(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name == "__init__" and code.co_filename.startswith(package):
            classes.add(type(frame.f_locals[code.co_varnames[0]]))
        # A comprehension or lambda belongs to the function around it.
        is_named = code.co_filename.startswith(package) and not code.co_name.startswith("<")
        if event == "call" and is_named and code.co_filename != made:
            calls.append((code.co_filename, code.co_qualname))

    with tempfile.TemporaryDirectory() as name:
        spec, data = Path(name) / "spec.yaml", Path(name) / "data.csv"
        spec.write_text(SPEC, encoding="utf-8")
        data.write_text("income\n" + "1234.56\n" * 2_000, encoding="utf-8")
        release(plan(load_spec(spec)), data, release_id="first")
        threading.setprofile(profile)
        sys.setprofile(profile)
        release(plan(load_spec(spec)), data, release_id="second")
        sys.setprofile(None)
        threading.setprofile(None)
    changes = sum(before[0] != after[0] for before, after in pairwise(calls))
    home = sys.modules[Mean.__module__].__file__
    built = sum(file == home and name == "Mean.designs" for file, name in calls)
    modules = {file for file, _ in calls}
    return Trace(len(set(calls)), len(modules), changes, built, len(classes))


LOADED = """
import sys
from dpcli.cli.main import run
sys.argv = ["dpcli", "release", "spec.yaml", "data.csv", "-o", "table.csv", "--quiet"]
run()
print(*(name for name in sys.modules if name.partition(".")[0] == "dpcli"))
"""


def modules_loaded_by_a_mean() -> list[str]:
    """The modules of the package that a process imports that releases one mean."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "spec.yaml").write_text(SPEC, encoding="utf-8")
        (Path(name) / "data.csv").write_text("income\n1\n2\n", encoding="utf-8")
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", LOADED]
        done = subprocess.run(
            command, cwd=name, env=environment, capture_output=True, text=True, check=True
        )
    return sorted(done.stdout.split())


def files_touched_by_features(commits: int = 30) -> float:
    """The median number of files of the package that each of the last `feat` commits changed."""
    log = ["git", "log", "--grep=^feat", f"--max-count={commits}", "--format=%x00", "--name-only"]
    done = subprocess.run(log, cwd=ROOT, capture_output=True, text=True, check=True)
    files = [commit.split() for commit in done.stdout.split("\0")[1:]]
    return median([sum(name.startswith("dpcli/") for name in names) for names in files] or [0])


def main() -> None:
    """Print all numbers."""
    texts = sources()
    trees = {path: ast.parse(text) for path, text in texts.items()}
    print(f"lines {sum(text.count(chr(10)) for text in texts.values())}, modules {len(texts)}")
    for what, kinds in (("queries", subclasses(trees, "Query")), ("columns", column_kinds(trees))):
        found = switches_outside(trees, kinds)
        print(f"type switches on kinds of {what}: {found.total()} in {len(found)} modules")
        print("   ", ", ".join(f"{path} {count}" for path, count in found.most_common(8)))
    print(f"lines with is_local or is_limit: {lines_with(texts, 'is_local|is_limit[^e]')}")
    print(f"lines with kind == 'date': {lines_with(texts, 'kind [!=]= .date')}")
    checked = [path for path, text in texts.items() if "require_plan_fits" in text]
    print(f"modules with require_plan_fits: {len(checked)}")
    print(f"functions of more than 60 lines: {long_functions(trees)}")
    print(f"import cycles: {cycles(imports(trees))}")
    designs = len(subclasses(trees, "Design"))
    print(f"classes of designs: {designs}, of {len(STATISTICS.names)} statistics")
    print(f"files that a feature touched (median): {files_touched_by_features()}")
    print(trace_of_a_mean())
    print(f"modules that a release of one mean imports: {len(modules_loaded_by_a_mean())}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--features"]:
        touched = files_touched_by_features()
        print(f"files that a feature touched (median): {touched}")
        sys.exit(touched > float(sys.argv[2]))
    main()
