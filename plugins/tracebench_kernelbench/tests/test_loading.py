"""From a name to a task, and what the task asks for: of KernelBench's own problems, of ours, here and on a server."""

from __future__ import annotations

import json
import sys
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from plugins.tracebench_kernelbench.tests.test_server import DONE, saying
from plugins.tracebench_kernelbench.tests.test_words import problem
from typer.testing import CliRunner

from tracebench_core.contracts import EvaluationFailed, NotMeasured
from tracebench_core.errors import MissingRequirementError, PluginError, ProgramError, UsageError
from tracebench_core.specs import Example
from tracebench_kernelbench import loading as own_loading
from tracebench_kernelbench.client import Away, Client, Servers
from tracebench_kernelbench.command import app
from tracebench_kernelbench.cuda.task import DeviceTask
from tracebench_kernelbench.judging import Verdict
from tracebench_kernelbench.modules import loading
from tracebench_kernelbench.modules.backends import BACKENDS, Backend
from tracebench_kernelbench.modules.shrinking import digest
from tracebench_kernelbench.modules.source import LEVELS, cpu_sizes, find_problems
from tracebench_kernelbench.modules.task import PythonTask
from tracebench_kernelbench.options import BY_RUN, Effort, Options
from tracebench_kernelbench.problem import Array
from tracebench_kernelbench.server import worker
from tracebench_kernelbench.server.orders import Order
from tracebench_kernelbench.settings import SETTINGS
from tracebench_kernelbench.task import KernelTask, have_judged, scaled, score

CODE = "N = 64\n\nclass Model(Base):\n    pass\n"
ELSEWHERE = {"server": "http://127.0.0.1:1"}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "level1").mkdir()
    (tmp_path / "level2").mkdir()
    (tmp_path / "level1/7_Thing.py").write_text(CODE)
    (tmp_path / "level2/7_Other.py").write_text(CODE.replace("64", "32"))
    monkeypatch.setattr(SETTINGS, "own", tmp_path)
    return tmp_path


