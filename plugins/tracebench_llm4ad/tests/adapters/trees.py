"""Writes small trees in the two shapes that adapters read; every text is made for these tests."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent, indent

BUILD = """
def build_trace_problem(**overrides):
    kwargs = {**EVAL_KWARGS, **overrides}
    evaluator = globals()[EVAL_CLASS_NAME](**kwargs)
    from llm4ad_loader import AutonomousEvaluatorGuide
    from opto import trace

    param = trace.node(TEMPLATE_FUNCTION.strip(), name="__code", description="code", trainable=True)
    guide = AutonomousEvaluatorGuide(evaluator, ENTRY_NAME, IMPORT_HEADER, timeout=kwargs.get("timeout_seconds", 30))
    return dict(
        param=param,
        guide=guide,
        train_dataset=dict(inputs=[TASK_DESCRIPTION], infos=[{"imports": IMPORT_HEADER, "entry": ENTRY_NAME}]),
        optimizer_kwargs=dict(objective="...", memory_size=10),
        metadata=dict(entry=ENTRY_NAME, function_signature="def f(...):", eval_class=EVAL_CLASS_NAME, benchmark=True),
    )
"""
NEAREST = '''
import numpy as np

def choose(numbers: List[float], used: np.ndarray) -> int:
    """Return the place of a number that was not used.

    Args:
        numbers: what can be chosen.
        used: 1 where a number was used.
    """
    return int(np.argmin(used))
'''
SOLVING = NEAREST.replace(
    "return int(np.argmin(used))", "return int(opt.linear_sum_assignment(np.asarray(used).reshape(1, -1))[1][0])"
)
SCORING = """
class Scoring(Evaluation):
    def __init__(self, timeout_seconds=20, size=4, **kwargs):
        super().__init__(template_program=TEMPLATE, task_description="", timeout_seconds=timeout_seconds)
        self.numbers = get_instance.numbers(size)

    def evaluate_program(self, program_str, callable_func):
        used = np.zeros(len(self.numbers))
        total = 0.0
        for step in range(len(self.numbers)):
            place = callable_func(list(self.numbers), used)
            if used[place]:
                return None
            used[place] = 1
            total += self.numbers[place] * (step + 1)
        self.numbers.append(1000.0)
        return {result}
"""
HELPER = "def numbers(size):\n    return [{base} + k for k in range(size)]\n"
WHOLE = "Choose the numbers one after the other so that the weighted sum becomes as great as possible."
CUT = '("Choose the numbers one after the other so that the weighted "'


def bench_task(
    root: Path,
    name: str,
    *,
    description: str = WHOLE,
    result: str = "total",
    base: float = 0.0,
    program: str = NEAREST,
    head: str = "",
    scoring: str = SCORING,
    header: str = "import math\nimport numpy as np",
) -> None:
    """Write one task of a `benchmark_tasks` tree; each has a helper module `get_instance` of its own."""
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "get_instance.py").write_text(HELPER.format(base=base))
    (folder / "__init__.py").write_text(
        f"import os, sys\nsys.path.insert(0, os.path.dirname(__file__))\nimport numpy as np\n{head}\n"
        "import get_instance\nfrom llm4ad_loader import Evaluation\n\n"
        f"TEMPLATE = {program!r}\n{scoring.replace('{result}', result)}\n"
        f"ENTRY_NAME = 'choose'\nIMPORT_HEADER = {header!r}\nTASK_DESCRIPTION = {description!r}\n"
        f"TEMPLATE_FUNCTION = {program!r}\nEVAL_CLASS_NAME = 'Scoring'\nEVAL_KWARGS = {{'timeout_seconds': 20, 'junk (1-3)': 2}}\n"
        f"{BUILD}"
    )


OWN_GUIDE = """
from opto import trace
from opto.trainer.guide import Guide

TEMPLATE = "def choose(n):\\n    return n\\n"


