"""The door: a trainer in another process, another environment, another language meets the same problem and the same budget."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import socket
import subprocess
import sys
import threading
import time
import venv
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.whole import HEAVY, one_in

from tracebench_core.specs import JobResult
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_engine.door.door import CLIENT_FOLDER, MOST_LINES, PROTOCOL, Door
from tracebench_engine.door.foreign import tracebench_client
from tracebench_testing import run_trial
from tracebench_testing.toys import Toy, build_number

EXAMPLE = Path(__file__).parents[2] / "examples" / "foreign_trainer" / "trainer.py"
HEAD = "import tracebench_client, time, os, sys\nproblem = tracebench_client.connect()\n"
NUMPY = "numpy==2.2.6"
"""Another numpy than this environment's."""


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., tuple[JobResult, Path]]:
    """Run a config with a program as trainer; returns its one result and its job folder."""

    def run(source: str | Path, *, python: str = sys.executable, **config: Any) -> tuple[JobResult, Path]:
        path = source if isinstance(source, Path) else tmp_path / "program.py"
        if isinstance(source, str):
            path.write_text(HEAD + source)
        params = {"argv": [python, str(path)], "grace": 1.0, **config.pop("params", {})}
        summary = api.run(
            parse_config(
                {
                    "tasks": ["internal:numeric_param"],
                    "trainers": [{"id": "Command", "params": params}],
                    "runs_dir": str(tmp_path / "runs"),
                    **config,
                }
            ),
            stream=io.StringIO(),
        )
        (result,) = api.load_run(summary.run_dir).results.values()
        return result, summary.run_dir / "jobs" / result.job_id

    return run


def test_a_program_optimises_through_the_door_and_is_measured_by_the_engine(program: Any) -> None:
    result, folder = program(
        """
first = problem.evaluate(problem.initial, origin="initial")
with problem.step() as index:
    better = problem.evaluate_many([{"x": 2.0}, {"x": 3.0}], parents=[problem.best()], origin="guess")
    problem.decide(better[1].candidate, "accepted", "closer")
    problem.log("index", index)
assert problem.best().values == {"x": 3.0} and problem.best().id == better[1].candidate
assert problem.check({"x": "three"}) and not problem.check({"x": 1.0})
assert problem.budget()["used"]["evaluations"] == 3 * len(problem.train)
"""
    )
    assert (result.status, result.stop_reason) == ("ok", "completed"), printed(folder)
    assert (result.score_val_initial, result.score_val_best) == (-3.0, 0.0)
    assert [step.index for step in result.steps] == [0]
    kinds = [json.loads(line)["kind"] for line in (folder / "events.jsonl").read_text().splitlines()]
    assert {"decision", "metric", "candidate", "evaluation"} <= set(kinds)


def test_a_spent_budget_ends_the_program_by_an_exception_that_except_exception_misses(program: Any) -> None:
    result, folder = program(
        """
for n in range(100):
    try:
        problem.evaluate({"x": float(n)})
    except Exception:
        print("swallowed")
""",
        budget={"evaluations": 5},
    )
    assert (result.status, result.stop_reason, result.used.evaluations) == ("ok", "budget:evaluations", 5)
    assert result.score_val_best == 0.0
    assert "swallowed" not in printed(folder)


@pytest.mark.parametrize("budget", one_in(2, [{"evaluations": 3}, {"seconds": 1.0}]))
def test_a_program_that_goes_on_against_a_spent_budget_is_cut_off(program: Any, budget: dict[str, float]) -> None:
    result, _ = program(
        """
while True:
    try:
        problem.evaluate({"x": 2.5})
    except BaseException:
        pass
    time.sleep(0.01)
""",
        budget=budget,
    )
    (axis,) = budget
    assert (result.status, result.stop_reason) == ("ok", f"budget:{axis}")
    assert result.used.evaluations <= budget.get("evaluations", result.used.evaluations)
    assert result.score_val_best == -0.5


@HEAVY  # its time begins after five seconds at the soonest
def test_a_program_that_never_asks_is_cut_off_when_its_time_is_over(program: Any) -> None:
    result, _ = program("time.sleep(600)", budget={"seconds": 0.5})
    assert (result.status, result.stop_reason) == ("ok", "budget:seconds")
    assert result.used.seconds < 60


