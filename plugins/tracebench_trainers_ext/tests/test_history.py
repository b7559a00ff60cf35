"""What an agent's history says is taken where it is one of ours: of the whole of train, once a candidate, the best first."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tracebench_engine.door
from tracebench_trainers_ext.launch import ADAPTERS

CLIENT = Path(tracebench_engine.door.__file__).parent / "foreign"


@pytest.fixture(scope="module")
def folder() -> Any:
    spec = importlib.util.spec_from_file_location("adapters_folder", ADAPTERS / "tracebench_adapters/folder.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def row(candidate: str, score: float, *, examples: int = 2, held_out: bool = False, **texts: Any) -> str:
    found = {"score": score, "examples": ["e"] * examples, "held_out": held_out, "candidate": candidate}
    return json.dumps(found | {"texts": texts or {"code": candidate}})


def best(folder: Any, place: Path, *lines: str, most: int = 2) -> list[str]:
    (place / "history.jsonl").write_text("\n".join(lines))
    return [texts["code"] for texts in folder.best_measured(place, most=most, names=["code"])]


def test_the_best_few_of_those_that_compare_are_taken(folder: Any, tmp_path: Path) -> None:
    tried = [row("c1", 0.5), row("c2", 0.7), row("c3", 0.9, examples=1), row("c4", 0.6), row("c2", 0.1)]
    assert best(folder, tmp_path, *tried) == ["c2", "c4"]
    assert best(folder, tmp_path, *tried, most=9) == ["c2", "c4", "c1"]
    assert best(folder, tmp_path, *tried, row("c2", 0.2, held_out=True)) == ["c4", "c1"], "c2 is settled"
    assert best(folder, tmp_path, row("c5", 0.5), row("c6", 0.5)) == ["c5", "c6"], "of equal ones the first"
    assert best(folder, tmp_path) == []


@pytest.mark.parametrize(
    "line",
    [
        "not ours",
        "[" * 100_000,
        "[]",
        "3",
        row("c9", 9.0).replace('"c9", "texts"', '9, "texts"'),
        row("c9", 9.0).replace("9.0", '"9"'),
        row("c9", 9.0, other="x"),
        row("c9", 9.0, code="x", other="y"),
        row("c9", 9.0, code=3),
    ],
)
def test_a_line_that_is_none_of_ours_is_passed_over(folder: Any, tmp_path: Path, line: str) -> None:
    assert best(folder, tmp_path, line, row("c1", 0.5)) == ["c1"]


def test_each_parameter_has_a_file_of_its_own(folder: Any, tmp_path: Path) -> None:
    kinds = {"a.b": "text", "a b": "code", "a_b": "code", "a/b": "code", "d": "number"}
    task = SimpleNamespace(
        parameters={name: SimpleNamespace(kind=kind) for name, kind in kinds.items()}, initial=dict.fromkeys(kinds, "")
    )
    assert [folder.file_of(task, name) for name in kinds] == ["a.b.txt", "a_b.py", "a_b-2.py", "a_b-3.py", "d.json"]
    texts = {name: f"of {name}" for name in kinds}
    folder.write_texts(task, texts, tmp_path)
    assert folder.read_texts(task, tmp_path) == texts
    odd = dict.fromkeys(kinds, "a\r\nb\rc\x0c\u2028\n")
    folder.write_texts(task, odd, tmp_path)
    assert folder.read_texts(task, tmp_path) == odd, "what nobody touched is what it was"
    folder.write_texts(task, texts, tmp_path)
    (tmp_path / "a_b-2.py").unlink()
    assert folder.read_texts(task, tmp_path)["a_b"] == "", "what is gone is empty"


def test_without_a_history_nothing_was_measured(folder: Any, tmp_path: Path) -> None:
    assert folder.read_history(tmp_path) == []
    (tmp_path / "history.jsonl").write_bytes(b"\xff\n" + row("c1", 0.5).encode())
    assert [found["candidate"] for found in folder.read_history(tmp_path)] == ["c1"]


@pytest.mark.parametrize("examples", ["0", "-1"])
def test_the_tool_measures_one_example_at_least(tmp_path: Path, examples: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tracebench_adapters.agent_tool", "--examples", examples],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ADAPTERS), str(CLIENT), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "--examples takes a number from 1 on" in done.stderr) == (2, True), done.stderr
