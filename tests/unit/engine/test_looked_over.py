"""What is found of a machine and of a config before anything runs: of models, tasks, trainers, executors and names."""

from __future__ import annotations

import importlib.util
import logging
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tests.unit.engine.test_machine import Models, run_in

from tracebench_core.contracts import Context, NotMeasured
from tracebench_core.errors import MissingRequirementError, UsageError
from tracebench_core.hookspecs import hookimpl
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import (
    Example,
    Feedback,
    Parameter,
    PluginsConfig,
    ProviderSpec,
    Requirement,
    RunConfig,
    SuiteSpec,
    TaskSpec,
)
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.builtin.tasks.simple import SimpleTask
from tracebench_engine.checks import doctor, lacking, validation
from tracebench_engine.checks.trial import Check, Trials, try_task
from tracebench_engine.config import parse_config
from tracebench_runs.meta.salt_files import SHARED_FILE, shared_salts

ABSENT = Requirement(kind="command", name="nothing-of-this-name", hint="get it")


class Odd(SimpleTask):
    """A task that finds fault with itself where a test says so."""

    def __init__(self, problems: tuple[str, ...] = (), warns: tuple[str, ...] = (), score: Any = 1.0) -> None:
        def guide(_example: Example, _output: Any, _context: Context) -> Feedback:
            if isinstance(score, Exception):
                raise score
            return Feedback(score=score, text="so")

        super().__init__(
            [Parameter(name="x", initial=0.0, kind="number")], "Up.", lambda values, _e, _c: values["x"], guide
        )
        self.problems, self.closed = problems, 0
        for words in warns:
            logging.getLogger("tests.odd").warning(words)
        logging.getLogger("elsewhere").warning("of another package")

    def self_check(self) -> tuple[str, ...]:
        return self.problems


def build(**options: Any) -> Any:
    if "raises" in options:
        raise options["raises"]
    return Odd(**options)


def hosting(**fields: Any) -> PluginHost:
    """Return a host with a suite `odd` of tasks by name, and with what else a plugin may offer."""
    host, plugin = open_host(), ModuleType("odd")
    spec = {"name": "t", "title": "T", "loader": f"{__name__}:build"}
    plugin.tracebench_tasks = hookimpl(lambda: [TaskSpec.model_validate({**spec, **fields})])  # type: ignore[attr-defined]
    plugin.tracebench_suite = hookimpl(lambda: SuiteSpec(title="Odd"))  # type: ignore[attr-defined]
    host.register(plugin, "odd")
    return host


@pytest.mark.parametrize(
    ("options", "check"),
    [
        ({}, ("OK", "")),
        ({"problems": ("a", "b")}, ("FAIL", "a; b")),
        ({"warns": ("w", "v", "w")}, ("OK", "w; v")),
        ({"problems": ("a",), "warns": ("w",)}, ("FAIL", "a")),
        ({"raises": MissingRequirementError("No x.", hint="get x")}, ("SKIP", "No x. get x")),
        ({"raises": MissingRequirementError("No x.")}, ("SKIP", "No x.")),
        ({"raises": UsageError("No.", hint="never told")}, ("FAIL", "No.")),
        ({"raises": ZeroDivisionError("by 0")}, ("FAIL", "ZeroDivisionError: by 0")),
    ],
)
def test_a_task_is_tried_and_what_it_says_of_itself_is_told(options: dict[str, Any], check: tuple[str, str]) -> None:
    found = try_task(hosting(), "odd:t", options, trainable=True)
    assert (found.level, found.subject) == (check[0], "odd:t")
    assert check[1] in found.message
    assert bool(found.message) is bool(check[1])


def test_an_untrainable_task_that_is_broken_was_expected() -> None:
    options = {"raises": UsageError("No.")}
    assert try_task(hosting(), "odd:t", options, trainable=False) == Check("EXPECTED", "odd:t", "No.")


def test_what_was_heard_once_is_not_heard_after() -> None:
    host = hosting()
    before = [*logging.getLogger("tests").handlers]
    try_task(host, "odd:t", {"warns": ("w",)}, trainable=True)
    assert logging.getLogger("tests").handlers == before