def test_a_program_is_ended_with_its_job_and_so_is_what_it_started(program: Any, tmp_path: Path) -> None:
    note = tmp_path / "started"
    length = f"600.{os.getpid()}"  # found by its command line: a program may be in a namespace of pids of its own
    result, _ = program(
        f"""
import subprocess
child = subprocess.Popen(["sleep", "{length}"], start_new_session=True)
open({str(note)!r}, "w").write(str(child.pid))
problem.evaluate({{"x": 1.0}})
time.sleep(600)
""",
        job_timeout=6,
    )
    assert result.status == "timeout"
    assert result.score_val_best == -2.0
    assert note.exists()
    assert not [line for line in command_lines() if b"sleep\0" + length.encode() in line]


def printed(job: Path) -> str:
    """Return what a job printed; one that printed nothing has no file."""
    log = job / "stdout.log"
    return log.read_text() if log.exists() else ""


def command_lines() -> list[bytes]:
    """Return the command line of every process there is."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(path.read_bytes())
    return lines


def test_a_program_that_fails_fails_its_job_in_words(program: Any) -> None:
    result, folder = program("problem.evaluate(problem.initial)\nsys.exit('no idea')")
    assert result.status == "failed"
    assert result.error is not None
    assert (result.error.type, "exit code 1" in result.error.message) == ("ProgramError", True)
    assert "no idea" in printed(folder)


def test_a_program_that_is_not_there_fails_its_job_in_words(program: Any) -> None:
    result, _ = program("", python="/not/there")
    assert result.error is not None
    assert "cannot be started" in result.error.message


def test_models_are_behind_the_same_door(program: Any) -> None:
    result, _ = program(
        """
import json, urllib.request
door = problem.endpoint("optimizer")
assert (door.base_url, door.api_key, door.model) == tuple(os.environ[n] for n in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "TRACEBENCH_MODEL"))
bare = {door.base_url.removesuffix("/v1")}
assert {os.environ["ANTHROPIC_BASE_URL"], os.environ["GOOGLE_GEMINI_BASE_URL"]} == bare
assert {os.environ["ANTHROPIC_API_KEY"], os.environ["GEMINI_API_KEY"]} == {door.api_key}
while True:
    body = json.dumps({"model": door.model, "messages": [{"role": "user", "content": "hi"}]}).encode()
    headers = {"Authorization": "Bearer " + door.api_key}
    urllib.request.urlopen(urllib.request.Request(door.base_url + "/chat/completions", body, headers)).read()
