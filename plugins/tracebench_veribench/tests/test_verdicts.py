"""What a verdict on a proof says, and what is read of Lean's and Coq's texts, at the edges; no prover is started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from tracebench_core.contracts import NotMeasured
from tracebench_core.specs import Outcome
from tracebench_veribench.coq.checker import CheckTimeout as CoqTimeout
from tracebench_veribench.coq.checker import Compiled, Coq, _errors
from tracebench_veribench.coq.checker import check as check_coq
from tracebench_veribench.coq.gate import find_violations as coq_violations
from tracebench_veribench.coq.problem import CoqProblem
from tracebench_veribench.coq.script import Answers, read_answers, write_opening, write_questions
from tracebench_veribench.coq.sentences import split
from tracebench_veribench.coq.verifying import _judge as judge_coq
from tracebench_veribench.diagnostics import Diagnostic, quoted
from tracebench_veribench.discovery import clever, human_eval, minif2f, verina
from tracebench_veribench.discovery.literals import UnwritableError, write_literal
from tracebench_veribench.discovery.rows import RowError, build_problem, read_gold, read_rows
from tracebench_veribench.lean.checker import Checked, CheckTimeout, Compared, Lean, check
from tracebench_veribench.lean.declarations import find_counterparts, find_shadows, find_supporting, read_declarations
from tracebench_veribench.lean.gate import find_violations
from tracebench_veribench.lean.problem import (
    LeanProblem,
    alone,
    blank,
    describe_obligations,
    fill,
    has_region,
    region,
    unfinished,
)
from tracebench_veribench.lean.questions import write_questions as lean_questions
from tracebench_veribench.lean.statements import contains, find_theorems, is_trivial, normalise
from tracebench_veribench.lean.verifying import _judge as judge_lean
from tracebench_veribench.lean.verifying import _Wanted, _wanted, verify
from tracebench_veribench.stages import Verdict, does_not_compile, refused


def test_a_verdict_tells_the_first_stage_that_failed_and_the_credit_of_all() -> None:
    whole = Verdict(
        {"gate": 1.0, "compiles": 1.0, "tests": 1.0, "statements": 1.0, "assumptions": 1.0}, reached_end=True
    )
    told = whole.feedback()
    assert (told.score, told.status, told.text) == (
        1.0,
        "ok",
        "Every stage passed: the file compiles, passes the tests, and proves what is required.",
    )
    assert told.metrics == {
        "gate": 1.0,
        "compiles": 1.0,
        "tests": 1.0,
        "statements": 1.0,
        "assumptions": 1.0,
        "proven": 1.0,
    }
    part = Verdict(
        {"gate": 1.0, "compiles": 1.0, "tests": 0.5, "statements": 0.25}, {"tests": [f"n{n}" for n in range(7)]}, reached_end=True
    )  # fmt: skip
    assert part.feedback().text == (
        "Stage `tests`: Hidden tests fail (50% passed).\nn0\nn1\nn2\nn3\nn4\n… and 2 more.\n"
        "Credit by stage: gate 1, compiles 1, tests 0.5, statements 0.25; their product is the score, 0.125."
    )
    assert (part.score, part.recorded()) == (0.125, {"gate": 1.0, "compiles": 1.0, "tests": 0.5, "statements": 0.25})
    assert (
        "and"
        not in Verdict({"gate": 1.0, "tests": 0.5}, {"tests": list("abcde")}, reached_end=True)
        .feedback()
        .text.split("Credit")[0]
    )
    none = refused(["line 1"])
    assert (none.score, none.status, none.feedback().text) == (
        0.0, "invalid", ("Stage `gate`: The file uses what is not allowed.\nline 1\nCredit by stage: gate 0, compiles not reached, tests "
                        "not reached, "
        "statements not reached, assumptions not reached, rechecked not reached; their product is the score, 0."),
    )  # fmt: skip
    broken = does_not_compile(["x"], status="timeout")
    assert (broken.status, broken.shares, broken.score) == ("timeout", {"gate": 1.0, "compiles": 0.0}, 0.0)
    assert broken.feedback().text.startswith(
        "Stage `compiles`: The file does not compile.\nx\nCredit by stage: gate 1, compiles 0, tests not reached"
    )


def test_a_message_is_told_with_the_lines_around_it() -> None:
    source = "one\ntwo\n" + "t" * 200 + "\nfour"
    told = quoted(
        [
            Diagnostic("error", 2, 5, " bad \n"),
            Diagnostic("error", 1, 0, "m" * 601),
            Diagnostic("error", 4, 1, "m" * 600),
        ],
        source,
    )
    assert told == [
        f"line 2, column 5: bad\n     1 | one\n>    2 | two\n     3 | {'t' * 160}",
        f"line 1, column 0: {'m' * 600} …\n>    1 | one\n     2 | two",
        f"line 4, column 1: {'m' * 600}\n     3 | {'t' * 160}\n>    4 | four",
    ]


# --- Lean


class Box:
    """Stands for the sandbox's command; what it answers is given."""

    def __init__(self, *answers: Outcome) -> None:
        self.answers, self.asked = [*answers], list[Any]()

    def command(self, argv: list[str], **given: Any) -> Outcome:
        self.asked.append((argv, given))
        return self.answers.pop(0)


