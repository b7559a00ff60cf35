"""The config of a run that measures given candidates, and what a task's cases came to on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.errors import UsageError
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import RunConfig, TaskSpec
from tracebench_engine.api.calibrating import Calibrated, _kept, calibrate, chosen_tasks, default_options, recall
from tracebench_engine.api.given import GIVEN, given_config, task_and_parameters
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.checks.trial import Cases

BASE = RunConfig.model_validate(
    {
        "tasks": [{"id": "s:other"}], "trainers": [{"id": "A"}, {"id": "B"}], "trainer_kwargs": {"n": 1}, "seeds": [9],
        "mode": "real", "llm": {"model": "openai/m"}, "max_workers": 3,
    }
)  # fmt: skip
SPEC = TaskSpec(name="t", loader="a:b", title="T", size_options={"test": "n_test"})


def config(base: RunConfig = BASE, spec: TaskSpec = SPEC, **changes: Any) -> RunConfig:
    settings: dict[str, Any] = {"options": {"x": 1}, "split": None, "limit": None, "seeds": [4, 5], "in_flight": 5}
    return given_config(base, spec, "s:t", {"a.txt": {"p": "text"}, "b.txt": {}}, **settings | changes)


def test_given_candidates_are_a_trainer_each_on_one_task() -> None:
    made = config()
    assert [(task.id, task.eval_kwargs) for task in made.tasks] == [("s:t", {"x": 1})]
    assert [(t.id, t.label, [*t.params_variants]) for t in made.trainers] == [
        (GIVEN, "a.txt", [{"name": "a.txt", "values": {"p": "text"}}]),
        (GIVEN, "b.txt", [{"name": "b.txt", "values": {}}]),
    ]
    assert (made.trainer_kwargs, made.optimizer_kwargs, made.seeds, made.max_workers) == ({}, {}, (4, 5), 3)


@pytest.mark.parametrize(
    ("split", "limit", "options", "variant", "eval_kwargs"),
    [
        (None, None, {}, {}, {}),
        (None, 7, {}, {"limit": 7}, {"n_test": 7}),
        ("test", 7, {"n_test": 3}, {"split": "test", "limit": 7}, {"n_test": 3}),
        ("train", 7, {}, {"split": "train", "limit": 7}, {}),
        ("train", None, {}, {"split": "train"}, {}),
    ],
)
def test_a_limit_sizes_the_split_where_the_task_has_an_option_for_it(
    *, split: Any, limit: int | None, options: Any, variant: Any, eval_kwargs: Any
) -> None:
    made = config(split=split, limit=limit, options=options)
    (settings,) = made.trainers[0].params_variants
    assert {k: v for k, v in settings.items() if k not in {"name", "values"}} == variant
    assert made.tasks[0].eval_kwargs == eval_kwargs


@pytest.mark.parametrize(
    ("mode", "asks", "in_flight", "workers"),
    [("real", True, 5, 7), ("real", False, 5, 5), ("stub", True, 8, 12), ("stub", True, 7, 10), ("stub", True, 1, 1)],
)
def test_calls_are_recorded_and_half_as_many_examples_again_wait_for_none(
    *, mode: Any, asks: bool, in_flight: int, workers: int
) -> None:
    base = BASE.model_copy(update={"mode": mode})
    made = config(base, SPEC.model_copy(update={"uses_model": asks}), in_flight=in_flight)
    assert (made.llm.record, made.llm.max_concurrency, made.eval_workers) == (mode == "real", in_flight, workers)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("a\nb\tc", "a b c"), (" a ", "a"), ("x" * 60, "x" * 60), ("y" + "x" * 60, "x" * 59), ("y" * 9 + " " + "x" * 58, "x" * 58),
    ],
)  # fmt: skip
def test_a_label_is_one_line_and_of_a_long_name_its_end(name: str, label: str) -> None:
    made = given_config(BASE, SPEC, "s:t", {name: {}}, options={}, split=None, limit=None, seeds=[1], in_flight=1)
    assert made.trainers[0].label == label
    assert made.trainers[0].params_variants[0]["name"] == name


def test_a_task_is_opened_for_its_parameters() -> None:
    spec, parameters = task_and_parameters(BASE, "internal:numeric_param", {}, root=None)
    assert spec.name == "numeric_param"
    assert len(parameters) == 1
    with pytest.raises(UsageError):
        task_and_parameters(BASE, "internal:nothing_here", {}, root=None)


SUITE = """
from pydantic import BaseModel
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Requirement, SuiteSpec, TaskSpec

