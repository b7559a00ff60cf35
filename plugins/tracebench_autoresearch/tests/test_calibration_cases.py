"""The cases of the experiments that ship: each edit is one, each comparison is with a case that is there, and every program can be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tracebench_autoresearch import catalog
from tracebench_autoresearch.calibrations import cases
from tracebench_autoresearch.experiment import SHIPPED
from tracebench_autoresearch.task import ExperimentTask
from tracebench_core.specs import Calibration

KINDS = {
    "speed": {
        "plain": "gold", "itself": "same", "times-2": "ratio", "times-5": "ratio", "stops-others": "forged",
        "leaves-work": "forged", "stopped-clock": "forged", "wrong": "refused",
    },
    "tiny_lm": {"plain": "order", "untrained": "known", "longer": "refused", "claims": "refused"},
    "unit_pass_rate": {"start": "order", "empty": "known", "claims": "forged", "patched": "forged"},
    "coverage": {"start": "order", "empty": "known", "claims": "forged"},
    "tabular": {"worse": "known", "plain": "order", "better": "order", "null": "same"},
    "tokenizer": {"worse": "known", "plain": "order", "better": "order", "null": "same"},
    "compiler_flags": {"worse": "anchor", "plain": "order", "better": "order", "null": "same"},
    "sql_workload": {"worse": "anchor", "plain": "order", "better": "order", "null": "same"},
    "stock": {"worse": "known", "plain": "order", "better": "order", "null": "same", "best": "known"},
}  # fmt: skip
UNEDITED = {"plain", "itself", "start"}
"""Cases of the initial files as they are."""


def made(name: str) -> tuple[dict[str, str], list[Calibration]]:
    task = ExperimentTask(catalog.find(name))
    return dict(task.parameters[0].initial), [*cases(name, task)]


@pytest.mark.parametrize("name", KINDS)
def test_every_case_is_an_edit_of_files_that_may_be_edited(name: str) -> None:
    initial, found = made(name)
    assert {case.name: case.kind for case in found} == KINDS[name]
    for case in found:
        files = case.values["files"]
        assert isinstance(files, dict)
        assert {*files} <= {*initial}, case.name
        same = {path: initial[path] for path in files}
        assert (files == same) is (case.name in UNEDITED), "an edit that changes nothing is none"
        for path, text in files.items():
            if path.endswith(".py"):
                compile(str(text), path, "exec")
            elif path.endswith(".json"):
                json.loads(str(text))


@pytest.mark.parametrize("name", KINDS)
def test_a_case_stands_beside_another_of_the_same_experiment(name: str) -> None:
    _, found = made(name)
    names = {case.name for case in found}
    for case in found:
        if case.kind in {"order", "same", "ratio", "forged"}:
            assert case.other in names - {case.name}, case.name
        if case.kind == "known":
            assert case.expected is not None
            assert case.source
    assert len(names) == len(found)


@pytest.mark.parametrize("times", [2, 5])
def test_work_that_is_done_several_times_is_worth_so_much_less(times: int) -> None:
    (case,) = (one for one in made("speed")[1] if one.name == f"times-{times}")
    assert case.factor == 1 / times
    files = case.values["files"]
    assert isinstance(files, dict)
    counted: list[int] = []

    def solve(numbers: list[int], total: int) -> int:
        counted.append(total)
        return len(numbers)

    space: dict[str, Any] = {"solve": solve}
    exec(f"once = solve{str(files['solve.py']).partition('once = solve')[2]}", space)
    assert space["solve"]([1, 2], 3) == 2
    assert counted == [3] * times


def test_a_metric_that_is_known_is_what_its_reason_says() -> None:
    known = {(name, case.name): case.expected for name in KINDS for case in made(name)[1] if case.kind == "known"}
    assert known["tiny_lm", "untrained"] == pytest.approx(-4.755, abs=0.001), "27 letters, as likely as one another"
    assert known["coverage", "empty"] == pytest.approx(100 * 12 / 43)
    assert known["unit_pass_rate", "empty"] == 0
    assert known["tokenizer", "worse"] == 1


def test_an_experiment_of_the_same_name_that_does_not_ship_has_none(tmp_path: Path) -> None:
    assert SHIPPED.is_dir()
    (tmp_path / "speed").mkdir()
    for path in (SHIPPED / "speed").iterdir():
        if path.is_file():
            (tmp_path / "speed" / path.name).write_bytes(path.read_bytes())
    task = ExperimentTask(catalog.find("speed"))
    catalog.configure({"root": tmp_path})
    try:
        assert [*cases("speed", task)] == []
    finally:
        catalog.configure({})
    assert [*cases("karpathy", task)] == []
    assert len([*cases("speed", task)]) == 8
