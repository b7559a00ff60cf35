"""What cases are measured against is computed once for all jobs, and never taken for that of anything else."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tracebench_llm4ad.anchoring import Anchors, cache_folder
from tracebench_llm4ad.code_task import CodeTask
from tracebench_llm4ad.constructive.knapsack import KnapsackEvaluator, build
from tracebench_llm4ad.constructive.options import KnapsackOptions

SMALL = {"n_items": 20, "n_instance": 2, "n_train": 1}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACEBENCH_CACHE", str(tmp_path))
    return tmp_path / "llm4ad"


def anchors(task: CodeTask) -> list[Anchors]:
    return [task.anchors(case) for case in task.splits["train"][0].input]


def unable(task: CodeTask, monkeypatch: pytest.MonkeyPatch) -> CodeTask:
    def refuse(_instance: Any) -> float:
        raise AssertionError("computed again")

    monkeypatch.setattr(task.evaluator, "bound", refuse)
    return task


def test_a_later_job_computes_nothing_again(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    first = anchors(build(**SMALL))

    assert anchors(unable(build(**SMALL), monkeypatch)) == first
    assert cache_folder() == folder
    assert [path.name for path in folder.iterdir()] == ["anchors.sqlite"]


@pytest.mark.parametrize("other", [{"seed": 1}, {"n_items": 21}])
def test_other_options_have_other_anchors(other: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    anchors(build(**SMALL))

    with pytest.raises(AssertionError, match="computed again"):
        anchors(unable(build(**SMALL | other), monkeypatch))


def test_rules_from_elsewhere_keep_nothing(folder: Path) -> None:
    class Doubled(KnapsackEvaluator):
        def bound(self, instance: Any) -> float:
            return 2 * super().bound(instance)

    own = anchors(build(**SMALL))
    doubled = anchors(CodeTask(Doubled(KnapsackOptions(**SMALL))))

    assert [a.bound for a in doubled] == [2 * a.bound for a in own]
    assert [a.bound for a in anchors(build(**SMALL))] == [a.bound for a in own]


@pytest.mark.parametrize("trouble", ["broken", "locked", "a file in the way"])
def test_what_cannot_be_kept_is_computed(trouble: str, folder: Path) -> None:
    expected = anchors(build(**SMALL))
    file = folder / "anchors.sqlite"
    locked = sqlite3.connect(file)
    if trouble == "broken":
        file.write_bytes(b"no database" * 500)
    elif trouble == "locked":
        locked.execute("BEGIN EXCLUSIVE")
    else:
        file.unlink()
        folder.rmdir()
        folder.write_text("")
    try:
        assert anchors(build(**SMALL)) == expected
    finally:
        locked.close()
