"""The tasks of a root as specs, and the look-up of one by its loader's name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from tracebench_core.specs import Objective, Requirement, TaskSpec, TaskVersion
from tracebench_llm4ad.adapters.known import CORRECTED, REHEARSED, VECTORS
from tracebench_llm4ad.adapters.options import Where
from tracebench_llm4ad.cobench.folder import requirement

if TYPE_CHECKING:
    from tracebench_llm4ad.adapters.tree import Found

SUFFIX = "@root"
EXTRAS = {
    "gymnasium": "gym",
    "pymoo": "pymoo",
    "sympy": "sympy",
    "numba": "numba",
    "pandas": "tree",
    "networkx": "tree",
}

DISTRIBUTIONS = {
    "cv2": "opencv-python-headless",
    "PIL": "pillow",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""Distributions whose modules have another name."""

_configured: dict[str, Found] = {}


def configure(settings: Mapping[str, Any]) -> bool:
    """Take the plugin's settings (`root`, or its option `root`); return whether tasks were found there."""
    _configured.clear()
    place = settings.get("root") or (settings.get("options") or {}).get("root")
    if not place:
        return False
    from tracebench_llm4ad.adapters.tree import find_tasks  # noqa: PLC0415 - most listings have no root

    for found in find_tasks(place):
        name = re.sub(r"\W", "_", found.key)
        _configured[f"task_{name}" if f"task_{name}" not in _configured else f"task_{name}_{len(_configured)}"] = found
    return bool(_configured)


def found_as(attribute: str) -> Found | None:
    """Return the task that a spec's loader names."""
    return _configured.get(attribute)


def rooted_specs(own: Collection[str]) -> tuple[TaskSpec, ...]:
    """Return the root's tasks; one whose name is in `own` is offered as `<key>@root`."""
    taken = set(own)
    specs = []
    for attribute, found in _configured.items():
        name = found.key if found.key not in taken else f"{found.key}{SUFFIX}"
        if name in taken:
            continue
        taken.add(name)
        specs.append(_spec(found, name=name, attribute=attribute))
    return tuple(specs)


def place_of_evaluation(found: Found) -> tuple[Where, str]:
    """Return where a task is evaluated by default, and why it is `together`."""
    if found.takes_text:
        return "together", "its evaluator runs the program's text itself"
    if found.own_guide:
        return "together", "it brings a guide of its own, which runs the program's text"
    reachable = {"numpy", *(name.partition(".")[0] for name in found.offered)}
    return ("rehearsed" if found.short in REHEARSED and reachable.issuperset(found.modules) else "apart"), ""


def _spec(found: Found, *, name: str, attribute: str) -> TaskSpec:
    correction = CORRECTED.get(found.short)
    where, why = place_of_evaluation(found)
    notes = [f"From `{found.folder}`; one set of instances, nothing is held out."]
    if found.offered:
        notes.append(f"A candidate may import {', '.join(f'`{name}`' for name in found.offered)}.")
    if where == "together":
        notes.append(f"The score is computed in the sandboxed process where the candidate runs: {why}.")
    if where == "rehearsed":
        notes.append(
            "A candidate answers a copy of the evaluator; the evaluator repeats that with the answers, which gives the score."
        )
    if correction:
        notes.append(f"Corrected: the tree {correction.words}.")
    return TaskSpec(
        name=name,
        loader=f"{__package__}.found:{attribute}",
        title=found.short.replace("_", " ").capitalize(),
        description=" ".join(notes),
        groups=("all", "root"),
        tags=("root", found.layout, where),
        options=f"{__package__}.options:ForeignOptions",
        version=TaskVersion(comparability=3),
        metric=correction.metric if correction else "score",
        direction=correction.direction if correction else "maximize",
        objectives=tuple(Objective(metric=m, direction="maximize") for m in VECTORS.get(found.short, ())),
        requires=_requirements(found),
        broken=found.broken,
        preload=("numpy",),
        sandbox=tuple(dict.fromkeys(["math", "random", "numpy", *found.offered])),
        licence="the tree's own",
        source=f"{found.folder} (sha256 {digest(found)})",
    )


def _requirements(found: Found) -> tuple[Requirement, ...]:
    modules = dict.fromkeys([*found.modules, *(name.partition(".")[0] for name in found.offered)])
    needs = [Requirement(kind="module", name=name, hint=_install(name)) for name in modules]
    if found.fetches:
        needs.append(requirement(found.fetches))
    return tuple(needs)


def _install(module: str) -> str:
    if module in EXTRAS:
        return f'pip install "tracebench-llm4ad[{EXTRAS[module]}]"'
    return f"pip install {DISTRIBUTIONS.get(module, module)}"


def digest(found: Found) -> str:
    """Return the first digits of the SHA-256 of the task's Python files: which evaluator it was."""
    total = hashlib.sha256()
    for path in sorted(found.folder.glob("*.py")):
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:16]


__all__ = ["configure", "digest", "found_as", "place_of_evaluation", "rooted_specs"]
