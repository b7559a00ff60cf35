from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracebench_core.errors import ConfigError, NothingSelectedError, UsageError
from tracebench_core.plugins import PluginHost
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.config import parse_config
from tracebench_engine.matrix.plan import Plan, make_plan


@pytest.fixture(scope="module")
def host() -> PluginHost:
    return open_host()


def planned(host: PluginHost, **config: Any) -> Plan:
    return make_plan(
        parse_config({"tasks": ["internal:numeric_param"], "trainers": ["NoOp"], **config}), host, environ={}
    )


def test_the_matrix_is_tasks_times_trainers_times_variants_times_seeds(host: PluginHost) -> None:
    variants = [{"num_steps": 1}, {"num_steps": 2}]
    plan = planned(
        host,
        tasks=["internal:numeric_param", "internal:multi_param"],
        trainers=["NoOp", {"id": "RandomSearch", "params_variants": variants}],
        seeds=[1, 2, 3],
    )

    cells = [(j.task_id, j.trainer_id, j.settings.get("num_steps"), j.seed) for j in plan.jobs]
    assert len(cells) == len(set(cells)) == 18
    assert cells[:4] == [("internal:numeric_param", "NoOp", None, s) for s in (1, 2, 3)] + [
        ("internal:numeric_param", "RandomSearch", 1, 1)
    ]


def test_planning_twice_gives_the_same_ids_and_they_are_all_different(host: PluginHost) -> None:
    one, two = planned(host, seeds=list(range(200))), planned(host, seeds=list(range(200)))

    assert [j.job_id for j in one.jobs] == [j.job_id for j in two.jobs]
    assert len({j.job_id for j in one.jobs}) == 200


@pytest.mark.parametrize(
    "change",
    [
        {"mode": "real"},
        {"budget": {"evaluations": 3}},
        {"llm": {"stub": "empty"}},
        {"eval_kwargs": {"target": 4.0}},
        {"trainers": [{"id": "RandomSearch"}]},
        {"seeds": [124]},
    ],
)
def test_what_can_change_a_result_changes_the_id(host: PluginHost, change: dict[str, Any]) -> None:
    assert planned(host, **change).jobs[0].job_id != planned(host).jobs[0].job_id


@pytest.mark.parametrize(
    "change", [{"max_workers": 4}, {"eval_workers": 2}, {"job_timeout": 9.0}, {"fail_fast": True}, {"tags": ["x"]}]
)
def test_what_cannot_change_a_result_does_not_change_the_id(host: PluginHost, change: dict[str, Any]) -> None:
    assert planned(host, **change).jobs[0].job_id == planned(host).jobs[0].job_id


def test_a_logger_does_not_change_the_id(host: PluginHost) -> None:
    logged = planned(host, trainers=[{"id": "NoOp", "logger": "ConsoleLogger"}]).jobs[0]
    silent = planned(host, trainers=[{"id": "NoOp", "logger": "off"}]).jobs[0]

    assert (logged.logger, silent.logger) == ("ConsoleLogger", None)
    assert logged.job_id == silent.job_id == planned(host).jobs[0].job_id


def test_aliases_map_and_defaults_are_filled_in(host: PluginHost) -> None:
    (job,) = planned(host, trainers=[{"id": "BestOfN", "params": {"num_proposals": 3}}]).jobs

    assert job.params == {"num_proposals": 3}
    assert job.settings["n"] == 3
    assert job.optimizer == "Reflective"


def test_a_shared_setting_reaches_those_that_know_it(host: PluginHost) -> None:
    plan = planned(host, trainers=["NoOp", "RandomSearch"], trainer_kwargs={"num_steps": 4})

    assert ["num_steps" in j.settings for j in plan.jobs] == [False, True]
    assert plan.jobs[1].settings["num_steps"] == 4


@pytest.mark.parametrize(
    ("config", "error", "words"),
    [
        ({"tasks": []}, NothingSelectedError, "no task"),
        ({"trainers": ["NoOpp"]}, UsageError, "Did you mean `NoOp`"),
        ({"tasks": ["internal:numeric_parm"]}, UsageError, "Did you mean `internal:numeric_param`"),
        ({"trainers": [{"id": "RandomSearch", "params": {"num_step": 3}}]}, ConfigError, "Did you mean `num_steps`"),
        ({"trainers": [{"id": "RandomSearch", "params": {"num_steps": "3"}}]}, ConfigError, "num_steps"),
        (
            {"trainers": [{"id": "RandomSearch", "params_variants": [{}, {"num_proposals": 2}]}]},
            ConfigError,
            "same settings",
        ),
        ({"trainers": [{"id": "BestOfN", "params": {"n": 3, "num_proposals": 4}}]}, ConfigError, "`n` of `BestOfN`"),
        ({"trainer_kwargs": {"num_stps": 3}}, ConfigError, "num_stps"),
        ({"eval_kwargs": {"traget": 3.0}}, ConfigError, "Did you mean `target`"),
        ({"tasks": [{"id": "internal:multi_param", "eval_kwargs": {"x": 1}}]}, ConfigError, "takes no eval_kwargs"),
        ({"trainers": [{"id": "NoOp", "optimizer_kwargs": {"memory_size": 1}}]}, ConfigError, "uses no optimizer"),
        ({"trainers": [{"id": "NoOp", "logger": "Tensorbord"}]}, UsageError, "Did you mean `TensorboardLogger`"),
        ({"trainers": [{"id": "NoOp", "guide": "Nobody"}]}, UsageError, "guide `Nobody`"),
        ({"mode": "real", "llm": {"model": "opnai/gpt-4o"}}, ConfigError, "Did you mean `openai`"),
        ({"mode": "real", "llm": {"model": "openai/openai/gpt-4o"}}, ConfigError, "names its provider twice"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_words(
    host: PluginHost, config: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words.replace("`", "`")):
        planned(host, **config)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 2**31), min_size=1, max_size=20, unique=True))
