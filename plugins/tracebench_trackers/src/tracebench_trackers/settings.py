"""What a config may give the loggers, under `logger_kwargs`."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

Part = Literal["events", "log", "candidates"]
"""What is kept of a job beside its numbers."""


class Settings(BaseModel):
    """Of every tracker."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    keep: tuple[Part, ...] = get_args(Part)
    """Which of a job's files are kept with it there: its `events`, its `log`, the texts of its initial and best `candidates`. With a
    server, they are sent to it."""
    patience: float = Field(default=30.0, ge=0)
    """Seconds that the end of a job waits for what is still to be sent."""


class MLflowSettings(Settings):
    """Of `MLflowLogger`."""

    tracking_uri: str | None = None
    """A server, `sqlite:///file.db` or a folder; `MLFLOW_TRACKING_URI` when None. A file with a relative name lies in the folder of runs,
    and artifacts of an experiment that is made there in `mlartifacts` beside it."""
    experiment: str = "trace-bench"
    """The experiment that holds the runs; it is made when it is not there."""


class WandbSettings(Settings):
    """Of `WandbLogger`."""

    project: str = "trace-bench"
    """The project that holds the runs."""
    entity: str | None = None
    """The user or team that owns the project; the one of the key when None."""
    mode: Literal["offline", "online"] = "offline"
    """`offline` writes files below the job's folder, which `wandb sync` sends later."""
