"""`validate`: every line has a level, and the exit code says whether a check failed."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.cli.conftest import COMMAND

Cli = Callable[..., CompletedProcess[str]]
Install = Callable[..., Mapping[str, str]]
CORE_ONLY = {"TRACEBENCH_PLUGINS": ""}
BROKEN_TASK = """
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import TaskSpec

def build():
    raise OSError("no data")

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name="broken", loader="mine:build", title="Broken")]
"""
CONFIG = "tasks: [internal:numeric_param, internal:multi_param]\ntrainers: [NoOp, RandomSearch]\nseeds: [1, 2]\n"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "c.yaml"
    path.write_text(CONFIG)
    return path


def test_a_good_config_is_ok_task_by_task(cli: Cli, config: Path) -> None:
    done = cli("validate", "--config", "c.yaml", env=CORE_ONLY)

    assert done.returncode == 0
    assert done.stdout.splitlines() == ["[OK] internal:numeric_param", "[OK] internal:multi_param"]
    assert "trace-bench run --config c.yaml" in done.stderr


def test_the_next_command_reads_the_same_config(cli: Cli, config: Path) -> None:
    (config.parent / "my work").mkdir()
    words = ("--config", "c.yaml", "--root", "my work", "--runs-dir", "kept", "-o", "seeds=[1]")
    typed = "--config c.yaml --root 'my work' --runs-dir kept -o 'seeds=[1]'"

    assert f"Next:  trace-bench run {typed}\n" in cli("validate", *words, env=CORE_ONLY).stderr
    assert f"Next:  trace-bench run {typed}\n" in cli("plan", *words[1:], env=CORE_ONLY).stderr


def test_strict_expands_the_matrix(cli: Cli, config: Path) -> None:
    done = cli("validate", "--config", "c.yaml", "--strict", "--manifest", env=CORE_ONLY)

    assert done.returncode == 0
    assert "[OK] matrix: 8 jobs expanded deterministically" in done.stdout.splitlines()
    assert done.stdout.count("internal:multi_param x RandomSearch (seed=2)") == 1
    manifest = config.parent / done.stdout.splitlines()[-1].removeprefix("[OK] manifest written: ")
    assert json.loads(manifest.read_text())["run_id"] == manifest.parent.parent.name
    assert "8 ok" in cli("resume", str(manifest.parent.parent), env=CORE_ONLY).stderr


def test_of_a_thousand_jobs_the_first_are_told_and_how_many_more_there_are(cli: Cli, config: Path) -> None:
    many = ("validate", "--config", "c.yaml", "--strict", "-o", "seeds=1..250")
    told = cli(*many, env=CORE_ONLY).stdout.splitlines()

    assert "[OK] matrix: 1000 jobs expanded deterministically" in told
    assert sum(line.startswith("[OK] job ") for line in told) == 10
    assert (
        told[-1]
        == "[OK] and 990 more jobs; all of them: trace-bench validate --config c.yaml -o seeds=1..250 --strict --json"
    )
    every = json.loads(cli(*many, "--json", env=CORE_ONLY).stdout)["checks"]
    assert sum(check["subject"].startswith("job ") for check in every) == 1000


MISTAKES = """runs_dir: runs
executor: lcal
plugins:
  options:
    intrnal: {a: 1}
tasks:
  - internal:numeric_parm
  - id: internal:numeric_param
    eval_kwargs: {nois: 1}
trainers:
  - NoOpp
  - id: RandomSearch
    logger: ConsolLogger
    params_variants:
      - num_step: 3
  - id: SequentialRefine
    optimizer: Reflectiv
"""


@pytest.mark.parametrize("command", [["validate", "--config"], ["run", "--config"]], ids=["validate", "run"])
def test_all_mistakes_are_told_at_once_with_line_field_and_nearest_name(
    cli: Cli, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "bad.yaml").write_text(MISTAKES)

    done = cli(*command, "bad.yaml", env=CORE_ONLY)

    assert done.returncode == 2
    for line, field, nearest in (
        (2, "executor", "local"),
        (5, "plugins.options.intrnal", "internal"),
        (7, "tasks[0]", "internal:numeric_param"),
        (9, "tasks[1].eval_kwargs", "noise"),
        (11, "trainers[0]", "NoOp"),
        (13, "trainers[1].logger", "ConsoleLogger"),
        (14, "trainers[1].params_variants", "num_steps"),
        (17, "trainers[2].optimizer", "Reflective"),
    ):
        told = [text for text in done.stderr.splitlines() if f"`bad.yaml`, line {line}: `{field}" in text]
        assert len(told) == 1, (line, field, done.stderr)
        assert f"Did you mean `{nearest}`?" in told[0]
    assert not (tmp_path / "runs").exists()


def test_mistakes_of_fields_and_of_names_are_told_together(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(f"{MISTAKES}mode: sutb\nbudget: {{evalutions: 3}}\nmax_workers: many\n")

    told = cli("validate", "--config", "bad.yaml", env=CORE_ONLY).stderr

    for line, field in (
        (2, "executor"),
        (7, "tasks[0]"),
        (11, "trainers[0]"),
        (18, "mode"),
        (19, "budget.evalutions"),
        (20, "max_workers"),
    ):
        assert told.count(f"`bad.yaml`, line {line}: `{field}") == 1, told


HOLES = """
tasks:
  - eval_kwargs: {size: 3}
  - internal:numeric_parm
  - 5
