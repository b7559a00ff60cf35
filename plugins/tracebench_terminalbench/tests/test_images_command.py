"""`trace-bench images`: what a config needs is prepared, listed and removed, and validation says what is not prepared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from plugins.tracebench_terminalbench.tests.images import busybox, needs_tools
from tests.warm import trace_bench

from tracebench_terminalbench.found import Harbor
from tracebench_terminalbench.job_config import STORE

pytestmark = [pytest.mark.heavy("harbor"), pytest.mark.timeout(900)]
CHECK = "test -e /app/done && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt"
Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def layout(tmp_path: Path) -> Path:
    needs_tools(tmp_path)
    return busybox(tmp_path / "image")


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Return what runs the command with a store of the test's own."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return trace_bench(*words, folder=tmp_path, environ={**os.environ, STORE: str(tmp_path / "store")}, timeout=170)

    return run


@pytest.fixture
def config(tmp_path: Path, layout: Path, write_task: Callable[..., Path]) -> list[str]:
    """Write a task whose image can be had and one whose image cannot; return the words that name the config of both."""
    for name, image in (("sound", "base"), ("lost", "127.0.0.1:9/gone")):
        folder = write_task(name, CHECK, dockerfile=f"FROM {image}\nRUN true\nWORKDIR /app\n")
        for script, text in (("solution/solve.sh", "touch /app/done"), ("tests/test.sh", CHECK)):
            (folder / script).write_text(f"#!/bin/sh\n{text}\n")
    kwargs = {"images": {"base": f"{layout}:1"}, "network": "none"}
    settings = {
        "mode": "stub", "trainers": ["NoOp"], "eval_kwargs": {"harbor_env": "oci", "harbor_environment_kwargs": kwargs},
        "tasks": ["terminal_bench:sound", "terminal_bench:lost"],
    }  # fmt: skip
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(settings))
    return ["--config", "run.yaml", "--root", "tasks"]


def test_what_can_be_had_is_prepared_and_what_cannot_is_said(command: Command, config: list[str]) -> None:
    done = command("images", "prepare", *config)

    assert done.returncode == 1
    assert "[OK] terminal_bench:sound: " in done.stdout
    assert "[FAIL] terminal_bench:lost: the image `127.0.0.1:9/gone` cannot be had" in done.stdout.replace("\n", " ")
    again = json.loads(command("images", "prepare", *config, "--json").stdout)["images"]
    assert [(row["task"], row["ready"]) for row in again] == [
        ("terminal_bench:sound", True),
        ("terminal_bench:lost", False),
    ]
    (listed,) = json.loads(command("images", "list", "--json").stdout)["images"]
    assert listed["name"].endswith("tasks/sound/environment")
    assert listed["bytes"] > 1_000_000
    assert again[0]["words"].endswith(f"roots/{listed['key']}/rootfs")


def test_a_strict_validation_names_the_image_that_is_not_prepared_and_tries_one_that_is(
    harbor: Harbor, command: Command, config: list[str]
) -> None:
    only = ["-o", "tasks=[terminal_bench:sound]"]
    before = command("validate", "--strict", "--task-timeout", "600", *config, *only)
    assert command("images", "prepare", *config, *only).returncode == 0
    after = command("validate", "--strict", "--task-timeout", "600", *config, *only)

    assert before.returncode == 0
    told = " ".join(before.stdout.split())
    assert "[SKIP] terminal_bench:sound: Its solution is not tried: the image of `sound` is not prepared here" in told
    assert "trace-bench images prepare" in told
    assert (after.returncode, "[OK] terminal_bench:sound: never calibrated" in after.stdout) == (0, True), after.stdout


def test_an_image_is_removed_unless_a_sandbox_runs_on_it(command: Command, config: list[str], tmp_path: Path) -> None:
    command("images", "prepare", *config)
    (image,) = json.loads(command("images", "list", "--json").stdout)["images"]
    root = tmp_path / "store/roots" / image["key"] / "rootfs"
    asked = {"rootfs": str(root), "below": None, "size": "8m", "processes": 400, "memory_mb": None}
    holder = subprocess.Popen(
        [sys.executable, "-m", "tracebench_terminalbench.oci.holder", json.dumps(asked)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert holder.stdout is not None
    assert holder.stdout.readline() == "READY\n"

    used = command("images", "remove", image["key"])
    holder.kill()
    holder.communicate()
    unknown = command("images", "remove", "0123")
    removed = command("images", "remove", image["key"])

    assert (used.returncode, "a sandbox runs on it" in used.stderr) == (1, True)
    assert (unknown.returncode, "There is no image `0123`." in unknown.stderr) == (2, True)
    assert (removed.returncode, root.parent.exists()) == (0, False)
    assert json.loads(command("images", "list", "--json").stdout)["images"] == []


def test_a_config_that_needs_no_image_is_told_so(command: Command, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("mode: stub\ntasks: [terminal_bench:toys]\ntrainers: [NoOp]\n")
    done = command("images", "prepare", "--config", "run.yaml")

    assert (done.returncode, done.stdout) == (0, "")
    assert "no image is needed beforehand" in done.stderr
