"""Runs a library's own program on what a job was answered, and says whether it visited the same candidates."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from tracebench_core.contracts import Twin
from tracebench_core.errors import NotApplicableError, ProgramError
from tracebench_core.plugins import PluginHost, load_ref
from tracebench_core.specs import JobSpec, Parameter, TrainerSpec
from tracebench_engine.checks.twins.answering import Answering
from tracebench_engine.checks.twins.told import Told, shared
from tracebench_engine.door.program import bare_environ
from tracebench_engine.measure.building import OpenTask

STUB = Path(__file__).with_name("stub")
"""Holds the module `recorded`."""
SILENCE = 300.0
"""Seconds without a request after which a program is ended."""
GRACE = 5.0
"""Seconds that a program may go on once it asked for what the recording does not hold."""
LOOK = 0.02
SHOWN = 1500
"""Characters of what a program wrote that are shown."""


class Ended(NamedTuple):
    """How a program ended."""

    code: int
    seconds: float
    cpu_seconds: float | None
    """Of it and of those of its processes that it waited for; None where it had to be ended."""
    words: str
    """The end of what it wrote."""


class Beside(NamedTuple):
    """A job and its twin."""

    job_id: str
    task: str
    trainer: str
    seed: int
    library: str
    version: str
    verdict: str
    """`same`: the same candidates in the same order; `same set`: in another one; `unproven`: the same, but from other prompts or fewer;
    `differs`."""
    words: str
    candidates: int
    """That the job had besides the initial one."""
    measured: tuple[int, int]
    """Of the job's evaluations, those that the twin asked for, too; and all of them."""
    prompts: tuple[int, int]
    """Of the job's prompts, those that the twin sent word for word; and all of them."""
    twin_seconds: float
    twin_cpu_seconds: float | None
    job_seconds: float
    """Of the job's training, when it was recorded."""
    job_waited: float
    """Of these, for the model."""
    job_measuring: float
    """Of these, in the task."""


def twin_of(host: PluginHost, job: JobSpec, parameters: Sequence[Parameter]) -> Twin:
    """Return the twin of a job's trainer.

    Raises:
        NotApplicableError: when its trainer has none; others as the trainer's own `twin` says.
    """
    spec = host.component("trainer", job.trainer_id)
    if not isinstance(spec, TrainerSpec) or spec.twin is None:
        raise NotApplicableError(
            f"`{job.trainer_id}` declares no twin: a trainer of Trace-Bench's own has no program of a library beside it, and another one's "
            "plugin may name one by `twin` in its spec.",
            hint="trace-bench list-trainers",
        )
    settings = load_ref(spec.settings, owner=spec.name)(**job.settings) if spec.settings else job.settings
    make: Callable[[Any, Sequence[Parameter]], Twin] = load_ref(spec.twin, owner=spec.name)
    return make(settings, parameters)


