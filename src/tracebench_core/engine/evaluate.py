"""Run one candidate's program on one example and have the guide score it: whatever happens becomes a typed feedback."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracebench_core.engine.models import Models
from tracebench_core.errors import ModelError, SandboxUnavailableError
from tracebench_core.llm.access import Phase
from tracebench_core.protocols import EvaluationFailed, Guide, Sandbox, Task
from tracebench_core.specs import Completion, Endpoint, Example, ExampleResult, Feedback, Message, Split, Values

WORDS = 8000
"""Longest feedback text kept, in characters: the beginning and the end of a longer one."""


@dataclass(frozen=True, slots=True)
class EvaluationContext:
    """The `Context` of one evaluation."""

    seed: int
    sandbox: Sandbox
    workdir: Path
    models: Models
    phase: Phase

    def complete(self, messages: Sequence[Message], *, n: int = 1, **sampling: Any) -> list[Completion]:
        """Ask the model of the role `agent`."""
        return self.models.complete(messages, role="agent", phase=self.phase, n=n, **sampling)

    def endpoint(self) -> Endpoint:
        """Return an OpenAI-compatible door for the role `agent`."""
        return self.models.endpoint("agent", phase=self.phase)


def evaluate_example(
    task: Task, values: Values, *, example: Example, split: Split, guide: Guide, context: EvaluationContext
) -> ExampleResult:
    """Return the guide's verdict on one example; only a spent budget and an unreachable model get through as exceptions."""
    started = time.perf_counter()
    try:
        feedback = _checked(guide(example, task.run(values, example, context)))
    except EvaluationFailed as failed:
        feedback = failed.feedback
    except (ModelError, SandboxUnavailableError):  # nothing was measured
        raise
    except Exception as err:  # noqa: BLE001 - whatever a task raises is this evaluation's outcome, not the job's
        feedback = Feedback(score=0.0, status="error", text=describe_error(err))
    if len(feedback.text) > WORDS:
        feedback = feedback.model_copy(
            update={"text": f"{feedback.text[: WORDS // 2]}\n…\n{feedback.text[-WORDS // 2 :]}"}
        )
    return ExampleResult(example=example.id, split=split, feedback=feedback, seconds=time.perf_counter() - started)


def refused(example: Example, *, split: Split, why: str) -> ExampleResult:
    """Return the verdict on values that may not be evaluated at all."""
    return ExampleResult(
        example=example.id, split=split, feedback=Feedback(score=0.0, status="invalid", text=why), seconds=0.0
    )


def describe_error(err: BaseException) -> str:
    """Return an exception's type, message and innermost frame, in one line."""
    frames = traceback.extract_tb(err.__traceback__)
    where = f" (line {frames[-1].lineno} of {Path(frames[-1].filename).name}, in {frames[-1].name})" if frames else ""
    return f"{type(err).__name__}: {err}{where}"


def _checked(answer: Any) -> Feedback:
    if isinstance(answer, Feedback):
        return answer
    if isinstance(answer, Mapping):
        return Feedback.model_validate(answer)
    raise TypeError(f"the guide returned {type(answer).__name__}, not a Feedback")