def said(*lines: Any, code: int = 0, stderr: str = "") -> Outcome:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return Outcome(status="ok", value={"returncode": code, "stdout": text, "stderr": stderr})


QUESTIONS = lean_questions(
    LeanProblem(
        name="p",
        title="P",
        category="c",
        source="verina",
        prompt="",
        tests=("f 1 = 2", "f 2 = 3"),
        reference="def f := 1",
        digest="d",
    ),
    ["T.a", "b"],
    "n0",
)


def checked(*answers: Outcome) -> tuple[Checked, Box]:
    box = Box(*answers)
    return check(
        Lean("lean", "4", "/lib", seconds=5.0, memory_mb=7), cast("Any", box), "text", QUESTIONS, ("f", "g")
    ), box


def test_what_lean_is_asked() -> None:
    assert (
        QUESTIONS.reference
        == "def f := 1\ntheorem asked_n0_0 : (f 1 = 2) := sorry\ntheorem asked_n0_1 : (f 2 = 3) := sorry\n"
    )
    assert QUESTIONS.tested == (
        "import Candidate\ntheorem asked_n0_0 : (f 1 = 2) := by first | rfl | decide | (simp; done) | sorry\n"
        "theorem asked_n0_1 : (f 2 = 3) := by first | rfl | decide | (simp; done) | sorry\n"
    )
    found, box = checked(
        said(
            {"name": "b", "stated": True, "why": "", "axioms": ["propext"]},
            {"name": "c", "stated": 1, "why": "w", "axioms": []},
            {"end": True},
        )
    )
    assert found == Checked((), {"b": Compared(True, "", ("propext",)), "c": Compared(False, "w", ())})
    ((argv, given),) = box.asked
    mark = argv[5]
    assert argv[4:] == ["lean", mark, "f,g", "asked_n0_0,asked_n0_1,T.a,b", "/lib"]
    assert (len(mark), given["stdin"]) == (len("-- ") + 16, f"{QUESTIONS.reference}{mark}\n{QUESTIONS.tested}")
    assert (given["limits"].seconds, given["limits"].memory_mb, given["limits"].output_bytes) == (5.0, 7, 4 << 20)
    assert given["files"]["Candidate.lean"] == "text"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Outcome(status="error", error="gone"), "`lean` could not be run: gone"),
        (said(code=92, stderr="x" * 700), f"the problem's reference does not compile with 4: {'x' * 600}"),
        (said(code=93, stderr="y"), "`lean` ended with 93: y"),
        (said(), "the comparison of compiled terms ended without its answers"),
        (said({"end": 1}), "the comparison of compiled terms ended without its answers"),
        (
            said({"name": "b"}, {"end": True}),
            "the comparison of compiled terms cannot be read: [{'name': 'b'}, {'end': True}]",
        ),
        (said("x" * 300), f"Lean printed something that is not JSON: {'x' * 200!r}"),
        (said("[1]"), "Lean printed list, not an object"),
        (said({"severity": "odd"}, code=91), "the checker's message is none of Lean's: {'severity': 'odd'}"),
    ],
)
def test_a_lean_that_says_nothing_measures_nothing(answer: Outcome, words: str) -> None:
    with pytest.raises(NotMeasured) as caught:
        checked(answer)
    assert str(caught.value) == words


def test_how_a_file_fares_with_lean() -> None:
    message = {"severity": "error", "pos": {"line": 2, "column": 3}, "data": "bad"}
    assert checked(said(message, message | {"severity": "info"}, code=91))[0] == Checked(
        (Diagnostic("error", 2, 3, "bad"), Diagnostic("information", 2, 3, "bad")), {}
    )
    assert checked(said({"refused": "no"}, {"end": True}))[0] == Checked((), {}, "no")
    for status in ("timeout", "memory", "killed"):
        with pytest.raises(CheckTimeout, match=r"^Lean did not finish within 5 s and 7 MB: e$"):
            checked(Outcome(status=status, error="e"))  # type: ignore[arg-type]


def test_a_file_in_lean_is_judged_by_what_was_compared() -> None:
    sound, unsound = Compared(True, "", ("propext",)), Compared(True, "", ("propext", "sorryAx", "odd"))
    compared = {
        "asked_n0_0": sound,
        "asked_n0_1": unsound,
        "T.a": unsound,
        "b": sound,
        "c": Compared(False, "it differs", ()),
    }
    wanted = _Wanted({"T.a": True, "b": True, "c": True, "d": False}, ["note"])
    told = judge_lean(QUESTIONS, Checked((), compared), wanted, "text")
    assert told.shares == {"gate": 1.0, "compiles": 1.0, "tests": 0.5, "statements": 0.5, "assumptions": 0.5}
    assert told.notes == {
        "tests": ["1 of 2 hidden tests fail; compare with the description."],
        "statements": ["note", "`c`: it differs."],
        "assumptions": ["`T.a` assumes odd, sorryAx."],
    }
    assert told.reached_end
    empty = judge_lean(lean_questions(problem(), [], "n"), Checked((), {}), _Wanted({}, []), "")
    assert empty.shares == {"gate": 1.0, "compiles": 1.0, "statements": 0.0, "assumptions": 0.0}
    broken = judge_lean(
        QUESTIONS, Checked((Diagnostic("warning", 1, 0, "w"), Diagnostic("error", 1, 0, "e")), {}, ""), wanted, "text"
    )
    assert (broken.shares, broken.notes) == (
        {"gate": 1.0, "compiles": 0.0},
        {"compiles": ["line 1, column 0: e\n>    1 | text"]},
    )
    assert judge_lean(QUESTIONS, Checked((), {}, "kernel"), wanted, "text").notes == {"compiles": ["kernel"]}


