"""A task's data set: an environment of the run that holds it for all jobs, or, outside of a run, one that this process opens."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracebench_core.contracts import Environment
from tracebench_core.errors import PluginError
from tracebench_core.plugins import PluginHost, load_ref
from tracebench_core.specs import EnvironmentSpec
from tracebench_engine.measure.context import Environments
from tracebench_engine.measure.requirements import refuse_unmet
from tracebench_sandbox import temporary


@dataclass(frozen=True, slots=True)
class OpeningContext:
    """See `EnvironmentContext`."""

    workdir: Path
    seed: int
    job_id: str | None


def open_dataset(
    host: PluginHost, name: str, options: Mapping[str, Any], *, environments: Environments | None
) -> tuple[Any, Callable[[], object]]:
    """Return the handle of a data set, and what ends its use.

    Raises:
        MissingRequirementError: when the machine lacks what the data set needs.
        NotMeasured: when the run's data set cannot be opened.
        PluginError: when it is no environment of scope `run`.
    """
    spec = host.component("environment", name)
    if not isinstance(spec, EnvironmentSpec) or spec.scope != "run":
        raise PluginError(f"The data set `{name}` is no environment of scope `run`.")
    refuse_unmet(name, spec)
    chosen = {key: options[key] for key in spec.options if key in options}
    if environments is not None:
        lease = environments.lease(name, chosen)
        return lease.handle, lease.release
    environment: Environment = load_ref(spec.loader, owner=name)(**{**spec.options, **chosen})
    workdir = temporary.make_folder("dataset")

    def close() -> None:
        try:
            environment.close()
        finally:
            shutil.rmtree(workdir, ignore_errors=True)

    try:
        return environment.open(OpeningContext(workdir, seed=0, job_id=None)), close
    except BaseException:
        close()
        raise
