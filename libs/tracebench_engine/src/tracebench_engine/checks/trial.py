"""Try tasks in a process of their own, each within a time limit: open one, let it check itself, measure its start or its cases."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from tracebench_core.errors import MissingRequirementError, TraceBenchError
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import CaseVerdict, PluginsConfig
from tracebench_engine.job.workbench import open_workbench
from tracebench_engine.measure.attempt import describe_error
from tracebench_engine.measure.building import open_task
from tracebench_engine.measure.wire import Wire

Level = Literal["OK", "SKIP", "WARN", "FAIL", "EXPECTED"]
TRIAL_SECONDS = 120.0
"""How long one task may take, unless told otherwise."""
LONGEST_WAIT = 3600.0
"""Seconds after which it looks again: the system cannot be asked to wait for long."""


class Check(NamedTuple):
    """One line of a validation."""

    level: Level
    subject: str
    message: str = ""


class Cases(NamedTuple):
    """What came of a task's cases of known outcome."""

    state: Literal["measured", "skipped", "failed"]
    """`skipped`: they cannot be measured here; `failed`: the task or its cases are broken."""
    verdicts: tuple[CaseVerdict, ...] = ()
    why: str = ""


class Trials:
    """The process in which tasks are tried; a task that hangs or ends it costs itself only."""

    def __init__(self, *, root: Path | None, plugins: PluginsConfig, seconds: float = TRIAL_SECONDS) -> None:
        self._first = {"root": str(root) if root else None, "plugins": plugins.model_dump(mode="json")}
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._wire: Wire | None = None

    def try_task(self, task_id: str, options: Mapping[str, Any], *, trainable: bool) -> Check:
        """Return what came of one task."""
        told = self._ask({"task": task_id, "options": dict(options), "trainable": trainable})
        if isinstance(told, str):
            return Check("FAIL", task_id, told or f"it is not opened and measured once within {self._seconds:g} s")
        return Check(*told["check"])

    def calibrate(
        self,
        task_id: str,
        options: Mapping[str, Any],
        *,
        kinds: Iterable[str],
        seed: int = 0,
        tell: Callable[[str], None] = lambda _case: None,
    ) -> Cases:
        """Return the verdicts on a task's cases of some kinds, or of all; `tell` hears the name of each before it is measured."""
        asked = {"task": task_id, "options": dict(options), "kinds": [*kinds], "seed": seed}
        told = self._ask(asked, tell)
        if isinstance(told, str):
            return Cases("failed", why=told or f"its cases take longer than {self._seconds:g} s")
        return Cases(told["state"], tuple(map(CaseVerdict.model_validate, told["verdicts"])), told["why"])

    def _ask(self, message: dict[str, Any], tell: Callable[[str], None] = lambda _case: None) -> dict[str, Any] | str:
        """Return the process's answer, or how it ended in its place; nothing when it is only too slow."""
        process, wire = self._open()
        wire.send(message)
        due = time.monotonic() + self._seconds
        while not wire.closed and (left := due - time.monotonic()) > 0:
            for answer in wire.receive(timeout=min(left, LONGEST_WAIT)):
                if "case" not in answer:
                    return answer
                tell(answer["case"])
        died = wire.closed
        self.close()
        return f"the process that tried it ended with exit code {process.returncode}" if died else ""

    def close(self) -> None:
        """End the process and what it has started. Idempotent."""
        if self._process is None or self._wire is None:
            return
        if self._wire.closed:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1.0)  # it ends by itself, and its exit code tells how
        self._wire.close()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process = self._wire = None

    def _open(self) -> tuple[subprocess.Popen[bytes], Wire]:
        if self._process is None or self._wire is None:
            ours, theirs = socket.socketpair()
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-P", "-m", "tracebench_engine.builtin.trial_main", "--fd", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            theirs.close()
            self._wire = Wire(ours)
            self._wire.send(self._first)
        return self._process, self._wire


def try_task(host: PluginHost, task_id: str, options: Mapping[str, Any], *, trainable: bool) -> Check:
    """Try one task in this process; what its suite warns of meanwhile is the message of a sound one."""
    try:
        with _Warnings(host.task(task_id).loader) as warnings:
            opened = open_task(host, task_id, eval_kwargs=options)
            try:
                problems = opened.self_check()
            finally:
                opened.close()
            if problems:
                return Check("FAIL", task_id, "; ".join(problems))
            check = _measured_once(host, task_id, options)
        return check._replace(message="; ".join(warnings.words)) if check.level == "OK" else check
    except MissingRequirementError as err:
        return Check("SKIP", task_id, f"{err} {err.hint}".strip())
    except TraceBenchError as err:
        return Check("FAIL" if trainable else "EXPECTED", task_id, str(err))
    except (Exception, SystemExit) as err:  # noqa: BLE001 - whatever a suite raises while loading is what the user must see
        return Check("FAIL", task_id, describe_error(err))


class _Warnings(logging.Handler):
    """Hears what the package of a task's loader warns of, each once."""

    def __init__(self, loader: str) -> None:
        super().__init__(logging.WARNING)
        self.words: list[str] = []
        self._log = logging.getLogger(loader.partition(":")[0].partition(".")[0])

    def __enter__(self) -> Self:
        self._log.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._log.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep its words."""
        if (words := record.getMessage()) not in self.words:
            self.words.append(words)


def _measured_once(host: PluginHost, task_id: str, options: Mapping[str, Any]) -> Check:
    """Measure the initial candidate on one example, where that takes neither a model nor an environment."""
    spec = host.task(task_id)
    if spec.uses_model or spec.environments:
        return Check("OK", task_id)
    with open_workbench(host, task_id, eval_kwargs=options) as bench:
        feedback = next(bench.evaluate({}, split="train")).feedback
    if feedback.status == "not_measured":
        return Check("SKIP", task_id, f"its initial candidate cannot be measured here: {feedback.text}")
    return Check("OK", task_id)
