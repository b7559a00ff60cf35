"""The loaders that specs name: `experiment_<n>`, the n-th of the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pydantic import BaseModel, ConfigDict, Field

from tracebench_autoresearch import catalog
from tracebench_autoresearch.task import ExperimentTask


class Options(BaseModel):
    """What may be changed of an experiment without editing its file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seconds: float | None = Field(default=None, gt=0)
    """Wall-clock budget of `run`; the file's own when None."""
    revision: str | None = None
    """The revision to start from; the file's own when None."""


def open_experiment(name: str, **options: object) -> ExperimentTask:
    """Open one experiment of the catalogue.

    Raises:
        UsageError: when its repository cannot be read.
    """
    chosen = Options.model_validate(options)
    experiment = catalog.find(name)
    if chosen.seconds is not None:
        run = experiment.run.model_copy(update={"seconds": chosen.seconds})
        experiment = experiment.model_copy(update={"run": run})
    if chosen.revision is not None:
        experiment = experiment.model_copy(update={"revision": chosen.revision})
    return ExperimentTask(experiment)


def __getattr__(attribute: str) -> Callable[..., ExperimentTask]:
    word, _, number = attribute.partition("_")
    if word == "experiment" and number.isdigit() and int(number) < len(catalog.found()):
        return partial(open_experiment, catalog.found()[int(number)].name)
    raise AttributeError(attribute)
