"""What Trace-Bench has always accepted loads with the same meaning."""

from pathlib import Path

import pytest

from tracebench_core.specs import TaskEntry, TrainerEntry
from tracebench_engine.config import load_config, parse_config


def test_an_empty_file_is_the_default_run(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("")

    config = load_config(path)

    assert (config.runs_dir, config.mode, config.seeds, config.max_workers) == ("runs", "stub", (123,), 1)
    assert config.trainers == (TrainerEntry(id="SequentialRefine"),)


@pytest.mark.parametrize(
    ("spelled", "plain"),
    [
        ({"runs_root": "r"}, {"runs_dir": "r"}),
        ({"n_concurrent": 3}, {"max_workers": 3}),
        ({"n-concurrent": 3}, {"max_workers": 3}),
        ({"max_workers": 0}, {"max_workers": 1}),
        ({"n-concurrent": 0}, {"max_workers": 1}),
        ({"seed": 7}, {"seeds": [7]}),
        ({"seeds": []}, {"seeds": [123]}),
        ({"seeds": None, "tags": None, "llm": None, "tasks": None}, {}),
        ({"job-timeout": 5}, {"job_timeout": 5.0}),
        ({"tags": ["m4", 2024]}, {"tags": ["m4", "2024"]}),
        ({"llm": {"api_base": "http://x"}}, {"llm": {"base_url": "http://x"}}),
        (
            {"llm": {"roles": {"judge": {"api_base": "http://x"}}}},
            {"llm": {"roles": {"judge": {"base_url": "http://x"}}}},
        ),
        (
            {"ps-steps": 2, "threads": 4, "verbose": True},
            {"trainer_kwargs": {"ps_steps": 2, "threads": 4, "verbose": True}},
        ),
        ({"trainer_kwargs": {"a": 1, "ps_steps": 1}, "ps_steps": 2}, {"trainer_kwargs": {"a": 1, "ps_steps": 2}}),
        ({"trainer_kwargs": {"optimizer_kwargs": {"m": 1}}}, {"optimizer_kwargs": {"m": 1}}),
        ({"trainer_kwargs": {"eval_kwargs": {"n": 1}}, "eval_kwargs": {"n": 2}}, {"eval_kwargs": {"n": 2}}),
        ({"tasks": ["a:b"]}, {"tasks": [{"id": "a:b"}]}),
        ({"tasks": [{"key": "a:b"}, {"task": "a:c", "eval_kwargs": None}]}, {"tasks": [{"id": "a:b"}, {"id": "a:c"}]}),
        ({"trainers": ["X"]}, {"trainers": [{"id": "X"}]}),
        ({"trainers": []}, {}),
        ({"trainers": [{"name": "X"}, {"trainer": "Y"}, {"key": "Z"}]}, {"trainers": ["X", "Y", "Z"]}),
        ({"trainers": [{"id": "X", "params": {"a": 1}}]}, {"trainers": [{"id": "X", "params_variants": [{"a": 1}]}]}),
        (
            {"trainers": [{"id": "X", "trainer_kwargs": {"a": 1}}]},
            {"trainers": [{"id": "X", "params_variants": [{"a": 1}]}]},
        ),
        ({"trainers": [{"id": "X", "params_variants": [None]}]}, {"trainers": ["X"]}),
        ({"trainers": [{"id": "X", "params_variants": []}]}, {"trainers": ["X"]}),
        (
            {"trainers": [{"id": "X", "ps_steps": 2, "params_variants": [{"a": 1}, {"ps_steps": 3}]}]},
            {"trainers": [{"id": "X", "params_variants": [{"ps_steps": 2, "a": 1}, {"ps_steps": 3}]}]},
        ),
        (
            {"trainers": [{"id": "X", "gepa-iters": 2}]},
            {"trainers": [{"id": "X", "params_variants": [{"gepa_iters": 2}]}]},
        ),
        (
            {"trainers": [{"id": "X", "params": {"n": 1, "optimizer_kwargs": None, "eval_kwargs": {}}}]},
            {"trainers": [{"id": "X", "params": {"n": 1}}]},
        ),
    ],
)
def test_other_spellings_mean_the_same(spelled: dict[str, object], plain: dict[str, object]) -> None:
    assert parse_config(spelled) == parse_config(plain)


def test_one_task_may_stand_twice_with_different_options() -> None:
    config = parse_config({"tasks": [{"id": "a:b", "eval_kwargs": {"n": 1}}, {"id": "a:b", "eval_kwargs": {"n": 2}}]})

    assert config.tasks == (TaskEntry(id="a:b", eval_kwargs={"n": 1}), TaskEntry(id="a:b", eval_kwargs={"n": 2}))


def test_a_variant_keeps_optimizer_kwargs_of_its_own() -> None:
    config = parse_config(
        {"trainers": [{"id": "X", "params_variants": [{"a": 1}, {"a": 2, "optimizer_kwargs": {"m": 5}}]}]}
    )

    assert config.trainers[0].params_variants == ({"a": 1}, {"a": 2, "optimizer_kwargs": {"m": 5}})


def test_json_loads_like_yaml(tmp_path: Path) -> None:
    json_file = tmp_path / "c.json"
    json_file.write_text('{\n\t"seeds": [1, 2],\n\t"tags": ["\\ud83d\\ude00", "a\\/b"],\n\t"trainers": ["X"]\n}\n')

    config = load_config(json_file)

    assert (config.seeds, config.tags) == ((1, 2), ("😀", "a/b"))


def test_yaml_reads_dates_as_text_and_exponents_as_numbers(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("run_id: 2026-11-21\nllm: {temperature: 1e-3}\n")

    config = load_config(path)

    assert config.run_id == "2026-11-21"
    assert config.llm.temperature == 0.001


def test_anchors_and_merges_work(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("trainers:\n- &x {id: X, params: {a: 1}}\n- {<<: *x, id: Y}\n")

    assert parse_config(
        {"trainers": [{"id": "X", "params": {"a": 1}}, {"id": "Y", "params": {"a": 1}}]}
    ) == load_config(path)
