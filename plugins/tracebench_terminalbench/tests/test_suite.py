"""The suite at the command line: listing, planning and refusing, without Harbor."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests import warm

from tracebench_core.api import open_host
from tracebench_core.plugins.resolve import resolve_task_ids
from tracebench_terminalbench.catalog import DEMO, SPLITS, cases_of, loader_name, task_name

CONFIG = """
mode: stub
tasks: [{{id: "{task}"{options}}}]
trainers: [NoOp]
"""


def trace_bench(*arguments: str, environ: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    without = {name: value for name, value in os.environ.items() if name != "TRACE_BENCH_HARBOR"}
    own = {"PATH": "/usr/bin:/bin", "TRACEBENCH_PLUGINS": "internal,terminal_bench", **(environ or {})}
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
    assert "uv tool install --python 3.12 'harbor>=0.24,<0.26'" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("task", "options", "words"),
    [
        ("terminal_bench:No Slug!", "", "has no task"),
        ("terminal_bench:toys", ", eval_kwargs: {harbor_envv: docker}", "harbor_env"),
        ("terminal_bench:toys", ", eval_kwargs: {extra_env: {E2B_API_KEY: x}}", "harbor_env_file"),
        (
            "terminal_bench:regex-log",
            ", eval_kwargs: {harbor_task_path: /nonexistent}",
            "there is no `regex-log/task.toml`",
        ),
    ],
)
def test_what_a_config_has_wrong_is_said_before_anything_runs(
    tmp_path: Path, task: str, options: str, words: str
) -> None:
    config = tmp_path / "run.yaml"
    config.write_text(CONFIG.format(task=task, options=options))
    harbor = tmp_path / "bin/harbor"
    (tmp_path / "lib/python3.12/site-packages/harbor-0.24.0.dist-info").mkdir(parents=True)
    harbor.parent.mkdir()
    harbor.write_text(f"#!{tmp_path}/bin/python3\n")
    harbor.chmod(0o755)

    done = trace_bench(
        "validate", "--strict", "--config", str(config), "--runs-dir", str(tmp_path / "runs"),
        environ={"TRACE_BENCH_HARBOR": str(harbor)},
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