def problem(**more: Any) -> LeanProblem:
    return LeanProblem(
        **{"name": "p", "title": "P", "category": "c", "source": "hub", "prompt": "", "digest": "d"} | more
    )


def test_what_is_wanted_of_a_file_in_lean() -> None:
    own = _wanted(problem(), "theorem a : True := by\ntheorem b : 1 = 2 := by")
    assert (own.right, own.notes) == ({"b": True}, [])
    assert _wanted(problem(), "def x := 1").notes == [
        "State and prove at least one theorem that says something of the program."
    ]
    asked = problem(theorems={"a": ": 1 = 1", "b": ":2 = 2"}, given=("def x := 1",))
    kept = _wanted(asked, "def  x := 1 -- so\ntheorem a : 1 = 1 := rfl\ntheorem b :2 = 2 := rfl")
    assert (kept.right, kept.notes) == ({"a": False, "b": True}, ["`a` must state exactly: : 1 = 1"])
    gone = _wanted(asked, "theorem b :2 = 2 := rfl")
    assert (gone.right, gone.notes) == ({"a": False, "b": False}, ["Keep this definition word for word:\ndef x := 1"])


OLD = region("proof", "old\n")
SKELETON = (
    f"import X\n{region('code')}def f := 1\n{OLD}-- !benchmark @start precond\nkept\n-- !benchmark @end precond\n"
)


def test_an_answer_fills_the_open_regions() -> None:
    answer = "\n".join(
        (
            "ignored",
            region("proof", " by\n") + "x",
            region("code", "1\n2\n") + "-- !benchmark @start precond",
            "changed",
            "-- !benchmark @end precond",
        )
    )
    filled = SKELETON.replace("@start code\n", "@start code\n1\n2\n").replace("old", " by")
    assert fill(SKELETON, answer) == filled
    assert fill(SKELETON, region("code")) is None
    assert blank(SKELETON) == SKELETON.replace("old\n", "")
    assert unfinished(SKELETON) == SKELETON.replace("@start code\n", "@start code\n  sorry\n").replace("old", "  sorry")
    parts = (region("proof", "  x\n"), region("code"), region("precond", "y\n"), region("proof", "z\n"))
    assert [*alone("sorry\n" + "sorry\n".join([parts[0], "".join(parts[1:])]))] == ["\n\n  x" + "\n" * 9 + "z"]
    assert [has_region(SKELETON, name) for name in ("code", "code_aux")] == [True, False]
    assert describe_obligations({}, ()) == ""
    assert describe_obligations({"a": ": 1", "b": ": 2"}, ("x", "y")) == (
        "\n\nUse these definitions, word for word:\n```lean\nx\n\ny\n```\n\n\nState and prove these theorems, word for word:\n```lean\n"
        "theorem a : 1\ntheorem b : 2\n```\n"
    )


BAD = "axiom lie : False\n"
START, END = (f"-- !benchmark @{word} proof" for word in ("start", "end"))
HIDDEN = {
    "in a comment around the regions": f"/-\n{region('proof', BAD)}{region('code')}-/\n",
    "in a string around the regions": f'def s := "\n{region("proof", BAD)}{region("code")}"\n',
    "in a comment that two parts of another region begin and end": f"{region('code', '/-' + chr(10))}{region('proof', BAD)}"
    f"{region('code', '-/' + chr(10))}",
    "in a string that a mark begins": f'{region("code")}{START}\n/-\n{START} -/ "\n-/\n{BAD}-- "\n{END}\n',
    "behind a comment that it does not close": region("code", "/-\n") + region("proof", BAD),
    "behind a string that it does not close": region("code", '"\n') + region("proof", BAD),
}
"""Answers to `SKELETON` that hold what is refused, by where."""


@pytest.mark.parametrize("where", HIDDEN)
def test_every_region_is_judged_by_itself(where: str) -> None:
    verdict = verify(problem(skeleton=SKELETON), HIDDEN[where], cast("Any", None))
    line = HIDDEN[where].split("\n").index(BAD.strip()) + 1
    assert verdict.status == "invalid"
    assert f"line {line}: `axiom` is not allowed" in verdict.feedback().text


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\r"])
def test_a_comment_ends_with_its_line_in_the_file_as_it_did_where_it_was_judged(end: str) -> None:
    filled = fill(SKELETON, region("code") + region("proof", f"-- {end}{BAD}"))
    assert filled is not None
    assert f"\n-- {end}{BAD}" in filled
    assert find_violations(filled.replace("import X", "")) == []


