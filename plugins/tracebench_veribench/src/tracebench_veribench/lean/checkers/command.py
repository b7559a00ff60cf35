"""`lean --json FILE`, `lake env lean --json FILE` in a project, and the community's REPL, each one process a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tracebench_core.contracts import NotMeasured, Sandbox
from tracebench_core.specs import Limits
from tracebench_veribench.diagnostics import Diagnostic
from tracebench_veribench.lean.checkers.messages import read_message
from tracebench_veribench.lean.checkers.protocol import CheckTimeout


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one check may use."""

    seconds: float = 120.0
    memory_mb: int = 6144


@dataclass(frozen=True, slots=True)
class LeanCommand:
    """The command line: one JSON message a line."""

    argv: tuple[str, ...]
    """`lean`, or a shell that enters a Lake project first; `--json Candidate.lean` is added."""
    bounds: Bounds

    def check(self, text: str, sandbox: Sandbox) -> Sequence[Diagnostic]:
        """See `LeanChecker.check`."""
        said = _run(sandbox, [*self.argv, "--json", "Candidate.lean"], self.bounds, files={"Candidate.lean": text})
        if said["returncode"] not in {0, 1}:
            raise NotMeasured(f"`{' '.join(self.argv)}` ended with {said['returncode']}: {said['stderr'][-300:]}")
        return [read_message(_parse(line)) for line in said["stdout"].splitlines() if line.strip()]


@dataclass(frozen=True, slots=True)
class Repl:
    """leanprover-community/repl: one JSON command on standard input, one JSON answer."""

    argv: tuple[str, ...]
    bounds: Bounds

    def check(self, text: str, sandbox: Sandbox) -> Sequence[Diagnostic]:
        """See `LeanChecker.check`."""
        said = _run(sandbox, self.argv, self.bounds, stdin=json.dumps({"cmd": text}) + "\n\n")
        answer = _parse(said["stdout"])
        if "messages" not in answer and "env" not in answer:
            raise NotMeasured(f"the REPL refused the file: {answer.get('message', said['stdout'][-300:])}")
        return [read_message(m) for m in answer.get("messages", [])]


def _run(
    sandbox: Sandbox, argv: Sequence[str], bounds: Bounds, *, files: dict[str, str] | None = None, stdin: str = ""
) -> dict[str, Any]:
    limits = Limits(seconds=bounds.seconds, memory_mb=bounds.memory_mb, output_bytes=4 << 20)
    outcome = sandbox.command(list(argv), files=files, stdin=stdin, limits=limits)
    if outcome.status in {"timeout", "memory", "killed"}:
        raise CheckTimeout(f"Lean did not finish within {bounds.seconds:g} s and {bounds.memory_mb} MB")
    if outcome.status != "ok":
        raise NotMeasured(f"`{argv[0]}` could not be run: {outcome.error}")
    return dict(outcome.value)


def _parse(text: str) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except ValueError as err:
        raise NotMeasured(f"the checker printed something that is not JSON: {text[:200]!r}") from err
    if not isinstance(parsed, dict):
        raise NotMeasured(f"the checker printed {type(parsed).__name__}, not an object")
    return parsed
