"""Tasks from a folder: what is listed without importing, what evaluates, what is mended, and what says why it cannot."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest
from tests.whole import HEAVY

from tracebench_core.errors import PluginError, UsageError
from tracebench_core.plugins.catalog import Catalog
from tracebench_core.specs import Feedback, TaskSpec
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_llm4ad import plugin
from tracebench_llm4ad.adapters.describing import describe, is_cut
from tracebench_llm4ad.adapters.task import ForeignTask
from tracebench_llm4ad.adapters.tree import find_tasks
from tracebench_llm4ad.catalog import BY_NAME
from tracebench_llm4ad.cobench.folder import VARIABLE

from .trees import CUT, NEAREST, WHOLE, write_bench_tree, write_checkout

Evaluate = Callable[..., Feedback]


@pytest.fixture(autouse=True)
def unrooted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    yield
    plugin.tracebench_configure({})


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bench_tree(tmp_path_factory.mktemp("bench") / "benchmark_tasks")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkout(tmp_path_factory.mktemp("checkout"))


def specs(root: Path | str) -> dict[str, TaskSpec]:
    plugin.tracebench_configure({"root": root, "options": {}})
    return {spec.name: spec for spec in plugin.tracebench_tasks() if "root" in spec.groups}


def build(root: Path, name: str, **options: object) -> ForeignTask:
    spec = specs(root)[name]
    module, _, attribute = spec.loader.partition(":")
    task: ForeignTask = getattr(import_module(module), attribute)(**options)
    return task


def test_a_tree_lists_its_keys_and_ours_keep_their_ids(bench: Path) -> None:
    listed = specs(bench)

    assert "optimization/fine" in listed
    assert "optimization/knapsack_construct@root" in listed
    assert "optimization/knapsack_construct" not in listed
    assert len(listed) == 13
    assert set(BY_NAME).isdisjoint(listed)


@pytest.mark.parametrize("place", ["missing", "."])
def test_a_folder_that_is_no_tree_adds_nothing(place: str, tmp_path: Path) -> None:
    assert specs(tmp_path / place) == {}


def test_the_installed_distribution_is_a_root(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(checkout)

    assert "optimization/sum_construct" in specs("installed")


def test_the_tree_is_found_from_above_and_by_the_option(bench: Path) -> None:
    plugin.tracebench_configure({"root": None, "options": {"root": str(bench.parent)}})

    assert any(spec.name == "optimization/fine" for spec in plugin.tracebench_tasks())


def test_listing_runs_nothing_of_a_tree_and_imports_nothing_heavy(bench: Path, checkout: Path) -> None:
    for root in (bench, checkout):
        program = (
            "import sys; import tracebench_llm4ad.plugin as p\n"
            f"p.tracebench_configure({{'root': {str(root)!r}, 'options': {{}}}}); names = [s.name for s in p.tracebench_tasks()]\n"
            "print(len(names) > 40, [m for m in ('numpy', 'gymnasium', 'get_instance', 'llm4ad') if m in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "True []"


def test_what_cannot_be_built_says_why_without_being_run(bench: Path, checkout: Path) -> None:
    why = {name: Catalog.availability(spec) for name, spec in specs(bench).items()}

    assert "cannot be parsed" in why["optimization/unparsable"]
    assert "has no `__init__.py`" in why["optimization/absent"]
    assert "needs: module `a_module_that_nobody_has`" in why["optimization/needy"]
    assert why["optimization/fine"] == ""
    assert "no class with `evaluate_program`" in specs(checkout)["circle_packing@root"].broken


def test_a_module_that_is_missing_is_told_by_the_name_it_is_installed_by(bench: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(bench, tmp_path / "copy"))
    found = next(t for t in find_tasks(copy) if t.key == "optimization/fine")
    header = found.folder / "__init__.py"
    header.write_text("import cv2\n" + header.read_text())
    (need,) = [need for need in specs(copy)["optimization/fine"].requires if need.name == "cv2"]
    assert need.hint == "pip install opencv-python-headless"


def test_a_task_that_fails_to_import_says_what_it_raised(bench: Path) -> None:
    with pytest.raises(
        PluginError, match="`optimization/unimportable` cannot be loaded: RuntimeError: no licence file"
    ):
        build(bench, "optimization/unimportable")


def test_a_program_is_scored_by_the_foreign_evaluator_and_each_evaluation_is_fresh(
    bench: Path, evaluate: Evaluate
) -> None:
    task = build(bench, "optimization/fine")

    first, second = evaluate(task), evaluate(task)

    assert first.status == "ok", first.text
    assert first.score == second.score == 1 + 2 * 2 + 3 * 3 + 4 * 4
    task.close()


def test_a_candidate_may_import_what_its_header_imports(bench: Path, evaluate: Evaluate) -> None:
    spec = specs(bench)["optimization/offering"]

    assert spec.sandbox == ("math", "random", "numpy", "scipy.optimize")
    assert "scipy" in {need.name for need in spec.requires}
    task = build(bench, "optimization/offering")
    assert evaluate(task).score == 20
    task.close()


def test_a_job_whose_every_evaluation_is_refused_is_not_ok(bench: Path, tmp_path: Path) -> None:
    config = {
        "tasks": [{"id": "llm4ad:optimization/fine"}, {"id": "llm4ad:optimization/rejecting"}],
        "trainers": [{"id": "NoOp"}],
        "seeds": [1],
        "runs_dir": str(tmp_path / "runs"),
    }
    summary = api.run(parse_config(config), root=bench, stream=io.StringIO())
    results = api.load_run(summary.run_dir).results.values()
    by_error = {None if r.error is None else r.error.type: r.status for r in results}

    assert by_error == {None: "ok", "NothingScored": "failed"}
    assert summary.exit_code == 1


def test_same_named_helpers_of_two_tasks_never_mix(bench: Path, evaluate: Evaluate) -> None:
    fine, twin = build(bench, "optimization/fine"), build(bench, "optimization/twin")

    assert evaluate(twin).score == 100 + 2 * 101 + 3 * 102 + 4 * 103
    assert evaluate(fine).score == 30
    fine.close()
    twin.close()


def test_keywords_reach_the_foreign_constructor(bench: Path, evaluate: Evaluate) -> None:
    task = build(bench, "optimization/fine", size=2, timeout_seconds=5)

    assert evaluate(task).score == 5
    assert task.seconds == 5
    task.close()


@pytest.mark.parametrize(
    ("program", "status", "words"),
    [
        (
            "def choose(numbers, used):\n    return 0\n",
            "invalid",
            "rule of the evaluator: `used[place]` in `evaluate_program`",
        ),
        ("def choose(numbers, used):\n    return 99\n", "error", "IndexError"),
        pytest.param("def choose(numbers, used):\n    raise ValueError('mine')\n", "error", "mine", marks=HEAVY),
        pytest.param("def choose(numbers, used):\n    while True: pass\n", "timeout", "time", marks=HEAVY),
        ("def other(numbers, used):\n    return 0\n", "invalid", "choose"),
        ("def choose(numbers, used):\n    import os; os._exit(0)\n", "error", ""),
    ],
)
def test_a_bad_program_earns_no_score(bench: Path, evaluate: Evaluate, program: str, status: str, words: str) -> None:
    task = build(bench, "optimization/fine", timeout_seconds=2 if status == "timeout" else 60)

    feedback = evaluate(task, program)

    assert feedback.status == status
    assert words in feedback.text
    assert evaluate(task).status == "ok"
    task.close()


def test_a_candidate_cannot_reach_the_evaluators_memory_or_files(bench: Path, evaluate: Evaluate) -> None:
    task = build(bench, "optimization/fine")
    cheat = f"""
