"""Runs Coq in the sandbox: compiles the candidate, then puts trusted questions to it in a second process."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

from tracebench_core.contracts import NotMeasured, Sandbox
from tracebench_core.specs import Limits
from tracebench_veribench.coq.problem import CoqProblem
from tracebench_veribench.coq.script import Answers, read_answers, write_questions
from tracebench_veribench.diagnostics import Diagnostic

_SCRIPT = """
export OCAMLFIND_CONF="$PWD/findlib.conf"
if [ -f Given.v ]; then "$1" -q -R . "" Given.v </dev/null >&2 || exit 1; fi
"$1" -q -R . "" Candidate.v </dev/null >&2 || exit 91
exec "$2" -q -quiet -R . ""
"""
"""The order of things inside the box; questions travel on standard input: no file holds them while the candidate compiles."""
_REFUSED = 91
_PLACE = re.compile(r'File "\./Candidate\.v", line (\d+), characters (\d+)-\d+:\n((?:.|\n)*?)(?=\nFile "|\Z)')


@dataclass(frozen=True, slots=True)
class Coq:
    """An installed Coq: the handle of the environment `coq`."""

    coqc: str
    coqtop: str
    version: str
    findlib: str = ""
    """What `ocamlfind.conf` says: Coq finds its plugins by it, and a box sees nothing of `/etc`."""
    seconds: float = 20.0
    """For compiling, tests and statements together."""
    memory_mb: int = 2048


@dataclass(frozen=True, slots=True)
class Compiled:
    """How a file fared."""

    errors: tuple[Diagnostic, ...]
    answers: Answers | None
    """None when the file does not compile."""


class CheckTimeout(Exception):  # noqa: N818 - an outcome of the candidate
    """The candidate, or a question about it, took longer than allowed."""


def check(coq: Coq, sandbox: Sandbox, problem: CoqProblem, text: str) -> Compiled:
    """Compile `text` and ask the problem's questions.

    Raises:
        CheckTimeout: when Coq does not finish, or needs more memory than allowed.
        NotMeasured: when Coq cannot be run or says nothing that can be read.
    """
    nonce = secrets.token_hex(8)
    files = {"Candidate.v": text, "findlib.conf": coq.findlib} | ({"Given.v": problem.given} if problem.given else {})
    outcome = sandbox.command(
        ["sh", "-c", _SCRIPT, "check", coq.coqc, coq.coqtop],
        files=files,
        stdin=write_questions(problem, nonce),
        limits=Limits(seconds=coq.seconds, memory_mb=coq.memory_mb, output_bytes=1 << 20),
    )
    if outcome.status in {"timeout", "memory", "killed"}:
        raise CheckTimeout(f"Coq did not finish within {coq.seconds:g} s and {coq.memory_mb} MB")
    said = outcome.value if isinstance(outcome.value, dict) else {}
    if said.get("returncode") == _REFUSED:
        return Compiled(_errors(said["stderr"]), None)
    answers = read_answers(said.get("stdout", ""), problem, nonce)
    if answers is None:
        raise NotMeasured(f"Coq ended without its answers: {outcome.error or said.get('stderr', '')[-300:]}")
    return Compiled((), answers)


def _errors(said: str) -> tuple[Diagnostic, ...]:
    """Read `File "./Candidate.v", line L, characters A-B:` blocks; warnings are left out."""
    found = [
        Diagnostic("error", int(line), int(column), message.strip())
        for line, column, message in _PLACE.findall(said)
        if not message.lstrip().startswith("Warning")
    ]
    return tuple(found) or (Diagnostic("error", 1, 0, said.strip()[-600:] or "Coq refused the file without a word"),)