def test_seeds_name_their_jobs_wherever_they_stand(seeds: list[int]) -> None:
    host = open_host()
    forth = {j.seed: j.job_id for j in planned(host, seeds=seeds).jobs}
    back = {j.seed: j.job_id for j in planned(host, seeds=seeds[::-1]).jobs}

    assert forth == back


def test_variants_of_models_are_an_axis_of_the_matrix_and_part_of_identity(host: PluginHost) -> None:
    variants = [
        "a/one",
        {"model": "a/one", "temperature": 0.5},
        {"name": "two", "roles": {"optimizer": {"model": "b"}}},
    ]
    config = {"mode": "real", "llm": {"model": "base", "base_url": "http://127.0.0.1:9/v1"}, "seeds": [1, 2]}
    plan = planned(host, llm_variants=variants, trainers=["NoOp", "RandomSearch"], **config)

    assert len({j.job_id for j in plan.jobs}) == 12
    told = {j.llm_variant: {role: m.model for role, m in j.models.items()} for j in plan.jobs}
    assert [*told] == ["a/one", "a/one, temperature=0.5", "two"]
    assert told["two"]["optimizer"] == "b"
    assert told["two"]["agent"] == "base"
    alone = planned(host, llm_variants=[variants[1]], **config)
    assert {j.job_id for j in alone.jobs} < {j.job_id for j in plan.jobs}, (
        "a variant's jobs are the same in any company"
    )


def test_variants_that_cannot_be_told_apart_are_refused(host: PluginHost) -> None:
    with pytest.raises(ConfigError, match="is called `x`"):
        planned(host, llm_variants=[{"name": "x", "model": "a"}, {"name": "x", "model": "b"}])
    with pytest.raises(ConfigError, match="is the same as"):
        planned(host, llm_variants=["a", "a"])
    with pytest.raises(ConfigError, match="not a known field"):
        planned(host, llm_variants=[{"modell": "a"}])


def test_a_bare_setting_reaches_the_trainers_that_know_it_and_no_typo_vanishes(host: PluginHost) -> None:
    plan = planned(host, trainers=["NoOp", {"id": "RandomSearch", "num_proposals": 2}], num_steps=7)
    settings = {job.trainer_id: job.settings for job in plan.jobs}
    assert {name: settings["RandomSearch"][name] for name in ("num_steps", "num_proposals")} == {
        "num_steps": 7,
        "num_proposals": 2,
    }
    assert "num_steps" not in settings["NoOp"]
    with pytest.raises(ConfigError, match=r"`RandomSearch` has no setting `num_stps`\. Did you mean `num_steps`"):
        planned(host, trainers=[{"id": "RandomSearch", "num_stps": 7}])
    with pytest.raises(ConfigError, match=r"nothing chosen knows it\. Did you mean `num_steps`"):
        planned(host, trainers=["NoOp", "RandomSearch"], num_stps=7)
    with pytest.raises(ConfigError, match=r"nothing chosen knows it\. It is written `budget: {usd: 5}`"):
        planned(host, trainers=["NoOp", "RandomSearch"], usd="$5")


def test_swept_settings_make_every_combination(host: PluginHost) -> None:
    sweep = {"num_proposals": {"low": 1, "high": 5, "step": 2}, "num_steps": [7, 9]}
    plan = planned(host, trainers=[{"id": "RandomSearch", "sweep": sweep}])

    assert [(j.settings["num_proposals"], j.settings["num_steps"]) for j in plan.jobs] == [
        (p, s) for p in (1, 3, 5) for s in (7, 9)
    ]
    inner = {"optimizer_kwargs.temperature": {"low": 0.01, "high": 1, "count": 3, "scale": "log"}}
    plan = planned(host, trainers=[{"id": "BestOfN", "sweep": inner}])
    assert [j.optimizer_kwargs["temperature"] for j in plan.jobs] == [0.01, 0.1, 1]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"sweep": {"num_steps": []}}, "no values"),
        ({"sweep": {"num_steps": [1]}, "params": {"num_steps": 2}}, "both set `num_steps`"),
        ({"sweep": {"num_stepz": [1]}}, "num_stepz"),
        ({"sweep": {"num_steps": {"low": 1, "high": 2}}}, "`count` and `step`"),
        ({"sweep": {"num_steps": {"low": 3, "high": 2, "step": 1}}}, "above `low`"),
        ({"sweep": {"num_steps": {"low": 0, "high": 2, "count": 3, "scale": "log"}}}, "positive `low`"),
        ({"sweep": {"num_steps": [1, 1]}}, "same settings"),
        ({"sweep": {"num_steps": {"low": 1, "high": 1e9, "step": 1}}}, "1,000"),
        ({"sweep": {n: [*range(1, 200)] for n in ("num_steps", "num_proposals", "validation_size")}}, "10,000"),
    ],
)
def test_a_sweep_that_cannot_be_is_refused_in_words(host: PluginHost, entry: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        planned(host, trainers=[{"id": "RandomSearch", **entry}])
