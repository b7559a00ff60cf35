"""Lean problems found in folders of every shape that users have."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from plugins.tracebench_veribench.tests.proving import Held
from tests import warm

from tracebench_veribench import plugin
from tracebench_veribench.discovery import catalog
from tracebench_veribench.discovery.literals import UnwritableError, write_literal
from tracebench_veribench.lean.calibrations import families
from tracebench_veribench.lean.problem import answering, fill
from tracebench_veribench.lean.verifying import verify

TASK_LEAN = """-- !benchmark @start import type=solution
import Mathlib
-- !benchmark @end import

-- !benchmark @start solution_aux

-- !benchmark @end solution_aux

def half_precond (n : Nat) : Prop :=
  -- !benchmark @start precond
  n % 2 = 0
  -- !benchmark @end precond

-- !benchmark @start code_aux

-- !benchmark @end code_aux

def half (n : Nat) (h_precond : half_precond (n)) : Nat :=
  -- !benchmark @start code
  SECRET_CODE n
  -- !benchmark @end code

def half_postcond (n : Nat) (result : Nat) (h_precond : half_precond (n)) :=
  -- !benchmark @start postcond
  result * 2 = n
  -- !benchmark @end postcond

-- !benchmark @start proof_aux

-- !benchmark @end proof_aux

theorem half_spec_satisfied (n : Nat) (h_precond : half_precond (n)) :
    half_postcond (n) (half (n) h_precond) h_precond := by
  -- !benchmark @start proof
  SECRET_PROOF
  -- !benchmark @end proof