""",
        budget={"llm_calls": 3},
    )
    assert (result.status, result.stop_reason, result.used.llm_calls) == ("ok", "budget:llm_calls", 3)
    assert result.usage["optimizer"].refused == 1


@HEAVY
def test_the_example_runs_in_another_environment_with_another_numpy(program: Any, tmp_path: Path) -> None:
    home = tmp_path / "other"
    venv.create(home, with_pip=True, symlinks=True)
    installed = subprocess.run(
        [home / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", NUMPY],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    result, folder = program(EXAMPLE, python=str(home / "bin" / "python"), budget={"evaluations": 60})
    said = printed(folder)
    assert (result.status, result.stop_reason, result.used.evaluations) == ("ok", "budget:evaluations", 60), said
    assert result.score_val_initial is not None
    assert result.score_val_best is not None
    assert result.score_val_best > result.score_val_initial
    expected = NUMPY.partition("==")[2] if installed.returncode == 0 else "absent"
    assert f"numpy {expected}" in said


@contextmanager
def served(toy: Toy | None = None, *, workers: int = 1) -> Iterator[Door]:
    """Yield a door that another thread serves."""
    ready, done = threading.Event(), threading.Event()
    doors: list[Door] = []

    class Serve:
        def train(self, problem: Any) -> None:
            with Door(problem) as door:
                doors.append(door)
                ready.set()
                door.serve(until=done.is_set)

    thread = threading.Thread(
        target=lambda: run_trial(Serve(), toy or build_number(), answer=lambda *_: "", workers=workers)
    )
    thread.start()
    try:
        assert ready.wait(60)
        yield doors[0]
    finally:
        done.set()
        thread.join()


def test_nobody_enters_without_the_token() -> None:
    with served() as door:
        path, _, _ = door.address.partition("#")
        with pytest.raises(tracebench_client.DoorError, match="token"):
            tracebench_client.connect(f"{path}#guess")
        with socket.socket(socket.AF_UNIX) as stranger, stranger.makefile("rb") as lines:
            stranger.connect(path)
            stranger.sendall(b'["best",{}]\n')
            assert json.loads(lines.readline())[0] == "error"
        assert Path(path).parent.stat().st_mode & 0o077 == 0


ODD = [
    b"nonsense", b"[1]", b'["evaluate",{"candidates":3}]', b'["evaluate",{}]', b'["fly",{}]', b"[" * 200_000,
    b'["open",{"token":5,"protocol":2}]', b'["open",{"token":"\\ud800","protocol":2}]', b'["evaluate",{"candidates":[{}],"parents":[[1]]}]',
    b'["log",{"name":5,"value":1}]', b'["check",{"values":[[1,2]]}]', b'["check",{"values":null}]',
    b'["evaluate",{"candidates":[[["x",1]]]}]', b'["evaluate",{"candidates":"ab"}]',
    b'["log",{"name":"x","value":' + b"9" * 4000 + b"}]", b'["log",{"name":"' + b"n" * 201 + b'","value":1}]',
    b'["evaluate",{"candidates":[{"x":1}],"origin":"' + b"o" * 20_001 + b'"}]', b'["decide",{"candidate":5,"verdict":"accepted"}]',
    b'["decide",{"candidate":"c0","verdict":"accepted","reason":"' + b"r" * 20_001 + b'"}]',
]  # fmt: skip


@pytest.mark.parametrize("request_line", ODD, ids=lambda line: line[:40].decode())
def test_what_is_no_request_is_refused_in_words_and_the_door_stays_open(request_line: bytes) -> None:
    with served() as door:
        problem = tracebench_client.connect(door.address)
        with pytest.raises(tracebench_client.DoorError, match=r"\w+"):
            problem._connected().send(request_line)
        with pytest.raises(tracebench_client.DoorError, match="no example"):
            problem.evaluate(problem.initial, ["not an example"])
        assert problem.evaluate(problem.initial).status == "ok"
        problem.close()


def test_what_a_program_makes_this_process_hold_is_bounded() -> None:
    with served() as door:
        path, _, token = door.address.partition("#")
        hello = json.dumps(["open", {"token": token, "protocol": PROTOCOL}]).encode() + b"\n"
        with contextlib.ExitStack() as stack:

            def connect() -> socket.socket:
                one = stack.enter_context(socket.socket(socket.AF_UNIX))
                one.connect(path)  # which waits for its turn without a timeout alone
                one.settimeout(30)
                return one

            def is_closed_after(one: socket.socket, data: bytes) -> bool:
                try:
                    one.sendall(data)
                    return one.recv(1) == b""
                except OSError as err:
                    return not isinstance(err, TimeoutError)

            assert is_closed_after(connect(), b"x" * 5000)
            friends = [connect() for _ in range(2)]
            for friend in friends:
                friend.sendall(hello)
                assert friend.makefile("rb").readline().startswith(b'["ok"')
            friends[0].sendall(b"x" * (40 << 20))
            assert is_closed_after(friends[1], b"x" * (40 << 20))
            crowd = [connect() for _ in range(MOST_LINES)]
            assert crowd[-1].recv(1) == b""
        problem = connected_once_there_is_room(door.address)
        assert problem.evaluate(problem.initial).status == "ok"
        problem.close()


def connected_once_there_is_room(address: str) -> tracebench_client.Problem:
    """Return a connection; the door may not have noticed yet that the crowd has left."""
    until = time.monotonic() + 30
    while True:
        try:
            return tracebench_client.connect(address)
        except tracebench_client.DoorError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


def test_several_programs_may_share_a_door() -> None:
    with served() as door:
        one, two = tracebench_client.connect(door.address), tracebench_client.connect(door.address)
        assert one.evaluate(one.initial).score == two.evaluate(two.initial).score
        one.close()
        assert two.best().id == "c0"
        two.close()


def test_threads_and_children_of_children_have_connections_of_their_own(program: Any) -> None:
    result, folder = program(
        """
import concurrent.futures, multiprocessing

def score(x):
    return problem.evaluate({"x": x}, origin="pool").score

with concurrent.futures.ThreadPoolExecutor(4) as pool:
    assert list(pool.map(score, [1.0, 2.0, 3.0])) == [-2.0, -1.0, 0.0]
with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
    assert list(pool.map(score, [1.5, 2.5])) == [-1.5, -0.5]
    try:
        list(pool.map(score, [float(n) for n in range(20)]))
    except tracebench_client.BudgetExhausted as spent:
        print("refused:", spent.axis, spent.scope)
        raise
