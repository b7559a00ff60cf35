"""The options of a run on Ray, and what one of its workers asks of a node."""

from __future__ import annotations

import math
import os
import re
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from tracebench_core.specs import ExecutorSetting, Resources, RunConfig
from tracebench_ray.placement import asked_of, refuse_absent
from tracebench_ray.words import Asked, Order
from tracebench_workers.options import EVERYWHERE, MOST_PORT, Placing, is_host, refuse_unheard

LEAST = 0.0001
"""Of anything: Ray counts in such parts."""
NAMED_ELSEWHERE = frozenset({"CPU", "GPU", "memory", "object_store_memory"})
"""What a worker takes of these follows from what its jobs need."""


def _is_cluster(text: str) -> str:
    host, _, port = text.rpartition(":")
    if host and not (is_host(host) and re.fullmatch(r"\d{1,5}", port) and int(port) <= MOST_PORT):
        raise ValueError(f"`{text}` is no HOST:PORT, such as head:6379")
    return text


def _are_more(amounts: dict[str, float]) -> dict[str, float]:
    if taken := sorted(NAMED_ELSEWHERE & amounts.keys()):
        raise ValueError(f"`{taken[0]}` follows from what jobs need, and cannot be asked for here")
    for name, amount in amounts.items():
        if amount and not LEAST <= amount < math.inf:
            raise ValueError(f"of `{name}` there cannot be {amount:g}")
    return amounts


class Options(Placing):
    """`plugins.options.ray` of a config."""

    plugin: ClassVar[str] = "ray"
    address: Annotated[str, AfterValidator(_is_cluster)] = Field(default="", pattern=r"^[^/]*$")
    """The cluster: `auto` for the one that this machine is part of, or `HOST:PORT`; empty: one of its own on this machine."""
    resources: Annotated[dict[str, float], AfterValidator(_are_more)] = Field(default={})
    """What each worker takes beside processors, memory and GPUs, by the cluster's names: `{accelerator_type:A100: 0.001}`."""
    processors: int = Field(default=0, ge=0, le=4096)
    """Those that a Ray of its own counts with, for jobs that mostly wait for models; 0: those of this machine."""
    grows: bool = False
    """Whether the cluster adds nodes by demand: then what no node has now is waited for, and not refused."""
    python: str = ""
    """The interpreter on the nodes that has Trace-Bench; empty: that of Ray there."""

    @property
    def serving(self) -> Options:
        """These options, with an address that other machines reach where there may be any."""
        return self if self.listen or not self.address else self.model_copy(update={"listen": "0.0.0.0:0"})

    def asked(self, need: Resources) -> Asked:
        """Return what one worker takes, where each of its jobs may need so much."""
        memory = None if need.memory_mb is None else (need.memory_mb << 20) * self.jobs
        return Asked(cpus=need.cpus * self.jobs, memory=memory, gpus=need.gpus * self.jobs, more=self.resources)

    def order(self, need: Resources, number: int) -> Order:
        """Return what whoever places workers has to know of the cluster and of them, where each job may need so much."""
        return Order(
            address=self.address,
            number=number,
            asked=self.asked(need),
            grows=self.grows,
            processors=self.processors,
            python=self.python,
            jobs=self.jobs,
            folder=os.fspath(os.getcwd()),  # noqa: PTH109 - as it is written down
            # where the run listens at all addresses of its machine, the cluster knows which of them workers find
            reach=bool(self.address) and not self.reach and self.listen.rpartition(":")[0] in EVERYWHERE,
        )


def options_of(setting: ExecutorSetting | RunConfig) -> Options:
    """Return the options of a run."""
    return Options.model_validate(setting.plugins.options.get("ray", {})).serving


def ready(config: RunConfig, _need: Resources) -> None:
    """Refuse a run that workers could not join, or that has no Ray. What its cluster has is asked when the workers are placed.

    Raises:
        TraceBenchError: when Ray is not here, or the run's address cannot be had.
    """
    refuse_absent()
    refuse_unheard(options_of(config))


def outlook(config: RunConfig, need: Resources) -> list[str]:
    """Return in sentences where jobs of a config would run.

    Raises:
        TraceBenchError: when Ray is not here, or no cluster answers, or no node of it has what a worker takes.
    """
    options = options_of(config)
    number = options.number(config.max_workers)
    cluster = asked_of(options.order(need, number))
    at_once = min(number, cluster.places) if not options.grows else number
    where = f"the Ray cluster at {options.address}" if options.address else "a Ray cluster of its own on this machine"
    few = f", {at_once} at a time" if at_once < number else ""
    takes = options.asked(need)
    run = f"{options.jobs} jobs" if options.jobs > 1 else "one job"
    return [f"{number} workers in {where}{few}, each with {takes} and {run} at a time; it has {cluster}"]
