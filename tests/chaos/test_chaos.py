"""Broken tasks x faulty model servers x trainers: every job ends in time, with one verdict whichever trainer asked.

Every pair of task and server, task and trainer, server and trainer meets in a pairwise selection; `TRACEBENCH_CHAOS=full` runs the product.
"""

from __future__ import annotations

import io
import json
import os
import socket
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.chaos import lab

from tracebench_core.proposing.answer_format import shown_values
from tracebench_core.specs import JobResult, JobSpec
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_engine.matrix.plan import Plan, make_plan
from tracebench_engine.run.rundir import open_run_dir
from tracebench_engine.run.runner import Runner
from tracebench_engine.run.services import RunServices
from tracebench_testing.fake_openai import FakeOpenAI

pytestmark = [pytest.mark.heavy("chaos"), pytest.mark.timeout(1800)]

ASKING: list[Any] = [
    {"id": "SequentialRefine"},
    {"id": "BestOfN"},
    {"id": "PrioritySearch", "optimizer": "Reflective"},
    {"id": "GEPA-Base", "optimizer": "Reflective"},
    {"id": "BeamSearch", "optimizer": "Reflective"},
]
NOT_ASKING: list[Any] = [{"id": "RandomSearch", "params": {"num_steps": 2}}]
TRAINERS = [*ASKING, *NOT_ASKING]
SERVERS = ("dead", "flaky", "401", "hanging")
HANGS = frozenset({"loader_hangs", "guide_hangs_for_good"})
FULL = os.environ.get("TRACEBENCH_CHAOS") == "full"
MODELLESS = "failed", "NoModelAnswered"


def reply(messages: list[dict[str, Any]]) -> str:
    """Add one to the value that is shown."""
    shown = shown_values("\n".join(m["content"] for m in messages)) or {"x": 0.0}
    return json.dumps({"reasoning": "up", "values": {"x": shown["x"] + 1.0}})


@contextmanager
def address(server: str) -> Iterator[str]:
    """Yield the base URL of a model server that fails in its own way."""
    if server == "dead":
        with socket.socket() as taken:  # bound and not listening: nobody else answers there meanwhile
            taken.bind(("127.0.0.1", 0))
            yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        return
    rates: Any = {"flaky": {"500": 0.2}, "401": {"401": 1.0}, "hanging": {"hang": 1.0}}[server]
    with FakeOpenAI(rates=rates, reply=reply) as running:
        yield running.base_url


def chosen(job: JobSpec, server: str, tasks: list[str], trainers: list[str]) -> bool:
    """Pairwise: with four servers, the sum of a task's and a trainer's place says which server they meet at."""
    place = tasks.index(job.task_id) + trainers.index(job.trainer_id)
    return FULL or SERVERS[place % len(SERVERS)] == server


def run(server: str, lamp: str, base_url: str, folder: Path) -> dict[tuple[str, str], JobResult]:
    """Run a server's share of the jobs; the first job is one whose own model answers, so that the run is not given up."""
    model = {"model": "m", "api_key_env": "CHAOS_KEY"}
    patience = {"timeout": 0.3 if server == "hanging" else 30.0, "max_retries": 0, "outage_limit": 0}
    roles = {"optimizer": {**model, "base_url": base_url}, "agent": {**model, "base_url": lamp}}
    config = parse_config(
        {
            "mode": "real",
            "tasks": ["chaos:lamp", *(f"chaos:{name}" for name in lab.KINDS)],
            "trainers": [{"id": "NoOp"}, *TRAINERS],
            "budget": {"evaluations": 30, "llm_calls": 12},
            "llm": {**patience, "roles": roles},
            "runs_dir": str(folder),
            "run_id": server,
            "max_workers": 2,
            "job_timeout": 120,
            "scoring_timeout": 120,
        }
    )
    host = api.open_host(plugins=config.plugins)
    plan = make_plan(config, host, environ=os.environ)
    tasks = [f"chaos:{name}" for name in lab.KINDS]
    trainers = [entry["id"] for entry in TRAINERS]
    jobs = [job for job in plan.jobs if (job.task_id, job.trainer_id) == ("chaos:lamp", "NoOp")]
    for job in plan.jobs:
        if job.task_id in tasks and job.trainer_id in trainers and chosen(job, server, tasks, trainers):
            hangs = job.task_id.removeprefix("chaos:") in HANGS
            jobs.append(job.model_copy(update={"timeout": 1.0}) if hangs else job)
    part = Plan(plan.config, tuple(jobs), plan.tasks, plan.trainers)
    reporter = api.load_ref(host.component("reporter", "plain").loader, owner="plain")(io.StringIO())
    with open_run_dir(part, host, root=None, environ=os.environ) as (layout, planned):
        runner = Runner(planned, host, layout, reporter=reporter, resume="none")
        summary = runner.run(lambda: RunServices(planned, host, layout, root=None, environ=os.environ))
    assert summary.stopped_by == ""
    results = api.load_run(summary.run_dir).results.values()
    found = {(r.task_id.removeprefix("chaos:"), r.trainer_id): r for r in results}
    assert len(found) == len(jobs), "a job has no result"
    assert any(usage.llm_calls for usage in found.pop(("lamp", "NoOp")).usage.values())
    return found


def expected(kind: lab.Kind, server: str, trainer: str) -> tuple[str, str]:
    asks = trainer in {entry["id"] for entry in ASKING}
    return MODELLESS if kind.trains and asks and server != "flaky" else (kind.status, kind.error)


def test_every_job_ends_with_the_verdict_of_its_task_and_server_whichever_trainer_asked(
    install_plugin: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tracebench_opto", reason="its trainers take part")
    monkeypatch.setenv("CHAOS_KEY", "sk-chaos")
    install_plugin("chaos", Path(lab.__file__).read_text())
    wrong: list[str] = []
    verdicts: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    jobs = 0

    with FakeOpenAI(reply=reply) as lamp:
        for server in SERVERS:
            with address(server) as base_url:
                found = run(server, lamp.base_url, base_url, tmp_path)
            jobs += len(found)
            for (name, trainer), result in found.items():
                verdict = result.status, result.error.type if result.error else ""
                wanted = expected(lab.KINDS[name], server, trainer)
                if trainer in {entry["id"] for entry in ASKING}:
                    verdicts[name, server].add(verdict)
                if verdict != wanted:
                    words = result.error.message if result.error else result.stop_reason
                    wrong.append(f"{name} x {server} x {trainer}: {verdict}, not {wanted} ({words:.200})")
                elif wanted == MODELLESS and not result.model_errors:
                    wrong.append(f"{name} x {server} x {trainer}: no model errors are counted")

    print(f"{jobs} jobs: {len(lab.KINDS)} kinds of task, {len(SERVERS)} servers, {len(TRAINERS)} trainers")
    assert len(lab.KINDS) >= 31
    assert not wrong, "\n".join(wrong)
    assert {pair: found for pair, found in verdicts.items() if len(found) > 1} == {}
