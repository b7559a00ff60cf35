"""Imports one foreign task into this process, which holds no other: the evaluator or guide, and what the task says of itself."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import random
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from . import graphs, rejection, results, shims

Order = Mapping[str, Any]
"""`layout` (`bench` or `llm4ad`), `root`, `folder`, `module` (dotted), `class`, `kwargs`, `data` (folder of CO-Bench, or None),
`graphs` (JSON texts by path, for a task whose data are graphs)."""
TEXT_SUFFIXES = {"", ".txt", ".col", ".tsp", ".dat"}


class Foreign:
    """A loaded task."""

    def __init__(self, owner: Any, facts: dict[str, Any], *, folder: str) -> None:
        self._owner = owner
        self.folder = folder
        self.facts = facts
        """`program`, `entry`, `header`, `timeout`, `description`, `kind` (`evaluator` or `guide`)."""

    def rename(self, renamed: Mapping[str, str]) -> None:
        """Give the cases that the evaluator's loader returns further keys: missing name -> the name of what it should hold."""
        read = getattr(self._owner, "load_data", None)
        if not renamed or read is None:
            return

        def reading(*args: Any, **kwargs: Any) -> Any:
            cases = read(*args, **kwargs)
            for case in cases if isinstance(cases, list) else []:
                case.update({name: case[there] for name, there in renamed.items() if there in case})
            return cases

        self._owner.load_data = reading

    def evaluate(
        self,
        program: str,
        function: Callable[..., Any],
        *,
        seed: int,
        repeats: int,
        written_back: int | None = None,
        explained: bool = True,
    ) -> results.Report:
        """Evaluate a program `repeats` times, each with a seed of its own, and average; of a program that is rejected say by which rule.

        `written_back` is the position of the argument, a list, that the function changes and the evaluator looks at.
        """
        reports = []
        for k in range(repeats):
            noted = rejection.Noted(function, written_back=written_back)
            reports.append(self._once(program, noted, seed=seed + k))
            if explained and "refused" in reports[-1]:
                rule = self._rule(program, noted, seed=seed + k)
                reports[-1]["refused"] += f" The rule of the evaluator: {rule}." if rule else ""
                break
        return results.average(reports)

    def _rule(self, program: str, noted: rejection.Noted, *, seed: int) -> str:
        """Return the rule by which the evaluator rejects the noted answers; empty where it cannot be seen."""
        watcher = rejection.Rejection(self.folder)
        try:
            return watcher.watch(lambda: self._once(program, noted.again(), seed=seed)).rstrip(".")
        except Exception:  # noqa: BLE001 - an explanation that fails costs nothing but itself
            return ""

    def _once(self, program: str, function: Callable[..., Any], *, seed: int) -> results.Report:
        random.seed(seed)
        with suppress(ImportError):
            import numpy as np  # noqa: PLC0415 - a tree may do without

            np.random.seed(seed % 2**32)
        shims.seed_resets(seed)
        if self.facts["kind"] == "evaluator":
            return results.report(self._owner.evaluate_program(program, function))
        return results.report(self._owner.get_feedback(self.facts["query"], program, self.facts["info"]))


def load(order: Order) -> Foreign:
    """Install the stand-ins and load the task that the order names; raises whatever its modules raise."""
    shims.install(
        read_rows=lambda _repo, folder, **_: read_rows(order["data"], folder),
        read_graphs=lambda _repo, folder, **_: read_graphs(order, folder),
    )
    foreign = _load_bench(order) if order["layout"] == "bench" else _load_llm4ad(order)
    foreign.rename(order.get("renamed") or {})
    return foreign


def _load_bench(order: Order) -> Foreign:
    folder = Path(order["folder"])
    sys.path[:0] = [str(folder), str(folder.parent)]
    spec = importlib.util.spec_from_file_location(
        folder.name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder} is no package")
    module = importlib.util.module_from_spec(spec)
    sys.modules[folder.name] = module
    spec.loader.exec_module(module)
    shims.mend_loaded_gymnasium()
    problem = module.build_trace_problem(**order["kwargs"])
    guide, data = problem["guide"], problem.get("train_dataset") or {}
    program = getattr(problem["param"], "data", problem["param"])
    info = (data.get("infos") or [{}])[0]
    header = info.get("imports", "") if isinstance(info, dict) else ""
    entry = (problem.get("metadata") or {}).get("entry") or first_function(str(program))
    facts = {"program": str(program), "entry": entry, "header": header, "info": info}
    facts["query"] = str((data.get("inputs") or [""])[0])
    if isinstance(guide, shims.EvaluatorGuide):
        timeout = guide.timeout or getattr(guide.evaluator, "timeout_seconds", None)
        facts |= {"kind": "evaluator", "timeout": timeout, "description": ""}
        return Foreign(guide.evaluator, facts, folder=str(folder))
    return Foreign(guide, facts | {"kind": "guide", "timeout": None, "description": ""}, folder=str(folder))