class Options(BaseModel):
    needed: int

@hookimpl
def tracebench_suite(): return SuiteSpec(title="Cases", aliases=("cased",))

def spec(name, **more): return TaskSpec(name=name, loader="given_cases:Options", title=name, **more)

@hookimpl
def tracebench_tasks():
    return [
        spec("plain"), spec("late", timed=True), spec("needy", options="given_cases:Options"), spec("fixed", trainable=False),
        spec("lacking", requires=(Requirement(kind="env", name="NO_SUCH_VARIABLE", hint="set it"),)),
    ]
"""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PluginHost]:
    import sys

    info = tmp_path / "given_cases-1.0.dist-info"
    info.mkdir()
    (tmp_path / "given_cases.py").write_text(SUITE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: given_cases\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tracebench]\ncases = given_cases\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("TRACEBENCH_PLUGINS", "cases")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    yield open_host()
    sys.modules.pop("given_cases", None)


@pytest.mark.parametrize(
    ("names", "tasks"),
    [
        (["cases"], ["plain", "late", "needy", "lacking"]), (["cased"], ["plain", "late", "needy", "lacking"]),
        (["cases:late", "cases:plain", "cases:late"], ["late", "plain"]), (["cases:fixed"], []), (["cases:p*"], ["plain"]),
    ],
)  # fmt: skip
def test_names_mean_the_tasks_that_can_be_trained_each_once(
    host: PluginHost, names: list[str], tasks: list[str]
) -> None:
    assert [*chosen_tasks(host, names)] == [f"cases:{task}" for task in tasks]
    assert {*chosen_tasks(host, ["cases"])} < chosen_tasks(host, []).keys()


def test_a_name_that_means_nothing_is_refused_with_the_nearest(host: PluginHost) -> None:
    with pytest.raises(UsageError, match=r"^There is no task, suite or plugin `casess`\. Did you mean `cases`\?$"):
        chosen_tasks(host, ["casess"])
    with pytest.raises(UsageError) as caught:
        chosen_tasks(host, ["cases:plian"])
    assert "task, suite or plugin" not in str(caught.value)
    with pytest.raises(UsageError) as caught:
        chosen_tasks(host, ["quite_another_thing"])
    assert "task, suite or plugin" not in str(caught.value)


def test_of_a_task_that_was_not_measured_here_it_is_said_why(host: PluginHost) -> None:
    found = {each.task: each for each in recall(host, ["cases:plain", "cases:lacking"])}
    assert found["cases:plain"] == Calibrated(
        "cases:plain", state="unknown", why="it was not measured here by the judge that is installed"
    )
    lacking = found["cases:lacking"]
    assert (lacking.state, lacking.verdicts) == ("skipped", ())
    assert "NO_SUCH_VARIABLE" in lacking.why
    assert "; " in lacking.why


def test_what_cannot_be_measured_is_left_out_without_a_process(host: PluginHost) -> None:
    late, lacking = calibrate(host, ["cases:late", "cases:lacking"], timed=False)
    assert late == Calibrated("cases:late", state="skipped", why="its score is a time, and such tasks were left out")
    assert (lacking.task, lacking.state, lacking.kept) == ("cases:lacking", "skipped", True)


def test_that_a_task_offers_no_case_is_known_where_all_kinds_were_asked_for(host: PluginHost) -> None:
    (spec,) = chosen_tasks(host, ["cases:plain"]).values()
    nothing = Cases("measured", ())
    for whole, state in ((False, "unknown"), (True, "without")):
        assert _kept(host, "cases:plain", spec, nothing, whole=whole) == Calibrated("cases:plain", state="without")
        assert [each.state for each in recall(host, ["cases:plain"])] == [state]
    broken = Cases("failed", (), "it broke")
    assert _kept(host, "cases:plain", spec, broken, whole=True) == Calibrated(
        "cases:plain", state="failed", why="it broke"
    )


def test_options_that_have_to_be_given_are_none(host: PluginHost) -> None:
    chosen = chosen_tasks(host, ["cases"])
    assert default_options("cases:needy", chosen["cases:needy"]) == {}
    assert default_options("cases:plain", chosen["cases:plain"]) == {}
