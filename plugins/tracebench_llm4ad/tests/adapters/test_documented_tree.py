"""A tree of 65 tasks with upstream's keys, folders and every known defect: each is listed, and scores or says what it lacks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest
from tests.whole import HEAVY, one_in

from tracebench_core.plugins.catalog import Catalog
from tracebench_core.specs import Feedback, TaskSpec
from tracebench_llm4ad import plugin
from tracebench_llm4ad.adapters.known import CORRECTED
from tracebench_llm4ad.adapters.task import ForeignTask
from tracebench_llm4ad.catalog import BY_NAME
from tracebench_llm4ad.cobench.folder import VARIABLE

from .trees import CUT, NEAREST, WHOLE, bench_task

Evaluate = Callable[..., Feedback]
FOUR = 1 + 2 * 2 + 3 * 3 + 4 * 4
ROUTING = "optimization/co_bench/vehicle_routing_period_routing_co_bench"
READING = """
from llm4ad_loader import load_subdir_as_text

class Scoring(Evaluation):
    def __init__(self, timeout_seconds=20, **kwargs):
        super().__init__(template_program=TEMPLATE, task_description="", timeout_seconds=timeout_seconds)
        files = load_subdir_as_text("CO-Bench/CO-Bench", "FOLDER")
        self.texts = ["\\n".join(row["text"] for row in rows) for rows in files.values()]

    def load_data(self, text):
        return [{"customers": [float(word) for word in text.split()]}]

    def evaluate_program(self, program_str, callable_func):
        cases = [case for text in self.texts for case in self.load_data(text)]
        used = np.zeros(2)
        total = sum(case["KEY"][callable_func(case["KEY"], used)] for case in cases)
        return SIGNtotal
"""
RESETTING = """
import gym

class Scoring(Evaluation):
    def __init__(self, timeout_seconds=20, **kwargs):
        super().__init__(template_program=TEMPLATE, task_description="", timeout_seconds=timeout_seconds)
        self.env = gym.make("Pendulum-v1")

    def evaluate_program(self, program_str, callable_func):
        first, _ = self.env.reset()
        return float(first[0]) + callable_func([1.0], np.zeros(1))
"""
UNDEFINED = NEAREST.replace("np.argmin(used)", "np.argmin(0 * x[0] + used)").replace("numbers: List", "xs: List")
"""Uses a name `x` that nothing defines, as `feynman_srsd` does upstream; the argument is called `xs`."""
UNBOUND = NEAREST.replace("int(np.argmin(used))", "kwargs['used']")
"""Uses a name `kwargs` that nothing defines, as most starting programs of CO-Bench's tasks do upstream."""


def module_of(key: str) -> str:
    return key.replace("/co_bench/", "_").removesuffix("_co_bench").replace("/", "_")


def write_task(root: Path, key: str) -> None:
    """Write the task of a key with the defects that upstream's has."""
    short = key.rpartition("/")[2]
    name, sign = module_of(key), "-" if short in CORRECTED else ""
    if "co_bench" in key:
        own = getattr(import_module(BY_NAME[key].loader.partition(":")[0]), BY_NAME[key].loader.partition(":")[2])
        missing = "costumers" if key == ROUTING else "customers"
        text = READING.replace("FOLDER", own.__self__.folder).replace("KEY", missing).replace("SIGN", sign)
        header = "import numpy as np\nfrom scipy.optimize import linprog"
        program = UNBOUND if "graph_colouring" in key else NEAREST
        bench_task(root, name, description='"', scoring=text, header=header, program=program)
    elif key.startswith("machine_learning"):
        bench_task(root, name, description=CUT, scoring=RESETTING)
    elif short.endswith("_2O"):
        bench_task(root, name, description=CUT, result="np.array([total, -0.5])", base=1.0)
    elif short == "feynman_srsd":
        bench_task(root, name, description=CUT, program=UNDEFINED, base=1.0)
    elif short == "circle_packing":
        bench_task(root, name, description=WHOLE, result="float('-inf')")
    else:
        bench_task(root, name, description=CUT, result=f"{sign}total", base=1.0)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("up") / "benchmarks" / "LLM4AD" / "benchmark_tasks"
    for key in BY_NAME:
        write_task(root, key)
    index = [{"key": key, "module": module_of(key), "entry": "choose", "eval_class": "Scoring"} for key in BY_NAME]
    (root / "index.json").write_text(json.dumps(index))
    return root


