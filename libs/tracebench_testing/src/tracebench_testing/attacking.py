"""Attacks on tasks: the sets that plugins offer, and the cases that the tasks' authors know to be forged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tracebench_core.errors import TraceBenchError
from tracebench_core.plugins import Catalog, PluginHost
from tracebench_engine.api.calibrating import calibrate, chosen_tasks
from tracebench_engine.api.checking import Attacked
from tracebench_engine.api.kit.cases import cases_of
from tracebench_engine.api.kit.parts import open_task
from tracebench_testing.checks.calibration_checks import FORGERIES, TIMED_SLACK, believed, try_set, unforged

WITHOUT = "it has no case of kind `forged` of its own: what only its author can know was not tried. Add one to its `calibrations()`"
SET_SECONDS = 900.0
"""For all forgeries of one set on one task."""


def attack_tasks(host: PluginHost, names: Sequence[str], *, root: Path | None = None) -> Iterator[Attacked]:
    """Yield what becomes of every attack on each of the tasks that names mean; `root` is where the host's local tasks are.

    Raises:
        UsageError: when a name means nothing that is offered.
    """
    sets, lacking = attack_sets(host)
    for task_id, spec in chosen_tasks(host, names).items():
        if spec.sandbox is None:
            yield Attacked(task_id, skipped=unforged(spec))
            continue
        by: dict[str, int] = {}
        fell: list[str] = []
        why: list[str] = [*lacking]
        has_own = False
        for found in calibrate(host, [task_id], kinds=("forged", "refused"), root=root):
            why += [found.why] if found.why else []
            has_own = has_own or bool(found.why) or any(verdict.kind == "forged" for verdict in found.verdicts)
            why += [
                f"`{verdict.case}`: {verdict.why}"
                for verdict in found.verdicts
                if verdict.result in {"noisy", "skipped"}
            ]
            fell += [f"`{verdict.case}`: {verdict.seen}" for verdict in found.verdicts if verdict.result == "failed"]
            by["cases"] = by.get("cases", 0) + sum(verdict.result == "passed" for verdict in found.verdicts)
        best = _best(host, task_id) if spec.score_bounds.maximum is None else spec.score_bounds.maximum
        for name in sets:
            found_by = _tried(task_id, name, best, is_timed=spec.timed)
            by[name] = found_by.withstood
            fell += found_by.believed
            why += [found_by.skipped] if found_by.skipped else []
        by = {name: number for name, number in by.items() if number}
        told = "; ".join(dict.fromkeys(why))
        yield Attacked(task_id, sum(by.values()), by, tuple(fell), told, "" if has_own else WITHOUT)


def attack_sets(host: PluginHost) -> tuple[list[str], list[str]]:
    """Return the names of the sets of attacks that can be tried here, and why others cannot."""
    offered = host.catalog().components["attack"]
    problems = {name: Catalog.availability(spec) for name, spec in offered.items()}
    excluded = host.catalog().excluded
    ready = [name for name, why in problems.items() if not why and name not in excluded]
    return sorted(ready), [f"the attacks `{name}`: {why}" for name, why in problems.items() if why]


def _tried(task_id: str, name: str, best: float | None, *, is_timed: bool) -> Attacked:
    """Try one set in a process of its own; of a task whose score is a time, sets of others count by what is gained beside the score."""
    withstood, fell, why, begun = 0, [], [], ""
    for line in try_set(task_id, {}, name, seconds=SET_SECONDS):
        begun = line.get("begins", begun)
        scores = [] if is_timed and name != FORGERIES else line.get("scores", [])
        if "skipped" in line:
            why.append(line["skipped"])
        elif line.get("cut_off"):
            why.append(f"the attacks `{name}` were cut off after {SET_SECONDS:g} s, at `{begun}`")
        elif words := believed({**line, "scores": scores}, best, slack=TIMED_SLACK if is_timed else 0.0):
            fell.append(words)
        else:
            withstood += "candidate" in line
    return Attacked(task_id, withstood, believed=tuple(fell), skipped="; ".join(dict.fromkeys(why)))


def attacked_versions(host: PluginHost, task_ids: Sequence[str]) -> dict[str, str]:
    """Return the versions of the distributions that tasks are of, by name; of a task in a file there is none."""
    plugins = {host.catalog().origin.get(("task", task_id), "") for task_id in task_ids}
    return _versions(host, plugins)


def attackers_versions(host: PluginHost) -> dict[str, str]:
    """Return the versions of the distributions whose sets of attacks are tried, by name."""
    return _versions(host, {host.catalog().origin["attack", name] for name in attack_sets(host)[0]})


def _versions(host: PluginHost, plugins: set[str]) -> dict[str, str]:
    records = [host.records[name] for name in sorted(plugins) if name in host.records]
    return {record.distribution: record.version for record in records if record.distribution}


def _best(host: PluginHost, task_id: str) -> float | None:
    """Return the best honest score that a task's cases know of; None where they know of none, or the task cannot be opened here."""
    try:
        opened = open_task(host, task_id, eval_kwargs={})
    except TraceBenchError:
        return None
    try:
        cases = cases_of(host, task_id, opened)
    finally:
        opened.close()
    figures = [c.expected for c in cases if c.kind == "gold" and not c.metric] if not isinstance(cases, str) else []
    return max((figure for figure in figures if isinstance(figure, float)), default=None)