import numpy as np
np.zeros = lambda *a, **k: np.full(4, 5.0)
def choose(numbers, used):
    try:
        open({str(bench / "optimization_fine" / "get_instance.py")!r}).read()
    except OSError:
        numbers[:] = [10**9] * 4
        free = int(np.argmin(used))
        used[:] = 0
        return free
    return 3
"""

    assert evaluate(task, cheat).score == 30
    task.close()


def test_a_vector_becomes_objectives(bench: Path, evaluate: Evaluate) -> None:
    task = build(bench, "optimization/pair_2O")

    feedback = evaluate(task)

    assert feedback.metrics == {"objective_1": 20, "objective_2": -0.5, "score": 20}
    task.close()


def test_an_inverted_objective_is_corrected_and_said(bench: Path, evaluate: Evaluate) -> None:
    spec = specs(bench)["optimization/knapsack_construct@root"]
    task = build(bench, "optimization/knapsack_construct@root")

    feedback = evaluate(task)

    assert (spec.metric, spec.direction) == ("value", "maximize")
    assert "returns minus the total value" in spec.description
    assert feedback.score == feedback.metrics["value"] == 30
    task.close()


def test_an_evaluator_that_runs_the_text_is_locked_down_with_the_candidate(bench: Path, evaluate: Evaluate) -> None:
    spec = specs(bench)["optimization/text"]
    task = build(bench, "optimization/text")
    spy = f"def choose(numbers, used):\n    open({str(bench / 'index.json')!r})\n    return 1\n"

    assert task.where == "together"
    assert "computed in the sandboxed process where the candidate runs" in spec.description
    assert evaluate(task).score == 1
    assert evaluate(task, spy).status == "error"
    assert evaluate(task, "def choose(numbers, used):\n    return None\n").status == "error"
    task.close()


def test_a_guide_of_the_trees_own_is_asked_in_the_sandbox(bench: Path, evaluate: Evaluate) -> None:
    task = build(bench, "guided")

    feedback = evaluate(task, "def choose(n):\n    return 2 * n\n")

    assert (feedback.score, task.where) == (42, "together")
    assert "double it" in feedback.text
    task.close()


@pytest.mark.parametrize("name", ["guided", "optimization/text"])
def test_what_needs_the_text_is_never_evaluated_apart(bench: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be evaluated apart"):
        build(bench, name, where="apart")


def test_any_task_can_be_evaluated_together(bench: Path, evaluate: Evaluate) -> None:
    task = build(bench, "optimization/fine", where="together")

    assert evaluate(task).score == 30
    assert evaluate(task, "def choose(numbers, used):\n    import os; os._exit(0)\n").status == "error"
    task.close()


def test_a_rehearsed_evaluation_says_the_same_and_cannot_be_forged(bench: Path, evaluate: Evaluate) -> None:
    task = build(bench, "optimization/knapsack_construct@root")
    forging = """