def test_the_start_of_a_task_is_measured_once_where_that_asks_nobody() -> None:
    lost = {"score": NotMeasured("no clock")}
    said = Check("SKIP", "odd:t", "its initial candidate cannot be measured here: no clock")
    assert try_task(hosting(), "odd:t", lost, trainable=True) == said
    for fields in ({"uses_model": True}, {"environments": ("sandbox",)}):
        assert try_task(hosting(**fields), "odd:t", lost, trainable=True) == Check("OK", "odd:t")


class Peer:
    """Stands for the process that tries tasks: says what a test wants, and is then gone or silent."""

    def __init__(self, *answers: dict[str, Any], gone: bool = False) -> None:
        self.answers, self.closed, self.sent = [*answers], False, list[dict[str, Any]]()
        self.gone = gone

    def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)

    def receive(self, *, timeout: float) -> list[dict[str, Any]]:
        assert timeout > 0
        if self.answers:
            return [self.answers.pop(0)]
        self.closed = self.gone
        return []

    def close(self) -> None:
        self.closed = True


def trials(peer: Peer, *, seconds: float = 0.05) -> tuple[Trials, Any]:
    found = Trials(root=None, plugins=PluginsConfig(), seconds=seconds)
    command = "exit 3" if peer.gone else "sleep 600"
    process = subprocess.Popen(["/bin/sh", "-c", command], start_new_session=True)
    found._process, found._wire = process, peer  # type: ignore[assignment]  # speaks as a wire does
    return found, process


def test_what_the_process_that_tries_says_is_what_came_of_a_task() -> None:
    peer = Peer({"case": "a"}, {"check": ["WARN", "s:t", "so"]})
    asking, process = trials(peer, seconds=60.0)
    assert asking.try_task("s:t", {"a": 1}, trainable=False) == Check("WARN", "s:t", "so")
    assert peer.sent == [{"task": "s:t", "options": {"a": 1}, "trainable": False}]
    verdict = {"case": "a", "kind": "gold", "result": "passed", "expected": "1", "seen": "1"}
    peer.answers = [{"case": "a"}, {"case": "b"}, {"state": "measured", "verdicts": [verdict], "why": ""}]
    heard: list[str] = []
    cases = asking.calibrate("s:t", {}, kinds=("gold",), seed=5, tell=heard.append)
    assert (cases.state, [v.case for v in cases.verdicts], cases.why, heard) == ("measured", ["a"], "", ["a", "b"])
    assert peer.sent[1] == {"task": "s:t", "options": {}, "kinds": ["gold"], "seed": 5}
    asking.close()
    asking.close()
    assert process.returncode == -9


@pytest.mark.parametrize("gone", [True, False])
def test_a_task_that_ends_its_process_or_hangs_costs_itself_only(gone: bool) -> None:
    ended = "the process that tried it ended with exit code 3"
    asking, process = trials(Peer(gone=gone))
    found = asking.try_task("s:t", {}, trainable=True)
    assert found == Check("FAIL", "s:t", ended if gone else "it is not opened and measured once within 0.05 s")
    assert process.returncode == (3 if gone else -9)
    asking, _ = trials(Peer(gone=gone))
    cases = asking.calibrate("s:t", {}, kinds=())
    assert (cases.state, cases.verdicts) == ("failed", ())
    assert cases.why == (ended if gone else "its cases take longer than 0.05 s")
    assert asking._process is None


def test_a_process_to_try_in_is_made_when_it_is_needed_and_told_what_it_works_with(tmp_path: Path) -> None:
    asking = Trials(root=tmp_path, plugins=PluginsConfig(exclude=("x",)), seconds=0.0)
    asking.close()
    process, wire = asking._open()
    assert asking._open() == (process, wire)
    assert asking._first == {"root": str(tmp_path), "plugins": PluginsConfig(exclude=("x",)).model_dump(mode="json")}
    assert asking.try_task("s:t", {}, trainable=True).message == "it is not opened and measured once within 0 s"
    assert process.returncode == -9
    assert Trials(root=None, plugins=PluginsConfig())._first["root"] is None


