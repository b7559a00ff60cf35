"""The Lean path, with a scripted `lean` on PATH that speaks Lean's documented JSON."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_veribench.tests.proving import Held, write_tool

from tracebench_core import evaluate_task
from tracebench_core.contracts import NotMeasured
from tracebench_core.errors import MissingRequirementError
from tracebench_core.sandbox import LocalSandbox
from tracebench_veribench.lean.environment import LeanEnvironment
from tracebench_veribench.lean.gate import find_violations
from tracebench_veribench.lean.problem import LeanProblem
from tracebench_veribench.lean.statements import find_theorems, is_trivial
from tracebench_veribench.lean.verifying import verify

PROBLEM = LeanProblem(
    name="double",
    title="Double",
    category="easy",
    source="gold",
    prompt="Write `double`.",
    theorems={"double_add": "(n:Nat):double n = n + n"},
    tests=("double 2 = 4", "double 3 = 6"),
    digest="0" * 64,
)
HONEST = "def double (n : Nat) : Nat := 2 * n\n\ntheorem double_add (n : Nat) : double n = n + n := by\n  unfold double; omega\n"

LEAN = '''#!/usr/bin/python3
"""Speaks like `lean --json`: it elaborates nothing, and answers by marks in the text."""
import json, re, sys
if "--version" in sys.argv:
    print("Lean (version 4.18.0, scripted)"); sys.exit()
if "--print-prefix" in sys.argv:
    sys.exit(1)
lines = open(sys.argv[-1]).read().split("\\n")
failed = False
def say(severity, line, data):
    print(json.dumps({"severity": severity, "pos": {"line": line, "column": 0}, "endPos": None, "fileName": "Candidate.lean",
                      "keepFullRange": False, "kind": "", "caption": "", "data": data}))
for number, line in enumerate(lines, 1):
    if "type_error" in line:
        say("error", number, "type mismatch"); failed = True
    if "= 6" in line and any("3 * n" in l for l in lines):
        say("error", number, "tactic 'decide' evaluated that the proposition is false"); failed = True
    if match := re.match(r"#print axioms (?:_root_\\.)?(\\S+)", line):
        name = match.group(1)
        wrong = name.startswith("asked") and name.endswith("_1") and any("3 * n" in l for l in lines)
        if wrong:
            say("error", number, f"unknown constant '{name}'"); failed = True
        elif any("by_axiom" in l for l in lines) and name == "double_add":
            say("information", number, f"'{name}' depends on axioms: [propext, cheating.axiom_0]")
        else:
            say("information", number, f"'{name}' does not depend on any axioms")
sys.exit(1 if failed else 0)
'''


SHIM = """#!/bin/sh
# elan's `lean` picks a tool chain by the user's home
prefix="$HOME/.elan/toolchains/scripted"
[ "$1" = --print-prefix ] && echo "$prefix" && exit
exec "$prefix/bin/lean" "$@"
"""
LAKE = """#!/bin/sh
# `lake env COMMAND…` in a project
shift
export LEAN_PATH="$PWD/.lake/build/lib/lean"
exec "$@"
"""


def _install_in_home(home: Path) -> None:
    for folder in (".elan/bin", ".elan/toolchains/scripted/bin", "mathlib_project/.lake/build/lib/lean"):
        (home / folder).mkdir(parents=True)
    write_tool(home / ".elan/bin", "lean", SHIM)
    write_tool(home / ".elan/bin", "lake", LAKE)
    write_tool(home / ".elan/toolchains/scripted/bin", "lean", LEAN)
    (home / "rows").mkdir()
    gold = "theorem double_add (n : Nat) : double n = n + n := by omega\n"
    row = {"filename": "double.py", "code": "def double(n): ...", "gold_reference_lean4_code": gold}
    (home / "rows/veribench.jsonl").write_text(json.dumps(row))


@pytest.mark.parametrize("project", ["", "mathlib_project"])
def test_a_lean_under_the_users_home_is_read_in_the_sandbox(
    project: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install_in_home(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/.elan/bin:/usr/bin:/bin")
    monkeypatch.setenv("VERIBENCH_ROOT", str(tmp_path / "rows"))
    if project:
        monkeypatch.setenv("LEAN_PROJECT", str(tmp_path / project))

    (feedback,) = evaluate_task("veribench:file/double", {"file": HONEST})

    assert (feedback.status, feedback.score) == ("ok", 1.0), feedback


@pytest.fixture
def lean(sandbox: LocalSandbox, monkeypatch: pytest.MonkeyPatch) -> Held:
    tools: Path = sandbox.tools  # type: ignore[attr-defined]
    write_tool(tools, "lean", LEAN)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    return Held(sandbox, {"lean": LeanEnvironment(seconds=20, memory_mb=1024).open(None)})  # type: ignore[arg-type]


def test_an_honest_file_passes_every_stage(lean: Held) -> None:
    verdict = verify(PROBLEM, HONEST, lean)

    assert verdict.shares == {"gate": 1.0, "compiles": 1.0, "tests": 1.0, "statements": 1.0, "assumptions": 1.0}
    assert verdict.score == 1.0
    assert lean.records == [
        ("verdict", {"checker": "lean Lean (version 4.18.0, scripted)", "stages": dict(verdict.shares)})
    ]


@pytest.mark.parametrize(
    ("text", "stage", "score"),
    [
        (HONEST.replace("2 * n", "type_error n"), "compiles", 0.0),
        (HONEST.replace("2 * n", "3 * n"), "tests", 0.5),
        (HONEST.replace("double n = n + n", "double n = double n"), "statements", 0.0),
        (HONEST.replace("unfold double; omega", "by_axiom"), "assumptions", 0.0),
        ("-- theorem lemma def inductive structure namespace open import where by\n", "statements", 0.0),
    ],
)
def test_each_stage_stops_what_fails_there(text: str, stage: str, score: float, lean: Held) -> None:
    verdict = verify(PROBLEM, text, lean)

    assert verdict.feedback().text.startswith(f"Stage `{stage}`")
    assert verdict.score == score


@pytest.mark.parametrize(
    "text",
    [
        HONEST.replace("unfold double; omega", "sorry"),
        HONEST.replace("unfold double; omega", "admit"),
        "axiom cheat : False\n" + HONEST,
        HONEST.replace("unfold double; omega", "native_decide"),
        "@[implemented_by slow]\n" + HONEST,
        '@[extern "evil"]\n' + HONEST,
        "macro_rules | `(tactic| omega) => `(tactic| trivial)\n" + HONEST,
        'local notation a " = " b => True\n' + HONEST,
        'infixl:65 " + " => fun a b => a\n' + HONEST,
        "#eval IO.println 1\n" + HONEST,
        "#exit\n" + HONEST,
        "set_option debug.skipKernelTC true\n" + HONEST,
        "instance : DecidableEq Nat := fun _ _ => .isTrue sorryAx\n" + HONEST,
        "run_cmd return\n" + HONEST,
        HONEST + "/- never closed",
        "",
        "x" * 300_000,
    ],
)
def test_the_gate_refuses_what_no_honest_file_needs(text: str, lean: Held) -> None:
    verdict = verify(PROBLEM, text, lean)

    assert (verdict.status, verdict.score) == ("invalid", 0.0)
    assert verdict.feedback().text.startswith("Stage `gate`")


def test_words_in_comments_and_strings_are_no_offence() -> None:
    text = HONEST + '-- sorry, an axiom\n/- macro /- sorry -/ #eval -/\ndef s := "sorry \\" axiom"\ndef c := \'"\'\n'

    assert find_violations(text) == []


def test_theorems_are_read_with_their_namespaces_and_binders() -> None:
    text = "namespace A\nsection\n@[simp] theorem b.c {n : Nat}\n  (h : n > 0) :  n ≠ 0 := by omega\nend\nend A\n"
    text += "private lemma d : (1 : Nat) = 1 := rfl\n"

    assert find_theorems(text) == {"A.b.c": "{n:Nat}(h:n > 0):n ≠ 0", "d": ":(1:Nat)= 1"}
    assert is_trivial(":True")
    assert is_trivial("(n:Nat):n = n")
    assert not is_trivial("(n:Nat):n + 0 = n")


def test_a_source_without_statements_wants_a_telling_theorem(lean: Held) -> None:
    free = PROBLEM.model_copy(update={"theorems": {}, "tests": ()})

    assert verify(free, HONEST, lean).score == 1.0
    assert verify(free, "theorem foo : True := trivial\n", lean).score == 0.0


def test_given_definitions_may_not_change(lean: Held) -> None:
    bound = PROBLEM.model_copy(update={"given": ("def Good (n : Nat) : Prop := n > 0",)})

    assert verify(bound, "def Good (n : Nat) : Prop := True\n" + HONEST, lean).shares["statements"] == 0.0
    assert verify(bound, "def Good (n : Nat) : Prop :=\n  n > 0\n" + HONEST, lean).score == 1.0


@pytest.mark.parametrize("said", ["rubbish", "echo '[1]'", 'echo \'{"severity": "error"}\'', "exit 7", "kill -9 $$"])
def test_a_checker_that_talks_rubbish_or_dies_measures_nothing(said: str, sandbox: LocalSandbox) -> None:
    place = write_tool(sandbox.tools, "broken-lean", f"#!/bin/sh\n{said}\n")  # type: ignore[attr-defined]
    handle = {"kind": "lean", "argv": [str(place)], "version": "0", "seconds": 10, "memory_mb": 512}

    try:
        verdict = verify(PROBLEM, HONEST, Held(sandbox, {"lean": handle}))
    except NotMeasured:
        return
    assert verdict.status == "timeout", "a checker that was killed by its limits says nothing of the file"


def test_a_checker_that_hangs_ends_at_its_limit(sandbox: LocalSandbox) -> None:
    place = write_tool(sandbox.tools, "slow-lean", "#!/bin/sh\nsleep 60\n")  # type: ignore[attr-defined]
    handle = {"kind": "lean", "argv": [str(place)], "version": "0", "seconds": 0.5, "memory_mb": 512}

    assert verify(PROBLEM, HONEST, Held(sandbox, {"lean": handle})).status == "timeout"


def test_the_repl_is_asked_in_its_own_words(sandbox: LocalSandbox) -> None:
    repl = """#!/usr/bin/python3
