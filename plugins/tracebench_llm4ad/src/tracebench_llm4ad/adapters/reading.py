"""Reads a foreign module's source without running it: constants, imported names, classes, and how an evaluator uses a program."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tracebench_llm4ad.adapters.runtime.shims import DRAWING, HUBS, LOGGING

REPLACED = frozenset({*DRAWING, *LOGGING, *HUBS, "opto", "llm4ad", "llm4ad_loader", "tqdm"})
"""Modules that are never demanded: a stand-in takes their place."""
OFFERS = ("IMPORT_HEADER", "TEMPLATE_FUNCTION", "template_program")
"""Names of constants that hold what a candidate begins with."""


@dataclass(slots=True)
class Source:
    """What is read from one file."""

    constants: dict[str, object] = field(default_factory=dict)
    """Module-level names bound to literals, implicitly concatenated strings in full."""
    imports: set[str] = field(default_factory=set)
    """Top-level names of absolute imports at module level."""
    within: set[str] = field(default_factory=set)
    """Dotted names of imports from `llm4ad.task`."""
    evaluators: list[str] = field(default_factory=list)
    """Classes with a method `evaluate_program`."""
    builds: bool = False
    """Whether it defines `build_trace_problem`."""
    offered: set[str] = field(default_factory=set)
    """Dotted names of the modules outside of the standard library that a candidate finds imported: its header's and its template's."""
    takes_text: bool = False
    """Whether an evaluator uses the program's text, and not only the function."""
    fetches: str = ""
    """The sub-folder of CO-Bench that it would fetch."""
    error: str = ""
    """Why it cannot be read."""


def read_source(path: Path) -> Source:
    """Parse a file; what cannot be parsed has `error`."""
    found = Source()
    try:
        tree = ast.parse(path.read_text(encoding="utf-8", errors="replace"), filename=path.name)
    except FileNotFoundError:
        found.error = f"it has no `{path.name}`"
        return found
    except (SyntaxError, ValueError, OSError) as err:
        found.error = f"`{path.name}` cannot be parsed: {err}"
        return found
    for statement in tree.body:
        _read_statement(statement, found)
    for name in OFFERS:
        found.offered.update(imported_by(found.constants.get(name)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            _read_call(node, found)
    return found


def imported_by(text: object) -> Iterator[str]:
    """Yield the dotted modules outside of the standard library that a program imports at its top; none for what is no program."""
    statements: list[ast.stmt] = []
    with suppress(SyntaxError, ValueError):
        statements = ast.parse(text).body if isinstance(text, str) else []
    for statement in statements:
        match statement:
            case ast.Import(names=names):
                modules = [alias.name for alias in names]
            case ast.ImportFrom(module=str(module), level=0):
                modules = [module]
            case _:
                continue
        yield from (m for m in modules if m.partition(".")[0] not in sys.stdlib_module_names | REPLACED)


def _read_statement(statement: ast.stmt, found: Source) -> None:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            with suppress(ValueError):
                found.constants[name] = ast.literal_eval(value)
        case ast.Import(names=names):
            found.imports.update(alias.name.partition(".")[0] for alias in names)
        case ast.ImportFrom(module=str(module), level=0, names=names):
            found.imports.add(module.partition(".")[0])
            if module.startswith("llm4ad.task."):
                found.within.update({module, *(f"{module}.{alias.name}" for alias in names)})
        case ast.ClassDef(name=name, body=body):
            for method in body:
                if isinstance(method, ast.FunctionDef) and method.name == "evaluate_program":
                    found.evaluators.append(name)
                    found.takes_text = found.takes_text or _uses_text(method)
        case ast.FunctionDef(name="build_trace_problem"):
            found.builds = True


def _uses_text(method: ast.FunctionDef) -> bool:
    """Return whether `evaluate_program` reads its first argument beside `self`."""
    names = [argument.arg for argument in method.args.args[1:2]]
    return any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(method))


def _read_call(call: ast.Call, found: Source) -> None:
    name = (
        call.func.id
        if isinstance(call.func, ast.Name)
        else call.func.attr
        if isinstance(call.func, ast.Attribute)
        else ""
    )
    if name in {"load_subdir_as_text", "load_subdir_as_pickle"} and len(call.args) > 1:
        folder = call.args[1]
        found.fetches = folder.value if isinstance(folder, ast.Constant) and isinstance(folder.value, str) else "?"


def needed_modules(source: Source, *, folder: Path) -> Iterator[str]:
    """Yield the modules that the machine must have: neither the standard library, nor stand-ins, nor the task's own files."""
    for name in sorted(source.imports):
        own = (folder / f"{name}.py").exists() or (folder / name).is_dir()
        if name in sys.stdlib_module_names or name in REPLACED or own:
            continue
        yield "gymnasium" if name == "gym" else name
