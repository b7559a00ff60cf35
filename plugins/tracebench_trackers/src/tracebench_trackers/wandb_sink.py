"""`WandbLogger`: a run is a group, a job a run in it. Offline, files below the job's folder, which `wandb sync` sends later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tracebench_runs import JobLayout
from tracebench_trackers.readings import AXES, Configured, Ended, Kept, Numbers, Reading
from tracebench_trackers.settings import WandbSettings
from tracebench_trackers.sink import Sink, Tracker


class WandbLogger(Sink):
    """Sends a job to Weights & Biases."""

    model = WandbSettings
    settings: WandbSettings

    def open(self) -> WandbJob:
        """Begin the job's run, or go on with it."""
        return WandbJob(self.settings, JobLayout(self.job_dir))


def _own_folder(layout: JobLayout) -> Path:
    """Make a folder for what one process of a job writes: nothing of an earlier one is touched, not even a link to the latest."""
    home = layout.path / "wandb"
    folder = home / str(1 + sum(1 for _ in home.glob("*")))
    folder.mkdir(parents=True)
    return folder


class WandbJob(Tracker):
    """One job as a run of Weights & Biases. `wandb` has no types here: an extra."""

    def __init__(self, settings: WandbSettings, layout: JobLayout) -> None:
        import wandb  # noqa: PLC0415 - an extra

        self._layout = layout
        self._run: Any = wandb.init(
            project=settings.project,
            entity=settings.entity,
            mode=settings.mode,
            group=layout.run.path.name,
            name=layout.job_id,
            id=f"{layout.run.path.name}-{layout.job_id}",
            resume="allow",
            reinit="create_new",
            dir=str(_own_folder(layout)),
            settings=wandb.Settings(silent=True, console="off", save_code=False, disable_git=True),
        )
        self._run.define_metric("step")
        for axis in AXES:
            self._run.define_metric(f"used/{axis}")
            self._run.define_metric(f"best/by_{axis}", step_metric=f"used/{axis}")
        for name in ("step/*", "metric/*"):
            self._run.define_metric(name, step_metric="step")

    def take(self, reading: Reading) -> None:
        """Write a reading."""
        match reading:
            case Configured(name, values):
                self._run.name = name
                self._run.config.update(dict(values), allow_val_change=True)
            case Numbers(values, None):  # no curve: a later process of the job begins its steps anew
                self._run.summary.update(dict(values))
            case Numbers(values, at, axis):
                self._run.log({**values, "step" if axis == "step" else f"used/{axis}": at})
            case Kept(name, text, path):  # by copy: a link to this folder would be gone once the run is moved
                there = Path(self._run.dir, name)
                there.parent.mkdir(parents=True, exist_ok=True)
                there.write_bytes(text.encode() if path is None else path.read_bytes())
            case Ended(status, stop_reason):
                self._run.summary.update({"status": status, "stop_reason": stop_reason})
                self._run.finish(exit_code=0 if status == "ok" else 1)
                self._run = None

    def close(self) -> None:
        """End what this process writes of the run."""
        if self._run is not None:
            self._run.finish()
            self._run = None
