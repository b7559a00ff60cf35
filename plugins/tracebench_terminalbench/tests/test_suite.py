"""The suite at the command line: listing, planning and refusing, without Harbor."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests import warm
from tests.whole import HEAVY

from tracebench_core.plugins.resolve import resolve_task_ids
from tracebench_engine.api import open_host
from tracebench_terminalbench.calibrations import known_cases
from tracebench_terminalbench.catalog import DEMO, SPLITS, Case, cases_of, loader_name, task_name
from tracebench_terminalbench.harbor_side.tracebench_harbor.dockerfile import read_dockerfile
from tracebench_terminalbench.options import MODELLESS, Options

CONFIG = """
mode: stub
tasks: [{{id: "{task}"{options}}}]
trainers: [NoOp]
"""


def trace_bench(*arguments: str, environ: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    without = {name: value for name, value in os.environ.items() if name != "TRACE_BENCH_HARBOR"}
    own = {
        "PATH": "/usr/bin:/bin",
        "TRACEBENCH_PLUGINS": "internal,terminal_bench",
        "TRACEBENCH_PYTHONS": "/nonexistent",
        **(environ or {}),
    }
    return warm.trace_bench(*arguments, folder=Path.cwd(), environ=without | own)


def test_any_slug_is_a_task_and_listings_show_the_curated_ones() -> None:
    host = open_host()

    assert resolve_task_ids(host, "terminal_bench:chess-best-move") == ["terminal_bench:chess-best-move"]
    assert resolve_task_ids(host, "terminal-bench:regex-log") == ["terminal_bench:regex-log"]
    listed = resolve_task_ids(host, "terminal_bench:all")
    assert "terminal_bench:chess-best-move" not in listed
    assert {f"terminal_bench:{slug}" for slug in (*DEMO, *SPLITS)} <= set(listed)
    assert len([i for i in listed if ":toy/" in i]) == 5


def test_the_splits_of_a_group_share_no_task() -> None:
    for name in SPLITS:
        slugs = [case.slug for cases in cases_of(name).values() for case in cases]
        assert len(set(slugs)) == len(slugs)
        assert cases_of(name)["train"]
        assert cases_of(name)["test"]


@pytest.mark.parametrize("name", ["toy/hello-file", "regex-log", "a.b_c-1", "x_2d_y"])
def test_the_name_of_a_loader_is_read_back(name: str) -> None:
    assert task_name(loader_name(name)) == name
    assert loader_name(name).isidentifier()


def test_without_harbor_a_run_exits_with_3_and_the_line_that_installs_it(tmp_path: Path) -> None:
    config = tmp_path / "run.yaml"
    config.write_text(CONFIG.format(task="terminal_bench:toys", options=""))

    done = trace_bench("run", "--config", str(config), "--runs-dir", str(tmp_path / "runs"))

    assert done.returncode == 3, done.stderr
    assert "uv tool install --python 3.12 'harbor>=0.24,<0.27'" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def seeming_harbor(tmp_path: Path) -> Path:
    """A script that looks like Harbor's, for what is said before Harbor is run."""
    harbor = tmp_path / "bin/harbor"
    (tmp_path / "lib/python3.12/site-packages/harbor-0.24.0.dist-info").mkdir(parents=True)
    harbor.parent.mkdir()
    harbor.write_text(f"#!{tmp_path}/bin/python3\n")
    harbor.chmod(0o755)
    return harbor


