"""Render a trajectory (ATIF) for people, and its end, in bounded length, for the optimizer."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tracebench_runs import open_regular
from tracebench_terminalbench.trials import Trial

_UNREADABLE = "(no trajectory was written)"
_HEAD = 80
LONGEST = 64 << 20
"""Bytes of a file that are read: its end, as a verifier's last words count."""


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
    """Return the steps of a trajectory after its first, the prompt; empty when there is none to read.

    An agent that is a program may have written it: a part of another shape is left out.
    """
    try:
        told = json.loads(_text_of(trajectory))
    except (ValueError, RecursionError):
        return []
    return [step for step in parts_of(told, "steps") if step.get("source") != "user"]


def parts_of(told: Any, name: str) -> list[Mapping[str, Any]]:
    """Return the mappings in the list of a name; none where something else is there."""
    found = told.get(name) if isinstance(told, dict) else None
    return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []


def typed_by(call: Mapping[str, Any]) -> str | None:
    """Return the keys that a call of a tool types, where that is what it does."""
    arguments = call.get("arguments")
    typed = arguments.get("keystrokes") if isinstance(arguments, dict) else None
    return whole(typed) if isinstance(typed, str) else None


def whole(said: Any) -> str:
    """Return what was said as text, without halves of characters, which no file holds and no model is asked."""
    return str("" if said is None else said).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


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
    message = whole(step.get("message")).strip()
    head = clipped(whole(f"[{step.get('step_id')}] {step.get('source')}"), _HEAD)
    yield f"{head}: {message if limit is None else clipped(message, limit)}"
    for call in parts_of(step, "tool_calls"):
        typed = typed_by(call)
        named = f"{call.get('function_name')} {json.dumps(call.get('arguments') or {})}"
        said = whole(named) if typed is None else typed.rstrip("\n")
        yield from _indented(said if limit is None else clipped(said, limit), mark="  $ ")
    for result in parts_of(step.get("observation"), "results"):
        shown = "\n".join(line for line in whole(result.get("content")).splitlines() if line.strip())
        if shown:
            yield from _indented(shown if limit is None else clipped(shown, limit), mark="  | ")


def _indented(text: str, mark: str = "  ") -> list[str]:
    return [f"{mark}{line}" for line in text.splitlines()]


def _text_of(path: Path) -> str:
    """Return a file's text; nothing where it is none: what a sandbox wrote may be a link to a file of the host, or a pipe."""
    try:
        with open_regular(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - LONGEST))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