def test_declarations_and_what_statements_rest_on() -> None:
    text = (
        "@[simp]\ntheorem t : p = 1 := rfl\n@[simp] private def p : Nat := q\n  | 0 => 1\nwhere\n  go := 1\nend X\ninstance : Add Q "
        "where\n  add := r\n"
        "structure Q where\n  a : Nat\ndef r := 2 -- def s\nnoncomputable abbrev N.q : Q := ⟨1⟩\nopen X\n"
    )
    assert [(d.kind, d.name) for d in read_declarations(text)] == [
        ("theorem", "t"), ("def", "p"), ("instance", ""), ("structure", "Q"), ("def", "r"), ("abbrev", "N.q"),
    ]  # fmt: skip
    assert read_declarations(text)[1].text == "@[simp] private def p : Nat := q\n  | 0 => 1\nwhere\n  go := 1"
    names = [text.split("\n")[0][:26] for text in find_supporting(text, ["p = 1"])]
    assert names == [
        "@[simp] private def p : Na",
        "instance : Add Q where",
        "structure Q where",
        "def r := 2",
        "noncomputable abbrev N.q :",
    ]
    assert [one.split()[0] for one in find_supporting(text, ["q"], free=["M.p"])] == [
        "instance",
        "structure",
        "def",
        "noncomputable",
    ]
    assert find_supporting(text, ["t"]) == ()


@pytest.mark.parametrize(
    ("defined", "python", "same"),
    [
        ("belowZero", "below_zero", True), ("doBelowZero", "below_zero", True), ("belowZeroFast", "below_zero", True),
        ("isSorted", "sort", False),
        ("X.sort", "sort", True), ("HTTPGet2", "http_get_2", True), ("sort", "sorted", False), ("main", "main", True),
        ("loop", "main", False),
    ],
)  # fmt: skip
def test_a_program_is_known_in_either_language(defined: str, python: str, same: bool) -> None:
    text = f"def {defined} := 1\ntheorem {python} : 1 = 2 := rfl\nabbrev {defined} := 2"
    assert find_counterparts(text, f"  def {python}(x): pass") == ((defined,) if same else ())


def test_names_that_would_change_what_is_stated() -> None:
    def shadows(text: str, opened: str = "") -> list[str]:
        return [*find_shadows(text, "theorem t : add a = 1", ["N.f", "t"], opened)]

    assert shadows("def f := 1\ntheorem N.t : x := rfl\nopen Nat") == []
    assert shadows("def f := 1\n  def X.f := 2") == ["`f` is declared 2 times; declare it once"]
    assert shadows("structure add where") == [
        "`add` is a word of the required statements; declare nothing else of that name"
    ]
    assert shadows("namespace A.B\nopen B Nat\n-- open B") == [
        "`open B`: write the names of your own namespace in full"
    ]
    assert shadows("namespace A.B\nopen B", opened="open A.B") == []
    assert shadows("def g := 1\nopen scoped g") == ["`open g`: write the names of your own namespace in full"]


def test_theorems_are_read_in_a_normal_form() -> None:
    text = (
        "namespace A\nsection B\n@[simp] private theorem t (x : Nat)\n  : x  =  ( 1 ) := by\nend B\nlemma u : f (a := 1) = 2\n  | 0 => "
        "x\nend A\nend\n"
        "theorem _root_.v : 1 = 1 where\ntheorem v : 2\n/- theorem w : 3 -/"
    )
    assert find_theorems(text) == {"A.t": "(x:Nat):x =(1)", "A.u": ":f(a:= 1)= 2", "v": ":1 = 1"}
    assert find_theorems("theorem a : x\n@[simp] lemma b : y := z") == {"a": ":x", "b": ":y"}
    assert find_theorems("theorem a : nowhere = where_ := z\nlemma b (c :\n| d) : e\n\n  | f => g") == {
        "a": ":nowhere = where_",
        "b": "(c:| d):e",
    }
    assert find_theorems("") == {}
    assert normalise(" a  ,b : ⟨ c ⟩ ") == "a,b:⟨c⟩"
    trivial = {":True": True, "(x:Nat):x = x": True, ":∀ x,x ≤ x": True, ":p \u2228 True": True, ":p → True": True, ":a = b": False,
    ":a = a = a": False,
               "True": True, ":a → b": False, "a ↔ a": True}  # fmt: skip
    assert {statement: is_trivial(statement) for statement in trivial} == trivial
    assert contains("def  f :=  1 -- x", "def f := 1")
    assert not contains("def f := 2", "def f := 1")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("theorem a : x := by sorry", "line 1: `sorry` is not allowed: a proof must be finished"),
        ("-- sorry\ndef a := 1", None),
        ("/--/ x -/", "line 1: `/--/` is not allowed: a comment has a beginning and an end"),
        ("@[simp, inline] def a := 1", None),
        ("@[simp, implemented_by x] def a := 1", ("line 1: `@[simp, implemented_by x]` is not allowed: only attributes of simplification "
                                                 "and compilation may be given")),
        ("structure A where\n  a : Nat\nderiving Repr, BEq\n", None),
        ("structure A where\nderiving Odd\n", ("line 2: `deriving` is not allowed: only common instances of a type of one's own may be "
                                              "derived")),
        ("import Mathlib\nimport Std.X", None),
        ("import  Mathlib.Tactic", None),
        ("import Other", "line 1: `import Other` is not allowed: only the common libraries may be imported"),
        ("import  Other", "line 1: `import Other` is not allowed: only the common libraries may be imported"),
        ('theorem a : x := by first | exact throwErrorAt b "{c}" | d', ("line 1: `throwErrorAt` is not allowed: what stands inside of an "
                                                                     "interpolated string cannot be judged")),
        ("set_option maxRecDepth 5", None),
        ("set_option autoImplicit false", None),
        ("set_option  debug.x true", "line 1: `set_option debug.x true` is not allowed: only limits and linters may be set"),
        ("#check a", None),
        ("#eval a", "line 1: `#eval` is not allowed: a file defines and proves, and runs nothing"),
        ("", "line 1: the file is empty"),
        ("a\0", "line 1: the file holds a NUL character"),
        ('x\n"', "line 2: the string that opens on line 2 is never closed"),
        ("instance : Add A := x\ndef y := 1", None),
    ],
)  # fmt: skip
def test_what_the_gate_of_lean_refuses(text: str, found: str | None) -> None:
    assert [*map(str, find_violations(text, given=["instance :  Add A := x"]))] == ([found] if found else [])


