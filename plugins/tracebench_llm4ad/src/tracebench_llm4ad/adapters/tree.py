"""Finds the tasks of a folder, importing nothing of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from tracebench_llm4ad.adapters.reading import Source, needed_modules, read_source

Layout = Literal["bench", "llm4ad"]
INSTALLED = "installed"
"""As a root: the `llm4ad` distribution of this environment."""
BENCH_PLACES = ("", "benchmark_tasks", "LLM4AD/benchmark_tasks", "benchmarks/LLM4AD/benchmark_tasks")


@dataclass(frozen=True, slots=True)
class Found:
    """One task of a folder, as its files describe it."""

    key: str
    """The tree's own id."""
    layout: Layout
    root: Path
    """For `llm4ad` the folder that holds the package, for `bench` the folder of all tasks."""
    folder: Path
    module: str = ""
    """For `llm4ad`: the task's package, dotted; empty for a task outside of the package."""
    evaluator: str = ""
    descriptions: tuple[str, ...] = ()
    takes_text: bool = False
    own_guide: bool = False
    """The task brings a guide of its own, which runs the program's text."""
    random_environment: bool = False
    fetches: str = ""
    modules: tuple[str, ...] = ()
    broken: str = ""
    within: tuple[str, ...] = field(default=())
    offered: tuple[str, ...] = ()
    """Modules, dotted, that a candidate finds imported beside those of the standard library."""

    @property
    def short(self) -> str:
        """The last part of the key."""
        return self.key.rpartition("/")[2]

    @property
    def secluded(self) -> Path:
        """What a candidate must not read: the package that all generators lie in, or the task's own folder."""
        return self.root / "llm4ad" if self.module else self.folder


def find_tasks(place: str | Path) -> list[Found]:
    """Return the tasks of a root, in the order of its index or of their names; none for a folder that is no such tree."""
    root = _installed() if str(place) == INSTALLED else Path(place).expanduser().absolute()
    if root is None:
        return []
    for sub in BENCH_PLACES:
        if _is_bench(root / sub):
            return list(_bench_tasks(root / sub))
    top = root.parent if root.name == "llm4ad" and (root / "task").is_dir() else root
    return list(_llm4ad_tasks(top)) if (top / "llm4ad" / "task").is_dir() else []


def _installed() -> Path | None:
    spec = find_spec("llm4ad")
    places = list(spec.submodule_search_locations or []) if spec else []
    return Path(places[0]).parent if places else None


def _is_bench(folder: Path) -> bool:
    if (folder / "index.json").is_file():
        return True
    packages = folder.glob("*/__init__.py") if folder.is_dir() else []
    return any("def build_trace_problem" in p.read_text(encoding="utf-8", errors="replace") for p in packages)


def _bench_tasks(root: Path) -> Iterator[Found]:
    listed, trouble = _index(root)
    if trouble or not listed:
        listed = [{"key": p.parent.name, "module": p.parent.name} for p in sorted(root.glob("*/__init__.py"))]
    for entry in listed:
        key = str(entry.get("key") or entry.get("module") or "").removeprefix("llm4ad:")
        if key:
            yield _bench_task(root, key, entry)


def _index(root: Path) -> tuple[list[Mapping[str, Any]], bool]:
    try:
        raw = json.loads((root / "index.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return [], True
    entries = raw.get("tasks", []) if isinstance(raw, dict) else raw
    return [e for e in entries if isinstance(e, dict)] if isinstance(entries, list) else [], False


def _bench_task(root: Path, key: str, entry: Mapping[str, Any]) -> Found:
    names = [str(entry.get("module") or ""), key.replace("/", "_"), key.replace("/co_bench/", "_").replace("/", "_")]
    inside = [place for n in names if n and ".." not in n and not Path(place := n.rpartition(".")[2]).is_absolute()]
    if not inside:
        return Found(
            key=key, layout="bench", root=root, folder=root, broken="the index names no folder of this tree for it"
        )
    folder = next((root / n for n in inside if (root / n).is_dir()), root / inside[-1])
    source = read_source(folder / "__init__.py")
    name = source.constants.get("EVAL_CLASS_NAME") or entry.get("eval_class") or ""
    template = read_source(folder / "template.py")
    texts = [source.constants.get(k) for k in ("task_description", "TASK_DESCRIPTION")]
    broken = source.error or ("" if source.builds else "`__init__.py` defines no `build_trace_problem`")
    return Found(
        key=key,
        layout="bench",
        root=root,
        folder=folder,
        evaluator=str(name),
        descriptions=_strings(template.constants.get("task_description"), *texts, entry.get("task_description")),
        own_guide=not source.evaluators,
        offered=tuple(sorted(source.offered | template.offered)),
        broken=broken,
        **_common(source, folder),
    )


def _llm4ad_tasks(top: Path) -> Iterator[Found]:
    tasks = top / "llm4ad" / "task"
    for path in sorted(tasks.rglob("evaluation.py")):
        folder = path.parent
        yield _llm4ad_task(top, folder, key=folder.relative_to(tasks).as_posix(), dotted=_dotted(folder, top))
    for path in sorted((top / "example").glob("*/evaluation.py")):
        yield _llm4ad_task(top, path.parent, key=path.parent.name, dotted="")


def _dotted(folder: Path, top: Path) -> str:
    return ".".join(folder.relative_to(top).parts)


def _llm4ad_task(top: Path, folder: Path, *, key: str, dotted: str) -> Found:
    source = read_source(folder / "evaluation.py")
    template = read_source(folder / "template.py")
    broken = source.error or ("" if source.evaluators else "`evaluation.py` defines no class with `evaluate_program`")
    text = template.constants.get("task_description", source.constants.get("task_description"))
    return Found(
        key=key,
        layout="llm4ad",
        root=top,
        folder=folder,
        module=dotted,
        evaluator=source.evaluators[0] if source.evaluators else "",
        descriptions=_strings(text),
        broken=broken,
        within=tuple(sorted(source.within | template.within)),
        offered=tuple(sorted(source.offered | template.offered)),
        **_common(source, folder),
    )


def _common(source: Source, folder: Path) -> dict[str, Any]:
    return {
        "takes_text": source.takes_text,
        "random_environment": bool(source.imports & {"gym", "gymnasium"}),
        "fetches": source.fetches,
        "modules": tuple(needed_modules(source, folder=folder)),
    }


def _strings(*values: object) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str) and value.strip())
