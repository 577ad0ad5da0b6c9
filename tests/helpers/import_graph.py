"""The import graph of a package, read from its sources.

A *unit* is a module, named as in ``import``; a *room* is what lies directly below the package: a
subpackage with everything in it, or a top-level module. Imports inside functions count: they are
dependencies too. Imports under ``if TYPE_CHECKING:`` do not: they are gone when the code runs.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path


def module_imports(package: Path) -> dict[str, set[str]]:
    """For every module below the folder ``package`` the modules of the package it imports."""
    root = package.name
    files = {_module_name(path, package): path for path in package.rglob("*.py")}
    graph: dict[str, set[str]] = {}
    for name, path in files.items():
        found = set()
        for target in _imported(ast.parse(path.read_text(encoding="utf-8"))):
            if target.split(".")[0] != root:
                continue
            # "from quell.gp import train" may name a module or something in one.
            while target not in files:
                target = target.rpartition(".")[0]
            found.add(target)
        graph[name] = found - {name}
    return graph


def room_of(module: str) -> str:
    """The room a module belongs to; "" for the package itself.

    >>> room_of("quell.gp.train"), room_of("quell.infer"), room_of("quell")
    ('gp', 'infer', '')
    """
    return [*module.split("."), ""][1]


def room_imports(modules: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The same graph between rooms; what a package re-exports at its top is left out."""
    rooms: dict[str, set[str]] = {}
    for module, targets in modules.items():
        found = rooms.setdefault(room_of(module), set())
        found |= {room_of(target) for target in targets} - {room_of(module), ""}
    rooms.pop("", None)
    return rooms


def cycles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Groups of two or more nodes that reach each other, each sorted (Tarjan's algorithm).

    >>> cycles({"a": ["b"], "b": ["a", "c"], "c": []})
    [['a', 'b']]
    """
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for target in graph.get(node, ()):
            if target not in order:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], order[target])
        if low[node] == order[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                groups.append(sorted(group))

    for node in graph:
        if node not in order:
            visit(node)
    return sorted(groups)


def _module_name(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree: ast.AST) -> Iterator[str]:
    """Dotted names of everything a module imports when it runs."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            yield from _imported(node)