class Doubling(Guide):
    def get_feedback(self, query, response, reference=None, **kwargs):
        space = {}
        exec(response, space)
        return float(space["choose"](reference["n"])), "double it"


def build_trace_problem(**overrides):
    return dict(
        param=trace.node(TEMPLATE, trainable=True),
        guide=Doubling(),
        train_dataset=dict(inputs=["double"], infos=[{"n": 21}]),
        optimizer_kwargs={},
        metadata={"entry": "choose"},
    )
"""
TEXT = """
class Scoring(Evaluation):
    def __init__(self, timeout_seconds=20, **kwargs):
        super().__init__(template_program=TEMPLATE, task_description="", timeout_seconds=timeout_seconds)

    def evaluate_program(self, program_str, callable_func):
        space = {}
        exec(program_str.replace("def choose(", "def chosen("), space)
        return float(space["chosen"](get_instance.numbers(3), np.array([1.0, 0.0, 1.0])))
"""


def write_bench_tree(root: Path) -> Path:
    """Write a `benchmark_tasks` tree with a task of every kind and its index."""
    bench_task(root, "optimization_fine", base=1.0)
    bench_task(root, "optimization_twin", base=100.0)
    bench_task(root, "optimization_cut", description=CUT)
    bench_task(root, "optimization_pair_2O", result="np.array([total, -0.5])")
    bench_task(root, "optimization_knapsack_construct", result="-total", base=1.0)
    bench_task(root, "optimization_unimportable", head="raise RuntimeError('no licence file')")
    bench_task(root, "optimization_needy", head="import a_module_that_nobody_has")
    bench_task(root, "optimization_text", scoring=TEXT)
    bench_task(
        root, "optimization_offering", header="import numpy as np\nimport scipy.optimize as opt", program=SOLVING
    )
    bench_task(root, "optimization_rejecting", result="float('-inf')")
    (root / "optimization_unparsable").mkdir()
    (root / "optimization_unparsable" / "__init__.py").write_text("def build_trace_problem(:\n")
    (root / "guided").mkdir()
    (root / "guided" / "__init__.py").write_text(OWN_GUIDE)
    names = ["fine", "twin", "cut", "pair_2O", "knapsack_construct", "unimportable", "needy", "text", "unparsable"]
    names += ["offering", "rejecting"]
    index = [
        {"key": f"optimization/{n}", "module": f"optimization_{n}", "entry": "choose", "eval_class": "Scoring"}
        for n in names
    ]
    index.append({"key": "guided", "module": "guided", "entry": "choose"})
    index.append({"key": "optimization/absent", "module": "optimization_absent", "entry": "choose"})
    (root / "index.json").write_text(json.dumps(index))
    return root


EVALUATION = """
from __future__ import annotations
from typing import Any
import gym
import matplotlib.pyplot as plt
import numpy as np
from llm4ad.base import Evaluation
from llm4ad.task.optimization.{name}.get_instance import numbers
from llm4ad.task.optimization.{name}.template import template_program, task_description


class Scored(Evaluation):
    def __init__(self, timeout_seconds=30, size=3, **kwargs):
        super().__init__(template_program=template_program, task_description=task_description, timeout_seconds=timeout_seconds)
        self.numbers = numbers(size)

    def evaluate_program(self, program_str: str, callable_func: callable) -> Any | None:
        used = np.zeros(len(self.numbers), dtype=np.float_)
        return self.score(callable_func, used)

    def score(self, eva, used):
{body}

    def plot(self):
        fig, ax = plt.subplots()
        ax.bar([1], [2])
        plt.show()
