"""The suite as Trace-Bench sees it: listing, sample labels, runs against a local server of rules."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.processes import measured
from tests.whole import HEAVY

from tracebench_engine.api import evaluate_task, load_config, run
from tracebench_testing.answering import FakeModel
from tracebench_testing.fake_openai import FakeOpenAI

QUIET = {"TRACEBENCH_HF_SOURCE": "sample"}


@pytest.fixture(autouse=True)
def _samples(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)


def solve(messages: list[dict[str, Any]]) -> str:
    """Answer sums when asked for the form of the answer, and ramble otherwise; propose that form when asked to improve."""
    text = "\n".join(str(m["content"]) for m in messages)
    if "#### NUMBER" in text.split("Question:")[0] and "Question:" in text:
        counted = re.search(r"(\d+) trays with (\d+) rolls", text)
        return f"#### {int(counted[1]) * int(counted[2]) - 30}" if counted else "#### 1"
    return "Well, that is hard to say, 7 or 8."


def test_listing_imports_neither_datasets_nor_opens_rows() -> None:
    code = (
        "import sys; from tracebench_engine.cli.app import main\n"
        "sys.argv = ['trace-bench', 'list-tasks', '--bench', 'hf']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'datasets', 'pyarrow', 'tracebench_hfqa.rows.downloading'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    ids = done.stdout.split()
    assert len([i for i in ids if i.startswith("hf:bbeh/")]) == 23
    assert {"hf:gsm8k", "hf:bbeh_eight/linguini", "hf:multiobjective_gsm8k"} <= set(ids)


def config(tmp_path: Path, server: FakeOpenAI | None, **told: Any) -> Any:
    model = (
        {
            "model": "openai/rules",
            "base_url": server.base_url,
            "prices": {"openai/rules": {"prompt": 0, "completion": 0}},
        }
        if server
        else {}
    )
    tmp_path.mkdir(exist_ok=True)
    document = {
        "runs_dir": str(tmp_path / "runs"),
        "mode": "real" if server else "stub",
        "seeds": [1],
        "llm": model,
        **told,
    }
    (tmp_path / "try.json").write_text(json.dumps(document))
    return load_config(tmp_path / "try.json")


def results(run_dir: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(run_dir.glob("jobs/*/results.json"))]


def test_a_job_records_the_hash_of_its_rows_and_says_that_they_are_samples(tmp_path: Path) -> None:
    task = {"id": "hf:gsm8k", "eval_kwargs": {"num_train": 2, "num_validate": 1, "num_test": 1}}
    done = run(config(tmp_path, None, tasks=[task], trainers=[{"id": "NoOp"}]))
    (result,) = results(Path(done.run_dir))
    assert result["status"] == "ok"
    assert result["versions"]["task"]["comparability"] == 1005
    told = [
        e["data"]
        for path in Path(done.run_dir).glob("jobs/*/events.jsonl")
        for e in map(json.loads, path.read_text().splitlines())
        if e["kind"] == "record"
    ]
    assert {t["label"] for t in told} == {"sample rows, not the data set"}
    assert {split for t in told for split in t["rows"]} == {"train", "validation", "test"}
    assert all(len(rows["sha256"]) == 64 for t in told for rows in t["rows"].values())


def judged(reply: str, case: Any, sandbox: Any, *, seconds: float) -> Any:
    from tracebench_hfqa.running import run_tests

    return measured(lambda: run_tests(reply, case, SimpleNamespace(sandbox=sandbox), seconds=seconds))  # type: ignore[arg-type]


def test_code_that_cheats_fails_and_code_that_works_passes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    replies = {
        "right": ("def double_all(numbers):\n    return [2 * n for n in numbers]\n", 1.0),
        "fenced": (
            "Here it is:\n```python\ndef double_all(numbers):\n    return [2 * n for n in numbers]\n```\nDone.",
            1.0,
        ),
        "body": ("    return [2 * n for n in numbers]\n", 1.0),
        "exit": ("print('PASS')\nimport sys; sys.exit(0)\ndef double_all(numbers): pass\n", 0.0),
        "equal to all": (
            "class E(list):\n    def __eq__(self, other): return True\ndef double_all(numbers):\n    return E()\n",
            0.0,
        ),
        "no tests": ("def check(candidate): pass\ndef double_all(numbers):\n    return None\n", 0.0),
        "loop": ("def double_all(numbers):\n    while True: pass\n", 0.0),
        "empty": ("", 0.0),
    }
    from tracebench_core.specs import SandboxConfig
    from tracebench_engine.measure.sandbox import job_sandbox
    from tracebench_hfqa.families import find_family
    from tracebench_hfqa.families.family import Fields
    from tracebench_hfqa.rows.folder import read_file
    from tracebench_hfqa.rows.opening import SAMPLES

    row = next(iter(read_file(SAMPLES / "openai_humaneval.jsonl")))
    case = find_family("code_exec").read(row, Fields(question="prompt", test="test", entry="entry_point"))

    sandbox = job_sandbox(SandboxConfig(), address=None, preload=())

    try:
        worth = {
            name: judged(reply, case, sandbox, seconds=1.0 if name == "loop" else 60.0).score
            for name, (reply, _) in replies.items()
        }
    finally:
        sandbox.close()
    assert worth == {name: value for name, (_, value) in replies.items()}


@HEAVY
def test_a_right_program_is_right_beside_others_that_want_its_processor() -> None:
    from tracebench_core.specs import SandboxConfig
    from tracebench_engine.measure.sandbox import job_sandbox
    from tracebench_hfqa.families.family import Case

    tests = "assert work(0.8) == 1"
    case = Case(question="", gold="", extra={"entry": "work", "tests": tests, "setup": ""})
    reply = "import time\ndef work(s):\n    began = time.process_time()\n    while time.process_time() - began < s: pass\n    return 1"

    sandbox = job_sandbox(SandboxConfig(), address=None, preload=())

    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        verdict = judged(reply, case, sandbox, seconds=2.0)
    finally:
        sandbox.close()
        for other in others:
            other.kill()
            other.wait()
        os.sched_setaffinity(0, before)
    assert (verdict.score, verdict.rule) == (1.0, "")


MBPP = {
    "brackets": (["assert (Diff([1, 2])) == [2]"], "def Diff(a):\n    return a[1:]", "Diff"),
    "check": (["assert check(4) == True"], "def check(n):\n    return n % 2 == 0", "check"),
    "match": (
        ["assert found('ab')", "assert not found('b')"],
        "import re\ndef found(s):\n    return re.match('a', s)",
        "found",
    ),
    "module": (["assert size(1) == sys.getsizeof(1)"], "import sys\ndef size(n):\n    return sys.getsizeof(n)", "size"),
    "wrapped": (["assert set(twice((1,))) == set((2,))"], "def twice(t):\n    return tuple(2 * x for x in t)", "twice"),
    "builtin": (["assert sum(1, 2) == 3"], "def sum(a, b):\n    return a + b", "sum"),
}
"""Tests in the forms of MBPP, a solution, and the function's name."""
UNTRUE = "def found(s):\n    class True_:\n        def __eq__(self, other): return True\n    return True_()"


