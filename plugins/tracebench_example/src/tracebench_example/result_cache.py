"""A plugin around jobs, `result_cache`: a job that ended `ok` in an earlier run is not run again, it is copied.

A run uses it by naming a folder:

    plugins: {options: {result_cache: {folder: ~/.cache/trace-bench}}}

A job is known by its id (task, trainer, settings, seed, models, budget), the version of its task's plugin and that of the core. What a job
logged is kept as it is; `artifacts/result_cache.json` says where it came from.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tracebench_core.errors import RunDirError, UsageError
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import JobResult, JobSpec

OPTION = "folder"
ORIGIN = "result_cache.json"
LEFT_OUT = shutil.ignore_patterns("work")


class ResultCache:
    """The plugin's hooks. Without a folder it has nothing to do."""

    def __init__(self) -> None:
        self._folder = Path()

    @hookimpl
    def tracebench_configure(self, settings: Mapping[str, Any]) -> bool:
        """Take the folder from the config; False without one.

        Raises:
            UsageError: when the options say anything else.
        """
        options = dict(settings["options"])
        folder = options.pop(OPTION, None)
        if options or not isinstance(folder, str | None):
            raise UsageError(
                f"`plugins.options.result_cache` takes `{OPTION}`, a path, and nothing else.",
                hint="-o 'plugins.options={result_cache: {folder: cache}}'",
            )
        self._folder = Path(folder or ".").expanduser().absolute()
        return bool(folder)

    @hookimpl(tryfirst=True)
    def tracebench_run_job(self, job: JobSpec, job_dir: Path) -> JobResult | None:
        """Put the files of an equal job into `job_dir` and return its result; None where there is none: then the job is run."""
        from tracebench_engine.api.records import JobLayout, read_result  # noqa: PLC0415 - not needed to list what is installed

        kept = place_of(job, self._folder)
        try:
            stored = read_result(JobLayout(kept))
        except RunDirError:
            return None
        shutil.copytree(kept, job_dir, dirs_exist_ok=True)
        return stored.result

    @hookimpl
    def tracebench_run_finished(self, run_dir: Path) -> None:
        """Keep what ended well. Runs that end at the same time keep the same jobs; the first one stays."""
        from tracebench_engine.api.records import load_run  # noqa: PLC0415 - see above

        run = load_run(run_dir)
        for job in run.planned:
            kept = place_of(job, self._folder)
            if run.results[job.job_id].status == "ok" and not kept.exists():
                _keep(run.layout.job(job.job_id).path, kept, run.run_id)


def place_of(job: JobSpec, folder: Path) -> Path:
    """Return where a job's files are kept; two jobs with one place would have the same result but for chance."""
    plugin = job.plugin_version.replace(" ", "-").replace(os.sep, "-")
    return folder / f"{plugin}-core-{version('tracebench-core')}" / job.job_id


def _keep(job_dir: Path, place: Path, run_id: str) -> None:
    """Copy a job's folder whole or not at all."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".new-") as scratch:
        copy = Path(scratch) / place.name
        shutil.copytree(job_dir, copy, ignore=LEFT_OUT)
        origin = copy / "artifacts" / ORIGIN
        origin.parent.mkdir(exist_ok=True)
        origin.write_text(json.dumps({"run_id": run_id}) + "\n", encoding="utf-8")
        try:
            copy.rename(place)
        except OSError:
            if not place.is_dir():  # another run was quicker
                raise


PLUGIN = ResultCache()