@pytest.fixture(autouse=True)
def data(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Put a file of two numbers into every folder of the data but one."""
    for key in BY_NAME:
        if "co_bench" in key and "crew" not in key:
            source = (tree / module_of(key) / "__init__.py").read_text()
            folder = tmp_path / source.partition('"CO-Bench/CO-Bench", "')[2].partition('"')[0]
            folder.mkdir()
            (folder / "cases.txt").write_text("3 4\n")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    plugin.tracebench_configure({})


def specs(tree: Path) -> dict[str, TaskSpec]:
    plugin.tracebench_configure({"root": tree.parents[2], "options": {}})
    return {spec.name: spec for spec in plugin.tracebench_tasks() if "root" in spec.groups}


def said(tree: Path, key: str, evaluate: Evaluate) -> tuple[ForeignTask, Feedback]:
    spec = specs(tree)[f"{key}@root"]
    task: ForeignTask = getattr(import_module(spec.loader.partition(":")[0]), spec.loader.partition(":")[2])()
    try:
        return task, evaluate(task)
    finally:
        task.close()


def test_all_65_are_listed_and_those_that_cannot_run_say_why(tree: Path) -> None:
    listed = specs(tree)
    why = {name: reason for name, spec in listed.items() if (reason := Catalog.availability(spec))}

    assert len(listed) == 65
    assert set(listed) == {f"{key}@root" for key in BY_NAME}
    assert set(why) == {"optimization/co_bench/crew_scheduling_co_bench@root"}
    assert "Crew scheduling" in next(iter(why.values()))


@pytest.mark.parametrize("short", one_in(3, CORRECTED))
def test_every_inverted_objective_is_corrected_and_said(tree: Path, short: str, evaluate: Evaluate) -> None:
    key = next(key for key in BY_NAME if key.endswith(f"/{short}"))
    task, feedback = said(tree, key, evaluate)
    spec = specs(tree)[f"{key}@root"]

    assert feedback.score == (3 if "co_bench" in key else FOUR), feedback.text
    assert spec.direction == "maximize"
    assert CORRECTED[short].words in spec.description
    assert CORRECTED[short].words in task.objective


@pytest.mark.parametrize(
    ("key", "score"),
    [
        (ROUTING, 3),
        ("science_discovery/feynman_srsd", FOUR),
        ("optimization/tsp_gls_2O", FOUR),
        ("optimization/online_bin_packing_2O", FOUR),
        ("optimization/qap_construct", FOUR),
        ("optimization/co_bench/set_covering_co_bench", 3),
    ],
)
def test_what_upstream_broke_is_mended(tree: Path, key: str, score: float, evaluate: Evaluate) -> None:
    task, feedback = said(tree, key, evaluate)

    assert feedback.score == score, feedback.text
    assert "what can be chosen" in task.objective


@HEAVY
def test_resets_without_a_seed_are_seeded(tree: Path, evaluate: Evaluate) -> None:
    pytest.importorskip("gymnasium")
    first, second = (said(tree, "machine_learning/pendulum", evaluate)[1] for _ in range(2))

    assert first.status == "ok", first.text
    assert first.score == second.score


@pytest.mark.parametrize(
    ("key", "status", "words"),
    [
        ("circle_packing", "invalid", "it rejects the program"),
        ("optimization/co_bench/graph_colouring_co_bench", "error", "name 'kwargs' is not defined"),
    ],
)
def test_a_start_that_cannot_score_says_why(tree: Path, key: str, status: str, words: str, evaluate: Evaluate) -> None:
    _, feedback = said(tree, key, evaluate)

    assert feedback.status == status
    assert words in feedback.text