def config(**fields: Any) -> RunConfig:
    return parse_config({"tasks": ["internal:numeric_param"], "trainers": ["NoOp"], **fields})


@pytest.fixture(scope="module")
def host() -> PluginHost:
    return open_host()


def checks(made: RunConfig, host: PluginHost, *, tries: bool, **environ: str) -> list[Check]:
    tried: Any = SimpleNamespace(try_task=lambda id_, _options, trainable: Check("OK", id_, "" if trainable else "no"))
    return [*validation.validate_config(made, host, environ=environ, trials=tried if tries else None)]


def test_a_config_that_is_sound_is_expanded_and_every_name_in_it_is_looked_up(host: PluginHost) -> None:
    made = config(
        trainers=["NoOp", {"id": "RandomSearch", "params": {"num_steps": 2}, "logger": "ConsoleLogger"}], seeds=[1, 2],
        budget={"evaluations": 8},
    )  # fmt: skip
    found = checks(made, host, tries=True)
    by_name = {check.subject: check for check in found}
    assert by_name["matrix"] == Check("OK", "matrix", "4 jobs expanded deterministically")
    assert by_name["logger ConsoleLogger"] == Check("OK", "logger ConsoleLogger")
    assert by_name["internal:numeric_param"].level == "OK"
    jobs = [check for check in found if check.subject.startswith("job ")]
    assert [check.message for check in jobs] == [
        f"internal:numeric_param x {trainer} (seed={seed})" for trainer in ("NoOp", "RandomSearch") for seed in (1, 2)
    ]
    assert all(len(check.subject) == len("job ") + 12 for check in jobs)
    assert by_name["trainer NoOp"] == Check("OK", "trainer NoOp")
    assert by_name["trainer RandomSearch"].level == "OK"
    one = checks(config(), host, tries=True)
    assert next(check.message for check in one if check.subject == "matrix") == "1 job expanded deterministically"


def test_without_trials_neither_names_nor_jobs_are_told(host: PluginHost) -> None:
    subjects = [check.subject for check in checks(config(), host, tries=False)]
    assert subjects[0] == "internal:numeric_param"
    assert not [subject for subject in subjects if subject.startswith(("job", "matrix", "NoOp"))]


@pytest.mark.parametrize(("tries", "level"), [(True, "FAIL"), (False, "WARN")])
def test_a_folder_that_cannot_be_written_to_fails_a_run_that_is_meant_for_here(
    host: PluginHost, tries: bool, level: Any
) -> None:
    found = checks(config(runs_dir="/proc/none"), host, tries=tries)
    words = "`/proc/none` cannot be written to: trace-bench run --runs-dir DIR"
    assert [check for check in found if check.subject == "runs_dir"] == [Check(level, "runs_dir", words)]
    assert not [check for check in checks(config(), host, tries=tries) if check.subject == "runs_dir"]


def test_a_run_budget_that_jobs_do_not_share_is_warned_of(host: PluginHost) -> None:
    made = config(run_budget={"evaluations": 10}, seeds=[1, 2])
    (found,) = [check for check in checks(made, host, tries=False) if check.subject == "run_budget"]
    assert found.level == "WARN"
    assert "`run_budget` without `budget`" in found.message


