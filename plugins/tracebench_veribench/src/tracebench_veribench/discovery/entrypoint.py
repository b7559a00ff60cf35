"""A user's own module that lists problems: `list_tasks()` or `TASKS`, each a row of VeriBench's shape or a name.

The module is trusted code of the user's: it is imported only where its tasks are asked for by a configured name.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

_LISTS = ("list_tasks", "get_task_list", "discover_tasks", "TASKS", "TASK_LIST", "AVAILABLE_TASKS")
_LOADS = ("load_task", "get_task")


class EntrypointError(ValueError):
    """The module cannot be imported, or lists nothing that can be used."""


def read_rows(root: Path, module_name: str) -> list[Mapping[str, Any]]:
    """Return the rows that the module lists; a bare name is looked up by its `load_task(name)`.

    Raises:
        EntrypointError: with the reason.
    """
    module = _import(root, module_name)
    try:
        return _rows_of(module, module_name)
    except EntrypointError:
        raise
    except (Exception, SystemExit) as err:
        raise EntrypointError(f"`{module_name}` cannot list its problems: {err!r}") from err


def _rows_of(module: ModuleType, module_name: str) -> list[Mapping[str, Any]]:
    listed = next((getattr(module, name) for name in _LISTS if hasattr(module, name)), None)
    items = listed() if callable(listed) else listed
    if not isinstance(items, Iterable) or isinstance(items, str):
        raise EntrypointError(f"`{module_name}` offers none of {', '.join(f'`{n}`' for n in _LISTS)}")
    load = next((getattr(module, name) for name in _LOADS if callable(getattr(module, name, None))), None)
    rows = []
    for item in items:
        row = load(item) if isinstance(item, str) and load else item
        if not isinstance(row, Mapping):
            raise EntrypointError(f"`{module_name}` lists {item!r}, and its `load_task` gives no row for it")
        rows.append(row)
    return rows


def _import(root: Path, module_name: str) -> ModuleType:
    place = root.joinpath(*module_name.split(".")).with_suffix(".py")
    if not place.is_file():
        raise EntrypointError(f"there is no `{place}`")
    spec = importlib.util.spec_from_file_location(f"_veribench_{module_name.replace('.', '_')}", place)
    if spec is None or spec.loader is None:
        raise EntrypointError(f"`{place}` cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as err:
        del sys.modules[spec.name]
        raise EntrypointError(f"`{place}` cannot be imported: {err!r}") from err
    return module
