"""Everything that a root offers, found once per process: problems by name, and what could not be read with the reason."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracebench_veribench.lean.problem import LeanProblem

ROOT_VARIABLES = ("VERIBENCH_ROOT", "TRACE_BENCH_VERIBENCH_ROOT")
ENTRYPOINT_VARIABLE = "TRACE_BENCH_VERIBENCH_ENTRYPOINT"


@dataclass(frozen=True, slots=True)
class Found:
    """What a root holds."""

    problems: dict[str, LeanProblem] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    """Name to why it cannot be used."""


_settings: dict[str, Any] = {}
_found: dict[str, Found] = {}


def configure(settings: Mapping[str, Any]) -> None:
    """Take the plugin's settings: `root`, and its options `root` and `entrypoint`."""
    _settings.clear()
    _found.clear()
    options = settings.get("options") or {}
    variable = next((os.environ[v] for v in ROOT_VARIABLES if os.environ.get(v)), None)
    place = options.get("root") or settings.get("root") or variable
    _settings["root"] = Path(place).expanduser() if place else None
    _settings["entrypoint"] = options.get("entrypoint") or os.environ.get(ENTRYPOINT_VARIABLE, "")


def find_problems() -> Found:
    """Return what the configured root offers; nothing when none is configured, and a module without a root is told as broken."""
    if "all" not in _found:
        root, module = _settings.get("root"), _settings.get("entrypoint", "")
        _found["all"] = _search(root, module) if root else Found(broken=_rootless(module))
    return _found["all"]


def _rootless(module: str) -> dict[str, str]:
    if not module:
        return {}
    return {
        "entrypoint": f"`{module}` is to list problems (${ENTRYPOINT_VARIABLE}, or the option `entrypoint`), and no root says where it is: "
        f"export {ROOT_VARIABLES[0]}=DIR"
    }


def _search(root: Path, module: str) -> Found:
    found = Found()
    for name, read in _places(root, module):
        try:
            problems = read()
        except (ValueError, OSError) as err:
            found.broken[name] = str(err)
            continue
        except (AttributeError, IndexError, KeyError, RecursionError, TypeError) as err:
            found.broken[name] = f"it is of a shape that is not known here ({type(err).__name__}: {err})"
            continue
        for problem in problems:
            found.problems[_free_name(problem.name, found)] = problem
    return found


def _places(root: Path, module: str) -> Iterator[tuple[str, Callable[[], list[LeanProblem]]]]:
    """Yield what may hold problems, each with a name for when it cannot be read."""
    from tracebench_veribench.discovery import clever, entrypoint, human_eval, minif2f, rows, verina  # noqa: PLC0415 - most listings have no root

    if module:
        yield "entrypoint", lambda: rows.build_problems(entrypoint.read_rows(root, module), source="entrypoint")
    if not root.is_dir():
        return
    gold_folder = root / "dataset"
    for path in sorted([*root.glob("*.jsonl"), *root.glob("veribench*.json"), *root.glob("minif2f*.json")]):
        yield path.stem, partial(_read_rows, path, gold_folder)
    for folder in verina.find_folders(root):
        yield folder.name, partial(_read_one, verina.read_problem, folder)
    for path in human_eval.find_files(root):
        yield path.stem, partial(_read_one, human_eval.read_problem, path)
    for path in minif2f.find_files(root):
        yield path.stem, partial(minif2f.read_problems, path)
    for path in clever.find_files(root):
        yield f"clever_{path.stem}", partial(_read_one, clever.read_problem, path)


def _read_rows(path: Path, gold_folder: Path) -> list[LeanProblem]:
    from tracebench_veribench.discovery import minif2f, rows  # noqa: PLC0415 - as above

    read = list(rows.read_rows(path))
    if read and all(map(minif2f.is_row, read)):
        return minif2f.read_rows(read)
    return rows.build_problems(read, source="hub", gold=rows.read_gold(gold_folder))


def _read_one(read: Callable[[Path], LeanProblem], place: Path) -> list[LeanProblem]:
    return [read(place)]


def _free_name(name: str, found: Found) -> str:
    if name not in found.problems:
        return name
    return next(f"{name}-{n}" for n in range(2, len(found.problems) + 3) if f"{name}-{n}" not in found.problems)
