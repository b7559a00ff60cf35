"""What must hold of tasks before anything is measured on them: their own solution passes, and doing nothing does not."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence

from tracebench_core.api.programs import scratch_folder
from tracebench_terminalbench.found import find_harbor
from tracebench_terminalbench.job_config import Case, backend_of, grace, job_config
from tracebench_terminalbench.launch import harbor_environ, run_job
from tracebench_terminalbench.options import Agent, Options
from tracebench_terminalbench.trials import read_trials

EXPECTED: Mapping[Agent, float] = {"oracle": 1.0, "nop": 0.0}


def broken_invariants(options: Options, cases: Sequence[Case]) -> Iterator[str]:
    """Run each task with its own solution and with nothing, and yield what came out wrong; only where sandboxes run here.

    Images of other backends would have to be fetched, so nothing is run there.

    Raises:
        MissingRequirementError: when Harbor is not here.
    """
    if backend_of(options, cases) != "local":
        return
    harbor = find_harbor(options.harbor_command)
    for agent, expected in EXPECTED.items():
        with scratch_folder("harbor") as folder:
            agreed = options.model_copy(update={"agent": agent, "attempts": 1})
            config = job_config(
                agreed, cases, name=f"harbor-{uuid.uuid4().hex[:12]}", folder=folder, subject={}, model=None
            )
            environ = harbor_environ(os.environ, extra=options.extra_env)
            ended = run_job(harbor.command, config, folder=folder, environ=environ, grace=grace(options, cases))
            found = {trial.slug: trial for trial in read_trials(ended.folder)}
            if not found:
                yield f"Harbor ran nothing with the agent `{agent}`: {ended.said}"
            for slug, trial in sorted(found.items()):
                if trial.reward is None:
                    yield f"`{slug}` with the agent `{agent}`: {trial.error}"
                elif trial.reward != expected:
                    yield f"`{slug}` with the agent `{agent}` has the reward {trial.reward:g}, not {expected:g}"
