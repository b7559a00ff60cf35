"""The two kinds of task, the judge beside them, and runs that keep what is hidden hidden."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from plugins.tracebench_veribench.tests.proving import Held, requires_coq
from plugins.tracebench_veribench.tests.test_discovery import make_verina

from tracebench_core.specs import Example
from tracebench_veribench.attacks.corpus import LEAN_PROGRAM, LEAN_REFERENCE, coq_attacks
from tracebench_veribench.coq import loading
from tracebench_veribench.coq.calibrations import families as coq_families
from tracebench_veribench.coq.problem import load_problem
from tracebench_veribench.discovery import catalog
from tracebench_veribench.lean.calibrations import families as lean_families
from tracebench_veribench.prover import COQ, Assignment
from tracebench_veribench.replies import extract_file
from tracebench_veribench.stages import Verdict
from tracebench_veribench.tasks import FileOptions, FileTask, PromptOptions, PromptTask

PASSED = Verdict({"gate": 1.0, "compiles": 1.0, "statements": 1.0, "assumptions": 1.0}, reached_end=True)
FAILED = Verdict({"gate": 1.0, "compiles": 0.0}, {"compiles": ["line 1: no"]})
ASSIGNMENT = Assignment("a", "Prove it.", lambda text, _: PASSED if "good" in text else FAILED, {"t": "True"}, "")


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("```coq\nA\n```", "A\n"),
        ("Sure!\n```python\nlonger than coq\n```\n```coq\nA\n```\n", "A\n"),
        ("```\nA\n```\n```\nBB\n```", "BB\n"),
        ("```Coq\nA\nunclosed", "A\nunclosed"),
        ("A bare file.", "A bare file."),
        ("", ""),
    ],
)
def test_the_file_is_taken_out_of_the_reply(reply: str, text: str) -> None:
    assert extract_file(reply, "coq") == text


def test_repair_gives_the_checkers_words_back_once() -> None:
    task = PromptTask(COQ, {"train": (ASSIGNMENT,)}, PromptOptions(repair=True))
    replies = iter(["```coq\nbad\n```", "```coq\ngood\n```"])
    context = Held(None, {}, reply=lambda messages, role: next(replies))
    values = {p.name: p.initial for p in task.parameters}

    output = task.run(values, task.splits["train"][0], context)  # type: ignore[arg-type]

    assert output == "good\n"
    assert [role for role, _ in context.asked] == ["agent", "agent"]
    assert "line 1: no" in context.asked[1][1][-1]["content"]


@pytest.mark.parametrize(
    ("reply", "opinion"),
    [
        ('{"score": 0.82, "reason": "honest"}', 0.82),
        ('I think {"score": 0.26, "reason": "only sorry"}', 0.26),
        ('{"score": 7}', None),
        ('{"score": true}', None),
        ("no idea", None),
        ("{", None),
        ('{"score": ' + "[" * 100_000 + "}", None),
        ('{"score": NaN}', None),
        (f'{{"score": {10**400}}}', None),
    ],
)
def test_the_judge_is_a_metric_of_its_own(reply: str, opinion: float | None) -> None:
    task = FileTask(COQ, ASSIGNMENT, FileOptions(judge=True))
    context = Held(None, {}, reply=lambda messages, role: reply)

    feedback = task.guide(task.splits["train"][0], "good", context)  # type: ignore[arg-type]

    assert feedback.score == 1.0
    assert feedback.metrics.get("judge") == opinion
    assert context.asked[0][0] == "judge"


def test_the_judge_is_told_what_a_shallow_file_is_worth() -> None:
    """A file of unfinished proofs and an honest one are told apart by the prompt's own rules, here applied by a script."""

    def judge(messages: list[dict[str, str]], role: str) -> str:
        rules, file = messages[0]["content"], messages[1]["content"]
        share = 1 / 3 if "at most a third" in rules and "Admitted" in file.split("File:")[1] else 1.0
        return f'{{"score": {share * 0.8}}}'

    task = FileTask(COQ, ASSIGNMENT, FileOptions(judge=True))
    example: Example = task.splits["train"][0]
    shallow = task.guide(example, "good. Theorem t : True. Admitted.", Held(None, {}, reply=judge))  # type: ignore[arg-type]
    honest = task.guide(example, "good. Theorem t : True. Proof. exact I. Qed.", Held(None, {}, reply=judge))  # type: ignore[arg-type]

    assert shallow.metrics["judge"] < 0.3
    assert honest.metrics["judge"] > 0.7


def test_loaders_open_only_the_splits_that_they_are_given() -> None:
    task = loading.suite(splits=frozenset({"train"}))

    assert set(task.splits) == {"train"}


@requires_coq
def test_a_run_keeps_gold_and_hidden_tests_to_itself(tmp_path: Path) -> None:
    config = tmp_path / "run.yaml"
    config.write_text(
        f"mode: stub\nseeds: [1]\nruns_dir: {tmp_path / 'runs'}\nbudget: {{evaluations: 4}}\n"
        "tasks: ['veribench_coq:file/list_sum', 'veribench_coq:list_sum']\ntrainers: [KeepBest]\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "tracebench_engine.cli", "run", "--config", str(config)],
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    problem = load_problem("list_sum")
    text = "\n".join(p.read_text(errors="replace") for p in (tmp_path / "runs").rglob("*") if p.is_file())
    assert "Fixpoint sum" not in text
    assert not any(test in text for test in problem.tests)


@requires_coq
def test_the_form_of_a_reply_does_not_matter_and_forgeries_earn_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tracebench_engine.cli", "calibrate", "veribench_coq:list_sum", "veribench_coq:file/gcd", "--json"],
        capture_output=True, text=True, timeout=170, check=False,
    )  # fmt: skip

    seen = json.loads(done.stdout)["cases"]
    assert done.returncode == 0, seen
    assert {case["kind"] for case in seen} == {"gold", "form", "known", "order", "forged"}


def test_every_problem_in_coq_has_a_proof_and_forgeries_to_be_told_apart() -> None:
    for name in ("file/list_sum", "file/bst_insert"):
        kinds = [case.kind for case in coq_families(name, loading.file_list_sum())]
        assert kinds[:5] == ["gold", "known", "known", "order", "order"]
        assert kinds.count("forged") == (len(coq_attacks()) + 5 if name == "file/list_sum" else 5)
    task = loading.suite()
    golds = {case.split: case.replies for case in coq_families("suite", task) if case.kind == "gold"}
    assert {split: [*replies] for split, replies in golds.items()} == {
        split: [e.id for e in examples] for split, examples in task.splits.items()
    }


def test_in_lean_only_a_problem_with_a_proven_reference_shows_that_a_real_lean_was_asked(tmp_path: Path) -> None:
    make_verina(tmp_path)
    row = {"filename": "insertion_sort.py", "code": LEAN_PROGRAM, "gold_reference_lean4_code": LEAN_REFERENCE}
    (tmp_path / "veribench.jsonl").write_text(json.dumps(row))
    catalog.configure({"options": {"root": str(tmp_path)}})

    def kinds(name: str) -> list[str]:
        return [case.kind for case in lean_families(name, PromptTask(COQ, {}, PromptOptions()))]

    assert kinds("insertion_sort") == ["gold", "forged", "forged", "forged", "forged"]
    assert kinds("file/insertion_sort") == ["gold", "known", "order", "forged", "forged", "forged", "forged"]
    assert {*kinds("file/verina_basic_7")} == {"refused"}
    catalog.configure({})