def test_a_trainer_that_lacks_something_is_skipped(host: PluginHost, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = host.catalog()
    told = {"NoOp": "needs x"}
    monkeypatch.setattr(type(catalog), "availability", staticmethod(lambda spec: told.get(spec.name, "")))
    found = checks(config(), host, tries=True)
    assert Check("SKIP", "NoOp", "needs x") in found
    assert validation._resolves(host, "trainer", "NoOp") == Check("SKIP", "trainer NoOp", "needs x")


REAL: dict[str, Any] = {"mode": "real", "llm": {"model": "gpt-4o-mini"}}


@pytest.fixture
def without_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asks litellm, which takes seconds to start, what a provider needs; that it is not installed would be told first."""
    if importlib.util.find_spec("litellm") is None:
        pytest.skip("litellm is not installed")
    monkeypatch.setattr(lacking, "needs_by_litellm", lambda *_, **__: ())


@pytest.mark.usefixtures("without_litellm")
@pytest.mark.parametrize("strict", [True, False])
def test_a_key_that_lacks_is_warned_of_unless_the_run_is_refused_for_it(host: PluginHost, strict: bool) -> None:
    found = [*validation._of_models(config(**REAL), host, environ={}, strict=strict)]
    words = "Mode `real` needs `OPENAI_API_KEY` for provider `openai`, and it is not set. export OPENAI_API_KEY=…"
    assert found == ([] if strict else [Check("WARN", "key OPENAI_API_KEY", words)])
    assert [*validation._of_models(config(**REAL), host, environ={"OPENAI_API_KEY": "x"}, strict=strict)] == []


@pytest.mark.usefixtures("without_litellm")
def test_where_a_server_is_asked_is_told_where_the_config_names_it_in_part(host: PluginHost) -> None:
    def told(url: str, **more: Any) -> list[Check]:
        made = config(mode="real", llm={"model": "hosted_vllm/m", "base_url": url, **more})
        return [*validation._of_models(made, host, environ={}, strict=True)]

    assert told("http://h:1") == [Check("OK", "base_url http://h:1", "names no path: asked at http://h:1/v1")]
    assert told("http://h:1/v1") == []
    assert told("http://h:1/v1/") == []
    for url in ("http://h:1/api", "http://h:1/api/"):
        assert told(url) == [
            Check("OK", f"base_url {url}", "does not end in `/v1`: asked as it stands, through litellm")
        ]
    (body,) = told("http://h:1/v1", extra_body={"top_kk": 1})
    assert body == Check(
        "WARN", "llm.extra_body",
        "holds `top_kk`, which is sent as it is written, and no provider is known to take it. Did you mean `top_k`?"
    )  # fmt: skip
    made = config(mode="real", llm={"model": "m", "provider": "opennai", "base_url": "http://h:1/v1"})
    (near,) = validation._of_models(made, host, environ={}, strict=True)
    assert near == Check(
        "WARN", "provider opennai", "is no provider that is known, and is asked as any server of OpenAI's API. Did you mean `openai`?"
    )  # fmt: skip


def test_names_that_are_wrong_are_refused_together_and_nothing_is_opened(host: PluginHost) -> None:
    with pytest.raises(UsageError) as caught:
        validation.refuse_wrong_names(config(tasks=["internal:nne"], trainers=["NoOpp"]), host, environ={})
    assert "internal:nne" in str(caught.value)
    assert "NoOpp" in str(caught.value)
    validation.refuse_wrong_names(config(), host, environ={})


def rows(found: Iterator[doctor.Diagnosis]) -> list[tuple[Any, ...]]:
    return [(row.name, row.ok, row.value, row.hint, row.needed) for row in found]


@pytest.mark.usefixtures("without_litellm")
def test_what_models_of_real_mode_lack_is_told_and_other_modes_ask_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rows(doctor._models(config())) == [("models", True, "`mode: stub` asks none", "", False)]
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    words = "Mode `real` needs `OPENAI_API_KEY` for provider `openai`, and it is not set."
    assert rows(doctor._models(config(**REAL))) == [
        ("key OPENAI_API_KEY", False, words, "export OPENAI_API_KEY=…", True)
    ]
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    assert rows(doctor._models(config(**REAL))) == [("key OPENAI_API_KEY", True, "set", "", True)]


def test_the_servers_of_a_config_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    handler = type("Known", (Models,), {"known": ("/v1/models",)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        llm = {"model": "hosted_vllm/m", "base_url": url}
        found = rows(doctor._models(config(mode="real", llm=llm)))
        server.shutdown()
    assert found == [(f"endpoint {url}", True, f"takes connections, asked at {url}/v1", "", True)]


def test_what_answers_no_http_has_no_status_and_a_refusal_has_one() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Known", (Models,), {"known": ("/a",)})) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        assert [doctor._status(f"{url}/{path}") for path in ("a", "b")] == [200, 404]
        server.shutdown()
    assert doctor._status(f"{url}/a") is None
    assert doctor._status("no address") is None


def test_a_name_that_cannot_be_looked_up_is_not_reached() -> None:
    assert not doctor._reachable("x" * 70 + ".invalid", 80)
    assert not doctor._succeeds(lambda: "é" * 99 + "x".encode("ascii").decode() and socket.gethostbyname("a" * 64))


def test_the_models_that_a_plugin_serves_are_looked_at_in_real_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = {"requires": (ABSENT,)}
    for more, row in (
        (needs, (False, "needs the command `nothing-of-this-name`", "get it")),
        ({}, (True, "can be served", "")),
    ):
        spec = ProviderSpec.model_validate({"name": "mine", "title": "Mine", "loader": "x:y", **more})
        host = SimpleNamespace(catalog=lambda spec=spec: SimpleNamespace(components={"provider": {"mine": spec}}))
        made = config(mode="real", llm={"model": "mine/m"})
        assert rows(doctor._served(made, host)) == [("model mine/m", *row, True)]  # type: ignore[arg-type]
        assert rows(doctor._served(config(llm={"model": "mine/m"}), host)) == []  # type: ignore[arg-type]


def test_tasks_and_trainers_of_a_config_are_told_with_what_they_lack(host: PluginHost) -> None:
    made = config(tasks=["internal:numeric_param", "internal:nne"], trainers=["NoOp", "NoOpp"])
    task, unknown, trainer, misspelt = rows(doctor._selection(made, host))
    assert task == ("task internal:numeric_param", True, "can run", "", True)
    assert trainer == ("trainer NoOp", True, "can run", "", True)
    assert (unknown[0], unknown[1], unknown[4]) == ("task internal:nne", False, True)
    assert (misspelt[0], misspelt[1], misspelt[4]) == ("trainer NoOpp", False, True)
    assert "internal:nne" in unknown[2]
    assert "NoOp" in misspelt[2] + misspelt[3]
    (row, _) = rows(doctor._selection(config(tasks=["odd:t"]), hosting(requires=(ABSENT,))))
    assert row[:2] == ("task odd:t", False)
    assert row[2].startswith("odd:t: ")
    assert "nothing-of-this-name" in row[2]


def test_plugins_and_their_pythons_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def record(name: str, status: str, error: str = "") -> Any:
        return SimpleNamespace(name=name, status=status, distribution=f"d-{name}", version="1", error=error)

    records = {n: record(n, s, e) for n, s, e in (("a", "loaded", ""), ("b", "disabled", ""), ("c", "failed", "no"))}
    asked: list[int] = []
    found = doctor._plugins(SimpleNamespace(catalog=lambda: asked.append(1), records=records))  # type: ignore[arg-type]
    assert rows(found) == [
        ("plugin a", True, "loaded: d-a 1", "pip install --upgrade d-a", False),
        ("plugin b", True, "disabled: d-b 1", "pip install --upgrade d-b", False),
        ("plugin c", False, "failed: d-c 1: no", "pip install --upgrade d-c", False),
    ]
    assert asked
    pythons = [
        SimpleNamespace(name=n, path=f"/{n}", ready=r, stale=s) for n, r, s in (("a", True, False), ("b", True, True), ("c", False, False))
    ]  # fmt: skip
    monkeypatch.setattr(doctor, "list_pythons", lambda _host: pythons)
    assert rows(doctor._pythons(None)) == [  # type: ignore[arg-type]
        ("python a", True, "/a", "trace-bench pythons create a", False),
        ("python b", False, "/b, built from other versions", "trace-bench pythons create b", False),
        ("python c", False, "not built", "trace-bench pythons create c", False),
    ]


def test_extras_are_told_with_what_they_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "extras", lambda: [("a", []), ("b", ["x", "y"])])
    monkeypatch.setattr(doctor, "old_extras", lambda: ["z requires tracebench-core[a]"])
    one, two, old = rows(doctor._extras())
    assert one == ("extra a", True, "installed", 'pip install "tracebench-engine[a]"', False)
    assert two == ("extra b", False, "missing: x, y", 'pip install "tracebench-engine[b]"', False)
    assert old[:3] == ("extras of before", False, "z requires tracebench-core[a]")
    assert "tracebench-engine[EXTRA]" in old[3]


def test_a_machine_without_docker_or_a_gpu_is_told_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    none = doctor._docker()
    assert (none.ok, none.value) == (False, "not found")
    assert none.hint.startswith("https://")
    (tmp_path / "docker").write_text("#!/bin/sh\n")
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    silent = doctor._docker()
    assert (silent.ok, silent.value) == (False, f"{tmp_path}/docker")
    for devices, ok, value in (
        ((tmp_path / "a",), False, "not found"),
        ((tmp_path / "docker",), True, f"{tmp_path}/docker"),
    ):
        monkeypatch.setattr(doctor, "GPU_DEVICES", tuple(map(str, devices)))
        found = doctor._gpu()
        assert (found.ok, found.value, found.needed) == (ok, value, False)


def test_a_summary_that_others_may_read_and_that_tells_the_salts_is_told_of(tmp_path: Path) -> None:
    made = config(runs_dir=str(tmp_path / "runs"))
    own = run_in(tmp_path / "runs", "own", 0o700)
    own.summary.write_text("{}")
    shared = run_in(tmp_path / "runs", "shared", 0o755)
    salts = tmp_path / "runs" / SHARED_FILE
    drawn = shared_salts(tmp_path / "runs", draw=True)
    assert drawn is not None
    assert drawn == shared_salts(tmp_path / "runs", draw=False)
    for text, tells in (("{}", False), (drawn.test, True)):
        shared.summary.write_text(text)
        shared.summary.chmod(0o644)
        (found,) = doctor._privacy(made)
        assert ("the salts of test instances in `shared/" in found.value) is tells
        assert found.hint == (
            f"trace-bench fsck {tmp_path}/runs/shared --repair"
            if tells
            else f"chmod -R go-rwx,g-s {tmp_path}/runs/shared"
        )
    salts.chmod(0o644)
    (open_,) = doctor._privacy(made)
    assert f"the salts of test instances in `{SHARED_FILE}` can be read by everybody on the machine" in open_.value
    assert (open_.ok, open_.hint) == (False, f"chmod 600 {salts}")


def test_a_machine_is_looked_at_whole_and_hints_are_typed(host: PluginHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "list_pythons", lambda _host: [])
    without = {row.name: row for row in doctor.diagnose()}
    assert {
        "Python",
        "system",
        "open files",
        "processes",
        "isolation",
        "disk",
        "runs folder",
        "leftovers",
        "Docker",
        "GPU",
    } <= {*without}
    assert not {"models", "task internal:numeric_param"} & {*without}
    assert (without["Python"].ok, without["system"].ok) == (True, True)
    assert sys.executable in without["Python"].value
    assert without["Python"].hint == "install Python 3.11 or newer"
    asks = {row.name: row for row in doctor.diagnose(config(), host=host)}
    assert asks["models"].value == "no task and no trainer of this config asks one"
    assert asks["task internal:numeric_param"].ok
    assert not doctor._asks_models(config(), host)
    assert doctor._asks_models(config(tasks=["internal:nne"]), host)


@pytest.mark.parametrize(("strict", "level"), [(True, "FAIL"), (False, "WARN")])
def test_an_executor_says_where_jobs_would_run_or_why_they_cannot(
    host: PluginHost, monkeypatch: pytest.MonkeyPatch, strict: bool, level: Any
) -> None:
    plan: Any = SimpleNamespace(config=SimpleNamespace(executor="slurm"))
    asked: list[Any] = []
    monkeypatch.setattr(validation, "refuse_unplaced", lambda *told: asked.append(told))
    monkeypatch.setattr(validation, "outlook", lambda *_: ("here", "there"))
    found = [*validation._placed(plan, host, strict=strict)]
    assert found == [Check("OK", "executor slurm", words) for words in ("here", "there")]
    assert bool(asked) is strict

    def refuse(*_: Any) -> tuple[str, ...]:
        raise UsageError("No queue.", hint="sinfo")

    monkeypatch.setattr(validation, "outlook", refuse)
    assert [*validation._placed(plan, host, strict=strict)] == [Check(level, "executor slurm", "No queue. sinfo")]