import json, re, sys
text = json.loads(sys.stdin.read())["cmd"]
messages = [{"severity": "info", "pos": {"line": n, "column": 0}, "endPos": None, "data": f"'{m.group(1)}' does not depend on any axioms"}
            for n, line in enumerate(text.split("\\n"), 1) if (m := re.match(r"#print axioms (?:_root_\\.)?(\\S+)", line))]
print(json.dumps({"messages": messages, "env": 0}, indent=1))
"""
    place = write_tool(sandbox.tools, "repl", repl)  # type: ignore[attr-defined]
    handle = {"kind": "repl", "argv": [str(place)], "version": "0", "seconds": 10, "memory_mb": 512}

    assert verify(PROBLEM, HONEST, Held(sandbox, {"lean": handle})).score == 1.0


@pytest.fixture
def kimina() -> Iterator[tuple[str, list[dict[str, Any]], dict[str, Any]]]:
    asked: list[dict[str, Any]] = []
    answer: dict[str, Any] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", asked, answer
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_kimina_server_is_asked_over_http(
    sandbox: LocalSandbox, kimina: tuple[str, list[dict[str, Any]], dict[str, Any]]
) -> None:
    url, asked, answer = kimina
    handle = LeanEnvironment(kimina_url=url, seconds=5).open(None)  # type: ignore[arg-type]
    error = {"severity": "error", "pos": {"line": 1, "column": 4}, "data": "unexpected token"}
    answer["results"] = [{"custom_id": "candidate", "error": None, "response": {"messages": [error], "env": 0}}]

    verdict = verify(PROBLEM, HONEST, Held(sandbox, {"lean": handle}))

    assert verdict.feedback().text.startswith("Stage `compiles`")
    assert asked[0]["codes"][0]["proof"].startswith(HONEST.splitlines()[0])
    answer["results"] = [{"custom_id": "candidate", "error": "Lean REPL command timed out in 5 seconds"}]
    assert verify(PROBLEM, HONEST, Held(sandbox, {"lean": handle})).status == "timeout"
    answer["results"] = []
    with pytest.raises(NotMeasured):
        verify(PROBLEM, HONEST, Held(sandbox, {"lean": handle}))


def test_a_server_that_is_away_measures_nothing(sandbox: LocalSandbox) -> None:
    handle = LeanEnvironment(kimina_url="http://127.0.0.1:9", seconds=1).open(None)  # type: ignore[arg-type]

    with pytest.raises(NotMeasured, match="cannot be asked"):
        verify(PROBLEM, HONEST, Held(sandbox, {"lean": handle}))


def test_without_any_lean_there_is_a_line_to_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    for name in ("KIMINA_URL", "LEAN_PROJECT", "LEAN_REPL"):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(MissingRequirementError) as err:
        LeanEnvironment().open(None)  # type: ignore[arg-type]

    assert "elan" in err.value.hint