# --- Coq


COQ = CoqProblem(
    name="p", title="P", category="lists", grade=1, description="D.", program="def f(x):\n    return x\n",
    functions={"f": "nat -> nat", "g": "nat"},
    theorems={"a": "f 1 = 1", "b": "g = 2"}, tests=("Nat.eqb (f 1) 1", "true"), gold="G",
)  # fmt: skip


def test_what_coq_is_asked() -> None:
    assert write_opening(COQ) == write_opening(COQ.model_copy(update={"given": "X"})).removesuffix(
        "Require Import Given.\n"
    )
    asked = write_questions(COQ, "N", audited=False)
    functions = "Parameter f : nat -> nat.\nParameter g : nat.\n"
    assert asked == (
        f"Module Type TN.\n{functions}End TN.\n"
        "Definition tN_0 (f : nat -> nat) (g : nat) : bool := Nat.eqb (f 1) 1.\nDefinition tN_1 (f : nat -> nat) (g : nat) : bool := "
        "true.\n"
        f"Definition qN_0 (f : nat -> nat) (g : nat) : Prop := f 1 = 1.\nModule Type TN_0.\n{functions}Parameter a : qN_0 f g.\nEnd TN_0.\n"
        f"Definition qN_1 (f : nat -> nat) (g : nat) : Prop := g = 2.\nModule Type TN_1.\n{functions}Parameter b : qN_1 f g.\nEnd TN_1.\n"
        "Require Candidate.\nFail Print Module CN.\nModule CN <: TN := Candidate.\nUnset Silent.\n"
        "(*mN_test_0 is defined*)\nTimeout 5 Definition mN_test_0 : tN_0 CN.f CN.g = true := (eq_refl true <: tN_0 CN.f CN.g = true).\n"
        "(*mN_test_1 is defined*)\nTimeout 5 Definition mN_test_1 : tN_1 CN.f CN.g = true := (eq_refl true <: tN_1 CN.f CN.g = true).\n"
        "(*mN_a is defined*)\nFail Print Module CN_0.\nModule CN_0 <: TN_0 := Candidate.\nUnset Silent.\n"
        "Definition mN_a : qN_0 CN.f CN.g := CN_0.a.\nPrint Assumptions mN_a.\n"
        "(*mN_b is defined*)\nFail Print Module CN_1.\nModule CN_1 <: TN_1 := Candidate.\nUnset Silent.\n"
        "Definition mN_b : qN_1 CN.f CN.g := CN_1.b.\nPrint Assumptions mN_b.\n"
        "(*mN_end is defined*)\nDefinition mN_end : unit := tt.\n"
    )
    assert "Print Assumptions" not in write_questions(COQ, "N", audited=True)


SUMMARY = (
    "CONTEXT SUMMARY\n===============\n\n* Theory: Set is predicative\n  \n* Axioms: <none>\n  \n* Constants/Inductives relying on "
    "type-in-type: <none>\n"
    "  \n* Constants/Inductives relying on unsafe (co)fixpoints: <none>\n  \n* Inductives whose positivity is assumed: <none>\n"
)


@pytest.mark.parametrize(
    ("output", "audited", "answers"),
    [
        ("mN_test_0 is defined\n", True, None),
        ("mN_test_1 is defined\nmN_a is defined\nClosed under the global context\nmN_end is defined\n", False,
         Answers((False, True), {"a": (), "b": None})),
        ("mN_a is defined\nAxioms:\nx.y : nat\n  more : z\nw : P\nmN_b is defined\nAxioms:\n?\nmN_end is defined\n", False,
         Answers((False, False), {"a": ("x.y", "w"), "b": ("unknown",)})),
        ("mN_a is defined\nodd\nmN_end is defined\n", False, Answers((False, False), {"a": None, "b": None})),
        ("Fetching opaque proofs from disk for X\n[Loading ML file x]\nmN_b is defined\nmN_end is defined\n" + SUMMARY, True,
         Answers((False, False), {"a": None, "b": ()}, rechecked=True)),
        ("mN_b is defined\nmN_end is defined\n" + SUMMARY.replace("Axioms: <none>", "Axioms:\n    odd"), True,
        Answers((False, False), None, rechecked=True)),
        ("mN_b is defined\nmN_end is defined\n", True, Answers((False, False), {"a": None, "b": ()}, rechecked=False)),
    ],
)  # fmt: skip
def test_what_coq_answers(output: str, audited: bool, answers: Answers | None) -> None:
    assert read_answers(output, COQ, "N", audited=audited) == answers