def run_beside(job: JobSpec, told: Told, twin: Twin, opened: OpenTask, *, workers: int) -> Beside:
    """Run a job's twin, and compare.

    Raises:
        ProgramError: when the twin failed, or had imported Trace-Bench.
    """
    with Answering(told) as answering, tempfile.TemporaryDirectory(prefix="twin-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "job.json").write_text(json.dumps(_order(job, twin, opened, answering), default=str))
        ended = _run(twin, folder, answering)
    if not answering.visited or (ended.code and not answering.gone):
        raise ProgramError(
            f"The twin of `{job.trainer_id}` failed with code {ended.code}: {ended.words or 'without a word'}."
        )
    if answering.ours:
        raise ProgramError(
            f"The twin of `{job.trainer_id}` has imported {', '.join(sorted(answering.ours))}, and so proves nothing."
        )
    verdict, words = _judge(told, answering, twin, workers=workers)
    prompts = shared(tuple(call.prompt for call in told.calls), tuple(answering.prompts))
    if verdict != "differs" and (strange := len(answering.prompts) - prompts):
        verdict = "unproven"
        words += f", but {strange} of its {len(answering.prompts)} prompts were none of the job's, and were answered in the job's order"
    elif verdict != "differs" and (unasked := len(told.calls) - prompts):
        verdict = "unproven"
        words += f", but {unasked} of the job's {len(told.calls)} prompts it never sent"
    return Beside(
        job_id=job.job_id,
        task=job.task_id,
        trainer=job.called,
        seed=job.seed,
        library=twin.library,
        version=answering.version,
        verdict=verdict,
        words=words,
        candidates=len(told.candidates) - 1,
        measured=(shared(told.measured, tuple(answering.measured)), len(told.measured)),
        prompts=(prompts, len(told.calls)),
        twin_seconds=ended.seconds,
        twin_cpu_seconds=ended.cpu_seconds,
        job_seconds=told.seconds,
        job_waited=told.waited,
        job_measuring=told.measuring,
    )


def _judge(told: Told, answering: Answering, twin: Twin, *, workers: int) -> tuple[str, str]:
    """Return the verdict and its reason; the initial candidate counts for neither, for whether it is measured is the task's affair."""
    initial, *ours = told.candidates
    theirs = [
        key for key in answering.visited if key != initial and not (answering.gone and key not in told.candidates)
    ]
    if answering.gone and not told.is_cut:
        return "differs", f"{answering.gone}, and no cap had ended the job"
    if ours == theirs:
        return "same", "the same candidates in the same order"
    free = twin.any_order or (f"the run evaluated {workers} at a time" if workers > 1 else "")
    if sorted(ours) == sorted(theirs):
        if free:
            return "same set", f"the same candidates in another order, as may be: {free}"
        place = next(i for i, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one != other)
        return "differs", f"in the place of `{told.candidates[ours[place]]}` came `{told.candidates[theirs[place]]}`"
    missing = [told.candidates[key] for key in ours if key not in answering.visited]
    why = f": {answering.gone}" if answering.gone else ""
    return "differs", f"the twin never had {', '.join(f'`{id_}`' for id_ in missing[:5])}{why}"


def _order(job: JobSpec, twin: Twin, opened: OpenTask, answering: Answering) -> Mapping[str, Any]:
    """Return what the program is told: what a trainer sees of its problem, and where it is answered."""
    task = opened.task
    model = job.models.get("optimizer")
    return {
        "base_url": answering.base_url,
        "api_key": answering.api_key,
        "model": model.model if model is not None else "",
        "library": twin.library,
        "seed": job.seed,
        "objective": task.objective,
        "settings": dict(twin.settings),
        "evaluations": job.budget.evaluations,
        "parameters": [p.model_dump(mode="json") for p in task.parameters],
        "train": [{"id": e.id, "input": e.input, "reference": e.reference} for e in task.splits["train"]],
        "validation": [{"id": e.id, "input": e.input} for e in task.splits.get("validation", ())],
    }


def _run(twin: Twin, folder: Path, answering: Answering) -> Ended:
    environ = bare_environ(folder, os.environ) | {"PYTHONPATH": str(STUB), **twin.environ}
    environ["RECORDED_JOB"] = str(folder / "job.json")
    log = folder / "output.log"
    with log.open("wb") as output:
        begun = time.monotonic()
        process = subprocess.Popen(  # noqa: S603 - a program of the trainer's plugin
            [twin.python, str(twin.program)],
            cwd=folder,
            env=environ,
            process_group=0,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            code, cpu = _wait(process, answering)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.poll()
    seconds = time.monotonic() - begun
    return Ended(code, seconds, cpu, log.read_text(errors="replace").strip()[-SHOWN:])


def _wait(process: subprocess.Popen[bytes], answering: Answering) -> tuple[int, float | None]:
    """Wait for a program; return its exit code, and the processor seconds of it and those it waited for."""
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, used.ru_utime + used.ru_stime
        if time.monotonic() - answering.last > (GRACE if answering.gone else SILENCE):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return (process.returncode, None)
        time.sleep(LOOK)
