"""Slurm's own commands: submit an array, see what is left of it, cancel it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tracebench_core.errors import MissingRequirementError, TraceBenchError, UsageError

PATIENCE = 60.0
"""Seconds that one of Slurm's commands may take."""
ELSEWHERE = "start it on a login node of the cluster; or here: trace-bench run … -o executor=local, trace-bench resume RUN --executor local"
AWAY = ("controller", "timed out", "configuration source")
"""Words by which Slurm's commands tell that nobody answers them."""
OVER = frozenset(
    {"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE", "PREEMPTED"}
)


class Element(NamedTuple):
    """One element of an array in the queue."""

    name: str
    """`JOB_INDEX`."""
    state: str
    reason: str

    @property
    def is_held(self) -> bool:
        """Whether it waits for somebody to release it, as what could not be launched does."""
        return self.state == "PENDING" and "held" in self.reason.lower()


class QueueError(TraceBenchError):
    """Slurm's controller gave no answer; it may give one later."""


def rehearse(asked: Sequence[str]) -> None:
    """Have Slurm look at a job without taking it.

    Raises:
        UsageError: when it would refuse it, in its own words.
        MissingRequirementError: when it is not here.
    """
    told = _told(["sbatch", "--test-only", *asked], script="#!/bin/sh\n")
    if told.returncode:
        if any(words in told.stderr for words in AWAY):
            raise MissingRequirementError(f"No Slurm answers here: {_words(told)}.", hint=ELSEWHERE)
        raise UsageError(f"Slurm would not take such a worker: {_words(told)}.", hint="sinfo --Node --long")


def submit(script: str, options: Sequence[str], *, environ: Mapping[str, str] | None = None) -> str:
    """Submit a script and return the job's number. Slurm keeps `environ`, and hands it to the workers.

    Raises:
        TraceBenchError: when Slurm refuses it, in its own words.
    """
    told = _told(["sbatch", "--parsable", *options], script=script, environ=environ)
    if told.returncode:
        if any(words in told.stderr for words in AWAY):
            raise QueueError(f"Slurm did not take the workers: {_words(told)}.", hint="scontrol ping")
        raise TraceBenchError(f"Slurm did not take the workers: {_words(told)}.", hint="sinfo --Node --long")
    return told.stdout.strip().partition(";")[0]


def elements(jobs: Iterable[str]) -> list[Element]:
    """Return what is in the queue of some arrays: what waits, runs, or is being ended.

    Raises:
        QueueError: when the controller does not answer.
    """
    told = _told(["squeue", "--array", "--noheader", "--format=%i|%T|%r", f"--jobs={','.join(jobs)}"])
    if told.returncode:
        if "Invalid job id" in told.stderr:  # Slurm has forgotten all of them
            return []
        raise QueueError(f"Slurm does not say what became of the workers: {_words(told)}.", hint="squeue --me")
    found = (Element(*line.split("|", 2)) for line in told.stdout.splitlines() if line.count("|") > 1)
    return [each for each in found if each.state not in OVER]


def cancel(jobs: Iterable[str], *options: str) -> None:
    """Have Slurm end arrays, or elements of them; what is over already is left alone."""
    _told(["scancel", "--quiet", *options, *jobs])


def _words(told: subprocess.CompletedProcess[str]) -> str:
    lines = [line.removeprefix("sbatch: error: ") for line in told.stderr.splitlines() if line.strip()]
    return "; ".join(dict.fromkeys(lines)).rstrip(".") or f"exit code {told.returncode}"


def _told(
    command: list[str], *, script: str = "", environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(  # noqa: S603
            command,
            input=script,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=PATIENCE,
            env=environ,
        )
    except FileNotFoundError as err:
        raise MissingRequirementError(
            f"There is no `{command[0]}` here: the run has to be started where Slurm's commands are.", hint=ELSEWHERE
        ) from err
    except (OSError, ValueError) as err:
        raise MissingRequirementError(f"`{command[0]}` cannot be run here: {err}.", hint=ELSEWHERE) from err
    except subprocess.TimeoutExpired as err:
        raise QueueError(f"`{command[0]}` gave no answer for {PATIENCE:g} s.", hint="scontrol ping") from err