""",
        budget={"evaluations": 9},
    )
    said = printed(folder)
    assert (result.status, result.stop_reason, result.used.evaluations) == ("ok", "budget:evaluations", 9), said
    assert "refused: evaluations job" in said
    assert result.score_val_best == 0.0


class Meeting:
    """A task whose first runs end only when as many of them are under way as were invited."""

    def __init__(self, guests: int) -> None:
        self._task = build_number().task
        self.barrier = threading.Barrier(guests)
        self._have_met = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._task, name)

    def run(self, values: Any, example: Any, context: Any) -> Any:
        if not self._have_met:
            self.barrier.wait(60)
            self._have_met = True
        return self._task.run(values, example, context)


def ask(door: Door, x: float) -> tracebench_client.Evaluation:
    """Measure a value on one example, over a connection of its own."""
    problem = tracebench_client.connect(door.address)
    try:
        return problem.evaluate({"x": x}, problem.train[:1])
    finally:
        problem.close()


def test_evaluations_that_several_programs_ask_for_run_at_a_time() -> None:
    toy = dataclasses.replace(build_number(), task=Meeting(3))
    with served(toy, workers=3) as door, ThreadPoolExecutor(3) as pool:
        found = list(pool.map(ask, [door] * 3, [1.0, 2.0, 3.0]))
    assert [(e.status, e.score) for e in found] == [("ok", -2.0), ("ok", -1.0), ("ok", 0.0)]


def test_what_takes_no_time_is_answered_while_an_evaluation_runs() -> None:
    task = Meeting(2)
    with served(dataclasses.replace(build_number(), task=task)) as door, ThreadPoolExecutor(1) as pool:
        measuring = pool.submit(ask, door, 1.0)
        quick = tracebench_client.connect(door.address)
        while not task.barrier.n_waiting:
            threading.Event().wait(0.01)
        assert quick.budget()["used"]["evaluations"] == 1
        assert quick.best().id == "c0"
        assert not measuring.done()
        quick.close()
        task.barrier.wait(60)
        assert measuring.result().score == -2.0


def test_a_program_that_hurries_ahead_is_answered_in_its_order() -> None:
    with served() as door:
        path, _, token = door.address.partition("#")
        lines = [
            ["open", {"token": token, "protocol": PROTOCOL}],
            ["evaluate", {"candidates": [{"x": 1.0}]}],
            ["budget", {}],
            ["evaluate", {"candidates": [{"x": 3.0}]}],
            ["best", {}],
        ]
        with socket.socket(socket.AF_UNIX) as hasty, hasty.makefile("rb") as answers:
            hasty.connect(path)
            hasty.sendall(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
            told = [json.loads(answers.readline()) for _ in lines]
    assert [kind for kind, _ in told] == ["ok"] * 5
    assert told[2][1]["used"]["evaluations"] == len(told[1][1][0]["results"])
    assert told[4][1]["values"] == {"x": 3.0}


def test_children_of_children_reach_the_door_in_every_way_of_starting_them(program: Any, tmp_path: Path) -> None:
    (tmp_path / "pooled.py").write_text(
        """
import subprocess, sys
import tracebench_client

def score(problem, x):
    return problem.evaluate({"x": x}, problem.train[:1], origin="pool").score

def grandchild(_):
    code = "import tracebench_client as t; p = t.connect(); print(p.evaluate({'x': 2.5}, p.train[:1]).score)"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
"""
    )
    result, folder = program(
        f"""
sys.path.insert(0, {str(tmp_path)!r})
import concurrent.futures, functools, multiprocessing, pooled

if __name__ == "__main__":
    for way in ("fork", "spawn", "forkserver"):
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(way)) as pool:
            assert list(pool.map(functools.partial(pooled.score, problem), [1.0, 2.0])) == [-2.0, -1.0]
            assert list(pool.map(pooled.grandchild, [None])) == [-0.5]
""",
        eval_workers=2,
    )
    assert (result.status, result.used.evaluations) == ("ok", 9), printed(folder)


def test_a_program_learns_the_references_of_train_alone(program: Any) -> None:
    result, folder = program(
        "assert [e.reference for e in problem.train] and not any(hasattr(e, 'reference') for e in problem.validation)\n"
        "assert problem.evaluate(problem.initial).results[0].feedback"
    )
    assert result.status == "ok", printed(folder)


def test_a_step_ends_with_the_connection_that_began_it() -> None:
    with served() as door:
        one, two = tracebench_client.connect(door.address), tracebench_client.connect(door.address)
        with one.step() as index:
            two.close()
            assert two.budget()["used"]["evaluations"] == 0
            one.log("index", index)
        one.close()
        two.close()


def test_the_client_is_one_file_that_needs_nothing_of_ours() -> None:
    code = "import sys, tracebench_client; print([m for m in sys.modules if m.startswith(('tracebench_core', 'tracebench_engine'))])"
    environ = {"PYTHONPATH": str(CLIENT_FOLDER), "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-S", "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_closed_door_is_said_so() -> None:
    with served() as door:
        problem = tracebench_client.connect(door.address)
    with pytest.raises(tracebench_client.DoorError, match="door is"):
        problem.best()
    problem.close()
