"""Runs Coq in the sandbox: compiles the candidate, then puts trusted questions to it in processes that only require it."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, replace

from tracebench_core.contracts import NotMeasured, Sandbox
from tracebench_core.specs import Limits
from tracebench_veribench.coq.problem import CoqProblem
from tracebench_veribench.coq.script import Answers, read_answers, write_opening, write_questions
from tracebench_veribench.diagnostics import Diagnostic

_SCRIPT = """
coqc=$1 coqtop=$2 coqchk=$3
export OCAMLFIND_CONF="$PWD/findlib.conf" GLIBC_TUNABLES=glibc.malloc.hugetlb=1
if [ -f Given.v ]; then "$coqc" -q -R . "" Given.v </dev/null >&2 || exit 1; fi
mkfifo questions
"$coqtop" -q -quiet -R . "" <questions >answers &
exec 3>questions
cat Opening.v >&3
"$coqc" -q -R . "" Candidate.v </dev/null >&2 3>&- || exit 91
cat >asked
cat asked >&3
exec 3>&-
wait
cat answers
[ -n "$coqchk" ] || exit 0
{
  cat Opening.v
  keep=yes
  while IFS= read -r line; do
    case $line in
    "(*m"*" is defined*)")
      mark=${line#"(*"}
      if grep -qxF "${mark%"*)"}" answers; then keep=yes; else keep=; fi ;;
    esac
    [ -z "$keep" ] || printf '%s\n' "$line"
  done <asked
} >Answered.v
"$coqc" -q -R . "" Answered.v </dev/null >/dev/null || exit 0
for file in Given Candidate Answered; do [ ! -f $file.vo ] || set -- "$@" -norec $file; done
shift 3
OCAMLRUNPARAM=s=16M,o=2000 "$coqchk" -silent -o "$@" -R . "" </dev/null >context 2>&1 && cat context
exit 0
"""
"""The order of things inside the box. `coqtop` loads the library while the candidate compiles, and ends with the box when it does not.
Questions travel on standard input: no file holds them while the candidate compiles. What was answered is put together as a file, compiled,
and checked with the candidate's by the second kernel; its summary follows the answers where it accepts both."""
_REFUSED = 91
_PLACE = re.compile(r'File "\./Candidate\.v", line (\d+), characters (\d+)-\d+:\n((?:.|\n)*?)(?=\nFile "|\Z)')


@dataclass(frozen=True, slots=True)
class Coq:
    """An installed Coq: the handle of the environment `coq`."""

    coqc: str
    coqtop: str
    version: str
    coqchk: str = ""
    """The second kernel, which ships with Coq; without it nothing is `rechecked`, and every proof's assumptions are traced one by one."""
    findlib: str = ""
    """What `ocamlfind.conf` says: Coq finds its plugins by it, and a box sees nothing of `/etc`."""
    seconds: float = 40.0
    """For compiling, tests, statements and the second kernel together."""
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

    Where the audit finds an assumption anywhere in the file's context, Coq is asked again, for the assumptions of each proof.

    Raises:
        CheckTimeout: when Coq does not finish, or needs more memory than allowed.
        NotMeasured: when Coq cannot be run or says nothing that can be read.
    """
    compiled = _ask(coq, sandbox, problem, text, audited=bool(coq.coqchk))
    if compiled.answers is None or compiled.answers.axioms is not None:
        return compiled
    traced = _ask(coq, sandbox, problem, text, audited=False)
    if traced.answers is None:
        return traced
    return Compiled((), replace(traced.answers, rechecked=compiled.answers.rechecked))


def _ask(coq: Coq, sandbox: Sandbox, problem: CoqProblem, text: str, *, audited: bool) -> Compiled:
    nonce = secrets.token_hex(8)
    files = {"Candidate.v": text, "Opening.v": write_opening(problem), "findlib.conf": coq.findlib}
    outcome = sandbox.command(
        ["sh", "-c", _SCRIPT, "check", coq.coqc, coq.coqtop, coq.coqchk if audited else ""],
        files=files | ({"Given.v": problem.given} if problem.given else {}),
        stdin=write_questions(problem, nonce, audited=audited),
        limits=Limits(seconds=coq.seconds, memory_mb=coq.memory_mb, output_bytes=1 << 20),
    )
    if outcome.status in {"timeout", "memory", "killed"}:
        raise CheckTimeout(f"Coq did not finish within {coq.seconds:g} s and {coq.memory_mb} MB: {outcome.error}")
    said = outcome.value if isinstance(outcome.value, dict) else {}
    if said.get("returncode") == _REFUSED:
        return Compiled(_errors(said["stderr"]), None)
    answers = read_answers(said.get("stdout", ""), problem, nonce, audited=audited)
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