def test_how_a_file_fares_with_coq() -> None:
    coq = Coq("coqc", "coqtop", "8.16", coqchk="coqchk", findlib="F", seconds=3.0, memory_mb=9)

    def asked(*answers: Outcome) -> tuple[Compiled, Box]:
        box = Box(*answers)
        return check_coq(coq, cast("Any", box), COQ.model_copy(update={"given": "G"}), "text"), box

    found, box = asked(said(code=91, stderr='File "./Candidate.v", line 3, characters 4-9:\nError: bad\n'))
    assert found == Compiled((Diagnostic("error", 3, 4, "Error: bad"),), None)
    ((argv, given),) = box.asked
    assert argv[4:] == ["coqc", "coqtop", "coqchk"]
    assert (given["files"]["Candidate.v"], given["files"]["Given.v"], given["files"]["findlib.conf"]) == (
        "text",
        "G",
        "F",
    )
    assert (given["limits"].seconds, given["limits"].memory_mb, given["limits"].output_bytes) == (3.0, 9, 1 << 20)
    for status in ("timeout", "memory", "killed"):
        with pytest.raises(CoqTimeout, match=r"^Coq did not finish within 3 s and 9 MB: e$"):
            asked(Outcome(status=status, error="e"))  # type: ignore[arg-type]
    with pytest.raises(NotMeasured, match=r"^Coq ended without its answers: x{300}$"):
        asked(said(code=1, stderr="y" + "x" * 300))
    with pytest.raises(NotMeasured, match=r"^Coq ended without its answers: gone$"):
        asked(Outcome(status="error", error="gone"))
    warning = 'File "./Candidate.v", line 1, characters 0-1:\nWarning: w\n\nFile "./Candidate.v", line 2, characters 5-6:\n e\nf\n'
    assert _errors(warning) == (Diagnostic("error", 2, 5, "e\nf"),)
    assert _errors("") == (Diagnostic("error", 1, 0, "Coq refused the file without a word"),)
    assert _errors("z" * 700) == (Diagnostic("error", 1, 0, "z" * 600),)


def test_a_file_in_coq_is_judged_by_its_answers() -> None:
    told = judge_coq(COQ, "t", Compiled((), Answers((True, False), {"a": ("x", "y"), "b": None}, rechecked=False)))
    assert told.shares == {
        "gate": 1.0,
        "compiles": 1.0,
        "tests": 0.5,
        "statements": 0.5,
        "assumptions": 0.0,
        "rechecked": 0.0,
    }
    assert told.notes == {
        "tests": ["1 of 2 hidden tests of the functions fail; compare with the Python program."],
        "statements": ["`b` must prove exactly: g = 2"],
        "assumptions": ["`a` assumes x, y."],
    }
    good = judge_coq(COQ, "t", Compiled((), Answers((True, True), {"a": (), "b": ()})))
    assert (good.score, "rechecked" in good.shares) == (1.0, False)
    assert judge_coq(COQ, "t", Compiled((), Answers((True, True), {"a": None, "b": None}))).shares["assumptions"] == 0.0
    for answers in (None, Answers((True, True), None)):
        assert judge_coq(COQ, "t", Compiled((Diagnostic("error", 1, 0, "e"),), answers)).notes == {
            "compiles": ["line 1, column 0: e\n>    1 | t"]
        }
    assert COQ.prompt() == (
        "# P\n\nD.\n\nPython program:\n```python\ndef f(x):\n    return x\n```\nDefine these functions:\n  f : nat -> nat\n  g : nat\n\n"
        "State and prove these theorems, word for word:\n  Theorem a : f 1 = 1.\n  Theorem b : g = 2.\n"
    )
    assert COQ.skeleton() == (
        "From Coq Require Import List Arith Lia.\nImport ListNotations.\n\n(* Define f : nat -> nat *)\n(* Define g : nat *)\n(* Prove a "
        ": f 1 = 1 *)\n"
        "(* Prove b : g = 2 *)\n"
    )


def test_sentences_of_coq_and_what_the_gate_refuses() -> None:
    code = "  Theorem a : x.\n- + { 1: auto... } Local Set Implicit Arguments. Z.order. #[global] Hint x"
    assert [(s.start, s.prefix) for s in split(code)] == [
        (2, ""),
        (17, "- + { 1: "),
        (34, "} Local "),
        (66, ""),
        (75, "#[global] "),
    ]
    assert [s.command for s in split(code)] == ["Theorem", "", "Set", "", "Hint"]
    for text, words in (
        ("Theorem a : x. Proof. Admitted.", "line 1: `Admitted` is not allowed: a proof must be finished"),
        (
            "Qed.\nVernacular x.",
            "line 2: `Vernacular x.` is not allowed: a file defines and proves, and does nothing else",
        ),
        (
            "#[export] Set Warnings.",
            "line 1: `#[export] Set Warnings.` is not allowed: options may not outlive the file",
        ),
        (
            "Set Guard.",
            "line 1: `Set Guard.` is not allowed: only options of notation, printing and proof steps may be set",
        ),
        (
            'Notation "x" := ltac:(y).',
            "line 1: `Notation := ltac:(y).` is not allowed: an abbreviation names a term, and runs nothing",
        ),
        (
            "Odd " + "x" * 90 + ".",
            f"line 1: `Odd {'x' * 76}` is not allowed: a file defines and proves, and does nothing else",
        ),
        ("Local Set Implicit Arguments.", None),
        ('Set  Printing\n Depth 50. Unset Firstorder Depth 5 . Set Warnings "-all". Set Congruence Depth 9.', None),
        (
            "Set Printing\tAll, x.",
            "line 1: `Set Printing All, x.` is not allowed: only options of notation, printing and proof steps may be set",
        ),
        ("(* Admitted *) Definition x := 1.", None),
    ):
        assert [*map(str, coq_violations(text))] == ([words] if words else [])


