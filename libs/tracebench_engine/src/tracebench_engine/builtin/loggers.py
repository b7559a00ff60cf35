"""Sinks of a job's events: lines on its standard output, or TensorBoard files."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from tracebench_core.specs.events import (
    BestChanged,
    ErrorRaised,
    Event,
    JobFinished,
    JobStarted,
    MetricLogged,
    Scored,
    StepFinished,
)


class ConsoleLogger:
    """Writes steps, new bests and errors as lines to the job's `stdout.log`."""

    def __init__(self, job_dir: Path, **_: Any) -> None:
        self.job_dir = job_dir

    def __call__(self, event: Event, /) -> None:
        """Write the events that a reader of a log wants."""
        match event:
            case StepFinished():
                self._say(f"step {event.index}: score {event.score}, best {event.best}, {event.seconds:.3f} s")
            case BestChanged():
                self._say(f"best: {event.candidate} with {event.score}")
            case ErrorRaised():
                self._say(f"error: {event.type}: {event.message}")
            case JobFinished():
                self._say(f"finished: {event.status} ({event.stop_reason})")

    def close(self) -> None:
        """Nothing is held back."""

    @staticmethod
    def _say(line: str) -> None:
        sys.stdout.write(line + "\n")


class TensorboardLogger:
    """Writes score, best, seconds, evaluations, calls and tokens per step, and logged metrics, to the job's `tb/`."""

    def __init__(self, job_dir: Path, *, log_dir: str | None = None, verbose: bool = False, **_: Any) -> None:
        from tensorboardX import SummaryWriter  # noqa: PLC0415 - an extra

        # A file is named by the second: that of the process which scores must not be that of the one which trains.
        self._writer = SummaryWriter(
            logdir=str(Path(log_dir) if log_dir else job_dir / "tb"), filename_suffix=f".{os.getpid()}"
        )

    def __call__(self, event: Event, /) -> None:
        """Turn steps and metrics into scalars."""
        match event:
            case StepFinished():
                scalars = {
                    "step/score": event.score,
                    "step/best": event.best,
                    "step/seconds": event.seconds,
                    "used/evaluations": event.used.evaluations,
                    "used/llm_calls": event.used.llm_calls,
                    "used/tokens": event.used.tokens,
                    "used/usd": event.used.usd,
                }
                for name, value in scalars.items():
                    if value is not None:
                        self._writer.add_scalar(name, value, event.index)
            case MetricLogged():
                self._writer.add_scalar(f"metric/{event.name}", event.value, event.step or 0)
            case JobStarted():
                facts = event.model_dump(
                    mode="json", include={"task", "trainer", "label", "seed", "params", "models", "budget"}
                )
                self._writer.add_text("job", f"```json\n{json.dumps(facts, indent=2)}\n```", 0)
            case Scored() if event.score is not None:
                self._writer.add_scalar(f"score/{event.split}/{event.what}", event.score, 0)

    def close(self) -> None:
        """Flush and close the files."""
        self._writer.close()