"""


def make_verina(root: Path, name: str = "verina_basic_7") -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "task.lean").write_text(TASK_LEAN)
    (folder / "description.txt").write_text("Halve an even number.")
    signature = {"name": "half", "parameters": [{"param_name": "n", "param_type": "Nat"}], "return_type": "Nat"}
    (folder / "task.json").write_text(json.dumps({"id": name, "signature": signature}))
    (folder / "test.json").write_text(
        json.dumps([{"input": {"n": 4}, "expected": 2}, {"input": {"n": "x"}, "expected": 2}])
    )
    return folder


def test_a_checkout_of_verina_is_a_root(tmp_path: Path) -> None:
    make_verina(tmp_path / "datasets" / "verina")
    (tmp_path / "datasets/verina/coverage_data.json").write_text("{}")
    catalog.configure({"root": str(tmp_path)})

    assert list(catalog.find_problems().problems) == ["verina_basic_7"]


def test_the_statements_of_minif2f_for_lean_3_are_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "lean/src").mkdir(parents=True)
    (tmp_path / "lean/src/test.lean").write_text("theorem t : 1 + 1 = 2 :=\nbegin\n  sorry\nend\n")
    catalog.configure({"root": str(tmp_path)})

    found = catalog.find_problems()
    assert not found.problems
    assert "is in Lean 3" in found.broken["test"]
    assert "yangky11/miniF2F-lean4" in found.broken["test"]


def test_a_verina_folder_becomes_a_problem_that_hides_its_solution(tmp_path: Path) -> None:
    make_verina(tmp_path)

    catalog.configure({"root": tmp_path})
    problem = catalog.find_problems().problems["verina_basic_7"]

    assert "SECRET" not in problem.prompt + problem.skeleton
    assert "result * 2 = n" in problem.prompt
    assert problem.tests == ("(half (4) (by first | decide | simp)) = (2 : Nat)",)
    assert list(problem.theorems) == ["half_spec_satisfied"]


def test_an_answer_fills_its_regions_and_changes_nothing_else(tmp_path: Path) -> None:
    make_verina(tmp_path)
    catalog.configure({"root": tmp_path})
    skeleton = catalog.find_problems().problems["verina_basic_7"].skeleton
    answer = skeleton.replace("@start code\n", "@start code\n  n / 2\n").replace("result * 2 = n", "True")

    filled = fill(skeleton, answer)

    assert filled is not None
    assert "  n / 2\n" in filled
    assert "result * 2 = n" in filled
    assert fill(skeleton, "def half := 3") is None


def test_rows_of_the_hub_are_read_from_a_file_and_gold_stays_hidden(tmp_path: Path) -> None:
    rows = [
        {"filename": "binary_search.py", "category": "cs_set", "code": "def f(): ...", "user_query": "Translate f."},
        {"filename": "bubble_sort.py", "category": "easy_set", "code": "def g(): ..."},
        {"filename": "bubble_sort.py", "category": "easy_set", "code": "def g(): ..."},
    ]
    (tmp_path / "veribench.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "dataset").mkdir()
    gold = (
        "def Sorted (xs : List Nat) : Prop := True\n\ntheorem g_sorted (xs : List Nat) : Sorted (g xs) := by SECRET\n"
    )
    (tmp_path / "dataset" / "task_1.json").write_text(json.dumps({"gold_reference_lean4_code": gold}))

    catalog.configure({"options": {"root": str(tmp_path)}})
    found = catalog.find_problems()

    assert list(found.problems) == ["binary_search", "bubble_sort"]
    assert found.problems["binary_search"].theorems == {}
    assert list(found.problems["bubble_sort"].theorems) == ["g_sorted"]
    assert "SECRET" not in str(found.problems)


def test_gold_by_name_gives_the_statements_to_prove(tmp_path: Path) -> None:
    (tmp_path / "veribench.jsonl").write_text(json.dumps({"filename": "g.py", "code": "def g(): ..."}))
    (tmp_path / "dataset").mkdir()
    gold = "def Good (xs : List Nat) : Prop := xs = []\n\ntheorem g_good (xs : List Nat) : Good (g xs) := by SECRET\n"
    (tmp_path / "dataset" / "task_g.json").write_text(json.dumps({"gold_reference_lean4_code": gold}))

    catalog.configure({"options": {"root": str(tmp_path)}})
    problem = catalog.find_problems().problems["g"]

    assert problem.theorems == {"g_good": "(xs:List Nat):Good(g xs)"}
    assert problem.given == ("def Good (xs : List Nat) : Prop := xs = []",)
    assert "SECRET" not in problem.prompt


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("veribench.jsonl", "{]", "row 1: not JSON"),
        ("veribench.jsonl", '{"filename": "a.py"}', "neither `user_query` nor `code`"),
        ("veribench.json", "[3]", "row 1: not an object"),
    ],
)
def test_a_file_that_cannot_be_read_is_listed_with_the_reason(
    name: str, text: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)

    catalog.configure({"options": {"root": str(tmp_path)}})
    specs = plugin.tracebench_tasks()

    assert len(specs) == 1
    assert reason in specs[0].broken


VERINA = {"signature": {"parameters": []}}
SPEC = "theorem t : f) = 1 := by x\n/-!\n## Prompt\n\n```python\ndef f(): ...\n```\n-/\n"
ODD = {
    "a document that is no list": ({"veribench.json": "{}"}, "veribench", "holds no list of rows"),
    "a document that is a number": ({"veribench.json": "3"}, "veribench", "holds no list of rows"),
    "a document without an end": ({"veribench.json": "["}, "veribench", "veribench.json` is not JSON"),
    "a document too deep": ({"veribench.json": "[" * 100_000}, "veribench", "RecursionError"),
    "a gold file that is a list": ({"a.jsonl": '{"code": "x"}', "dataset/task_1.json": "[]"}, "a", "task_1.json` holds no object"),
    "a gold file without an end": ({"a.jsonl": '{"code": "x"}', "dataset/task_1.json": "{"}, "a", "task_1.json` is not JSON"),
    "a folder of Verina without a name": (
        {"v/task.lean": "", "v/task.json": json.dumps(VERINA), "v/test.json": "[]", "v/description.txt": ""}, "v", "KeyError: 'name'",
    ),
    "a name that is a pattern": ({"HumanEval7.lean": f"def f) : Nat := 1\n{SPEC}"}, "", ""),
    "a module that fails when it lists": ({"mine.py": "def list_tasks():\n    raise OSError('away')\n"}, "entrypoint", "OSError('away')"),
    "a module that ends when it lists": ({"mine.py": "def list_tasks():\n    raise SystemExit(3)\n"}, "entrypoint", "SystemExit(3)"),
    "a module that fails when it loads": (
        {"mine.py": "def list_tasks():\n    return ['a']\ndef load_task(name):\n    return 1 / 0\n"}, "entrypoint", "division by zero",
    ),
}  # fmt: skip
"""By what is wrong with a root: its files, what is broken, and why."""


@pytest.mark.parametrize("how", ODD)
def test_whatever_a_root_holds_its_problems_are_listed(how: str, tmp_path: Path) -> None:
    files, broken, words = ODD[how]
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    make_verina(tmp_path, "verina_basic_9")

    catalog.configure({"options": {"root": str(tmp_path), "entrypoint": "mine" if "mine.py" in files else ""}})
    found = catalog.find_problems()

    assert "verina_basic_9" in found.problems
    assert words in found.broken.get(broken, "")
    assert bool(found.broken) == bool(broken)


def test_two_problems_of_one_name_are_both_offered(tmp_path: Path) -> None:
    make_verina(tmp_path)
    (tmp_path / "veribench.jsonl").write_text(json.dumps({"filename": "verina_basic_7.py", "code": "x"}))

    catalog.configure({"root": tmp_path})

    assert list(catalog.find_problems().problems) == ["verina_basic_7", "verina_basic_7-2"]


def test_a_users_own_module_lists_problems(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def list_tasks():\n    return ['a', 'b']\n\ndef load_task(name):\n    return {'filename': name + '.py', 'code': 'pass'}\n"
    )
    catalog.configure({"options": {"root": str(tmp_path), "entrypoint": "mine"}})
    assert list(catalog.find_problems().problems) == ["a", "b"]

    catalog.configure({"options": {"root": str(tmp_path), "entrypoint": "absent"}})
    assert "absent.py" in catalog.find_problems().broken["entrypoint"]

    (tmp_path / "bad.py").write_text("raise SystemExit(3)\n")
    catalog.configure({"options": {"root": str(tmp_path), "entrypoint": "bad"}})
    assert "cannot be imported" in catalog.find_problems().broken["entrypoint"]


def test_a_human_eval_file_wants_the_theorems_of_its_function(tmp_path: Path) -> None:
    text = (
        "def Even' (n : Nat) : Prop := n % 2 = 0\n\ndef doubleIt (n : Nat) : Nat := 2 * n\n\n"
        "theorem helper (n : Nat) : n = n := rfl\n\ntheorem doubleIt_even {n : Nat} : Even' (doubleIt n) := by\n  SECRET\n\n"
        "/-!\n## Prompt\n\n```python3\ndef double_it(n):\n    '''Twice n.'''\n```\n-/\n"
    )
    (tmp_path / "HumanEvalLean").mkdir()
    (tmp_path / "HumanEvalLean" / "HumanEval7.lean").write_text(text)
    (tmp_path / "HumanEvalLean" / "HumanEval8.lean").write_text(
        "def f : Unit := ()\n/-!\n## Prompt\n\n```python3\ndef f(): ...\n```\n-/\n"
    )

    catalog.configure({"root": tmp_path})
    found = catalog.find_problems()

    problem = found.problems["HumanEval7"]
    assert problem.theorems == {"doubleIt_even": "{n:Nat}:Even'(doubleIt n)"}
    assert "def Even' (n : Nat) : Prop := n % 2 = 0" in problem.prompt
    assert "SECRET" not in problem.prompt
    assert "no theorem" in found.broken["HumanEval8"]


CLEVER = """import Imports.AllImports

