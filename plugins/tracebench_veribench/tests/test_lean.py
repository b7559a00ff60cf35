"""The Lean path, with a scripted `lean` on PATH that speaks Lean's documented JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_veribench.tests.proving import Held, write_tool
from plugins.tracebench_veribench.tests.test_discovery import make_verina

from tracebench_core.contracts import NotMeasured
from tracebench_core.errors import MissingRequirementError
from tracebench_engine.api import evaluate_task
from tracebench_sandbox import LocalSandbox
from tracebench_veribench.attacks.corpus import LEAN_PROGRAM, LEAN_REFERENCE, Attack, lean_attacks
from tracebench_veribench.discovery import catalog
from tracebench_veribench.discovery.rows import build_problem
from tracebench_veribench.discovery.verina import read_problem
from tracebench_veribench.lean.calibrations import families
from tracebench_veribench.lean.declarations import find_counterparts
from tracebench_veribench.lean.environment import LeanEnvironment
from tracebench_veribench.lean.gate import find_violations
from tracebench_veribench.lean.problem import LeanProblem
from tracebench_veribench.lean.questions import write_questions
from tracebench_veribench.lean.statements import find_theorems, is_trivial
from tracebench_veribench.lean.verifying import verify
from tracebench_veribench.replies import extract_file

REFERENCE = "def double (n : Nat) : Nat := n + n\n\ntheorem double_add (n : Nat) : double n = n + n := by\n  rfl\n"
PROBLEM = LeanProblem(
    name="double",
    title="Double",
    category="easy",
    source="gold",
    prompt="Write `double`.",
    theorems={"double_add": "(n:Nat):double n = n + n"},
    tests=("double 2 = 4", "double 3 = 6"),
    free=("double",),
    reference=REFERENCE,
    digest="0" * 64,
)
HONEST = "def double (n : Nat) : Nat := 2 * n\n\ntheorem double_add (n : Nat) : double n = n + n := by\n  unfold double; omega\n"

LEAN = '''#!/usr/bin/python3
"""Speaks like `lean`: it elaborates nothing, and answers by marks in the text of the answer."""
import json, os, sys
if "--version" in sys.argv:
    print("Lean (version 4.18.0, scripted)"); sys.exit()
if "--print-prefix" in sys.argv:
    sys.exit(1)
answer = open("Candidate.lean").read()
def say(**fields):
    print(json.dumps(fields))
if "--run" in sys.argv:
    reference, _module, _file, free, asked = sys.argv[sys.argv.index("--run") + 2:]
    if "kernel_hack" in answer:
        say(refused="(kernel) declaration type mismatch")
    for name in asked.split(",") if "kernel_hack" not in answer else ():
        other = "by_instance" in answer and name == "double_add"
        axioms = ["propext", "cheating.axiom_0"] if "by_axiom" in answer and name == "double_add" else []
        axioms += ["sorryAx"] if "3 * n" in answer and name.endswith("_1") else []
        say(name=name, stated=not other, why="`double_add` is another term" if other else "", axioms=axioms)
    say(end=True)
    sys.exit()
source = sys.argv[-1]
text = open(source).read()
if source == "Candidate.lean":
    seen = sorted(set(os.listdir()) - {"Candidate.lean", "Compare.lean", "said.json"})
    for number, line in enumerate(text.split("\\n"), 1):
        if "type_error" in line or seen:
            say(severity="error", pos={"line": number, "column": 0}, endPos=None, fileName=source, data=f"type mismatch {seen}")
    if "type_error" in text or seen:
        sys.exit(1)
if "does_not_compile" in text:
    sys.exit("unknown identifier")
open(sys.argv[sys.argv.index("-o") + 1], "w").write("compiled")
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
    gold = REFERENCE
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


@pytest.fixture(scope="module")
def scripted(sandbox: LocalSandbox) -> Mapping[str, Any]:
    tools: Path = sandbox.tools  # type: ignore[attr-defined]
    write_tool(tools, "lean", LEAN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{tools}:/usr/bin:/bin")
        return LeanEnvironment(seconds=20, memory_mb=1024).open(None)  # type: ignore[arg-type]


@pytest.fixture
def lean(sandbox: LocalSandbox, scripted: Mapping[str, Any]) -> Held:
    return Held(sandbox, {"lean": scripted})


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
        (HONEST.replace("unfold double; omega", "by_instance"), "statements", 0.0),
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
    free = PROBLEM.model_copy(update={"theorems": {}, "tests": (), "reference": ""})

    assert verify(free, HONEST, lean).score == 1.0
    assert verify(free, "theorem foo : True := trivial\n", lean).score == 0.0


def test_given_definitions_may_not_change(lean: Held) -> None:
    bound = PROBLEM.model_copy(update={"given": ("def Good (n : Nat) : Prop := n > 0",)})

    assert verify(bound, "def Good (n : Nat) : Prop := True\n" + HONEST, lean).shares["statements"] == 0.0
    assert verify(bound, "def Good (n : Nat) : Prop :=\n  n > 0\n" + HONEST, lean).score == 1.0


@pytest.mark.parametrize("said", ["rubbish", "echo '[1]'", 'echo \'{"severity": "error"}\'', "exit 7", "kill -9 $$"])
def test_a_checker_that_talks_rubbish_or_dies_measures_nothing(said: str, sandbox: LocalSandbox) -> None:
    place = write_tool(sandbox.tools, "broken-lean", f"#!/bin/sh\n{said}\n")  # type: ignore[attr-defined]
    handle = {"lean": str(place), "version": "0", "seconds": 10, "memory_mb": 512}

    try:
        verdict = verify(PROBLEM, HONEST, Held(sandbox, {"lean": handle}))
    except NotMeasured:
        return
    assert verdict.status == "timeout", "a checker that was killed by its limits says nothing of the file"


def test_a_checker_that_hangs_ends_at_its_limit(sandbox: LocalSandbox) -> None:
    place = write_tool(sandbox.tools, "slow-lean", "#!/bin/sh\nsleep 60\n")  # type: ignore[attr-defined]
    handle = {"lean": str(place), "version": "0", "seconds": 0.5, "memory_mb": 512}

    assert verify(PROBLEM, HONEST, Held(sandbox, {"lean": handle})).status == "timeout"


def test_a_reference_that_this_lean_does_not_compile_measures_nothing(lean: Held) -> None:
    with pytest.raises(NotMeasured, match=r"reference does not compile with Lean .* unknown identifier"):
        verify(PROBLEM.model_copy(update={"reference": "-- does_not_compile\n"}), HONEST, lean)


def test_what_the_kernel_refuses_on_a_second_look_does_not_compile(lean: Held) -> None:
    verdict = verify(PROBLEM, HONEST + "-- kernel_hack\n", lean)

    assert (verdict.score, verdict.shares["compiles"]) == (0.0, 0.0)
    assert "(kernel) declaration type mismatch" in verdict.feedback().text


def test_the_reference_and_the_tests_reach_lean_only_after_the_answer_has_compiled(lean: Held) -> None:
    """The scripted Lean refuses an answer beside which it sees any other file."""
    assert verify(PROBLEM, HONEST, lean).score == 1.0
    asked = write_questions(PROBLEM, ["double_add"], "0f")
    assert (
        asked.reference
        == REFERENCE + "\ntheorem asked_0f_0 : (double 2 = 4) := sorry\ntheorem asked_0f_1 : (double 3 = 6) := sorry\n"
    )
    assert asked.tested.startswith("import Candidate\ntheorem asked_0f_0 : (double 2 = 4) := by first")


def test_without_any_lean_there_is_a_line_to_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("LEAN_PROJECT", raising=False)

    with pytest.raises(MissingRequirementError) as err:
        LeanEnvironment().open(None)  # type: ignore[arg-type]

    assert "elan" in err.value.hint


LIE = "variable (lie : False)\ninclude lie\n"
REVIEWED = {
    "premises for all theorems": LIE,
    "a comparison": "instance : LE Nat := ⟨fun _ _ => True⟩\n",
    "a strict comparison": "instance : LT Nat := ⟨fun _ _ => True⟩\n",
    "an addition": "instance : HAdd Nat Nat Nat := ⟨fun a _ => a⟩\n",
    "a membership over two lines": "instance :\n    Membership Nat (List Nat) := ⟨fun _ _ => True⟩\n",
    "a decision over two lines": "instance\n  : DecidableEq Nat := fun _ _ => .isTrue lie\n",
    "other numbers": "namespace Own\nabbrev Nat := Unit\nend Own\nopen Own\n",
    "hidden names": "open Nat hiding le\n",
    "an instance taken away": "attribute [-instance] instLENat\n",
}
SORTING = build_problem(
    {"filename": "insertion_sort.py", "code": LEAN_PROGRAM, "gold_reference_lean4_code": LEAN_REFERENCE},
    0, source="hub", gold={},
)  # fmt: skip


@pytest.mark.parametrize("how", REVIEWED)
def test_what_changes_the_meaning_of_statements_is_refused(how: str, lean: Held) -> None:
    verdict = verify(SORTING, REVIEWED[how] + LEAN_REFERENCE, lean)

    assert (verdict.status, verdict.score) == ("invalid", 0.0)


@pytest.mark.parametrize("attack", lean_attacks(), ids=lambda attack: attack.name)
def test_an_attack_is_stopped_even_where_lean_says_yes_to_everything(attack: Attack, lean: Held) -> None:
    assert verify(SORTING, attack.file, lean).score <= attack.worth


def test_an_honest_file_passes_where_lean_says_yes(lean: Held) -> None:
    more = '/-- As sorted as before. -/\n@[simp, ext] theorem helps (s : String) : s = "instance" → s ≠ "instance" := by\n  apply em\n'
    spaced = LEAN_REFERENCE.replace(":= by\n  trivial", ":=  by -- axiom\n    trivial")

    assert verify(SORTING, LEAN_REFERENCE, lean).score == 1.0
    assert verify(SORTING, "import Mathlib.Tactic\nopen List\n" + spaced + more, lean).score == 1.0
    assert len({attack.file for attack in lean_attacks()}) == len(lean_attacks()) >= 40


def test_definitions_by_patterns_and_of_truth_values_are_given() -> None:
    assert [d.split(" :")[0] for d in SORTING.given] == ["def sorted", "def isPerm (xs ys"]
    assert SORTING.free == ("insertionSort",)
    assert SORTING.reference == LEAN_REFERENCE
    assert "insertOne" not in SORTING.prompt + str(SORTING)


@pytest.mark.parametrize(
    ("python", "lean_name", "is_program"),
    [
        ("below_zero", "belowZero", True), ("below_zero", "doBelowZero", True), ("below_zero", "belowZeroFast", True),
        ("sort", "isSorted", False), ("sort", "sorted", False), ("sort", "sort", True), ("g", "Good", False),
        ("is_even", "isEven", True), ("even", "isEven", False), ("fibonacci2", "fibonacci2", True), ("f", "F", True),
    ],
)  # fmt: skip
def test_a_specification_is_not_taken_for_the_program(python: str, lean_name: str, is_program: bool) -> None:
    found = find_counterparts(f"def {lean_name} (n : Nat) : Nat :=\n  n\n", f"def {python}(n): ...")

    assert found == ((lean_name,) if is_program else ())


def test_an_instance_that_is_given_may_be_kept(lean: Held) -> None:
    own = "structure Tree where\n  size : Nat\n\ninstance : LE Tree := ⟨fun a b => a.size ≤ b.size⟩\n\n"
    gold = (
        own + "def grow (t : Tree) : Tree := ⟨t.size + 1⟩\n\ntheorem grows (t : Tree) : t ≤ grow t := by\n  trivial\n"
    )
    row = {"filename": "grow.py", "code": "def grow(t): ...", "gold_reference_lean4_code": gold}
    problem = build_problem(row, 0, source="hub", gold={})

    assert len(problem.given) == 2
    assert verify(problem, gold, lean).score == 1.0
    assert verify(problem, gold + "\ninstance : LE Tree := ⟨fun _ _ => True⟩\n", lean).status == "invalid"


@pytest.mark.parametrize("region", ["solution_aux", "code_aux", "proof_aux"])
@pytest.mark.parametrize(
    "lie", [LIE, "namespace Own\ndef half_postcond := 1\nend Own", "instance : LE Nat := ⟨fun _ _ => True⟩"]
)
def test_the_open_regions_of_a_given_file_hold_no_premises(region: str, lie: str, lean: Held, tmp_path: Path) -> None:
    problem = read_problem(make_verina(tmp_path))
    answer = problem.skeleton.replace(f"@start {region}\n", f"@start {region}\n{lie}\n")

    assert verify(problem, problem.skeleton, lean).shares["statements"] == 1.0
    assert verify(problem, answer, lean).status == "invalid"
    assert problem.reference.count("sorry") == 2
    assert "SECRET" not in problem.reference


@pytest.mark.parametrize("kind", ["file/", ""])
def test_what_a_problem_of_verina_is_calibrated_by_is_refused_without_a_lean(tmp_path: Path, kind: str) -> None:
    make_verina(tmp_path)
    catalog.configure({"root": tmp_path})
    problem = catalog.find_problems().problems["verina_basic_7"]
    task: Any = None
    cases = list(families(f"{kind}verina_basic_7", task))

    for case in cases:
        answer = case.values["file"] if kind else extract_file(case.replies[""], "lean")  # type: ignore[index]
        feedback = verify(problem, str(answer), Held(None, {})).feedback()  # type: ignore[arg-type]
        assert feedback.status == "invalid", case.name
        assert case.words in feedback.text, (case.name, feedback.text)
    assert {case.kind for case in cases} == {"refused"}
    assert len(cases) >= 9
