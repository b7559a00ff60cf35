"""`config schema` and `config show`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import yaml

from tracebench_engine.config import config_schema

Cli = Callable[..., CompletedProcess[str]]


def test_show_prints_one_spelling_with_defaults_filled_in(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("n-concurrent: 2\ntasks: [a:b]\n")

    done = cli("config", "show", "c.yaml", "-o", "seed=7")

    shown = yaml.safe_load(done.stdout)
    assert done.returncode == 0
    assert (shown["max_workers"], shown["seeds"], shown["tasks"]) == (
        2,
        [7],
        [{"id": "a:b", "eval_kwargs": {}, "initial": None}],
    )
    assert shown["trainers"][0]["id"] == "SequentialRefine"


def test_what_show_prints_loads_to_the_same(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        "ps_steps: 3\ntrainers: [{name: X, params: {a: 1}}]\nllm: {api_base: 'http://x'}\n"
    )
    first = cli("config", "show", "c.yaml").stdout
    (tmp_path / "again.yaml").write_text(first)

    assert cli("config", "show", "again.yaml").stdout == first


def test_json_names_its_schema_version(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"seeds": [1]}')

    shown = json.loads(cli("config", "show", "c.json", "--json").stdout)

    assert (shown["schema_version"], shown["kind"], shown["config"]["seeds"]) == (1, "config", [1])


def test_schema_is_the_one_of_the_models(cli: Cli) -> None:
    assert json.loads(cli("config", "schema").stdout) == config_schema()


def test_every_problem_of_a_config_is_printed_on_stderr(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("mode: sutb\nseeds: x\n")

    done = cli("config", "show", "c.yaml")

    assert done.returncode == 2
    assert "`c.yaml`, line 1: `mode`" in done.stderr
    assert "`c.yaml`, line 2: `seeds`" in done.stderr
    assert "hint: trace-bench config schema" in done.stderr