-- start_def problem_details
/--
function_signature: "def half(n: int) -> int"
docstring: Halve an even number.
test_cases:
  - input: 8
    expected_output: 4
-/
-- end_def problem_details

--- start_def problem_spec
def problem_spec (impl: Nat → Nat) (n: Nat) := ∃ r, impl n = r ∧ r = n / 2
-- end_def problem_spec

--start_def generated_spec_body
sorry
--end_def generated_spec_body

-- start_def implementation_signature
def implementation (n: Nat) : Nat :=
-- end_def implementation_signature
-- start_def implementation
SECRET_CODE
-- end_def implementation

-- start_def test_cases
-- #test implementation 8 = 4
#test implementation 6 =
  3
-- end_def test_cases

-- start_def correctness_definition
theorem correctness (n: Nat) : problem_spec implementation n :=
-- end_def correctness_definition
-- start_def correctness_proof
by SECRET_PROOF
-- end_def correctness_proof
"""


def test_a_clever_file_becomes_a_problem_that_hides_its_solution_and_its_tests(tmp_path: Path) -> None:
    folder = tmp_path / "src" / "lean4" / "human_eval"
    folder.mkdir(parents=True)
    (folder / "problem_7.lean").write_text(CLEVER)
    (folder / "problem_8.lean").write_text(CLEVER.replace("problem_spec\ndef", "other\ndef"))

    catalog.configure({"root": tmp_path})
    found = catalog.find_problems()

    problem = found.problems["clever_problem_7"]
    assert "SECRET" not in problem.prompt + problem.skeleton + problem.reference
    assert "expected_output" not in problem.prompt
    assert problem.tests == ("implementation 8 = 4", "implementation 6 = 3")
    assert problem.theorems == {"correctness": "(n:Nat):problem_spec implementation n"}
    assert problem.title == "half (problem_7)"
    assert "no part `problem_spec`" in found.broken["clever_problem_8"]
    answer = answering({"code_aux": "", "code": "  n / 2 + 0", "proof_aux": "", "proof": "by simp [problem_spec]"})
    filled = fill(problem.skeleton, answer)
    assert filled is not None
    assert filled.index("def implementation") < filled.index("n / 2 + 0") < filled.index("theorem correctness")
    assert problem.reference.count("sorry") == 2


HEADER = "import MiniF2F.Minif2fImport\nopen BigOperators Real\n\n"
PROVEN = "theorem proven (n : Nat) : n = n := by rfl\n\n"
STATED = "/-- A theorem. -/\ntheorem aime_1 (n : Nat)\n  (h : 0 < n) :\n  n = n := by sorry\n\ntheorem imo_2 : 1 + 1 = 2 :=\n  by sorry\n"


def test_minif2f_is_read_from_either_of_its_layouts_and_from_rows(tmp_path: Path) -> None:
    one, many, rows = tmp_path / "one", tmp_path / "many", tmp_path / "rows"
    (one / "MiniF2F" / "Test").mkdir(parents=True)
    (one / "MiniF2F" / "Valid").mkdir()
    (one / "MiniF2F" / "Test" / "aime_1.lean").write_text(HEADER + STATED.partition("theorem imo_2")[0])
    (one / "MiniF2F" / "Valid" / "bad.lean").write_text(HEADER + PROVEN)
    (many / "MiniF2F").mkdir(parents=True)
    (many / "MiniF2F" / "Test.lean").write_text(HEADER + PROVEN + STATED)
    rows.mkdir()
    row = {
        "name": "aime_1",
        "split": "valid",
        "informal_prefix": "/-- Show it.-/\n",
        "header": "import Mathlib\nopen Real\n",
    }
    row["formal_statement"] = "theorem aime_1 (n : Nat)\n  (h : 0 < n) :\n  n = n := by\n"
    (rows / "minif2f.jsonl").write_text(json.dumps(row) + "\n")

    def read(root: Path) -> catalog.Found:
        catalog.configure({"root": root})
        return catalog.find_problems()

    statement = {"aime_1": "(n:Nat)(h:0 < n):n = n"}
    assert [(p.name, p.category, p.theorems) for p in read(one).problems.values()] == [("aime_1", "test", statement)]
    assert "no theorem whose proof is open" in read(one).broken["bad"]
    assert list(read(many).problems) == ["aime_1", "imo_2"]
    skeleton = read(many).problems["imo_2"].skeleton
    assert skeleton.startswith("import Mathlib\nopen BigOperators Real\n\n-- !benchmark @start proof_aux\n")
    assert "theorem imo_2 : 1 + 1 = 2 := by\n-- !benchmark @start proof\n" in skeleton
    problem = read(rows).problems["aime_1"]
    assert (problem.category, problem.theorems) == ("valid", statement)
    assert "Show it." in problem.prompt


@pytest.mark.parametrize("kind", ["clever", "minif2f"])
def test_what_must_be_refused_of_any_answer_is(kind: str, tmp_path: Path) -> None:
    if kind == "clever":
        (tmp_path / "human_eval").mkdir()
        (tmp_path / "human_eval" / "problem_7.lean").write_text(CLEVER)
    else:
        (tmp_path / "MiniF2F").mkdir()
        (tmp_path / "MiniF2F" / "Test.lean").write_text(HEADER + STATED)
    catalog.configure({"root": tmp_path})
    name, problem = next(iter(catalog.find_problems().problems.items()))

    cases = list(families(f"file/{name}", None))  # type: ignore[arg-type]

    assert {case.kind for case in cases} == {"refused"}
    for case in cases:
        assert case.values is not None
        told = verify(problem, str(case.values["file"]), Held(None, {})).feedback()  # type: ignore[arg-type]
        assert told.status == "invalid", case.name
        assert case.words in told.text, case.name


def test_without_a_root_one_id_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in catalog.ROOT_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    catalog.configure({})

    (spec,) = plugin.tracebench_tasks()

    assert spec.name == "smoke_placeholder"
    assert "fetch" in spec.requires[0].hint


@pytest.mark.parametrize(
    ("value", "kind", "literal"),
    [
        (3, "Nat", "3"), (-3, "Int", "(-3)"), ("-3", "Int", "(-3)"), (True, "Bool", "true"), ("a\"b", "String", '"a\\"b"'),
        ("[1, -2]", "List Int", "[1, (-2)]"), ("#[1, 2]", "Array Nat", "#[1, 2]"), ([[1], []], "Array (Array Nat)", "#[#[1], #[]]"),
        (None, "Option Nat", "none"), ("some 2", "Option Nat", "some (2)"),
    ],
)  # fmt: skip
def test_json_values_become_lean_literals(value: object, kind: str, literal: str) -> None:
    assert write_literal(value, kind) == literal


@pytest.mark.parametrize(
    ("value", "kind"),
    [(-1, "Nat"), (True, "Int"), ("x", "Int"), (1.5, "Nat"), ("[", "List Nat"), (1, "Float"), (1, "String")],
)
def test_what_does_not_fit_its_type_is_no_literal(value: object, kind: str) -> None:
    with pytest.raises(UnwritableError):
        write_literal(value, kind)


def test_an_entry_point_without_a_root_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in catalog.ROOT_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv(catalog.ENTRYPOINT_VARIABLE, "my.problems")
    catalog.configure({})

    (spec,) = plugin.tracebench_tasks()

    assert spec.name == "entrypoint"
    assert "`my.problems`" in spec.broken
    assert "export VERIBENCH_ROOT=" in spec.broken
    monkeypatch.delenv(catalog.ENTRYPOINT_VARIABLE)
    catalog.configure({})
    assert [s.name for s in plugin.tracebench_tasks()] == ["smoke_placeholder"]


def test_a_task_whose_lean_is_not_here_says_that_it_was_never_calibrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_verina(tmp_path)
    (tmp_path / "c.yaml").write_text("mode: stub\ntasks: ['veribench:file/verina_basic_7']\ntrainers: [NoOp]\n")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    own = {"PATH": "/nonexistent", "VERIBENCH_ROOT": str(tmp_path), "TRACEBENCH_PLUGINS": "internal,veribench"}

    def told(*arguments: str) -> str:
        done = warm.trace_bench(*arguments, folder=tmp_path, environ={**os.environ, **own, "LEAN_PROJECT": ""})
        return done.stdout + done.stderr

    assert "never calibrated" in told("validate", "--strict", "--config", "c.yaml")
    assert "never calibrated" in told("validate", "--config", "c.yaml")
    assert "never calibrated" in told("calibrate", "veribench")
    assert "never calibrated" in told("calibrate", "veribench", "--kept")
    assert "never calibrated" in told("list-tasks", "veribench:file/verina_basic_7")
