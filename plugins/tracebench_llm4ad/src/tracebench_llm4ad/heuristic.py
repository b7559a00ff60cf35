"""The two ways to hold a heuristic: a candidate in its sandboxed session, and a trusted function in this process."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from typing import Any

from tracebench_core.contracts import EvaluationFailed, Session
from tracebench_core.specs import Feedback, Outcome
from tracebench_core.specs.feedback import FeedbackStatus
from tracebench_core.specs.sandbox import OutcomeStatus

STATUS: dict[OutcomeStatus, FeedbackStatus] = {
    "error": "error",
    "timeout": "timeout",
    "memory": "error",
    "killed": "error",
    "forbidden": "invalid",
    "invalid": "invalid",
}
ADVICE: dict[OutcomeStatus, str] = {
    "timeout": "Make the function cheaper: it is called many times, and all calls share one time limit.",
    "memory": "Keep less in memory.",
    "killed": "The function must return; it may not end or kill the process.",
    "forbidden": "The function may compute only: no files, network, processes or modules beyond those declared.",
    "invalid": "Give one complete program that defines the required function and returns plain numbers, lists or arrays.",
}


SIDE_BY_SIDE = "_side_by_side"


def side_by_side_source(entry: str) -> str:
    """Return source of the function that answers several questions by calls of `entry`, so that one round trip serves them all."""
    return f"\ndef {SIDE_BY_SIDE}(calls):\n    return [{entry}(*arguments) for arguments in calls]\n\n"


class SandboxedHeuristic:
    """A candidate in a session of the sandbox: every call is answered, or ends the evaluation with words.

    Its seconds are the processor time of its whole process, as the operating system counts it, so that work moved to the background, into
    the time between calls or behind a patched clock counts the same; where that cannot be told, they are the seconds on the clock.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.seconds = 0.0

    def __call__(self, *args: Any) -> Any:
        """Call the candidate with copies of `args`."""
        return self._value(self._session.call(*args))

    def many(self, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call the candidate once for each tuple of arguments, in one round trip."""
        values = self._value(self._session.call([*calls], entry=SIDE_BY_SIDE))
        if not isinstance(values, list) or len(values) != len(calls):
            text = f"The program must not touch `{SIDE_BY_SIDE}`."
            raise EvaluationFailed(Feedback(score=0.0, status="invalid", text=text))
        return values

    def _value(self, outcome: Outcome) -> Any:
        self.seconds += spent(outcome)
        if outcome.status != "ok":
            raise EvaluationFailed(explain(outcome))
        return outcome.value


class TrustedHeuristic:
    """A function of ours in this process, for anchors and for tests of a simulation without a sandbox."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.seconds = 0.0

    def __call__(self, *args: Any) -> Any:
        """Call the function with copies of `args`."""
        copies = copy.deepcopy(args)
        started = time.process_time()
        value = self.function(*copies)
        self.seconds += time.process_time() - started
        return value

    def many(self, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call the function once for each tuple of arguments."""
        return [self(*arguments) for arguments in calls]


def spent(outcome: Outcome) -> float:
    """Return the seconds that count for one call: of processors where they can be told, else on the clock."""
    return outcome.seconds if outcome.cpu_seconds is None else outcome.cpu_seconds


def load_trusted(source: str, entry: str, *, prelude: str = "") -> TrustedHeuristic:
    """Return `entry` of a program that this distribution ships; never call it on a candidate."""
    namespace: dict[str, Any] = {}
    exec(f"{prelude}\n{source}", namespace)  # noqa: S102 - our own starting programs, never a candidate
    return TrustedHeuristic(namespace[entry])


def explain(outcome: Outcome) -> Feedback:
    """Return the feedback for an outcome that is not ok: what happened, the last frame, and what to do."""
    last_frame = outcome.traceback.strip().splitlines()[-3:]
    parts = [outcome.error or f"The candidate ended with status {outcome.status}.", *last_frame]
    if advice := ADVICE.get(outcome.status):
        parts.append(advice)
    return Feedback(score=0.0, status=STATUS[outcome.status], text="\n".join(dict.fromkeys(parts)))
