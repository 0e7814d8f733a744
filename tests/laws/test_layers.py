"""Layers and import cycles, counted by module: imports inside functions and for types included.

The import contracts of `pyproject.toml` check more rules, but not imports inside functions.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest

from tests.benchmarks.coupling import cycles, imports, module_name, sources, walked
from tests.support.syntax import trees

LAYERS: dict[str, tuple[str, ...]] = {
    "problems": ("problems", "version"),
    "numeric": ("numeric",),
    "privacy": ("privacy",),
    "fields": ("fields",),
    "data": ("data",),
    "noise": ("noise",),
    "queries": ("queries",),
    "statistics": ("statistics",),
    "mechanisms": ("mechanisms",),
    "specification": ("specification",),
    "planning": ("planning",),
    "ledger, engine": ("ledger", "engine"),
    "local, spark": ("local", "spark"),
    "report": ("report",),
    "sums": ("sums",),
    "releasing": ("releasing",),
    "simulation": ("simulation",),
    "proof": ("proof",),
    "results": ("results",),
    "api": ("api",),
    "cli": ("cli", "__main__"),
}
"""The layers, the lowest first, and their packages."""


def layer(module: str) -> int:
    """The number of the layer of a module: that of the longest name that it begins with."""
    places = {
        f"dpcli.{name}": place for place, names in enumerate(LAYERS.values()) for name in names
    }
    found = [name for name in places if module == name or module.startswith(f"{name}.")]
    assert found, f"{module} lies in no layer"
    return places[max(found, key=len)]


def upward(graph: Mapping[str, set[str]]) -> set[tuple[str, str]]:
    """The imports from a layer above."""
    return {
        (module, other)
        for module, others in graph.items()
        for other in others
        if layer(other) > layer(module)
    }


def test_every_module_has_a_layer() -> None:
    """Each module of the package, but for its root, lies in a layer, and each has one."""
    modules = {module_name(path) for path in sources()} - {"dpcli"}

    assert {layer(module) for module in modules} == set(range(len(LAYERS)))


def test_imports_go_down() -> None:
    """No module imports from a layer above."""
    assert not upward(imports(trees()))


def test_modules_do_not_import_each_other() -> None:
    """There is no import cycle."""
    assert not cycles(imports(trees()))


def test_nothing_imports_the_root_of_the_package() -> None:
    """The root names the public API; a module imports from the module that defines a name."""
    modules = {module_name(path) for path in sources()}
    for path, tree in trees().items():
        named = {
            f"dpcli.{alias.name}"
            for node in walked(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "dpcli"
            for alias in node.names
        }
        assert named <= modules, path


@pytest.mark.parametrize(
    "text",
    [
        "from dpcli.cli import main",
        "import dpcli.cli.main",
        "def late() -> None:\n    from dpcli.cli.main import main",
        "if TYPE_CHECKING:\n    from dpcli.cli.main import main",
    ],
)
def test_a_planted_import_is_found(text: str) -> None:
    """Each form of an import from a layer above is found, and the cycle that it closes."""
    planted = trees() | {"dpcli/problems/errors.py": ast.parse(text)}
    graph = imports(planted)

    assert {(one, other) for one, other in upward(graph) if one == "dpcli.problems.errors"}
    assert any("dpcli.problems.errors" in group for group in cycles(graph))
