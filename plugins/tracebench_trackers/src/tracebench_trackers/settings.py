"""What a config may give the loggers, under `logger_kwargs`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Settings(BaseModel):
    """Of every tracker."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    patience: float = Field(default=30.0, ge=0)
    """Seconds that the end of a job waits for what is still to be sent."""


class MLflowSettings(Settings):
    """Of `MLflowLogger`."""

    tracking_uri: str | None = None
    """A server, `sqlite:///file.db` or a folder; `MLFLOW_TRACKING_URI` when None."""
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