trainers:
  - params_variants: [{num_steps: 3}]
  - {id: ""}
  - NoOpp
llm:
  prices: {some: {prompt: 1.0}}
executor: locl
"""


def test_a_missing_field_hides_no_wrong_name(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(HOLES)

    told = cli("validate", "--config", "bad.yaml", env=CORE_ONLY).stderr

    for line, said in (
        (3, "`tasks[0].id` is missing."),
        (4, "`tasks[1]`: Suite `internal` has no task `internal:numeric_parm`."),
        (5, "`tasks[2]"),
        (7, "`trainers[0].id` is missing."),
        (8, "`trainers[1].id` must not be empty."),
        (9, "`trainers[2]`: No plugin offers a trainer `NoOpp`."),
        (11, "`llm.prices.some"),
        (12, "`executor`"),
    ):
        assert f"`bad.yaml`, line {line}: {said}" in told, told
    assert "Did you mean `internal:numeric_param`?" in told
    assert "Did you mean `NoOp`?" in told


def test_without_tasks_the_names_of_the_rest_are_told(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "none.yaml").write_text("trainers: [NoOpp]\n")
    (tmp_path / "wrong.yaml").write_text("tasks: internal\ntrainers: [NoOpp]\n")

    none = cli("validate", "--config", "none.yaml", env=CORE_ONLY).stderr
    wrong = cli("validate", "--config", "wrong.yaml", env=CORE_ONLY).stderr

    assert "The config selects no task." in none
    assert "`none.yaml`, line 1: `trainers[0]`: No plugin offers a trainer `NoOpp`" in none
    assert "`wrong.yaml`, line 1: `tasks` must be a list" in wrong
    assert "`wrong.yaml`, line 2: `trainers[0]`: No plugin offers a trainer `NoOpp`" in wrong


def test_a_mistake_of_an_override_names_the_override(cli: Cli, config: Path) -> None:
    done = cli("plan", "c.yaml", "-o", "trainers=[NoOpp]", env=CORE_ONLY)

    assert done.returncode == 2
    assert "`-o trainers=[NoOpp]`: `trainers[0]`: No plugin offers a trainer `NoOpp`" in done.stderr


def test_strict_leaves_nothing_behind_and_says_where_a_run_could_not_be_written(cli: Cli, config: Path) -> None:
    before = sorted(config.parent.rglob("*"))
    sound = cli("validate", "--config", "c.yaml", "--strict", env=CORE_ONLY)
    (config.parent / "file").write_text("")
    refused = cli("validate", "--config", "c.yaml", "--strict", "--runs-dir", "file", env=CORE_ONLY)

    assert sound.returncode == 0
    assert sorted(config.parent.rglob("*")) == sorted([*before, config.parent / "file"])
    assert refused.returncode == 1
    assert "[FAIL] runs_dir: `file` cannot be written to" in refused.stdout


def test_a_task_without_parameters_is_expected_to_be_refused(cli: Cli, config: Path) -> None:
    config.write_text("tasks: [internal:non_trainable]\ntrainers: [NoOp]\n")

    done = cli("validate", "--config", "c.yaml", "--strict", env=CORE_ONLY)

    assert done.returncode == 0
    assert any(line.startswith("[EXPECTED] internal:non_trainable") for line in done.stdout.splitlines())


def test_a_task_that_does_not_open_fails_and_the_others_are_still_checked(
    cli: Cli, config: Path, plugin_path: Install
) -> None:
    env = plugin_path("mine", BROKEN_TASK, group="tracebench", entry="mine", target="mine")
    config.write_text("tasks: [mine:broken, internal:numeric_param]\ntrainers: [NoOp]\n")

    done = cli("validate", "--config", "c.yaml", "--strict", env={**env, "TRACEBENCH_PLUGINS": "mine"})

    assert done.returncode == 1
    assert "[FAIL] mine:broken: OSError: no data (line 6 of mine.py, in build)" in done.stdout.splitlines()
    assert any(line.startswith("[OK] internal:numeric_param: ") for line in done.stdout.splitlines())
    assert "Traceback" not in done.stderr


def test_a_task_that_says_itself_that_it_is_broken_fails(cli: Cli, config: Path, plugin_path: Install) -> None:
    source = BROKEN_TASK.replace('title="Broken"', 'title="Broken", broken="its file has a field that nobody knows"')
    env = CORE_ONLY | plugin_path("mine", source, group="tracebench", entry="mine", target="mine")

    done = cli("validate", "--config", "c.yaml", "-o", "tasks=[mine:broken]", env=env | {"TRACEBENCH_PLUGINS": "mine"})

    assert done.returncode == 1
    assert "[FAIL] mine:broken: broken: its file has a field that nobody knows" in done.stdout


def test_a_task_that_runs_candidates_in_the_job_is_warned_of(cli: Cli, config: Path) -> None:
    pytest.importorskip("opto")
    config.write_text("tasks: [opto:opentrace_greeting, opto:opentrace_train_single_node]\ntrainers: [NoOp]\n")

    told = cli("validate", "--config", "c.yaml", env={"TRACEBENCH_PLUGINS": "opto"}).stdout.splitlines()

    assert [line for line in told if line.startswith("[WARN] opto:")] == [
        "[WARN] opto:opentrace_greeting: executes what a model writes in the process of the job, in no sandbox"
    ]


def test_what_a_task_warns_of_when_it_is_opened_is_told(cli: Cli, config: Path, plugin_path: Install) -> None:
    warning = 'import logging; logging.getLogger(__name__).warning("its data are of %s", 1999)'
    build = f"from tracebench_engine.builtin.tasks.numeric import build_one; {warning}; return build_one()"
    source = BROKEN_TASK.replace('raise OSError("no data")', build).replace("broken", "old")
    env = plugin_path("mine", source, group="tracebench", entry="mine", target="mine")
    config.write_text("tasks: [mine:old, internal:numeric_param]\ntrainers: [NoOp]\n")

    done = cli("validate", "--config", "c.yaml", "--strict", env={**env, "TRACEBENCH_PLUGINS": "mine"})

    assert done.returncode == 0
    assert [line for line in done.stdout.splitlines() if line.startswith("[WARN]")] == [
        "[WARN] mine:old: its data are of 1999"
    ]
    assert any(line.startswith("[OK] mine:old") for line in done.stdout.splitlines())


def test_bench_leaves_the_other_suites_out(cli: Cli, config: Path) -> None:
    config.write_text("tasks: [internal:numeric_param, trace_examples:greeting_stub]\ntrainers: [NoOp]\n")

    done = cli("validate", "--config", "c.yaml", "--bench", "trace_examples", env=CORE_ONLY)
    none = cli("validate", "--config", "c.yaml", "--bench", "internal", "-o", "tasks=[greeting_stub]", env=CORE_ONLY)

    assert done.stdout.splitlines() == ["[OK] trace_examples:greeting_stub"]
    assert none.returncode == 6


def test_json_holds_every_check(cli: Cli, config: Path) -> None:
    shown = json.loads(cli("validate", "--config", "c.yaml", "--json", env=CORE_ONLY).stdout)

    assert shown["ok"] is True
    assert shown["checks"][0] == {"level": "OK", "subject": "internal:numeric_param", "message": ""}


@pytest.mark.parametrize(
    ("override", "code", "expected"),
    [
        ("tasks=[]", 6, "The config selects no task."),
        ("tasks=[internal:numeric_parm]", 2, "Did you mean `internal:numeric_param`?"),
        ("trainers=[NoOpp]", 2, "Did you mean `NoOp`?"),
        ("trainers[1].params={evaluation: 3}", 2, "RandomSearch"),
        ("seeds=[1,1]", 2, "`seeds[1]` is the same as `seeds[0]`."),
    ],
)
def test_what_cannot_be_planned_is_told_in_one_sentence(
    cli: Cli, config: Path, override: str, code: int, expected: str
) -> None:
    done = cli("validate", "--config", "c.yaml", "-o", override, env=CORE_ONLY)

    assert done.returncode == code
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_key_is_told_before_the_run_tells_it(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "real.yaml").write_text("mode: real\ntasks: [internal:numeric_param]\ntrainers: [SequentialRefine]\n")

    done = cli("validate", "--config", "real.yaml", "--strict", env=CORE_ONLY | {"TRACE_LITELLM_MODEL": "gpt-4o-mini"})

    assert done.returncode == 1
    assert not (tmp_path / "runs").exists()
    assert "[FAIL] run: Mode `real` needs `OPENAI_API_KEY`" in done.stdout


TROUBLESOME = """
import os, time
from tracebench_engine.builtin.tasks.simple import SimpleTask
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import Feedback, Parameter, TaskSpec

