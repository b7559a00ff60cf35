"""The page that tells one run, made of what the run holds and of what its suites draw. Imports numpy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tracebench_analysis.comparison.comparison import compare_runs
from tracebench_analysis.figures.views import best_jobs, build_views
from tracebench_analysis.report.story import About as About, render_story
from tracebench_core.errors import TraceBenchError
from tracebench_core.plugins import PluginHost
from tracebench_engine.builtin.hosting import find_aggregate, open_host
from tracebench_runs.reading.reader import Run, load_run


def story_of(run_dir: Path, *, title: str, notes: Sequence[str], commands: Sequence[tuple[str, str]]) -> str:
    """Return a run as one HTML page. A view that fails is left out, and a note says so.

    Raises:
        TraceBenchError: when the run cannot be read or compared.
    """
    run = load_run(run_dir)
    host = open_host()
    pictures: dict[str, dict[str, str | bytes]] = {}
    told = [*notes]
    for job_id in best_jobs(run):
        for shown in build_views(host.catalog(), run, job_id, kinds=["frames"]):
            if shown.problem:
                told.append(shown.problem)
            else:
                pictures.setdefault(job_id, dict(shown.content))
    told += _trainers(run, host)
    about = About(title, _tasks(run, host), told, commands)
    return render_story(run, compare_runs([run], find=find_aggregate), about, pictures=pictures)


def _tasks(run: Run, host: PluginHost) -> str:
    """Return what the tasks of a run are, as far as their plugins are here to say so."""
    words = []
    for task_id in dict.fromkeys(job.task_id for job in run.planned):
        try:
            spec = host.task(task_id)
        except TraceBenchError:
            words.append(f"{task_id}.")
        else:
            words.append(" ".join(filter(None, [f"{task_id}: {spec.title}".rstrip(". ") + ".", spec.description])))
    return " ".join(words)


def _trainers(run: Run, host: PluginHost) -> list[str]:
    """Return what the trainers of a run do, as far as their plugins are here to say so."""
    every = host.catalog().trainers
    known = [name for name in dict.fromkeys(job.trainer_id for job in run.planned) if name in every]
    return [f"{name}: {every[name].title.rstrip('.')}." for name in known if every[name].title]