@pytest.mark.parametrize(
    ("task", "options", "words"),
    [
        ("terminal_bench:No Slug!", "", "has no task"),
        ("terminal_bench:toys", ", eval_kwargs: {harbor_envv: docker}", "harbor_env"),
        ("terminal_bench:toys", ", eval_kwargs: {extra_env: {E2B_API_KEY: x}}", "export E2B_API_KEY="),
        (
            "terminal_bench:regex-log",
            ", eval_kwargs: {harbor_task_path: /nonexistent}",
            "there is no `regex-log/task.toml`",
        ),
    ],
)
def test_what_a_config_has_wrong_is_said_before_anything_runs(
    tmp_path: Path, seeming_harbor: Path, task: str, options: str, words: str
) -> None:
    config = tmp_path / "run.yaml"
    config.write_text(CONFIG.format(task=task, options=options))

    done = trace_bench(
        "validate", "--strict", "--config", str(config), "--runs-dir", str(tmp_path / "runs"),
        environ={"TRACE_BENCH_HARBOR": str(seeming_harbor)},
    )  # fmt: skip

    assert done.returncode in {1, 2}
    assert words in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_root_offers_its_folders(tmp_path: Path) -> None:
    (tmp_path / "my-task").mkdir()
    (tmp_path / "my-task/task.toml").write_text("")

    done = trace_bench("list-tasks", "--bench", "terminal_bench", "--root", str(tmp_path), "--json")

    assert done.returncode == 0, done.stderr
    assert "terminal_bench:my-task" in json.dumps(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("settings", "dockerfile", "words"),
    [
        ("", "FROM ubuntu:24.04\nRUN true\n", "`FROM ubuntu:24.04` in Dockerfile needs an image"),
        pytest.param(
            '[environment]\ndocker_image = "alexgshaw/x:20251031"\n',
            "",
            '`docker_image = "alexgshaw/x:20251031"` in task.toml',
            marks=HEAVY,
        ),
        ("[metadata]\nhost_compatible = true\n", "FROM scratch\nADD x /\n", "`ADD x /` in Dockerfile needs"),
        ("[metadata\n", "WORKDIR /app\n", "cannot be read"),
    ],
)
def test_an_image_is_never_replaced_by_the_hosts_system(
    tmp_path: Path, seeming_harbor: Path, settings: str, dockerfile: str, words: str
) -> None:
    task = tmp_path / "root/pictures"
    (task / "environment").mkdir(parents=True)
    (task / "task.toml").write_text(settings)
    if dockerfile:
        (task / "environment/Dockerfile").write_text(dockerfile)
    config = tmp_path / "run.yaml"
    config.write_text(CONFIG.format(task="terminal_bench:pictures", options=", eval_kwargs: {harbor_env: local}"))

    done = trace_bench(
        "validate", "--strict", "--config", str(config), "--root", str(tmp_path / "root"),
        environ={"TRACE_BENCH_HARBOR": str(seeming_harbor)},
    )  # fmt: skip

    assert done.returncode == 1
    assert words.replace('\\"', '"') in done.stdout + done.stderr


def test_the_toys_say_that_any_linux_system_will_do() -> None:
    for name in cases_of("toys")["train"] + cases_of("toys")["test"]:
        assert name.path is not None
        assert next(step.word for step in read_dockerfile(name.path / "environment")) == "FROM"


@pytest.mark.parametrize(("engine", "words"), [(None, "not on PATH"), ("echo no daemon >&2; exit 1", "no daemon")])
def test_a_container_engine_that_is_away_is_told(
    tmp_path: Path, seeming_harbor: Path, engine: str | None, words: str
) -> None:
    if engine is not None:
        (seeming_harbor.parent / "docker").write_text(f"#!/bin/sh\n{engine}\n")
        (seeming_harbor.parent / "docker").chmod(0o755)
    config = tmp_path / "run.yaml"
    config.write_text(CONFIG.format(task="terminal_bench:regex-log", options=""))

    done = trace_bench(
        "validate", "--strict", "--config", str(config),
        environ={"TRACE_BENCH_HARBOR": str(seeming_harbor), "PATH": f"{seeming_harbor.parent}:/nonexistent"},
    )  # fmt: skip

    assert done.returncode == 1
    assert "`harbor_env: docker`" in done.stdout
    assert words in done.stdout


@pytest.mark.parametrize(("agent", "asked"), [("oracle", False), ("nop", False), ("terminus-2", True)])
def test_a_key_is_asked_for_where_the_agent_asks_a_model(
    tmp_path: Path, seeming_harbor: Path, agent: str, asked: bool
) -> None:
    config = tmp_path / "run.yaml"
    config.write_text(
        CONFIG.format(task="terminal_bench:regex-log", options=f", eval_kwargs: {{agent: {agent}}}").replace(
            "stub", "real"
        )
    )

    done = trace_bench(
        "validate", "--strict", "--config", str(config), "--runs-dir", str(tmp_path / "runs"),
        environ={"TRACE_BENCH_HARBOR": str(seeming_harbor), "OPENAI_API_KEY": ""},
    )  # fmt: skip

    assert ("OPENAI_API_KEY" in done.stdout + done.stderr) is asked, done.stdout


def test_known_cases_are_solved_and_idle_or_refused_where_the_engine_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    toys, docker = cases_of("toys"), {"train": [Case("regex-log")]}

    of_toys = list(known_cases(Options(), toys))
    (refused,) = known_cases(Options(), docker)
    (tmp_path / "docker").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "docker").chmod(0o755)
    of_docker = list(known_cases(Options(), docker))

    assert [(c.kind, c.split) for c in of_toys if c.kind != "order"] == [
        ("gold", "train"), ("known", "train"), ("gold", "test"), ("known", "test"),
    ]  # fmt: skip
    assert (refused.kind, refused.words) == ("refused", "Harbor refused the job")
    assert [c.kind for c in of_docker] == ["gold", "known", "order"]
    assert {c.options["agent"] for c in (*of_toys, refused, *of_docker)} == set(MODELLESS)
