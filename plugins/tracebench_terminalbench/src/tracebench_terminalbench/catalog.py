"""The suite's tasks as data: our own toy tasks, Terminal-Bench's slugs, and groups of them in splits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tracebench_core.errors import MissingRequirementError
from tracebench_core.specs import Requirement, Split, TaskSizes, TaskSpec
from tracebench_terminalbench.found import INSTALL, RANGE, find_harbor
from tracebench_terminalbench.options import MODELLESS

SLUG = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}")
TOY = "toy/"
TOYS = Path(__file__).parent / "toys"
"""Our own tasks in Harbor's format."""
DEMO = ("regex-log", "log-summary-date-ranges", "multi-source-data-merger", "financial-document-processor")
"""The slugs of Terminal-Bench that listings show; every other is taken by its name."""
SPLITS: Mapping[str, Mapping[Split, Sequence[str]]] = {
    "toys": {"train": ("hello-file", "log-count", "fix-script"), "test": ("rename-files", "merge-settings")},
    "demo": {"train": DEMO[:2], "validation": DEMO[2:3], "test": DEMO[3:]},
}
CITATION = "The Terminal-Bench Team, Terminal-Bench: a benchmark for agents in terminal environments, 2025, https://www.tbench.ai."
_SOURCE = "Terminal-Bench, run by Harbor"


class Case(NamedTuple):
    """What one example runs: a slug of the dataset, or a task's folder on disk."""

    slug: str
    path: Path | None = None


class Local:
    """The tasks of a folder that `--root` names, by their folder's name."""

    root: Path | None = None


def configure(settings: Mapping[str, Any]) -> None:
    """Take the folder of local tasks: `--root`, or the plugin's option `root`."""
    place = settings.get("root") or (settings.get("options") or {}).get("root")
    Local.root = Path(place).expanduser().absolute() if place else None


def listed() -> Iterator[TaskSpec]:
    """Yield what listings show."""
    for folder in _folders(TOYS):
        yield _spec(f"{TOY}{folder.name}", groups=("toy",), title=_title(folder.name), tags=("toy", "offline"))
    yield _spec("toys", sizes=_sizes("toys"), title="Toy tasks, as splits", tags=("toy", "offline", "splits"))
    for slug in DEMO:
        yield _spec(slug, groups=("samples",), title=_title(slug), tags=("docker",))
    yield _spec(
        "demo", sizes=_sizes("demo"), title="Four tasks of Terminal-Bench, as splits", tags=("docker", "splits")
    )
    for folder in _folders(Local.root):
        if folder.name not in {*DEMO, *SPLITS}:
            yield _spec(folder.name, groups=("root",), title=_title(folder.name), tags=("root",))


def found(name: str) -> TaskSpec | None:
    """Return the spec of a slug that no listing shows, or None where a name cannot be a slug."""
    return _spec(name, title=_title(name), tags=("docker",)) if SLUG.fullmatch(name) else None


def cases_of(name: str) -> dict[Split, list[Case]]:
    """Return what a task's examples run, by split; a task of one slug has one example, to train on."""
    if name == "toys":
        return {split: [_toy(slug) for slug in slugs] for split, slugs in SPLITS[name].items()}
    if name in SPLITS:
        return {split: [Case(slug) for slug in slugs] for split, slugs in SPLITS[name].items()}
    if name.startswith(TOY):
        return {"train": [_toy(name.removeprefix(TOY))]}
    if Local.root is not None and (Local.root / name / "task.toml").is_file():
        return {"train": [Case(name, Local.root / name)]}
    return {"train": [Case(name)]}


def requirements() -> tuple[Requirement, ...]:
    """Return the Harbor that is found where its version is right, else what is missing; reads file names only."""
    try:
        harbor = find_harbor()
    except MissingRequirementError as err:
        return (Requirement(kind="command", name=RANGE, hint=err.hint),)
    return (Requirement(kind="command", name=harbor.command, hint=INSTALL),)


def loader_name(name: str) -> str:
    """Return the attribute of `loading` that builds a task: its name, with what no identifier holds spelled out."""
    return "task_" + re.sub(r"[^a-z0-9]", lambda found: f"_{ord(found.group()):02x}_", name)


def task_name(attribute: str) -> str | None:
    """Return the task that an attribute of `loading` builds; the inverse of `loader_name`."""
    if not attribute.startswith("task_"):
        return None
    return re.sub(r"_([0-9a-f]{2,6})_", lambda found: chr(int(found.group(1), 16)), attribute.removeprefix("task_"))


def _spec(
    name: str, *, title: str, tags: tuple[str, ...], groups: tuple[str, ...] = (), sizes: TaskSizes | None = None
) -> TaskSpec:
    return TaskSpec(
        name=name,
        loader=f"tracebench_terminalbench.loading:{loader_name(name)}",
        title=title,
        groups=groups,
        tags=tags,
        options="tracebench_terminalbench.options:Options",
        metric="reward",
        target=1.0,
        worst_score=0.0,
        sizes=sizes or TaskSizes(train=1),
        environments=("harbor",),
        requires=requirements(),
        uses_model=True,
        modelless={"agent": MODELLESS},
        source=_SOURCE if "docker" in tags else "",
        citation=CITATION if "docker" in tags else "",
    )


def _sizes(name: str) -> TaskSizes:
    return TaskSizes(**{split: len(slugs) for split, slugs in SPLITS[name].items()})


def _toy(slug: str) -> Case:
    return Case(slug, TOYS / slug)


def _folders(root: Path | None) -> list[Path]:
    return sorted(path.parent for path in root.glob("*/task.toml")) if root is not None else []


def _title(slug: str) -> str:
    return slug.replace("-", " ").capitalize()
