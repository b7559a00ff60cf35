"""Render a trajectory (ATIF) for people, and its end, in bounded length, for the optimizer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tracebench_terminalbench.trials import Trial

_UNREADABLE = "(no trajectory was written)"


def transcript(trial: Trial) -> str:
    """Return all of a trial: outcome, every step with its commands and what the terminal showed, and the verifier's output."""
    head = [f"task {trial.slug}: {_outcome(trial)}"]
    body = [line for step in steps(trial.trajectory) for line in _step(step, limit=None)]
    body = body or _text_of(trial.program_log).splitlines() or [_UNREADABLE]
    return "\n".join(
        [*head, "", *body, "", "verifier:", *_indented(_text_of(trial.verifier_output) or "(no output)"), ""]
    )


def digest(trial: Trial, *, last: int = 4, characters: int = 3000) -> str:
    """Return what an optimizer may learn from: the outcome, the last steps, and the end of the verifier's output."""
    checks = _text_of(trial.verifier_output).strip()[-characters // 3 :]
    tail = [line for step in steps(trial.trajectory)[-last:] for line in _step(step, limit=characters // (2 * last))]
    parts = [f"Task {trial.slug}: {_outcome(trial)}"]
    tail = tail or _text_of(trial.program_log).splitlines()
    if tail:
        parts.append(clipped("Last steps of the agent:\n" + "\n".join(tail), characters))
    if checks:
        parts.append(f"Checks:\n{checks}")
    return "\n".join(parts)


def steps(trajectory: Path) -> Sequence[Mapping[str, Any]]:
    """Return the steps of a trajectory after its first, the prompt; empty when there is none to read."""
    try:
        found = list(json.loads(trajectory.read_text(encoding="utf-8"))["steps"])
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [step for step in found if isinstance(step, dict) and step.get("source") != "user"]


def clipped(text: str, characters: int) -> str:
    """Return a text of at most so many characters, its middle left out."""
    half = max(1, (characters - 3) // 2)
    return text if len(text) <= characters else f"{text[:half]} … {text[-half:]}"


def _outcome(trial: Trial) -> str:
    if trial.reward is None:
        return f"not measured: {trial.error}"
    more = {name: value for name, value in trial.rewards.items() if name != "reward"}
    extra = f" ({', '.join(f'{name} {value:g}' for name, value in sorted(more.items()))})" if more else ""
    return f"reward {trial.reward:g}{extra}{'; the agent ran out of time' if trial.timed_out else ''}"


def _step(step: Mapping[str, Any], *, limit: int | None) -> Iterator[str]:
    message = str(step.get("message") or "").strip()
    yield f"[{step.get('step_id')}] {step.get('source')}: {message if limit is None else clipped(message, limit)}"
    for call in step.get("tool_calls") or ():
        arguments = call.get("arguments") or {}
        typed = arguments.get("keystrokes")
        said = typed.rstrip("\n") if isinstance(typed, str) else f"{call.get('function_name')} {json.dumps(arguments)}"
        yield from _indented(said if limit is None else clipped(said, limit), mark="  $ ")
    for result in (step.get("observation") or {}).get("results") or ():
        shown = "\n".join(line for line in str(result.get("content") or "").splitlines() if line.strip())
        if shown:
            yield from _indented(shown if limit is None else clipped(shown, limit), mark="  | ")


def _indented(text: str, mark: str = "  ") -> list[str]:
    return [f"{mark}{line}" for line in text.splitlines()]


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
