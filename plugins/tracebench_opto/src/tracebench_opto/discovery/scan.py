"""Find the trainer classes of the opto that this interpreter imports; run as `python -m`, for importing them may do anything.

It writes a JSON list of `FoundClass` to the file named by its argument.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from tracebench_opto.bridge import features, library
from tracebench_opto.discovery import lifeline
from tracebench_opto.discovery.records import FoundClass, in_words
from tracebench_opto.discovery.signatures import keywords

ROOTS = ("trainer", "features")
BASES = ("Trainer", "AlgorithmBase")
"""In `opto.trainer.algorithms.algorithm`: the newer name first."""


def scan() -> list[FoundClass]:
    """Return every trainer class under `opto.trainer` and `opto.features`, also of modules that cannot be imported."""
    base = _base_class()
    if base is None:
        return []
    files = _module_files()
    modules: dict[str, ModuleType] = {}
    errors: dict[str, str] = {}
    for name in files:
        try:
            modules[name] = library.load(name)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as err:  # noqa: BLE001 - a module may even exit; it costs only itself
            errors[name] = in_words(err)
    found = [c for name, module in modules.items() for c in _classes(module, base, files[name])]
    known = {base.__name__, *(c.qualname for c in found)}
    return [*found, *_unimportable(files, errors, known)]


def _base_class() -> type | None:
    try:
        algorithm = library.load("opto.trainer.algorithms.algorithm")
    except Exception:  # noqa: BLE001 - no base class, no trainers
        return None
    return next((getattr(algorithm, name) for name in BASES if hasattr(algorithm, name)), None)


def _module_files() -> dict[str, Path]:
    folder = features.location()
    if folder is None:
        return {}
    files = sorted(f for root in ROOTS for f in (folder / root).rglob("*.py"))
    return {_module_name(f.relative_to(folder.parent)): f for f in files}


def _module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _classes(module: ModuleType, base: type, file: Path) -> list[FoundClass]:
    return [
        FoundClass(
            module=module.__name__,
            qualname=value.__qualname__,
            file_hash=_hash(file),
            constructor=keywords(value, "__init__"),
            train=keywords(value, "train"),
            abstract=inspect.isabstract(value),
        )
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, base) and value.__module__ == module.__name__
    ]


def _unimportable(files: dict[str, Path], errors: dict[str, str], known: set[str]) -> list[FoundClass]:
    """Return the classes of modules that fail to import, by the names of their bases, grandchildren too."""
    definitions = [
        (name, node.name, {_last_name(b) for b in node.bases})
        for name in errors
        for node in _parse(files[name]).body
        if isinstance(node, ast.ClassDef)
    ]
    found: dict[tuple[str, str], FoundClass] = {}
    for _ in definitions:
        for module, cls, bases in definitions:
            if bases & known and (module, cls) not in found:
                known.add(cls)
                found[module, cls] = FoundClass(
                    module=module, qualname=cls, file_hash=_hash(files[module]), unimportable=errors[module]
                )
    return [*found.values()]


def _parse(file: Path) -> ast.Module:
    try:
        return ast.parse(file.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError, ValueError):
        return ast.Module([], [])


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def main(argv: list[str]) -> Any:
    """Scan, and write what was found."""
    lifeline.hold()
    found = [c.model_dump(mode="json") for c in scan()]
    Path(argv[1]).write_text(json.dumps(found), encoding="utf-8")
    os._exit(0)  # a module under scan may have left threads that never end


if __name__ == "__main__":
    main(sys.argv)
