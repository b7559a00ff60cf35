"""The first sentence of a command that a plugin adds, read from the text of its module: a list of commands imports no plugin."""

from __future__ import annotations

import ast
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path


def headline(found: EntryPoint) -> str:
    """Return what a command's app, or the command that it is, says of itself; an empty text where that cannot be read."""
    try:
        tree = ast.parse(_source(found.module))
    except (OSError, ValueError, SyntaxError, ImportError, AttributeError):
        return ""
    said = "".join(_help_of(node, found.attr) for node in tree.body)
    return said or next(filter(None, (_docstring(node, found.attr) for node in tree.body)), "")


def _source(module: str) -> bytes:
    top, *below = module.split(".")
    spec = find_spec(top)
    homes = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not homes:
        return Path(str(spec.origin if spec is not None else None)).read_bytes()
    inside = Path(homes[0], *below)
    return (inside / "__init__.py" if inside.is_dir() else inside.with_suffix(".py")).read_bytes()


def _help_of(node: ast.stmt, name: str) -> str:
    """Return the `help` of `NAME = typer.Typer(help=…)`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return ""
    if [each.id for each in node.targets if isinstance(each, ast.Name)] != [name]:
        return ""
    texts = [
        each.value.value for each in node.value.keywords if each.arg == "help" and isinstance(each.value, ast.Constant)
    ]
    return str(texts[0]) if texts else ""


def _docstring(node: ast.stmt, name: str) -> str:
    """Return the docstring of a function that is a command or the callback of the app."""
    if not isinstance(node, ast.FunctionDef):
        return ""
    own = any(ast.unparse(each).startswith((f"{name}.command", f"{name}.callback")) for each in node.decorator_list)
    return ast.get_docstring(node) or "" if own else ""
