"""The course of every job's best score in the file format of IOHprofiler, which IOHanalyzer and iohinspector read.

One folder for each algorithm, in it `IOHprofiler_f<n>_<task>.json` and `data_f<n>_<task>/IOHprofiler_f<n>_DIM<d>.dat`: a function is a
task (with its version, guide and options), the dimension is its number of parameters, a run is a seed. `evaluations` counts what the
trainer was charged, `raw_y` is the archive's best score at that point (maximised).
See https://iohprofiler.github.io/IOHanalyzer/data/.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from tracebench_core.ids import content_hash, suite_of
from tracebench_core.specs.events import BestChanged, CandidateSeen
from tracebench_runs.reading.reader import Run
from tracebench_runs.results.rows import GroupKey, TaskKey, group_of

LAYOUT_VERSION = "0.3.18"
"""Of the format's description that IOHexperimenter 0.3.18 writes."""
_NAME_LENGTH = 80


class Course(NamedTuple):
    """One job as a run of IOHprofiler."""

    seed: int
    evaluations: int
    points: tuple[tuple[int, float], ...]
    """Evaluations used, and the best score from there on."""
    dimension: int


def write_ioh(run: Run, folder: Path) -> None:
    """Write the folder; a job that never had a best candidate has no course and is left out."""
    functions: dict[TaskKey, int] = {}
    courses: dict[GroupKey, list[Course]] = defaultdict(list)
    for job in run.planned:
        group = group_of(job)
        functions.setdefault(group.task, len(functions) + 1)
        course = _course(run, job.job_id, seed=job.seed)
        if course is not None:
            courses[group].append(course)
    folder.mkdir()
    for group, of_group in courses.items():
        name = _algorithm(group)
        _write_function(folder / _safe(name), name, group.task, number=functions[group.task], courses=of_group)


def _course(run: Run, job_id: str, *, seed: int) -> Course | None:
    points: list[tuple[int, float]] = []
    dimension = 0
    for event in run.events(job_id):
        if isinstance(event, BestChanged):
            points.append((max(1, event.used.evaluations), event.score))
        elif isinstance(event, CandidateSeen):
            dimension = dimension or len(event.values)
    if not points:
        return None
    return Course(
        seed, max(run.results[job_id].used.evaluations, points[-1][0]), tuple(dict(points).items()), dimension
    )


def _write_function(folder: Path, algorithm: str, task: TaskKey, *, number: int, courses: list[Course]) -> None:
    name = f"f{number}_{_safe(_function(task))}"
    scenarios: list[dict[str, Any]] = []
    by_dimension: dict[int, list[Course]] = defaultdict(list)
    for course in courses:
        by_dimension[course.dimension].append(course)
    (folder / f"data_{name}").mkdir(parents=True)
    for dimension, runs in sorted(by_dimension.items()):
        path = Path(f"data_{name}", f"IOHprofiler_f{number}_DIM{dimension}.dat")
        (folder / path).write_text("".join(map(_lines, runs)), encoding="utf-8")
        scenarios.append({"dimension": dimension, "path": path.as_posix(), "runs": [_run(course) for course in runs]})
    content = {
        "version": LAYOUT_VERSION,
        "suite": suite_of(task.task_id),
        "function_id": number,
        "function_name": _function(task),
        "maximization": True,
        "algorithm": {"name": algorithm, "info": "tracebench-core"},
        "run_attributes": ["seed"],
        "attributes": ["evaluations", "raw_y"],
        "scenarios": scenarios,
    }
    (folder / f"IOHprofiler_{name}.json").write_text(json.dumps(content, indent=2), encoding="utf-8")


def _lines(course: Course) -> str:
    points = [*course.points]
    if points[-1][0] < course.evaluations:
        points.append((course.evaluations, points[-1][1]))
    return "".join(["evaluations raw_y\n", *(f"{used} {score!r}\n" for used, score in points)])


def _run(course: Course) -> dict[str, Any]:
    used, score = course.points[-1]
    best = {"evals": used, "y": score, "x": []}
    return {"instance": 1, "seed": course.seed, "evals": course.evaluations, "best": best}


def _algorithm(group: GroupKey) -> str:
    return " ".join(
        part for part in (group.trainer_id, group.params if group.params != "{}" else "", group.optimizer) if part
    )


def _function(task: TaskKey) -> str:
    parts = (task.task_id, task.guide, task.eval_kwargs if task.eval_kwargs != "{}" else "")
    return " ".join(part for part in parts if part)


def _safe(name: str) -> str:
    """Return a name that a file may have; one that had to be changed ends with a hash of itself, so that two never meet."""
    plain = re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip("-.")[:_NAME_LENGTH]
    return plain if plain == name else f"{plain}-{content_hash(name.encode())[:8]}"
