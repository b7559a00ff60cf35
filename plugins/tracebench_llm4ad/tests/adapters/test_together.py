"""What a sandboxed process with candidate and evaluator reports is taken by its shape only, and what it is given of a tree."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.specs import Feedback
from tracebench_llm4ad.adapters.task import ForeignTask
from tracebench_llm4ad.adapters.together import _checked, copies_for
from tracebench_llm4ad.adapters.tree import Found, find_tasks

from .trees import OWN_GUIDE

SHAPELESS = {"refused": "The evaluation printed a report of no known shape."}
SCORED = {"values": [1, 2.5], "metrics": {"a": 1}, "text": "words"}


@pytest.mark.parametrize(
    ("report", "taken"),
    [
        (SCORED, SCORED),
        (SCORED | {"more": 1}, SCORED),
        ({"values": [1], "metrics": {}}, {"values": [1], "metrics": {}, "text": ""}),
        (SCORED | {"text": "x" * 4001}, SCORED | {"text": "x" * 4000}),
        (SCORED | {"text": 7}, SCORED | {"text": "7"}),
        *(
            ({key: "y" * 2001, **SCORED}, {"error" if key == "broken" else key: "y" * 2000})
            for key in ("refused", "error", "crashed", "broken")
        ),
        ({"error": 3, **SCORED}, SCORED),
        ({"values": [], "metrics": {}}, SHAPELESS),
        ({"values": [True], "metrics": {}}, SHAPELESS),
        ({"values": ["1"], "metrics": {}}, SHAPELESS),
        ({"values": [float("nan")], "metrics": {}}, SHAPELESS),
        ({"values": [float("inf")], "metrics": {}}, SHAPELESS),
        ({"values": [10**400], "metrics": {}}, SHAPELESS),
        ({"values": [1], "metrics": {"a": None}}, SHAPELESS),
        ({"values": [1], "metrics": {"a": -(10**400)}}, SHAPELESS),
        ({"values": [1], "metrics": [1]}, SHAPELESS),
        ({"values": 1, "metrics": {}}, SHAPELESS),
        ({"values": [1]}, SHAPELESS),
        ([1], SHAPELESS),
    ],
)
def test_a_report_is_taken_by_its_shape(report: Any, taken: dict[str, Any]) -> None:
    assert _checked(json.dumps(report)) == taken


@pytest.mark.parametrize("line", ["", "{", "[" * 100_000, "1" * 5000])
def test_what_is_no_report_is_refused(line: str) -> None:
    assert _checked(line) == SHAPELESS


def test_a_sandbox_gets_the_texts_of_the_task_of_the_base_and_of_what_it_imports(tmp_path: Path) -> None:
    texts = [
        "llm4ad/task/one/evaluation.py",
        "llm4ad/task/one/data/a.txt",
        "llm4ad/base/code.py",
        "llm4ad/task/two/get.py",
    ]
    others = ["llm4ad/task/three/x.py", "llm4ad/task/one/__pycache__/y.py", "llm4ad/method/z.py"]
    for name in texts + others:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "llm4ad/task/one/picture.png").write_bytes(b"\xff\xfe")
    folder = tmp_path / "llm4ad" / "task" / "one"
    found = Found(
        key="one", layout="llm4ad", root=tmp_path, folder=folder, within=("llm4ad.task.two.get", "llm4ad.task.two")
    )
    order, files = copies_for(found, {"root": str(tmp_path), "folder": str(folder), "seed": 3})
    assert order == {"root": "tree", "folder": "tree/llm4ad/task/one", "seed": 3}
    assert {name: text for name, text in files.items() if name.startswith("tree/")} == {f"tree/{n}": n for n in texts}
    assert "def main" in files["foreign/together.py"]
    assert not any(str(tmp_path) in name for name in files)

    bench = Found(key="one", layout="bench", root=tmp_path / "llm4ad" / "task", folder=folder)
    assert sorted(name for name in copies_for(bench, {})[1] if name.startswith("tree/")) == [
        "tree/one/data/a.txt", "tree/one/evaluation.py",
    ]  # fmt: skip


def test_a_guide_of_its_own_beside_an_evaluator_is_asked_in_the_sandbox_too(
    tmp_path: Path, evaluate: Callable[..., Feedback], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "tree" / "mixed"
    folder.mkdir(parents=True)
    scoring = "class Unused:\n    def evaluate_program(self, program_str, callable_func):\n        return 1.0\n"
    guide = OWN_GUIDE.replace('{"n": 21}', '{"n": 21, "check": print}')
    (folder / "__init__.py").write_text(f"{guide}\n{scoring}")
    task = ForeignTask.build(find_tasks(tmp_path / "tree")[0])

    assert task.where == "together"
    assert evaluate(task, "from __future__ import annotations\ndef choose(n):\n    return 3 * n\n").score == 63
    task.close()
