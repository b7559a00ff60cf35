"""Hints at what a source looks like it does, never a verdict: verdicts come from outputs and from the operating system's clock."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

_CLOCKS = {"time", "perf_counter", "perf_counter_ns", "process_time", "monotonic", "thread_time", "clock_gettime"}
_HALVES = {"half", "bfloat16", "float16"}
_OF_PYTORCH = {"torch", "torch_compile"}
"""Backends whose candidates are made of PyTorch's operators."""
_OPERATORS = {"functional", "F", "nn"}


def find_hints(source: str, backend: str) -> list[str]:
    """Return hints, each once, in the order of the lines; none for a source that is no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    nodes = sorted((n for n in ast.walk(tree) if hasattr(n, "lineno")), key=lambda n: n.lineno)
    found = dict.fromkeys(hint for node in nodes for hint in _of(node, backend))
    return [*found, *_lacks(tree, backend)]


def _of(node: ast.AST, backend: str) -> Iterator[str]:
    for says, hint in _RULES:
        if says(node):
            yield hint
    if (
        backend not in _OF_PYTORCH
        and isinstance(node, ast.Attribute)
        and _root(node) in _OPERATORS
        and node.attr.islower()
    ):
        yield "it calls operators of PyTorch: the work may not be done by the kernel that it defines"


def _lacks(tree: ast.Module, backend: str) -> Iterator[str]:
    wanted = "cpp_extension" if backend == "cpp" else backend
    if backend not in _OF_PYTORCH and not any(
        isinstance(n, ast.Import | ast.ImportFrom) and wanted in ast.dump(n) for n in ast.walk(tree)
    ):
        yield f"it imports no `{wanted}`"


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute):
        if isinstance(node.value, ast.Name) or node.value is None:
            return node.value.id if isinstance(node.value, ast.Name) else ""
        if isinstance(node.value, ast.Attribute) and node.value.attr in _OPERATORS:
            return node.value.attr
        node = node.value
    return ""


def _is_patch(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and any(
        isinstance(t, ast.Attribute) and t.attr in _CLOCKS for t in node.targets
    )


def _imports(name: str) -> Callable[[ast.AST], bool]:
    def says(node: ast.AST) -> bool:
        if isinstance(node, ast.Import):
            return any(alias.name.partition(".")[0] == name for alias in node.names)
        return isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == name

    return says


_RULES: tuple[tuple[Callable[[ast.AST], bool], str], ...] = (
    (lambda n: isinstance(n, ast.Try), "it catches exceptions: it may fall back to something else"),
    (_is_patch, "it assigns to a clock: no clock of its process is asked"),
    (_imports("threading"), "it imports `threading`: the work of all threads is counted"),
    (_imports("gc"), "it imports `gc`: nothing of the judge lies in its process"),
    (_imports("inspect"), "it imports `inspect`: nothing of the judge lies in its process"),
    (
        lambda n: isinstance(n, ast.Attribute) and n.attr in _HALVES,
        "it computes in a lower precision than its inputs have",
    ),
    (
        lambda n: isinstance(n, ast.Attribute) and n.attr == "data_ptr",
        "it looks at addresses: every call has fresh inputs",
    ),
)
