from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from tracebench_terminalbench.catalog import TOYS, Case
from tracebench_terminalbench.job_config import LOCAL, Model, dataset, job_config
from tracebench_terminalbench.options import Options
from tracebench_terminalbench.stub import answer

TOY = Case("hello-file", TOYS / "hello-file")
MODEL = Model("http://127.0.0.1:1/v1", "m")


def config(
    options: Options, *cases: Case, subject: dict[str, object] | None = None, model: Model | None = MODEL
) -> dict[str, object]:
    return job_config(
        options, cases, name="n", folder=Path("/f"), subject=subject or {"template": "/p.txt"}, model=model
    )


def test_toy_tasks_run_here_and_others_in_docker_unless_told() -> None:
    assert config(Options(), TOY)["environment"] == {"import_path": LOCAL, "kwargs": {}}
    assert config(Options(), Case("regex-log"))["environment"] == {"type": "docker", "kwargs": {}}
    assert config(Options(harbor_env="daytona"), TOY)["environment"] == {"type": "daytona", "kwargs": {}}
    assert config(Options(harbor_env="my.module:Mine"), TOY)["environment"]["import_path"] == "my.module:Mine"  # type: ignore[index]


@pytest.mark.parametrize(
    ("written", "entry"),
    [
        ("terminal-bench@2.0", {"name": "terminal-bench", "version": "2.0"}),
        ("terminal-bench/terminal-bench-2-1", {"name": "terminal-bench/terminal-bench-2-1"}),
        ("terminal-bench/terminal-bench-2-1@abc", {"name": "terminal-bench/terminal-bench-2-1", "ref": "abc"}),
    ],
)
def test_a_dataset_is_written_as_harbor_names_it(written: str, entry: dict[str, str]) -> None:
    assert dataset(written) == entry


def test_slugs_are_taken_from_one_dataset_in_one_job() -> None:
    made = config(Options(concurrency=7, attempts=2), Case("regex-log"), Case("chess-best-move"))

    assert made["datasets"] == [
        {"name": "terminal-bench", "version": "2.0", "task_names": ["regex-log", "chess-best-move"]}
    ]
    assert (made["tasks"], made["n_concurrent_trials"], made["n_attempts"]) == ([], 7, 2)


def test_the_agent_asks_the_gateway_whatever_its_settings_say() -> None:
    options = Options.model_validate({"harbor_agent_kwargs": {"api_base": "http://elsewhere", "max_turns": 3}})

    (agent,) = config(options, TOY)["agents"]  # type: ignore[misc]

    assert agent["model_name"] == "openai/m"
    assert agent["kwargs"] == {
        "api_base": "http://127.0.0.1:1/v1",
        "max_turns": 3,
        "prompt_template_path": "/p.txt",
        "record_terminal_session": False,
    }


def test_agents_that_ask_no_model_are_told_none() -> None:
    assert config(Options(agent="oracle"), TOY, model=None)["agents"] == [{"name": "oracle"}]


def test_a_key_has_no_place_in_a_config() -> None:
    with pytest.raises(ValidationError, match="harbor_env_file"):
        Options.model_validate({"extra_env": {"DAYTONA_API_KEY": "d-123"}})


def test_the_stub_answers_the_agents_prompt_and_no_other() -> None:
    import random

    prompt = {"role": "user", "content": 'Answer with "keystrokes" and "task_complete".'}
    first = answer([prompt], random.Random(1))
    last = answer([prompt, {"role": "assistant", "content": first}], random.Random(1))

    assert first is not None
    assert '"task_complete": false' in first
    assert last is not None
    assert '"task_complete": true' in last
    assert answer([{"role": "user", "content": "hello"}], random.Random(1)) is None


def test_a_place_of_an_image_is_found_from_the_folder_of_the_run_also_where_a_job_works_in_another(
    tmp_path: Path,
) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "work").mkdir()
    told = {"debian:12": "images:12", "saved": "images", "far": "docker://127.0.0.1:5000/x"}
    code = (
        "import json, os, sys; from tracebench_terminalbench.job_config import environment; os.chdir('work');"
        "print(json.dumps(environment('oci', {'images': json.loads(sys.argv[1])})['kwargs']['images']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(told)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {
        "debian:12": f"{tmp_path}/images:12", "saved": f"{tmp_path}/images", "far": "docker://127.0.0.1:5000/x",
    }  # fmt: skip