def test_a_long_file_takes_a_time_that_grows_with_its_length() -> None:
    """Where it grew with a power of the length the test would end by its timeout."""
    assert len(find_theorems("".join(f"theorem a{n} (\n" for n in range(8_000)))) == 8_000
    assert find_theorems("theorem a :" + "\n" * 50_000 + "| x") == {"a": ":"}
    assert len(coq_violations(f"Set Printing{' ' * 5_000},.")) == 1
    assert len(coq_violations(f"Set Typeclasses{' a' * 5_000},.")) == 1


# --- where problems are found


@pytest.mark.parametrize(
    ("value", "kind", "literal"),
    [
        (3, "Nat", "3"), (-3, "Int", "(-3)"), ("(-3)", "(Int)", "(-3)"), ("true", "Bool", "true"), (False, "Bool", "false"),
        ('a"é', "String", '"a\\"é"'),
        ("#[1, 2]", "Array Nat", "#[1, 2]"), ([[1], []], "List (List Nat)", "[[1], []]"), (None, "Option Nat", "none"),
        ("none", "Option Nat", "none"),
        ("some 3", "Option Nat", "some (3)"), (3, "Option Nat", "some (3)"),
        (-3, "Nat", None), (True, "Nat", None), ("x", "Int", None), (1, "Bool", None), (1, "String", None), ("x", "List Nat", None),
        ("3", "List Nat", None),
        (1, "Float", None),
    ],
)  # fmt: skip
def test_a_value_as_a_literal_of_lean(value: Any, kind: str, literal: str | None) -> None:
    if literal is None:
        with pytest.raises(UnwritableError):
            write_literal(value, kind)
    else:
        assert write_literal(value, kind) == literal


def test_a_row_becomes_a_problem(tmp_path: Path) -> None:
    bare = build_problem({"code": "def f(): pass"}, 3, source="hub", gold={})
    assert (bare.name, bare.title, bare.category, bare.source) == ("task_3", "Task 3", "other", "hub")
    assert bare.prompt == "Analyze and translate the Python file below:\n\ndef f(): pass"
    row = {"filename": "x/my_f.py", "user_query": "Do.", "category": "easy_set", "code": "def f(): pass"}
    gold = "def f := q\ndef q := 1\ntheorem t : f = q := rfl\ntheorem u : True := trivial\n"
    for key in ("my_f", "0"):
        told = build_problem(row, 0, source="hub", gold={key: gold})
        assert (told.name, told.title, told.category, told.source, told.free) == (
            "my_f",
            "My f",
            "easy",
            "gold",
            ("f",),
        )
        assert (told.theorems, told.given, told.reference) == ({"t": ":f = q"}, ("def q := 1",), gold)
    nothing = build_problem(
        row | {"gold_reference_lean4_code": "theorem u : True := trivial"}, 0, source="hub", gold={}
    )
    assert (nothing.reference, nothing.theorems, nothing.source, nothing.prompt) == ("", {}, "gold", "Do.")
    with pytest.raises(RowError, match=r"^row 3 \(`task_2`\) of hub has neither `user_query` nor `code`$"):
        build_problem({"code": ""}, 2, source="hub", gold={})
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n\n{"b": 2}\n')
    assert [*read_rows(path)] == [{"a": 1}, {"b": 2}]
    for text, words in (("{}\nx", "row 2: not JSON: "), ("[1]", "row 1: not an object")):
        path.write_text(text)
        with pytest.raises(RowError, match=words):
            [*read_rows(path)]
    whole = tmp_path / "rows.json"
    whole.write_text('[{"a": 1}]')
    assert [*read_rows(whole)] == [{"a": 1}]
    for name, code in (("task_1", "x"), ("task_2", " "), ("other", "x")):
        (tmp_path / f"{name}.json").write_text(json.dumps({"gold_reference_lean4_code": code}))
    assert read_gold(tmp_path) == {"1": "x"}