def _load_llm4ad(order: Order) -> Foreign:
    root, folder = Path(order["root"]), Path(order["folder"])
    _bare_packages(order["module"], root)
    _base(root)
    if order["module"]:
        module = importlib.import_module(f"{order['module']}.evaluation")
    else:
        sys.path.insert(0, str(folder))
        module = importlib.import_module("evaluation")
    _redirect_data(order)
    shims.mend_loaded_gymnasium()
    evaluator = getattr(module, order["class"])(**order["kwargs"])
    program = str(evaluator.template_program).strip() + "\n"
    return Foreign(
        evaluator,
        {
            "kind": "evaluator",
            "program": program,
            "entry": first_function(program),
            "header": "",
            "timeout": getattr(evaluator, "timeout_seconds", None),
            "description": str(getattr(evaluator, "task_description", "") or ""),
        },
        folder=str(folder),
    )


def _bare_packages(dotted: str, root: Path) -> None:
    """Register the packages on the way to a module without running their `__init__`, which import all tasks and their needs."""
    parts = dotted.split(".") if dotted else ["llm4ad"]
    for end in range(1, len(parts) + 1):
        name = ".".join(parts[:end])
        package = ModuleType(name)
        package.__path__ = [str(root.joinpath(*parts[:end]))]
        sys.modules[name] = package


def _base(root: Path) -> None:
    """Import `llm4ad.base`, or put our class in its place where it cannot be imported."""
    try:
        importlib.import_module("llm4ad.base")
    except ImportError:
        base = ModuleType("llm4ad.base")
        base.__path__ = [str(root / "llm4ad" / "base")]
        base.Evaluation = shims.Evaluation  # type: ignore[attr-defined]
        sys.modules["llm4ad.base"] = base


def _redirect_data(order: Order) -> None:
    """Let every loaded module read CO-Bench's data from the folder in place of the hub."""
    for module in list(sys.modules.values()):
        if "load_subdir_as_text" in vars(module):
            module.load_subdir_as_text = lambda _repo, folder, **_: read_rows(order["data"], folder)  # type: ignore[attr-defined]
        if "load_subdir_as_pickle" in vars(module):
            module.load_subdir_as_pickle = lambda _repo, folder, **_: read_graphs(order, folder)  # type: ignore[attr-defined]


def read_rows(data: str | None, task_folder: str) -> dict[str, list[dict[str, str]]]:
    """Return the lines of a CO-Bench sub-folder's files, as the hub's loader gives them: name -> rows with `text`."""
    wanted = "".join(c for c in task_folder.casefold() if c.isalnum())
    places = [p for p in sorted(Path(data).iterdir()) if p.is_dir()] if data and Path(data).is_dir() else []
    found = [p for p in places if "".join(c for c in p.name.casefold() if c.isalnum()) == wanted]
    if not found:
        raise FileNotFoundError(f"no folder `{task_folder}` in the data of CO-Bench (TRACEBENCH_COBENCH_DATA)")
    files = sorted(p for p in found[0].iterdir() if p.is_file() and p.suffix in TEXT_SUFFIXES)
    return {p.name: [{"text": line} for line in p.read_text(errors="replace").splitlines()] for p in files}


def read_graphs(order: Order, task_folder: str) -> dict[str, dict[str, graphs.Graph]]:
    """Return the graphs that came with the order; foreign pickles are never loaded here."""
    if not order.get("graphs"):
        raise RuntimeError(f"there are no graphs for `{task_folder}` (TRACEBENCH_COBENCH_DATA)")
    return graphs.read_graphs(order["graphs"])


def first_function(program: str) -> str:
    """Return the name of the first function that a program defines."""
    for statement in ast.parse(program).body:
        if isinstance(statement, ast.FunctionDef):
            return statement.name
    raise ValueError("the task's starting program defines no function")