def task(guide):
    return SimpleTask([Parameter(name="x", initial=0.0, kind="number")], "Up.", lambda *_: 0.0, guide)

def hangs(): time.sleep(600)
def quits(): os._exit(0)
def broken(): return task(lambda *_: {"score": float("nan")})
def sound(): return task(lambda *_: Feedback(score=1.0))

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name=n, loader=f"mine:{n}", title=n) for n in ("hangs", "quits", "broken", "sound")]
"""


def test_strict_finds_what_would_break_a_job_and_survives_it(cli: Cli, config: Path, plugin_path: Install) -> None:
    env = plugin_path("mine", TROUBLESOME, group="tracebench", entry="mine", target="mine")
    config.write_text("tasks: [mine:hangs, mine:quits, mine:broken, mine:sound]\ntrainers: [NoOp]\n")

    done = cli(
        "validate", "--config", "c.yaml", "--strict", "--task-timeout", "5", env={**env, "TRACEBENCH_PLUGINS": "mine"}
    )

    told = {line.partition(": ")[0]: line for line in done.stdout.splitlines()}
    assert done.returncode == 1
    assert "within 5 s" in told["[FAIL] mine:hangs"]
    assert "ended with exit code 0" in told["[FAIL] mine:quits"]
    assert "fails on its own initial candidate" in told["[FAIL] mine:broken"]
    assert "[OK] mine:sound" in told


def test_what_a_task_hangs_in_ends_with_a_command_that_is_killed(
    config: Path, plugin_path: Install, tmp_path: Path
) -> None:
    told = tmp_path / "tried"
    hangs = f"def hangs():\n    pathlib.Path({str(told)!r}).write_text(str(os.getpid()))\n    time.sleep(600)\n"
    suite = TROUBLESOME.replace("def hangs(): time.sleep(600)\n", hangs).replace("import os", "import os, pathlib")
    env = plugin_path("mine", suite, group="tracebench", entry="mine", target="mine")
    config.write_text("tasks: [mine:hangs]\ntrainers: [NoOp]\n")
    command = [str(COMMAND), "validate", "--config", "c.yaml", "--strict"]
    with subprocess.Popen(command, cwd=tmp_path, env={**os.environ, **env, "TRACEBENCH_PLUGINS": "mine"}) as process:
        while not (told.exists() and told.read_text()):
            assert process.poll() is None
            time.sleep(0.05)
        tried = os.pidfd_open(int(told.read_text()))
        process.kill()
    assert select.select([tried], [], [], 60)[0]
    os.close(tried)


def test_a_runs_folder_that_cannot_be_made_is_told_without_strict(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("tasks: ['internal:numeric_*']\ntrainers: [NoOp]\nruns_dir: /proc/x\n")

    done = cli("validate", "--config", "c.yaml", env=CORE_ONLY)

    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        [
            "[OK] internal:numeric_param",
            "[WARN] runs_dir: `/proc/x` cannot be written to: trace-bench run --runs-dir DIR",
        ],
    )


@pytest.mark.parametrize(
    ("provider", "told"), [("opnai", "Did you mean `openai`?"), ("openai", ""), ("mine-alone", "")]
)
def test_a_misspelt_provider_beside_an_address_is_told(cli: Cli, tmp_path: Path, provider: str, told: str) -> None:
    model = f"{{model: m, provider: {provider}, base_url: 'http://127.0.0.1:9/v1'}}"
    (tmp_path / "c.yaml").write_text(
        f"tasks: [internal:numeric_param]\ntrainers: [SequentialRefine]\nmode: real\nllm: {model}\n"
    )

    done = cli("validate", "--config", "c.yaml", env=CORE_ONLY)

    lines = [line for line in done.stdout.splitlines() if line.startswith("[WARN] provider ")]
    assert done.returncode == 0
    assert [line.endswith(told) for line in lines] == [True] * bool(told)
