"""What is read of a foreign tree without running it: its sources, its index and folders, its descriptions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tracebench_llm4ad.adapters.catalog import digest
from tracebench_llm4ad.adapters.describing import describe, is_cut, mended
from tracebench_llm4ad.adapters.reading import imported_by, needed_modules, read_source
from tracebench_llm4ad.adapters.tree import Found, find_tasks

SOURCE = """
from __future__ import annotations
import os.path, scipy.stats as stats
import gym
import get_instance
import matplotlib.pyplot
from llm4ad.task.optimization.one import numbers, other
from llm4ad.base import Evaluation
from . import near
from numba import njit
try:
    import optional
except ImportError:
    optional = None

NUMBER = 3
TEXT = ("one "
        "two")
COMPUTED = f"{{NUMBER}}"
IMPORT_HEADER = "import sklearn.cluster\\nimport math\\nfrom cv2 import imread\\nfrom . import x\\nimport opto"
template_program = "import numba"
TEMPLATE_FUNCTION = "import broken ("

class Other:
    def method(self): ...

class First:
    def evaluate_program(self, program_str, callable_func):
        return callable_func(1)

class Second(First):
    def evaluate_program(self, program_str, callable_func):
        {use}

def build_trace_problem():
    rows = {fetch}
"""


def test_a_source_is_read_and_not_run(tmp_path: Path) -> None:
    path = tmp_path / "evaluation.py"
    path.write_text(
        SOURCE.format(use="return len(program_str)", fetch='hub.load_subdir_as_text("CO-Bench", "Bin packing")')
    )
    found = read_source(path)
    assert (found.error, found.builds, found.takes_text, found.fetches) == ("", True, True, "Bin packing")
    assert found.constants["NUMBER"] == 3
    assert found.constants["TEXT"] == "one two"
    assert "COMPUTED" not in found.constants
    assert found.evaluators == ["First", "Second"]
    assert found.imports == {"__future__", "os", "scipy", "gym", "get_instance", "matplotlib", "llm4ad", "numba"}
    assert found.within == {f"llm4ad.task.optimization.one{end}" for end in ("", ".numbers", ".other")}
    assert found.offered == {"sklearn.cluster", "cv2", "numba"}
    assert [*needed_modules(found, folder=tmp_path)] == ["get_instance", "gymnasium", "numba", "scipy"]
    (tmp_path / "get_instance.py").touch()
    (tmp_path / "numba").mkdir()
    assert [*needed_modules(found, folder=tmp_path)] == ["gymnasium", "scipy"], "its own files are not demanded"


@pytest.mark.parametrize(
    ("use", "fetch", "told"),
    [
        ("return 1", "load_subdir_as_pickle(REPO, place)", (False, "?")),
        ("return 1", "load_subdir_as_pickle(REPO, 3)", (False, "?")),
        ("return 1", "load_subdir_as_text(REPO)", (False, "")),
        ("return callable_func", "load(REPO, 'x')", (False, "")),
        ("exec(program_str)", "load_subdir_as_text(REPO, 'x')", (True, "x")),
    ],
)
def test_what_an_evaluator_uses_and_fetches(tmp_path: Path, use: str, fetch: str, told: tuple[bool, str]) -> None:
    path = tmp_path / "evaluation.py"
    path.write_text(SOURCE.format(use=use, fetch=fetch))
    found = read_source(path)
    assert (found.takes_text, found.fetches) == told


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (None, "it has no `a.py`"),
        (b"def (", "`a.py` cannot be parsed: invalid syntax"),
        (b"x = 1\0", "`a.py` cannot be parsed: source code string cannot contain null bytes"),
        (b"x = '\xff'", ""),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path: Path, content: bytes | None, error: str) -> None:
    if content is not None:
        (tmp_path / "a.py").write_bytes(content)
    found = read_source(tmp_path / "a.py").error
    assert found.startswith(error) if error else not found


def test_a_folder_in_the_place_of_a_file_cannot_be_read(tmp_path: Path) -> None:
    assert read_source(tmp_path).error.startswith(f"`{tmp_path.name}` cannot be parsed: ")


@pytest.mark.parametrize("text", [None, 3, "import (", "x = 1", "import math", "from .a import b", "import wandb"])
def test_what_imports_nothing_of_others_offers_nothing(text: object) -> None:
    assert [*imported_by(text)] == []


def bench(root: Path, *names: str, text: str = "def build_trace_problem(): ...\n") -> None:
    for name in names:
        (root / name).mkdir(parents=True)
        (root / name / "__init__.py").write_text(text)


def found(root: Path, index: Any = None) -> dict[str, Found]:
    if index is not None:
        (root / "index.json").write_text(index if isinstance(index, str) else json.dumps(index))
    return {task.key: task for task in find_tasks(root)}


@pytest.mark.parametrize("index", [None, "no json", "[]", '{"tasks": 3}', "3", '{"other": []}', "[1, null]"])
def test_without_an_index_that_lists_something_the_folders_are_the_tasks(tmp_path: Path, index: str | None) -> None:
    bench(tmp_path, "b", "a")
    (tmp_path / "c").mkdir()
    assert [*found(tmp_path, index)] == ["a", "b"]


@pytest.mark.parametrize(
    ("entry", "key", "folder"),
    [
        ({"key": "llm4ad:x/a", "module": "benchmark_tasks.own"}, "x/a", "own"),
        ({"key": "x/a"}, "x/a", "x_a"),
        ({"key": "x/co_bench/a"}, "x/co_bench/a", "x_co_bench_a"),
        ({"key": "y/co_bench/a"}, "y/co_bench/a", "y_a"),
        ({"module": "own"}, "own", "own"),
        ({"key": "x/a", "module": "gone"}, "x/a", "x_a"),
        ({"key": "z/co_bench/gone", "module": "gone"}, "z/co_bench/gone", "z_gone"),
    ],
)
@pytest.mark.parametrize("listed", [True, False])
def test_the_folder_of_an_entry(tmp_path: Path, entry: Any, key: str, folder: str, *, listed: bool) -> None:
    bench(tmp_path, "own", "x_a", "x_co_bench_a", "y_a", "x_co_bench", "_co_bench_a")
    tasks = found(tmp_path, [entry] if listed else {"tasks": [entry]})
    assert {key: task.folder.name for key, task in tasks.items()} == {key: folder}


@pytest.mark.parametrize("name", ["../outside", "/outside", "a/../../outside"])
def test_no_entry_leads_out_of_the_tree_and_the_others_are_found(tmp_path: Path, name: str) -> None:
    bench(tmp_path / "tree", "own")
    bench(tmp_path, "outside")
    name = str(tmp_path / "outside") if name.startswith("/") else name
    tasks = found(tmp_path / "tree", [{"key": name, "module": name}, {"key": "own"}, {"key": ""}])
    assert [*tasks] == [name, "own"]
    assert all(task.folder.is_relative_to(tmp_path / "tree") for task in tasks.values())
    assert tasks[name].broken
    assert not tasks["own"].broken


def test_what_builds_nothing_is_broken(tmp_path: Path) -> None:
    bench(tmp_path, "fine")
    bench(tmp_path, "other", text="x = 1\n")
    assert found(tmp_path)["other"].broken == "`__init__.py` defines no `build_trace_problem`"
    assert found(tmp_path)["fine"].broken == ""


@pytest.mark.parametrize(
    "place", ["", "benchmark_tasks", "LLM4AD/benchmark_tasks", "benchmarks/LLM4AD/benchmark_tasks"]
)
def test_the_tree_of_tasks_is_found_from_above(tmp_path: Path, place: str) -> None:
    bench(tmp_path / place, "a")
    assert [*found(tmp_path)] == ["a"]


def test_a_checkout_is_found_by_its_folder_and_by_its_package(tmp_path: Path) -> None:
    for name in ("llm4ad/task/x/a", "example/b"):
        (tmp_path / name).mkdir(parents=True)
        methods = "    def evaluate_program(self, p, f): ...\n"
        (tmp_path / name / "evaluation.py").write_text(f"class E:\n{methods}class Later:\n{methods}")
    tasks = found(tmp_path)
    assert found(tmp_path / "llm4ad") == tasks
    assert {key: (task.module, task.short, task.evaluator) for key, task in tasks.items()} == {
        "x/a": ("llm4ad.task.x.a", "a", "E"),
        "b": ("", "b", "E"),
    }
    assert tasks["x/a"].secluded == tmp_path / "llm4ad"
    assert tasks["b"].secluded == tmp_path / "example" / "b"
    assert found(tmp_path / "llm4ad" / "task") == {}


def test_a_task_says_which_evaluator_it_was(tmp_path: Path) -> None:
    bench(tmp_path, "a")
    task = found(tmp_path)["a"]
    before = digest(task)
    (task.folder / "notes.txt").write_text("no part of it")
    assert digest(task) == before
    (task.folder / "b.py").touch()
    assert digest(task) != before
    assert len(before) == 16


WHOLE = "A description that tells something."


@pytest.mark.parametrize(
    ("text", "cut", "said"),
    [
        (WHOLE, False, WHOLE),
        ("x" * 20, False, "x" * 20),
        ("x" * 19, True, "x" * 19),
        (f" '{WHOLE}' ", True, WHOLE),
        (f'("{WHOLE} "', True, WHOLE),
        (f"f'{WHOLE}", True, f"f'{WHOLE}"),
        (f'("""{WHOLE}""")', True, WHOLE),
        (f"({WHOLE})", False, WHOLE),
        (f"({WHOLE}", True, WHOLE),
    ],
)
def test_a_cut_description_still_says_something(text: str, cut: bool, said: str) -> None:
    assert is_cut(text) is cut
    assert mended(text) == said


def test_the_best_description_is_the_longest_whole_one() -> None:
    program = 'def g():\n    """Other."""\ndef f():\n    """Documented."""\n'
    documented = "The function `f`, as its starting version documents it:\nDocumented."
    assert describe(["", WHOLE, f"{WHOLE} And more.", f"('{WHOLE * 3}"], program=program, entry="f") == (
        f"{WHOLE} And more.\n\n{documented}"
    )
    assert describe([f"('{WHOLE}", "(' short"], program=program, entry="f") == f"{WHOLE} [...]\n\n{documented}"
    assert describe(["(' short"], program=program, entry="f") == documented
    assert describe([f"{WHOLE} Documented."], program=program, entry="f") == f"{WHOLE} Documented."
    for without in ("x = (", "def f(): ...", "def g(): ..."):
        assert (
            describe([" "], program=without, entry="f") == "Improve the function `f`. The tree describes it no further."
        )
