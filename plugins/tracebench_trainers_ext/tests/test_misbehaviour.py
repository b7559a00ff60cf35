"""Libraries that are missing, wrong, deaf, dead or untidy: each costs its own job, in words, and nothing outside the job's folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_trainers_ext.tests.scripted import KEY, candidates, improve, run, said
from tests.whole import HEAVY

from tracebench_testing.fake_openai import FakeOpenAI

HEAD = """
import os, signal, subprocess, sys, time
from pathlib import Path
class EvaluationBatch:
    def __init__(self, **given): self.__dict__.update(given)
def one(given, text):
    return given["adapter"].evaluate(given["trainset"][:1], {"code": text})
def optimize(**given):
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run `gepa-optimize` with a library of that name which does as told."""
    monkeypatch.setenv("FAKE_KEY", KEY)
    monkeypatch.setenv("MY_PROVIDER_KEY", "sk-not-for-libraries")

    def start(body: str, *, version: str = "0.1.4", **config: Any) -> Any:
        site = tmp_path / "site"
        (site / "gepa").mkdir(parents=True)
        info = site / f"gepa-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: gepa\nVersion: {version}\n")
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        (site / "gepa" / "__init__.py").write_text(HEAD + lines)
        python = tmp_path / "python"
        python.write_text(f'#!/bin/sh\nPYTHONPATH={site}:$PYTHONPATH exec {sys.executable} "$@"\n')
        python.chmod(0o755)
        with FakeOpenAI(reply=improve) as server:
            trainer = {"id": "gepa-optimize", "params": {"python": str(python)}}
            results, run_dir = run(tmp_path / "runs", server, [trainer], **config)
        (result,) = results.values()
        return result, said(run_dir, result.job_id), run_dir

    return start


@pytest.mark.parametrize("version", ["0.1.3", "9.9"])
def test_a_library_of_a_version_that_was_never_tried_is_skipped_with_the_command_that_mends_it(
    fake: Any, version: str
) -> None:
    result, _, _ = fake("pass", version=version)
    assert result.status == "skipped"
    assert f"{version} is installed" in result.stop_reason
    assert "pip install" in result.stop_reason


def test_a_library_that_leaves_without_a_word_fails_its_job(fake: Any) -> None:
    result, _, _ = fake("os._exit(0)")
    assert result.status == "failed"
    assert result.error is not None
    assert "without a word" in result.error.message


def test_a_library_that_raises_fails_its_job_in_its_own_words(fake: Any) -> None:
    result, _, _ = fake("raise ValueError('no such front')")
    assert result.status == "failed"
    assert result.error is not None
    assert "no such front" in result.error.message


DEAF = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
given["adapter"].evaluate(given["trainset"], {"code": "def transform(x):\\n    return 2 * x + 1\\n"})
child = os.fork()
sys.stdout.write("x" * 2_000_000)
while True:
    try:
        one(given, "def transform(x):\\n    return 2 * x + 1\\n")
    except BaseException:
        pass
"""


def test_a_deaf_library_that_forks_and_floods_is_ended_and_what_it_found_is_kept(fake: Any) -> None:
    result, _, run_dir = fake(DEAF, budget={"evaluations": 8})
    assert (result.status, result.stop_reason, result.used.evaluations) == ("ok", "budget:evaluations", 8)
    assert result.score_val_best == 1.0
    assert len(candidates(run_dir, result.job_id)) == 2


SWALLOWING = """
one(given, "def transform(x):\\n    return x\\n")
while True:
    try:
        given["reflection_lm"]("again")
    except BaseException:
        time.sleep(0.01)
"""


@pytest.mark.parametrize(
    ("budget", "axis"), [({"llm_calls": 3}, "llm_calls"), pytest.param({"seconds": 3}, "seconds", marks=HEAVY)]
)
def test_a_library_that_swallows_refused_calls_is_ended(fake: Any, budget: dict[str, float], axis: str) -> None:
    result, _, _ = fake(SWALLOWING, budget=budget)
    assert (result.status, result.stop_reason) == ("ok", f"budget:{axis}")
    assert result.used.llm_calls <= budget.get("llm_calls", result.used.llm_calls)


FAILING = """
found = given["adapter"].evaluate(given["trainset"], {"code": "def transform(x:"})
right = given["adapter"].evaluate(given["trainset"], {"code": "def transform(x):\\n    return x + 1\\n"})
print("below:", max(found.scores) < min(right.scores), flush=True)
"""


def test_a_library_whose_every_candidate_fails_keeps_the_initial_one(fake: Any) -> None:
    result, words, _ = fake(FAILING)
    assert result.status == "ok", words
    assert "below: True" in words
    assert result.score_val_best == result.score_val_initial


def test_what_a_library_writes_stays_in_the_jobs_folder_and_no_key_reaches_it(
    fake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    home.mkdir()
    here.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(here)
    body = """
Path.home().joinpath(".telemetry").write_text("x")
Path("outputs").mkdir()
Path(os.environ["XDG_CACHE_HOME"], "cache").write_text("x")
Path("/proc/self/environ").read_bytes()
print([k for k in os.environ if "KEY" in k], [v for v in os.environ.values() if v.startswith("sk-")])
"""
    result, words, _ = fake(body)
    assert result.status == "ok", words
    assert (
        "['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'GEMINI_API_KEY'] []" in words
    )  # the job's own, by each name that a library asks for
    assert list(home.iterdir()) == []
    assert list(here.iterdir()) == []


def test_a_library_that_is_not_there_is_skipped_with_the_install_line(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)
    with FakeOpenAI(reply=improve) as server:
        trainer = {"id": "gepa-optimize", "params": {"python": "/not/there"}}
        results, _ = run(tmp_path, server, [trainer])
    (result,) = results.values()
    assert result.status == "skipped"
    assert "/not/there" in result.stop_reason
