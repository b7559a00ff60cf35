"""The config that repeats a recorded run without a model."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tracebench_core.specs import RunConfig
from tracebench_engine.run.rundir import reopen_run_dir
from tracebench_gateway.cassette.player import check_recording
from tracebench_runs.journal.witness import demand_sound
from tracebench_runs.meta.planned import iter_jobs
from tracebench_runs.storage.layout import RunLayout


def _recorded_to_the_end(layout: RunLayout) -> int:
    """Return how many jobs there are up to the last that ended; of a run that was cut off, those after it were never asked anything."""
    jobs = [job.job_id for job in iter_jobs(layout)]
    ended = [i for i, job_id in enumerate(jobs, start=1) if layout.job(job_id).results.is_file()]
    return max(ended, default=len(jobs))


class Replay(NamedTuple):
    """What to run: the first `jobs` jobs of the config's matrix, up to the last that was recorded to its end."""

    config: RunConfig
    jobs: int
    root: Path | None


def replay_of(run_dir: Path, *, runs_dir: str | None = None, max_workers: int | None = None) -> Replay:
    """Return how a recorded run is repeated; `runs_dir` holds the replay, by default beside the recording.

    Raises:
        RunDirError: when the folder is no run, or was not recorded, or its journal is damaged or its recording cannot be read.
    """
    layout, config, root, trust = reopen_run_dir(run_dir)
    demand_sound(layout, trust=trust)
    check_recording(layout.path)
    trust.demand_growing(layout)
    changes = {
        "mode": "replay",
        "replay_from": str(layout.path.resolve()),
        "run_id": None,
        "runs_dir": runs_dir or str(layout.path.parent),
        "resume": "auto",
        "llm": config.llm.model_copy(update={"record": False, "cache": "off"}),
        "max_workers": max_workers or config.max_workers,
    }
    return Replay(config.model_copy(update=changes), _recorded_to_the_end(layout), root)