def test_files_of_other_benches_are_found_by_number(tmp_path: Path) -> None:
    home = tmp_path / "HumanEvalLean"
    home.mkdir()
    for name in ("HumanEval10.lean", "HumanEval9.lean", "HumanEvalX.lean"):
        (home / name).write_text("")
    assert [path.name for path in human_eval.find_files(tmp_path)] == ["HumanEval9.lean", "HumanEval10.lean"]
    path = home / "HumanEval9.lean"
    prompt = "/- ## Prompt\n\n```python3\ndef f(x):\n    pass\n```\n-/\n"
    for text, words in (
        ("", "holds no `## Prompt`"), (prompt, "states no theorem yet"),
        (prompt + "def f := 1\ntheorem t : g = 1 := rfl", "states no theorem of its function yet"),
    ):  # fmt: skip
        path.write_text(text)
        with pytest.raises(ValueError, match=words):
            human_eval.read_problem(path)
    path.write_text(
        prompt + "def f (x : Nat) := q x\ndef q := 1\ntheorem t : f 1 = q := rfl\ntheorem u : f' = 1 := rfl"
    )
    told = human_eval.read_problem(path)
    assert (told.name, told.title, told.theorems, told.given) == (
        "HumanEval9",
        "f (HumanEval9)",
        {"t": ":f 1 = q"},
        ("def q := 1",),
    )
    assert told.prompt.startswith(
        "Translate this Python function to Lean 4, as `f`:\n```python\ndef f(x):\n    pass\n```\n\nUse these"
    )
    parts = tmp_path / "human_eval"
    parts.mkdir()
    file = parts / "problem_2.lean"
    body = {"problem_details": '/--\nfunction_signature: "def add(x)"\ntest_cases: x -/', "problem_spec": "def s := 1",
    "implementation_signature": "def implementation := ",
            "correctness_definition": "theorem correctness : s = 1 := ", "test_cases": "-- #test f 1\n  = 2\n#test f 3 = 4"}  # fmt: skip
    file.write_text(
        "import Mathlib\n" + "".join(f"-- start_def {name}\n{text}\n-- end_def {name}\n" for name, text in body.items())
    )
    assert clever.find_files(tmp_path) == [file]
    one = clever.read_problem(file)
    assert (one.name, one.title, one.theorems, one.tests) == (
        "clever_problem_2",
        "add (problem_2)",
        {"correctness": ":s = 1"},
        ("f 1 = 2", "f 3 = 4"),
    )
    file.write_text(file.read_text().replace("problem_spec", "other"))
    with pytest.raises(ValueError, match=r"has no part `problem_spec`$"):
        clever.read_problem(file)


def test_statements_of_minif2f(tmp_path: Path) -> None:
    folder = tmp_path / "MiniF2F"
    folder.mkdir()
    test = folder / "Test.lean"
    test.write_text(
        "import MiniF2F.Base\nopen Nat\n\ntheorem a_b (x : Nat) : x = x := by sorry\n\nlemma done : 1 = 1 := rfl\ntheorem c : 1 = 2 :=\n"
    )
    assert minif2f.find_files(tmp_path) == [test]
    one, other = minif2f.read_problems(test)
    assert (one.name, one.title, one.category, one.theorems) == ("a_b", "a b", "test", {"a_b": "(x:Nat):x = x"})
    assert one.skeleton.startswith("import Mathlib\nopen Nat\n\n-- !benchmark @start proof_aux\n")
    assert (other.name, other.skeleton.count("theorem c : 1 = 2 := by\n")) == ("c", 1)
    test.write_text("theorem x : 1 = 1 := rfl")
    with pytest.raises(ValueError, match=r"holds no theorem whose proof is open$"):
        minif2f.read_problems(test)
    (folder / "Valid").mkdir()
    (folder / "Valid" / "b.lean").write_text("theorem b : 1 = 2 := sorry")
    assert [path.name for path in minif2f.find_files(tmp_path)] == ["b.lean"]
    assert minif2f.read_problems(folder / "Valid" / "b.lean")[0].category == "valid"
    row = {
        "name": "r",
        "formal_statement": "theorem r : 1 = 2 := by\n  sorry",
        "informal_prefix": "/-- It is so. -/",
        "split": "valid",
    }
    told = minif2f.read_row(row)
    assert (told.category, told.prompt.split("\n\n")[:2]) == ("valid", ["Prove this theorem in Lean 4.", "It is so."])
    assert minif2f.read_row({"formal_statement": row["formal_statement"]}).category == "test"
    assert len(minif2f.read_rows([row, row | {"split": "x"}])) == 1
    assert [minif2f.is_row(r) for r in (row, {}, {"formal_statement": 1})] == [True, False, False]
    with pytest.raises(ValueError, match=r"^row `z`: `formal_statement` is no theorem whose proof is open$"):
        minif2f.read_row({"name": "z", "formal_statement": "def x := 1"})


def test_a_folder_of_verina(tmp_path: Path) -> None:
    folder = tmp_path / "datasets/verina/verina_advanced_1"
    folder.mkdir(parents=True)
    signature = {
        "name": "f",
        "parameters": [{"param_name": "x", "param_type": "Nat"}, {"param_name": "y", "param_type": "Int"}],
        "return_type": "Bool",
    }
    cases = [{"input": {"x": 1, "y": -2}, "expected": True}, {"input": {"x": -1, "y": 2}, "expected": True}]
    texts = {
        "task.lean": SKELETON + "theorem t : f 1 = 2 := by\n",
        "task.json": json.dumps({"signature": signature}),
        "test.json": json.dumps(cases),
        "description.txt": " D. \n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    assert verina.find_folders(tmp_path) == [folder]
    told = verina.read_problem(folder)
    assert (told.name, told.title, told.category, told.free) == (
        "verina_advanced_1",
        "f (verina_advanced_1)",
        "advanced",
        ("f",),
    )
    assert told.tests == ("(f (1) ((-2)) (by first | decide | simp)) = (true : Bool)",)
    assert (told.theorems, told.prompt.startswith("D.\n\nFill the regions")) == ({"t": ":f 1 = 2"}, True)
    (folder / "test.json").write_text("{")
    with pytest.raises(ValueError, match="is no Verina problem: JSONDecodeError"):
        verina.read_problem(folder)
    (folder / "description.txt").unlink()
    assert verina.find_folders(tmp_path) == []
