"""Runs Lean in the sandbox: compiles the answer, then the trusted files beside it, then compares the compiled terms."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from tracebench_core.contracts import NotMeasured, Sandbox
from tracebench_core.specs import Limits
from tracebench_veribench.diagnostics import Diagnostic
from tracebench_veribench.lean.questions import ANSWER, REFERENCE, TESTED, Questions

_SCRIPT = f"""
lean=$1 mark=$2 free=$3 asked=$4
export LEAN_PATH="$PWD${{5:+:$5}}"
"$lean" --json -o {ANSWER}.olean {ANSWER}.lean </dev/null >said.json || {{ code=$?; cat said.json; [ $code = 1 ] && exit 91; exit 93; }}
awk -v mark="$mark" '$0 == mark {{ behind = 1; next }} {{ print > (behind ? "{TESTED}.lean" : "{REFERENCE}.lean") }}'
reference=-
if [ -f {REFERENCE}.lean ]; then
  "$lean" -o {REFERENCE}.olean {REFERENCE}.lean </dev/null >&2 || exit 92
  reference={REFERENCE}
fi
"$lean" -o {TESTED}.olean {TESTED}.lean </dev/null >&2 || true
answer={ANSWER}
[ ! -f {TESTED}.olean ] || answer={TESTED}
exec "$lean" --run Compare.lean "$reference" "$answer" {ANSWER}.olean "$free" "$asked" </dev/null
"""
"""The order of things inside the box: no file holds the reference or the tests while the answer compiles."""
_REFUSED, _NO_REFERENCE = 91, 92
_SEVERITIES = {"error": "error", "warning": "warning", "information": "information", "info": "information"}


class CheckTimeout(Exception):  # noqa: N818 - an outcome of the answer
    """Lean did not finish within its limits."""


@dataclass(frozen=True, slots=True)
class Lean:
    """An installed Lean: the handle of the environment `lean`."""

    lean: str
    version: str
    path: str = ""
    """`LEAN_PATH` of a Lake project: where its libraries are."""
    seconds: float = 120.0
    """For the answer, the reference, the tests and the comparison together."""
    memory_mb: int = 6144


@dataclass(frozen=True, slots=True)
class Compared:
    """What was found of one name."""

    stated: bool
    why: str
    """What differs from the reference, where it is not stated."""
    axioms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """How a file fared."""

    errors: tuple[Diagnostic, ...]
    compared: Mapping[str, Compared]
    refused: str = ""
    """What the kernel said when it refused, on a second look, what had compiled."""


def check(lean: Lean, sandbox: Sandbox, text: str, questions: Questions, free: tuple[str, ...]) -> Checked:
    """Compile an answer and compare it with what is asked.

    Raises:
        CheckTimeout: when the answer needs more time or memory than allowed.
        NotMeasured: when Lean cannot be run, does not compile the reference, or says nothing that can be read.
    """
    mark = f"-- {secrets.token_hex(8)}"
    asked = ",".join((*questions.tests, *questions.theorems))
    compare = files("tracebench_veribench.lean").joinpath("Compare.lean").read_text(encoding="utf-8")
    outcome = sandbox.command(
        ["sh", "-c", _SCRIPT, "check", lean.lean, mark, ",".join(free), asked, lean.path],
        files={f"{ANSWER}.lean": text, "Compare.lean": compare},
        stdin=f"{questions.reference}{mark}\n{questions.tested}",
        limits=Limits(seconds=lean.seconds, memory_mb=lean.memory_mb, output_bytes=4 << 20),
    )
    if outcome.status in {"timeout", "memory", "killed"}:
        raise CheckTimeout(f"Lean did not finish within {lean.seconds:g} s and {lean.memory_mb} MB: {outcome.error}")
    if outcome.status != "ok":
        raise NotMeasured(f"`{lean.lean}` could not be run: {outcome.error}")
    said: Mapping[str, Any] = outcome.value
    if said["returncode"] == _REFUSED:
        return Checked(tuple(_message(one) for one in _objects(said["stdout"])), {})
    if said["returncode"] == _NO_REFERENCE:
        raise NotMeasured(f"the problem's reference does not compile with {lean.version}: {said['stderr'][-600:]}")
    if said["returncode"] != 0:
        raise NotMeasured(f"`{lean.lean}` ended with {said['returncode']}: {said['stderr'][-600:]}")
    return _read(_objects(said["stdout"]))


def _read(lines: list[dict[str, Any]]) -> Checked:
    if not lines or lines[-1].get("end") is not True:
        raise NotMeasured("the comparison of compiled terms ended without its answers")
    if refused := next((str(line["refused"]) for line in lines if "refused" in line), ""):
        return Checked((), {}, refused)
    try:
        compared = {
            line["name"]: Compared(line["stated"] is True, str(line["why"]), tuple(map(str, line["axioms"])))
            for line in lines[:-1]
        }
    except (KeyError, TypeError) as err:
        raise NotMeasured(f"the comparison of compiled terms cannot be read: {lines[:3]}") from err
    return Checked((), compared)


def _objects(text: str) -> list[dict[str, Any]]:
    found = []
    for line in filter(str.strip, text.splitlines()):
        try:
            parsed = json.loads(line)
        except ValueError as err:
            raise NotMeasured(f"Lean printed something that is not JSON: {line[:200]!r}") from err
        if not isinstance(parsed, dict):
            raise NotMeasured(f"Lean printed {type(parsed).__name__}, not an object")
        found.append(parsed)
    return found


def _message(message: Mapping[str, Any]) -> Diagnostic:
    try:
        return Diagnostic(
            _SEVERITIES[message["severity"]],  # type: ignore[arg-type]
            int(message["pos"]["line"]),
            int(message["pos"]["column"]),
            str(message["data"]),
        )
    except (KeyError, TypeError, ValueError) as err:
        raise NotMeasured(f"the checker's message is none of Lean's: {str(message)[:200]}") from err
