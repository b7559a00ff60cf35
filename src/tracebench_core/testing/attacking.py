"""The attacks of the kit on tasks' scores: forged figures, and the cases that the tasks' authors know to be forged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracebench_core.api.calibrating import calibrate, chosen_tasks
from tracebench_core.api.kit.cases import cases_of
from tracebench_core.api.kit.parts import open_task
from tracebench_core.errors import TraceBenchError
from tracebench_core.plugins import PluginHost
from tracebench_core.testing.calibration_checks import FORGED_SECONDS, NO_CODE, believed
from tracebench_core.testing.plugin import ask_process


@dataclass(frozen=True, slots=True)
class Attacked:
    """What became of the attacks on one task."""

    task: str
    withstood: int = 0
    """Forgeries that earned nothing."""
    believed: tuple[str, ...] = ()
    """Those that did, in words."""
    skipped: str = ""
    """Why some or all could not be tried."""


def attack_tasks(host: PluginHost, names: Sequence[str], *, root: Path | None = None) -> Iterator[Attacked]:
    """Yield what becomes of every attack on each of the tasks that names mean; `root` is where the host's local tasks are.

    Raises:
        UsageError: when a name means nothing that is offered.
    """
    for task_id, spec in chosen_tasks(host, names).items():
        if spec.sandbox is None:
            yield Attacked(task_id, skipped=NO_CODE)
            continue
        fell: list[str] = []
        why: list[str] = []
        withstood = 0
        for found in calibrate(host, [task_id], kinds=("forged", "refused"), root=root):
            why += [found.why] if found.why else []
            why += [
                f"`{verdict.case}`: {verdict.why}"
                for verdict in found.verdicts
                if verdict.result in {"noisy", "skipped"}
            ]
            fell += [f"`{verdict.case}`: {verdict.seen}" for verdict in found.verdicts if verdict.result == "failed"]
            withstood += sum(verdict.result == "passed" for verdict in found.verdicts)
        if spec.timed:
            why.append("its score is a time, which the kit's forgeries say nothing of")
        else:
            best = _best(host, task_id) if spec.score_bounds.maximum is None else spec.score_bounds.maximum
            for line in ask_process(["forge", task_id, "{}"], seconds=FORGED_SECONDS):
                why += [line["skipped"]] if "skipped" in line else []
                if words := believed(line, best):
                    fell.append(words)
                else:
                    withstood += "candidate" in line
        yield Attacked(task_id, withstood, tuple(fell), "; ".join(why))


def attacked_versions(host: PluginHost, task_ids: Sequence[str]) -> dict[str, str]:
    """Return the versions of the distributions that tasks are of, by name; of a task in a file there is none."""
    catalog = host.catalog()
    plugins = {catalog.origin.get(("task", task_id), "") for task_id in task_ids}
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