def choose(numbers, used):
    import sys
    frame = sys._getframe()
    while frame is not None:
        for name, value in frame.f_locals.items():
            if name == "foreign":
                value.evaluate = lambda *a, **k: {"values": [1e9], "metrics": {}, "text": ""}
            if name == "self" and hasattr(value, "numbers"):
                value.numbers = [1e9] * 4
        frame = frame.f_back
    free = int(np.argmin(used))
    numbers[:], used[:] = [1e9] * 4, 0
    return free
"""
    assert task.where == "rehearsed"
    assert evaluate(task).score == evaluate(task, forging).score == 30
    task.close()


@pytest.mark.parametrize(
    ("program", "status", "words"),
    [
        ("def choose(numbers, used):\n    return 99\n", "error", "IndexError"),
        ("def choose(numbers, used):\n    raise ValueError('mine')\n", "error", "mine"),
        pytest.param("def choose(numbers, used):\n    while True: pass\n", "timeout", "time", marks=HEAVY),
        ("def other(numbers, used):\n    return 0\n", "error", "choose"),
        ("def choose(numbers, used):\n    import os; os._exit(0)\n", "error", ""),
        (
            "def _rehearse(order, files):\n    return 5\ndef choose(numbers, used):\n    return 0\n",
            "invalid",
            "_rehearse",
        ),
        (
            "def _rehearse(order, files):\n    return []\ndef choose(numbers, used):\n    return 0\n",
            "error",
            "more answers",
        ),
        ("def choose(numbers, used):\n    return object()\n", "invalid", "no data"),
    ],
)
def test_a_bad_program_earns_no_score_in_a_rehearsal(
    bench: Path, evaluate: Evaluate, program: str, status: str, words: str
) -> None:
    task = build(bench, "optimization/knapsack_construct@root", timeout_seconds=1 if status == "timeout" else 60)

    feedback = evaluate(task, program)

    assert feedback.status == status, feedback.text
    assert words in feedback.text
    task.close()


def test_an_evaluators_process_ends_with_the_one_that_started_it_and_leaves_nothing(
    bench: Path, tmp_path: Path
) -> None:
    program = (
        "import os, tracebench_llm4ad.plugin as p\n"
        f"p.tracebench_configure({{'root': {str(bench)!r}, 'options': {{}}}})\n"
        "from tracebench_llm4ad.adapters import found\n"
        "task = found.task_optimization_fine()\n"
        "with task._pool.borrowed() as process: print(process._process.pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path / "work", check=False
    )
    program_of = Path("/proc", done.stdout.strip(), "exe")
    for _ in range(400):
        if not program_of.exists():
            break
        time.sleep(0.05)

    assert done.returncode == -9, done.stderr
    assert not program_of.exists()
    assert not list((tmp_path / "work").iterdir())


def test_a_checkout_is_loaded_without_its_heavy_start_and_without_its_base(checkout: Path, evaluate: Evaluate) -> None:
    task = build(checkout, "optimization/sum_construct")

    assert evaluate(task).score == 1
    assert "Choose numbers in turn so that their sum is great, and say why." in task.objective
    assert "what can be chosen" in task.objective
    task.close()


def test_keyword_arguments_find_their_places(checkout: Path, evaluate: Evaluate) -> None:
    task = build(checkout, "optimization/tsp_construct@root")

    assert evaluate(task, "def choose(numbers, used):\n    return len(numbers) - 1\n").score == 3
    task.close()


def test_an_old_environment_is_found_and_its_resets_are_seeded(checkout: Path, evaluate: Evaluate) -> None:
    pytest.importorskip("Box2D")
    task = build(checkout, "optimization/lander", repeats=2)

    first = evaluate(task)

    assert first.status == "ok", first.text
    assert first.score == evaluate(task).score
    task.close()


def test_an_argument_that_a_task_wants_changed_in_place_is_written_back(checkout: Path, evaluate: Evaluate) -> None:
    task = build(checkout, "optimization/qap_construct@root")

    assert evaluate(task, "def choose(numbers, used):\n    numbers[0] = 50\n    return 0\n").score == 55
    assert "keeps what the function makes of the list `numbers`" in task.objective
    task.close()


def test_a_task_that_would_fetch_its_data_reads_them_from_the_folder(
    checkout: Path, tmp_path: Path, evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "optimization/co_bench/set_covering_co_bench@root"
    monkeypatch.delenv(VARIABLE, raising=False)
    assert f"needs: env `{VARIABLE}`" in Catalog.availability(specs(checkout)[name])

    (tmp_path / "set-covering").mkdir()
    (tmp_path / "set-covering" / "scp41.txt").write_text("2 3\n2 3 4\n")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert Catalog.availability(specs(checkout)[name]) == ""
    task = build(checkout, name)
    assert evaluate(task).score == -2
    task.close()


def test_a_task_on_graphs_gets_them_from_the_folder_without_an_unpickler(
    checkout: Path, tmp_path: Path, evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "Maximal independent set"
    place.mkdir()
    (place / "er-1.json").write_text('{"nodes": 4, "edges": [[0, 1]]}')
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    task = build(checkout, "optimization/co_bench/maximal_independent_set_co_bench@root")

    assert evaluate(task).score == 2
    greedy = "def solve(graph):\n    return {'mis_nodes': [0, 2, 3]}\n"
    assert evaluate(task, greedy).score == 3
    assert evaluate(task, greedy.replace("0, 2", "0, 1")).status == "invalid"
    task.close()


@pytest.mark.parametrize("text", [CUT, '"', "('a'", ""])
def test_a_cut_description_is_noticed_and_the_docstring_takes_over(text: str) -> None:
    described = describe([text], program=NEAREST, entry="choose")

    assert is_cut(text)
    assert "1 where a number was used" in described
    assert not described.startswith(("(", '"'))


def test_a_whole_description_is_kept(bench: Path) -> None:
    assert not is_cut(WHOLE)
    task = build(bench, "optimization/fine")
    assert task.objective.startswith(WHOLE)
    task.close()
