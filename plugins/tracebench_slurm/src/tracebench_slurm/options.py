"""The options of a run on Slurm, and what one of its workers asks of a node."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from tracebench_core.errors import TraceBenchError
from tracebench_core.specs import ExecutorSetting, Resources, RunConfig
from tracebench_slurm.queue import rehearse
from tracebench_workers.options import Address, Placing, refuse_unheard

HINT = "sinfo --Node --long"


class Options(Placing):
    """`plugins.options.slurm` of a config."""

    plugin: ClassVar[str] = "slurm"
    listen: Address = "0.0.0.0:0"
    """Address and port at which workers may join; nodes must reach it."""
    partition: str = ""
    """Empty: Slurm's default."""
    minutes: int = Field(default=0, ge=0)
    """Time limit of each worker; what it runs then is run again by another. 0: the partition's."""
    sbatch: tuple[str, ...] = ()
    """Further options of `sbatch`, such as `--account=lab`."""
    setup: str = ""
    """Lines of shell before the worker starts, such as `module load python`."""
    python: str = sys.executable
    """The interpreter on the nodes that has Trace-Bench and this plugin."""
    log: str = ""
    """A file for what workers print, with Slurm's patterns; empty: `slurm-%A_%a.log` in the run directory, which nodes must then see."""

    def asked(self, need: Resources) -> Iterator[str]:
        """Return the options of `sbatch` that say what one worker takes, where each of its jobs may need so much."""
        yield f"--cpus-per-task={math.ceil(need.cpus * self.jobs)}"
        if need.memory_mb is not None:
            yield f"--mem={need.memory_mb * self.jobs}M"
        if need.gpus:
            yield f"--gpus-per-node={need.gpus * self.jobs}"
        if self.partition:
            yield f"--partition={self.partition}"
        if self.minutes:
            yield f"--time={self.minutes}"
        yield from self.sbatch


def options_of(setting: ExecutorSetting | RunConfig) -> Options:
    """Return the options of a run."""
    return Options.model_validate(setting.plugins.options.get("slurm", {}))


def ready(config: RunConfig, need: Resources) -> None:
    """Refuse a run that workers could not join, or whose workers Slurm would not take.

    Raises:
        TraceBenchError: when Slurm is not here, or would not take such workers, or the run's address cannot be had.
    """
    options = options_of(config)
    refuse_unheard(options)
    rehearse([*options.asked(need)])


def outlook(config: RunConfig, need: Resources) -> list[str]:
    """Return in sentences where jobs of a config would run.

    Raises:
        TraceBenchError: when Slurm is not here, or would not take such workers, or they would live for less than a job may take.
    """
    options = options_of(config)
    asked = [*options.asked(need)]
    if options.minutes and config.job_timeout and config.job_timeout > options.minutes * 60:
        raise TraceBenchError(
            f"A job may take {config.job_timeout:g} s (`job_timeout`), and a worker lives for {options.minutes} minutes: it would be lost"
            " each time.",
            hint=f"-o plugins.options.slurm.minutes={math.ceil(config.job_timeout / 60) + 10}",
        )
    rehearse(asked)
    number = options.number(config.max_workers)
    return [
        f"an array of {number} in Slurm ({' '.join(asked)}), each {options.jobs} at a time, that join at {options.listen}"
    ]