def test_a_name_says_which_problem_at_which_sizes(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del root
    monkeypatch.setitem(cpu_sizes(), (1, 7), {"code": digest(CODE), "constants": {"N": 16}})
    monkeypatch.setitem(cpu_sizes(), (2, 7), {"code": digest(CODE.replace("64", "32")), "constants": {}, "half": False})

    original, cpu, other = (getattr(loading, name)(**ELSEWHERE) for name in ("original_1_7", "cpu_1_7", "cpu_2_7"))
    device = loading.cuda_2_7(backend="triton")

    assert all(isinstance(task, PythonTask) for task in (original, cpu, other))
    assert "N = 64\n" in original.objective
    assert "N = 16\n" in cpu.objective
    assert "N = 32\n" in other.objective
    assert [task._tells_half for task in (original, cpu, other)] == [False, True, False]
    assert isinstance(device, DeviceTask)
    assert "with Triton;" in device.objective
    numba = loading.numba_row_sums(**ELSEWHERE)
    assert "sum of each row" in numba.objective


@pytest.mark.parametrize(
    "name", ["numba_nothing", "original_1_x", "original_x_1", "cpu_1", "level_1_7", "cuda", "c_gelu"]
)
def test_other_names_are_none(name: str) -> None:
    with pytest.raises(AttributeError, match=f"^there is no task `{name}`$"):
        getattr(loading, name)
    with pytest.raises(AttributeError, match=f"^there is no problem `{name}`$"):
        getattr(own_loading, name)


def test_what_cannot_be_opened_says_why(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PluginError, match="no sizes for a CPU are known for this version of level 1, problem 7"):
        loading.cpu_1_7()
    monkeypatch.setitem(cpu_sizes(), (1, 7), {"code": digest(CODE), "constants": {"K": 16}})
    with pytest.raises(PluginError, match="names no whole number `K`"):
        loading.cpu_1_7()
    for name in ("original_1_8", "original_3_7"):
        with pytest.raises(MissingRequirementError, match="KernelBench's problems are not there") as told:
            getattr(loading, name)()
        assert told.value.hint == "export KERNELBENCH_ROOT=/path/to/KernelBench"
    monkeypatch.setattr(SETTINGS, "own", None)
    monkeypatch.delenv("KERNELBENCH_ROOT", raising=False)
    with pytest.raises(MissingRequirementError):
        loading.original_1_7()
    del root


def test_a_backend_has_to_be_there_only_where_the_job_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KERNELBENCH_SERVER", raising=False)
    monkeypatch.setattr(sys, "path", [])
    sys.path_importer_cache.clear()
    with pytest.raises(MissingRequirementError, match="`triton` needs the package `"):
        loading.module_task(CODE, loading.ModuleOptions(backend="triton"))
    with pytest.raises(MissingRequirementError):
        loading.module_task(CODE, loading.ModuleOptions(backend="triton", server=BY_RUN))
    assert loading.module_task(CODE, loading.ModuleOptions(backend="triton", **ELSEWHERE))


def context(address: str = "") -> Any:
    return SimpleNamespace(environment=lambda name: {"address": address, "name": name}, check=lambda: None)


@pytest.mark.parametrize("where", ["named", BY_RUN])
def test_a_server_is_sent_what_a_task_has(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KERNELBENCH_SERVER", raising=False)
    sent: list[Any] = []
    with saying((200, '{"job_id": "a"}'), (200, DONE), (200, '{"job_id": "a"}'), (200, DONE)) as (address, said):
        options = {"server": address if where == "named" else BY_RUN, "trials": 4}
        monkeypatch.setattr(Client, "submit", _watched(Client.submit, sent))
        task = own_loading.gelu(**options)
        verdict = task.run({"kernel": "x"}, task.splits["test"][0], context(address))
        if where == "named":
            python = loading.numba_gelu(**options)
            python.run({"kernel": "y"}, python.splits["train"][0], context())
            python.close()
    assert verdict.score == 2.0
    assert said.asked == 2 * len(sent)
    assert (sent[0].problem, sent[0].source, sent[0].backend, sent[0].effort.trials) == ("gelu", "x", None, 8)
    if where == "named":
        assert (sent[1].problem, sent[1].source, sent[1].backend, sent[1].effort.trials) == ("gelu", "y", "numba", 4)


def _watched(submit: Any, sent: list[Any]) -> Any:
    def watched(client: Client, order: Order) -> str:
        sent.append(order)
        return str(submit(client, order))

    return watched


def test_the_judge_of_a_run_is_waited_for_as_long_as_the_options_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KERNELBENCH_SERVER", raising=False)
    options = Options(server_patience=0.0)
    with pytest.raises(NotMeasured, match=r"^The KernelBench server at http://127\.0\.0\.1:1 is away \(ConnectError: "):
        have_judged(Order(problem="gelu", source="x"), options, context("127.0.0.1:1"))


def test_a_test_takes_twice_the_rounds_within_their_bounds() -> None:
    assert scaled(Effort(), 1) == Effort()
    twice = scaled(Effort(trials=3, least=20, most=60, budget_ms=300, warm=3), 2)
    assert (twice.trials, twice.least, twice.most, twice.budget_ms, twice.warm) == (6, 40, 120, 600, 3)
    most = scaled(Effort(trials=11, least=101, most=150), 2)
    assert (most.trials, most.least, most.most) == (20, 200, 200)
    task = KernelTask(problem(), Options())
    assert [(split, [(e.id, e.input) for e in examples]) for split, examples in task.splits.items()] == [
        ("train", [("train-0", 1)]),
        ("test", [("test-0", 2)]),
    ]


def test_only_what_is_right_has_a_score() -> None:
    example = Example(id="e", input=1)
    good = score(example, Verdict(True, True, "fine", "ok", 1.5, {"a": 1.0}), context())
    assert (good.score, good.text, good.metrics, good.status) == (1.5, "fine", {"a": 1.0}, "ok")
    for status in ("invalid", "timeout"):
        with pytest.raises(EvaluationFailed) as told:
            score(example, Verdict(True, False, "wrong", status), context())
        assert (told.value.feedback.status, told.value.feedback.text) == (status, "wrong")


def test_an_objective_says_what_each_array_holds() -> None:
    arrays = (
        Array("x", (2, 3)),
        Array("i", (4,), "i", limit=9),
        Array("n", (5,), "i"),
        Array("p", (6,), "p", limit=4),
    )
    task = KernelTask(problem(inputs=arrays, title="Sum of Rows"), Options())

    assert "for one core of this machine: sum of Rows.\n" in task.objective
    said = "`x` 2 x 3 floats, `i` 4 integers below 9, `n` 5 integers, `p` 6 integers, which never fall, `out` 2 x 3 floats."
    assert said in task.objective
    assert "by 0.01 + 0.1 * |value|" in task.objective
    [parameter] = task.parameters
    assert parameter.initial == task.problem.source
    assert parameter.max_length == 100_000


def test_a_constant_problem_says_so() -> None:
    assert KernelTask(problem(), Options()).self_check() == []
    constant = KernelTask(problem(reference=lambda x, i: 0 * x), Options())
    assert constant.self_check() == ["The output of `twice` does not depend on its inputs: a constant would pass."]


def status(queued: int, active: int, devices: int) -> tuple[int, str]:
    load = {"queue_info": {"queued_jobs": queued, "active_jobs": active}}
    return 200, json.dumps(load | {"device_status": {f"cpu:{place}": "busy" for place in range(devices)}})


def test_the_server_with_the_least_to_do_for_each_device_is_chosen(caplog: pytest.LogCaptureFixture) -> None:
    with (
        saying(status(3, 1, 2)) as (two, _),
        saying(status(2, 1, 2)) as (idle, _),
        saying(status(0, 2, 0)) as (none, _),
        saying((401, '{"detail": "no token"}')) as (refuses, _),
        saying((200, '{"queue_info": {}}')) as (odd, _),
        Servers(f"{two}, {refuses},,{idle},{odd},{none},http://127.0.0.1:1 ") as servers,
    ):
        clients = {client.address: client for client in servers.clients}
        assert [*clients] == [two, refuses, idle, odd, none, "http://127.0.0.1:1"]
        assert servers.choose(None) is clients[idle]
        assert servers.choose(clients[idle]) is clients[two], "two for each of its two devices"
        servers.clients = [clients[none], clients[two]]
        assert servers.choose(None) is clients[none], "as much for each, and named before"
        servers.clients = [clients[idle], clients[odd]]
        assert servers.choose(clients[idle]) is clients[idle], "all others are away"
        servers.clients = [clients[refuses], clients[refuses]]
        with pytest.raises(NotMeasured, match="refuses this: no token"):
            servers.choose(None)
        servers.clients = [clients[refuses], clients[odd]]
        with pytest.raises(Away, match="no queue in its answer"):
            servers.choose(None)
        servers.clients = [clients[odd]]
        assert servers.choose(clients[odd]) is clients[odd], "one alone is not asked"
        for client in clients.values():
            client.close()
    told = [record.getMessage() for record in caplog.records]
    assert told == [f"The KernelBench server at {refuses} refuses this: no token; the others are asked"], "once"


@pytest.mark.parametrize("addresses", ["", " , ,"])
def test_no_address_is_none(addresses: str) -> None:
    with pytest.raises(UsageError, match="`server` names no address") as told:
        Servers(addresses)
    assert told.value.hint == "server: http://127.0.0.1:6000"


def test_an_address_is_one_of_http_unless_it_says_another_and_a_token_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELBENCH_TOKEN", "one")
    monkeypatch.setenv("OURS", "two")
    plain, safe = Client("host:6000"), Client("https://host", token_variable="OURS")
    assert (plain.address, safe.address) == ("http://host:6000", "https://host")
    assert plain._http.headers["authorization"] == "Bearer one"
    assert safe._http.headers["authorization"] == "Bearer two"
    monkeypatch.delenv("KERNELBENCH_TOKEN")
    assert "authorization" not in Client("host")._http.headers


def test_a_job_of_a_server_that_goes_away_is_given_to_another() -> None:
    idle = status(0, 0, 1)
    with (
        saying(idle, (200, '{"job_id": "a"}'), (502, "<html>"), idle) as (gone, first),
        saying(status(1, 0, 1), status(9, 0, 1), (200, '{"job_id": "b"}'), (200, DONE)) as (other, second),
        Servers(f"{gone},{other}") as servers,
    ):
        asked = _asked(servers)
        assert asked.look() is None
        assert "status 502" in asked.trouble
        verdict = asked.look()
    assert verdict is not None
    assert verdict.score == 2.0
    assert asked.client is servers.clients[1]
    assert (first.asked, second.asked) == (4, 4)


def _asked(servers: Servers) -> Any:
    from tracebench_kernelbench.client import _Asked

    return _Asked(servers, Order(problem="gelu", source="x"))


def test_a_job_that_failed_is_suspect_and_is_not_cancelled() -> None:
    with (
        saying((200, '{"job_id": "a"}'), (200, '{"status": "failed", "error": "no disk"}')) as (address, said),
        Servers(address) as servers,
    ):
        asked = _asked(servers)
        with pytest.raises(NotMeasured, match=r"^The KernelBench server could not judge: no disk$") as told:
            asked.look()
        asked.cancel()
    assert told.value.suspect
    assert said.asked == 2


def test_a_worker_answers_a_line_for_each_order_and_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(BACKENDS, "numba", Backend("numba", "Numba", ("numpy",), "", tools=("not-there",)))
    monkeypatch.setattr("tracebench_kernelbench.modules.backends.INSTALL", {"not-there": "apt-get install it"})
    orders = [Order(problem="gelu", backend="numba", source="x")] * 2
    monkeypatch.setattr(sys, "stdin", StringIO("".join(order.model_dump_json() + "\n" for order in orders)))

    worker.main()

    lines = capsys.readouterr().out.splitlines()
    words = "the backend `numba` needs the command `not-there` (apt-get install it)"
    assert [json.loads(line) for line in lines] == [{"error": words}] * 2


def test_rows_of_the_hub_are_written_level_by_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub's own library is one that the test brings along."""
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "datasets.py").write_text(
        "def load_dataset(name, *, split, revision):\n"
        "    if revision == 'none': raise OSError('no such revision')\n"
        "    level = int(split.removeprefix('level_'))\n"
        "    rows = [{'code': f'{name} {revision}', 'level': level, 'name': f'{n}_A', 'problem_id': n} for n in range(level)]\n"
        "    return rows\n"
    )
    monkeypatch.syspath_prepend(packages)
    monkeypatch.setitem(sys.modules, "datasets", None)  # whatever is imported by this name goes with the test
    del sys.modules["datasets"]
    folder = tmp_path / "new/rows"

    done = CliRunner().invoke(app, ["fetch", str(folder), "--revision", "r1"])

    assert done.exit_code == 0, done.output
    assert done.output.splitlines() == [
        f"10 problems of 4 levels in {folder}",
        f"export KERNELBENCH_ROOT={folder}",
    ]
    found = [*find_problems(folder)]
    assert {p.level for p in found} == {*LEVELS}
    assert found[0].read() == "ScalingIntelligence/KernelBench r1"
    failed = CliRunner().invoke(app, ["fetch", str(tmp_path / "other"), "--revision", "none"])
    assert isinstance(failed.exception, ProgramError)
    assert str(failed.exception) == "`ScalingIntelligence/KernelBench` cannot be loaded: no such revision"
    assert failed.exception.hint == "check the network, then run the command again"
    assert not (tmp_path / "other").exists()
    monkeypatch.delitem(sys.modules, "datasets")
    (packages / "datasets.py").write_text("raise ImportError")
    missing = CliRunner().invoke(app, ["fetch", str(tmp_path / "other")])
    assert isinstance(missing.exception, MissingRequirementError)
    assert str(missing.exception.hint).endswith('"tracebench-kernelbench[hub]"')
    monkeypatch.delitem(sys.modules, "datasets", raising=False)


@pytest.mark.parametrize(
    ("options", "words", "hint"),
    [
        (["--host", "0.0.0.0"], "Whoever reaches 0.0.0.0 could run code here", "export KERNELBENCH_TOKEN="),
        (["--host", "192.0.2.1"], "Whoever reaches 192.0.2.1 could run code here", "export KERNELBENCH_TOKEN="),
        (["--port", "{taken}"], "Cannot listen on 127.0.0.1:{taken}: Address already in use.", "serve --port 0"),
    ],
)
def test_a_server_that_may_not_listen_says_so(
    options: list[str], words: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KERNELBENCH_TOKEN", raising=False)
    with saying((200, "{}")) as (address, _):
        taken = address.rpartition(":")[2]
        done = CliRunner().invoke(app, ["serve", *(option.format(taken=taken) for option in options)])
    assert isinstance(done.exception, UsageError)
    assert words.format(taken=taken) in str(done.exception)
    assert hint in str(done.exception.hint)