def test_programs_pass_tests_of_every_form() -> None:
    from tracebench_core.specs import SandboxConfig
    from tracebench_engine.measure.sandbox import job_sandbox
    from tracebench_hfqa.families import find_family
    from tracebench_hfqa.families.family import Fields

    sandbox = job_sandbox(SandboxConfig(), address=None, preload=())

    family, worth = find_family("code_exec"), {}
    try:
        for name, (tests, code, entry) in MBPP.items():
            row = {"prompt": "Write it.", "code": code, "test_list": tests}
            case = family.read(row, Fields(question="prompt", answer="code", test="test_list"))
            assert case.extra["entry"] == entry
            worth[name] = judged(family.gold_reply(case), case, sandbox, seconds=60.0).score
            worth[f"{name}, none"] = judged(f"def {entry}(*a): return None", case, sandbox, seconds=60.0).score
        row = {"prompt": "Write it.", "code": "", "test_list": ["assert found('a') == 'b'"]}
        case = family.read(row, Fields(question="prompt", answer="code", test="test_list"))
        worth["equal to all, none"] = judged(UNTRUE, case, sandbox, seconds=60.0).score
    finally:
        sandbox.close()
    assert worth == {name: float(not name.endswith("none")) for name in worth}


@pytest.mark.parametrize("written", ["internal:multiobjective_gsm8k", "internal:multiobjective_bbeh"])
def test_multi_objective_tasks_answer_to_their_older_ids(tmp_path: Path, written: str) -> None:
    task = {"id": written, "eval_kwargs": {"objective_mode": "pareto", "n_train": 2}}
    done = run(config(tmp_path, None, tasks=[task], trainers=[{"id": "NoOp"}]))
    (result,) = results(Path(done.run_dir))
    assert result["status"] == "ok", result["error"]
    assert result["task_id"] == written.replace("internal:", "hf:")
    assert {"accuracy", "tokens"} <= set(result["metrics_initial"])


def test_evaluate_task_names_a_broken_demonstration() -> None:
    options = {"program": "few_shot", "num_train": 1, "num_validate": 0, "num_test": 0}
    feedback = evaluate_task("hf:gsm8k", {"demonstrations": [{"q": 1}]}, eval_kwargs=options)
    assert "`demonstrations` must be a list" in feedback[0].text
    assert feedback[0].status == "invalid"


@pytest.mark.parametrize(("most", "shown"), [(0, 8), (3, 3)])
def test_so_many_demonstrations_are_shown_and_not_one_more(most: int, shown: int) -> None:
    options = {"program": "few_shot", "num_train": 1, "num_validate": 0, "num_test": 0, "demonstrations": most}
    prompts: list[str] = []

    def answer(prompt: str, _call: int) -> str:
        prompts.append(prompt)
        return "#### 7"

    for count in (shown, shown + 1):
        given = [{"question": f"worked question {i}", "answer": str(i)} for i in range(count)]
        (feedback,) = evaluate_task("hf:gsm8k", {"demonstrations": given}, eval_kwargs=options, model=FakeModel(answer))
        if count == shown:
            assert feedback.status == "ok"
            assert prompts[0].count("worked question") == shown
        else:
            assert feedback.status == "invalid"
            assert feedback.text == f"`demonstrations` holds {shown + 1}; at most {shown} are allowed."
    assert len(prompts) == 1


@pytest.mark.parametrize(("words", "judged"), [(["yes", "no"], 0.5), (["yes", "perhaps"], None), (["No."], 0.0)])
def test_a_judge_is_asked_of_every_repeat(words: list[str], judged: float | None) -> None:
    said = iter(words)

    def answer(prompt: str, _call: int) -> str:
        return next(said) if "Answer to judge:" in prompt else "#### 7"

    options = {"judge": True, "num_eval_repeats": len(words), "num_train": 1, "num_validate": 0, "num_test": 0}
    feedback = evaluate_task("hf:gsm8k", {}, eval_kwargs=options, model=FakeModel(answer))

    assert feedback[0].metrics.get("judge") == judged