"""
CONCATENATED = (
    "task_description = (\n    'Choose numbers in turn so that '\n    'their sum is great, '\n    'and say why.'\n)\n"
)
ENVIRONMENT = """
env = gym.make("LunarLander-v2")
first, _ = env.reset()
self.eva = eva(list(self.numbers), used)
return float(first[0]) + self.eva
"""


def checkout_task(top: Path, name: str, *, body: str) -> None:
    """Write one task of an LLM4AD checkout."""
    folder = top / "llm4ad" / "task" / "optimization" / name
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('the start that imports everything')\n")
    (folder / "get_instance.py").write_text(HELPER.format(base=1.0))
    (folder / "template.py").write_text(f"template_program = {NEAREST!r}\n{CONCATENATED}")
    (folder / "evaluation.py").write_text(
        EVALUATION.replace("{name}", name).replace("{body}", indent(dedent(body), " " * 8))
    )


HUB = """
from datasets import load_dataset


def load_subdir_as_text(repo, subdir, *, skip_ext=(".py",), streaming=False):
    return load_dataset(repo, data_dir=subdir)
"""
FETCHING = """
from llm4ad.base import Evaluation
from llm4ad.task.optimization.co_bench.utils import load_subdir_as_text

template_program = "def solve(lines):\\n    return {'lines': lines}\\n"


class Counting(Evaluation):
    def __init__(self, timeout_seconds=30, **kwargs):
        super().__init__(template_program=template_program, task_description="Count.", timeout_seconds=timeout_seconds)
        dataset = load_subdir_as_text("CO-Bench/CO-Bench", "Set covering")
        self.texts = ["\\n".join(row["text"] for row in rows) for rows in dataset.values()]

    def evaluate_program(self, program_str, callable_func):
        return -float(sum(callable_func(len(text.splitlines()))["lines"] for text in self.texts))
"""


GRAPHS = """
from llm4ad.base import Evaluation
from llm4ad.task.optimization.co_bench.utils import load_subdir_as_pickle

template_program = "def solve(graph):\\n    return {'mis_nodes': [v for v in graph if not graph[v]]}\\n"


class Choosing(Evaluation):
    def __init__(self, timeout_seconds=30, **kwargs):
        super().__init__(template_program=template_program, task_description="Choose.", timeout_seconds=timeout_seconds)
        self.graphs = load_subdir_as_pickle("CO-Bench/CO-Bench", "Maximal independent set", include_subdirs=("er_test",))["er_test"]

    def evaluate_program(self, program_str, callable_func):
        total = 0
        for graph in self.graphs.values():
            chosen = callable_func(graph)["mis_nodes"]
            if any(v not in set(graph.nodes()) or any(graph.has_edge(v, u) for u in chosen) for v in chosen):
                return None
            total += len(chosen)
        return float(total)
"""


def write_checkout(top: Path) -> Path:
    """Write an LLM4AD checkout whose packages must not be imported whole; `llm4ad.base` is there and cannot be imported."""
    checkout_task(top, "sum_construct", body="return float(self.numbers[eva(list(self.numbers), used)])")
    checkout_task(top, "tsp_construct", body="return float(self.numbers[eva(numbers=list(self.numbers), used=used)])")
    checkout_task(top, "lander", body=ENVIRONMENT)
    checkout_task(top, "qap_construct", body="eva(self.numbers, used)\nreturn float(sum(self.numbers))")
    for package in ("llm4ad", "llm4ad/task", "llm4ad/task/optimization", "llm4ad/base"):
        (top / package).mkdir(exist_ok=True)
        (top / package / "__init__.py").write_text("import a_heavy_thing_that_is_not_installed\n")
    fetching = top / "llm4ad" / "task" / "optimization" / "co_bench" / "set_covering_co_bench"
    fetching.mkdir(parents=True)
    (fetching / "evaluation.py").write_text(FETCHING)
    (fetching.parent / "utils.py").write_text(HUB + HUB[HUB.index("def ") :].replace("as_text", "as_pickle"))
    choosing = fetching.parent / "maximal_independent_set_co_bench"
    choosing.mkdir()
    (choosing / "evaluation.py").write_text(GRAPHS)
    (top / "example" / "circle_packing").mkdir(parents=True)
    (top / "example" / "circle_packing" / "evaluation.py").write_text("class Nothing:\n    pass\n")
    return top
