"""What must hold of tasks before anything is measured on them: their own solution passes, and doing nothing does not."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence

from tracebench_core.errors import MissingRequirementError
from tracebench_engine.api.programs import scratch_folder
from tracebench_terminalbench.catalog import Case
from tracebench_terminalbench.found import find_harbor
from tracebench_terminalbench.job_config import HERE, backend_of, grace, job_config
from tracebench_terminalbench.launch import harbor_environ, run_job
from tracebench_terminalbench.oci.mapped import MappedError
from tracebench_terminalbench.oci.needed import needed_images
from tracebench_terminalbench.options import Options
from tracebench_terminalbench.trials import read_trials

ENGINES = {"docker": "systemctl start docker", "podman": "systemctl --user start podman.socket"}
"""Container engines of this machine, each with the command that starts it."""
ENGINE_SECONDS = 20.0
EXPECTED: Mapping[str, float] = {"oracle": 1.0, "nop": 0.0}


def broken_invariants(options: Options, cases: Sequence[Case]) -> Iterator[str]:
    """Run each task with its own solution and with nothing, and yield what came out wrong; only where sandboxes run here.

    Images of other backends would have to be fetched, so nothing is run there; an engine of this machine that does not answer is told.

    Raises:
        MissingRequirementError: when Harbor is not here, or an image that would first have to be fetched and built.
    """
    backend = backend_of(options, cases)
    if backend not in HERE:
        yield from absent_engine(backend)
        return
    harbor = find_harbor(options.harbor_command)
    try:
        unready = [image.slug for image in needed_images(options, cases) if not image.is_ready()]
    except MappedError as err:
        yield str(err)
        return
    if unready:
        raise MissingRequirementError(
            f"Its solution is not tried: the image of `{unready[0]}` is not prepared here, which may take minutes.",
            hint="trace-bench images prepare, with the `--config` and `--root` of this command",
        )
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


def absent_engine(backend: str) -> Iterator[str]:
    """Yield why a container engine of this machine cannot be used; nothing for a cloud, which only a run asks."""
    if backend not in ENGINES:
        return
    try:
        asked = subprocess.run(  # noqa: S603 - the engine's own command
            [backend, "info"], capture_output=True, text=True, timeout=ENGINE_SECONDS, check=False
        )
    except FileNotFoundError:
        yield f"`harbor_env: {backend}` needs the command `{backend}`, and it is not on PATH"
    except subprocess.TimeoutExpired:
        yield f"`harbor_env: {backend}`: `{backend} info` does not answer within {ENGINE_SECONDS:g} s; try: {ENGINES[backend]}"
    else:
        if asked.returncode:
            words = (asked.stderr or asked.stdout).strip().splitlines()
            yield f"`harbor_env: {backend}` cannot be used here: {words[-1] if words else 'no answer'}; try: {ENGINES[backend]}"
