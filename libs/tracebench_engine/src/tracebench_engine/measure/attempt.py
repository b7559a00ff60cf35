"""One attempt at one evaluation: run the candidate's program, have the guide score it, and type whatever happens."""

from __future__ import annotations

import math
import re
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from tracebench_core.averages import LARGEST
from tracebench_core.contracts import EvaluationFailed, Guide, NotMeasured, Task
from tracebench_core.errors import ModelError, TraceBenchError
from tracebench_core.specs import Bounds, Example, Feedback, Raised, TaskSpec, Values
from tracebench_engine.measure.bounded import Overdue, bounded
from tracebench_engine.measure.context import EvaluationContext

WORDS = 8000
"""Longest feedback text kept, in characters: the beginning and the end of a longer one."""
HALF = re.compile("[\ud800-\udfff]")
"""Half a character: a program's output may hold one, and no model can be sent it."""
BLAMELESS = frozenset({"refused", "timeout", "rate_limited", "server", "auth", "replay_miss"})
"""Kinds of a model's error that say nothing of what was asked."""
LASTING = frozenset({"auth", "replay_miss"})
"""Kinds that another attempt does not mend."""

ANY = Bounds()


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no feedback.

    `infrastructure` says nothing of the candidate; `suspect` may be the candidate's doing, or the task's bug.
    """

    blame: Literal["infrastructure", "suspect"]
    words: str
    retry: bool
    blameless: bool = False
    """For the initial candidate it is no bug of the task."""
    status: Literal["invalid", "timeout"] = "invalid"
    """Of the feedback, where it is the candidate's."""
    raised: Raised | None = None
    """Where code of the task raised what no task means to raise."""


def attempt(
    task: Task, guide: Guide, values: Values, example: Example, context: EvaluationContext
) -> Feedback | Failure:
    """Run the program and score its output; only a spent budget gets through as an exception."""
    try:
        output = task.run(values, example, context)
        return classify(output) if isinstance(output, Exception) else _kept(guide(example, output, context))
    except (Exception, SystemExit) as err:  # noqa: BLE001 - whatever a task raises is this evaluation's outcome, not the job's
        return classify(err)


def score(guide: Guide, example: Example, output: Any, context: EvaluationContext) -> Feedback | Failure:
    """Have the guide score one output of a batch; an exception in its place is what became of the program."""
    try:
        return classify(output) if isinstance(output, Exception) else _kept(guide(example, output, context))
    except (Exception, SystemExit) as err:  # noqa: BLE001 - see above
        return classify(err)


def in_time(work: Callable[[], Feedback | Failure], seconds: float, context: EvaluationContext) -> Feedback | Failure:
    """Return what `work` returns within `seconds`, or what it means that it took longer."""
    try:
        return bounded(work, seconds, context.gate)
    except Overdue as err:
        return overdue(err, retry=context.leans)


def overdue(err: Overdue, *, retry: bool) -> Failure:
    """Return what it means that an evaluation was ended; whoever leans on others may have waited for them, and is asked again."""
    return Failure("suspect", str(err), retry=retry, blameless=True, status="timeout")


def possible(found: Feedback | Failure, spec: TaskSpec) -> Feedback | Failure:
    """Return what was found, or that it is no measurement: a figure that is no number, or beyond what can be, in general or here."""
    if isinstance(found, Failure) or found.status != "ok":
        return found
    figures = {"score": (found.score, spec.score_bounds)}
    figures |= {f"metric `{n}`": (v, spec.metric_bounds.get(n, ANY)) for n, v in found.metrics.items()}
    for name, (figure, bounds) in figures.items():
        if not abs(figure) <= LARGEST:  # NaN is not, either
            beyond = f", and nothing beyond {LARGEST:g} can be averaged" if math.isfinite(figure) else ""
            return Failure("suspect", f"The {name} is {figure:g}{beyond}: this is no measurement.", retry=False)
        if not bounds.hold(figure):
            words = f"The {name} is {figure:g}, and nothing can be beyond {bounds} here: this is no measurement."
            return Failure("suspect", words, retry=False)
    return found


def classify(err: Exception | SystemExit) -> Feedback | Failure:
    """Return what an exception of a task's program or guide means."""
    if isinstance(err, EvaluationFailed):
        try:
            return _kept(err.feedback)
        except Exception as wrong:  # noqa: BLE001 - made by hand, it may be anything
            err = wrong
    match err:
        case NotMeasured():
            return Failure("suspect" if err.suspect else "infrastructure", str(err), retry=err.retry, blameless=True)
        case ModelError() if err.kind in BLAMELESS:
            return Failure("infrastructure", describe_error(err), retry=err.kind not in LASTING, blameless=True)
        case ModelError():
            return Failure("suspect", describe_error(err), retry=True, blameless=True)
        case TraceBenchError():
            return Failure("infrastructure", describe_error(err), retry=False)
    return Failure("suspect", describe_error(err), retry=True, raised=_place(err))


def _place(err: BaseException) -> Raised | None:
    frames = traceback.extract_tb(err.__traceback__)
    if not frames:
        return None
    return Raised(type=type(err).__name__, file=Path(frames[-1].filename).name, line=frames[-1].lineno or 0)


def describe_error(err: BaseException) -> str:
    """Return an exception's type, message and innermost frame, in one line."""
    frames = traceback.extract_tb(err.__traceback__)
    where = f" (line {frames[-1].lineno} of {Path(frames[-1].filename).name}, in {frames[-1].name})" if frames else ""
    words = str(err)
    if isinstance(err, ValidationError):  # its own words take several lines, the last of which is an address
        words = "; ".join(": ".join([*map(str, e["loc"]), e["msg"]]) for e in err.errors())
    return f"{type(err).__name__}: {words}{where}"


def _kept(answer: Any) -> Feedback:
    """Return a verdict as it may be kept."""
    return _shortened(_checked(answer))


def _checked(answer: Any) -> Feedback:
    if isinstance(answer, Feedback):
        return Feedback.model_validate(vars(answer))  # `model_construct` and `model_copy` check nothing
    if isinstance(answer, Mapping):
        return Feedback.model_validate(answer)
    raise TypeError(f"the guide returned {type(answer).__name__}, not a Feedback")


def _shortened(feedback: Feedback) -> Feedback:
    """Return feedback that a model can be sent: not too long, and without half a character."""
    text = feedback.text
    if len(text) > WORDS:
        text = f"{text[: WORDS // 2]}\n…\n{text[-WORDS // 2 :]}"
    if HALF.search(text):
        text = HALF.sub("\N{REPLACEMENT CHARACTER}", text)
    return feedback if text is feedback.text else feedback.model_copy(update={"text": text})
