"""The loaders that specs name: `experiment_<n>`, the n-th of the catalogue, and `program_<n>`, the instruction for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tracebench_autoresearch import catalog
from tracebench_autoresearch.program_task import ProgramTask
from tracebench_autoresearch.task import ExperimentTask
from tracebench_autoresearch.trainer.settings import AutoresearchSettings


class Options(BaseModel):
    """What may be changed of an experiment without editing its file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seconds: float | None = Field(default=None, gt=0)
    """Wall-clock budget of `run`; the file's own when None."""
    revision: str | None = None
    """The revision to start from; the file's own when None."""


class ProgramOptions(Options):
    """How an instruction is tried."""

    num_experiments: int = Field(default=5, ge=1)
    """Proposals that the researcher is asked for, each a call of the role `agent`."""
    accept: Literal["greedy", "noise_aware"] = "greedy"
    """As of the trainer `Autoresearch`."""


def open_program(name: str, **options: object) -> ProgramTask:
    """Open the instruction for one experiment of the catalogue as the thing that is optimised.

    Raises:
        UsageError: when the experiment's repository cannot be read.
    """
    chosen = ProgramOptions.model_validate(options)
    inner = open_experiment(name, **chosen.model_dump(include=set(Options.model_fields)))
    return ProgramTask(
        inner, AutoresearchSettings(num_experiments=chosen.num_experiments, accept=chosen.accept, confirm=0)
    )


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


def __getattr__(attribute: str) -> Callable[..., ExperimentTask | ProgramTask]:
    word, _, number = attribute.partition("_")
    if word in {"experiment", "program"} and number.isdigit() and int(number) < len(catalog.found()):
        name = catalog.found()[int(number)].name
        return partial(open_experiment, name) if word == "experiment" else partial(open_program, name)
    raise AttributeError(attribute)
