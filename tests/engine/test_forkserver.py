"""Helpers that are forked are what fresh interpreters would be, and children of who asked for them; real processes throughout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.whole import HEAVY

from tracebench_engine import api

HELPER = """
import json, os, pathlib, resource, signal, sys
imported_by = os.getpid()
def main():
    if sys.argv[1:] == ["dies"]:
        raise SystemExit(7)
    told = {
        "pid": os.getpid(), "parent": os.getppid(), "session": os.getsid(0), "argv": sys.argv[1:], "folder": os.getcwd(),
        "environ": dict(os.environ), "path": sys.path, "forked": imported_by != os.getpid(),
        "interrupt": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
        "hangup": signal.getsignal(signal.SIGHUP) is signal.SIG_IGN,
        "open": sorted(int(f.name) for f in pathlib.Path("/proc/self/fd").iterdir() if f.exists()),
        "title": pathlib.Path("/proc/self/cmdline").read_bytes().decode().split(chr(0)),
        "input": sys.stdin.read(),
    }
    os.write(int(sys.argv[1]), json.dumps(told).encode())
    print("said to the log", flush=True)
if __name__ == "__main__":
    main()
"""
PROGRAM = """
import json, os, signal, sys
from pathlib import Path
from tracebench_sandbox import forkserver
plan = json.loads(sys.argv[1])
kept = open("/dev/null")  # whatever this process has open is no helper's
if plan["fork"]:
    forkserver.plant("a_helper", ahead=["a_helper"])
secret = open("/dev/zero")
os.chdir(plan["folder"])
signal.signal(signal.SIGHUP, signal.SIG_IGN)
reader, writer = os.pipe()
with open(plan["log"], "ab") as log:
    given = {"environ": plan["environ"], "output": log}
    helper = forkserver.launch("a_helper", [str(writer), "an argument"], pass_fds=[writer], has_input=True, **given)
    alive = helper.poll() is None
    helper.stdin.write(b"told")
    helper.stdin.close()
    os.close(writer)
    told = json.loads(os.fdopen(reader, "rb").read())
    code = helper.wait(30)
    failing = forkserver.launch("a_helper", ["dies"], pass_fds=[], **given)
    lost = forkserver.launch("a_helper", [str(log.fileno())], pass_fds=[log.fileno()], has_input=True, **given)
    lost.kill()
    print(json.dumps({"me": os.getpid(), "pid": helper.pid, "writer": writer, "alive": alive, "code": code, "failed": failing.wait(30),
        "killed": lost.wait(30), "told": told, "kind": type(helper).__name__}))
"""


def helped(tmp_path: Path, *, fork: bool) -> dict[str, Any]:
    (tmp_path / "lib").mkdir(exist_ok=True)
    (tmp_path / "lib" / "a_helper.py").write_text(HELPER)
    (folder := tmp_path / "folder").mkdir(exist_ok=True)
    environ = {
        "PYTHONPATH": f"{tmp_path / 'lib'}{os.pathsep}{tmp_path / 'more'}",
        "GIVEN": "a value",
        "PATH": os.defpath,
    }
    plan = {"fork": fork, "folder": str(folder), "log": str(tmp_path / "log"), "environ": environ}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(plan)],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "lib"), "NOT_GIVEN": "another"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_a_forked_helper_differs_from_a_fresh_one_in_nothing_but_its_imports(tmp_path: Path) -> None:
    forked, fresh = helped(tmp_path, fork=True), helped(tmp_path, fork=False)

    assert (forked["kind"], fresh["kind"]) == ("ForkedProcess", "Popen")
    assert (forked["told"].pop("forked"), fresh["told"].pop("forked")) == (True, False)
    for each in (forked, fresh):
        told = each["told"]
        assert (told.pop("pid"), told.pop("parent")) == (each["pid"], each["me"])
        assert told.pop("session") == each["pid"]
        assert told.pop("argv") == [str(each["writer"]), "an argument"]
        assert "a_helper" in " ".join(told.pop("title"))
        assert each["writer"] in (opened := told.pop("open"))
        assert len([fd for fd in opened if fd <= each["writer"]]) == 4  # input, output, errors, and what was passed
        assert (each["alive"], each["code"], each["failed"], each["killed"]) == (True, 0, 7, -9)
    environ = [told["told"].pop("environ") for told in (forked, fresh)]
    assert environ[0]["GIVEN"] == "a value"
    assert "NOT_GIVEN" not in environ[0]
    assert environ[0] == {
        name: value for name, value in environ[1].items() if name != "LC_CTYPE"
    }  # set by a start with C
    assert forked["told"] == fresh["told"]
    assert forked["told"]["input"] == "told"
    assert forked["told"]["interrupt"]
    assert forked["told"]["hangup"]
    assert (tmp_path / "log").read_text().count("said to the log") == 2


RUNS = """
import io, json, os, pathlib, threading
from tracebench_engine import api
from tracebench_engine.config import parse_config

CONFIG = {"tasks": ["internal:numeric_param"], "mode": "stub", "trainers": [
    {"id": "PrioritySearch", "params": {"ps_steps": 1, "ps_candidates": 1, "ps_proposals": 1}}]}

def look():
    while not over.wait(0.003):
        for task in pathlib.Path("/proc/self/task").iterdir():
            try:
                for pid in (task / "children").read_text().split():
                    folder = pathlib.Path("/proc", pid)
                    title, environ = (folder / "cmdline").read_bytes().decode(), (folder / "environ").read_bytes().decode()
                    seen[int(pid)] = [title.replace(chr(0), " ").strip(), "A_VARIABLE" in environ]
            except OSError:
                continue

def run():
    seen.clear()
    over.clear()
    looking = threading.Thread(target=look)
    looking.start()
    summary = api.run(parse_config({**CONFIG, "runs_dir": os.environ["RUNS"]}), stream=io.StringIO())
    over.set()
    looking.join()
    return [str(summary.run_dir), summary.counts, [*seen.values()]]

over = threading.Event()
seen = {}
os.environ["A_VARIABLE"] = "in the environment of the program"
print(json.dumps([run() for _ in range(2)]))
print(json.dumps([int(p) for p in pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]))
"""


@HEAVY
def test_a_program_that_runs_again_forks_its_helpers_and_the_runs_are_the_same(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUNS],
        env={**os.environ, "RUNS": str(tmp_path / "runs")},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    runs, left = map(json.loads, done.stdout.splitlines())

    assert [counts for _, counts, _ in runs] == [{"ok": 1}] * 2
    for number, (_, _, seen) in enumerate(runs):
        found = {
            kind: [has for title, has in seen if kind in title]
            for kind in ("template_main", "tracebench_gateway.server")
        }
        # a fork's first environment is that of its server, which has no variable of any run
        assert found["template_main"] == [number == 0], seen
        assert found["tracebench_gateway.server"] in ([number == 0], []), seen  # it lets nobody inspect it
        assert any("starts helpers" in title for title, _ in seen) == (number > 0)
    assert all(not Path("/proc", str(pid)).exists() for pid in left)  # the servers, which ended with their program
    results = [api.load_run(Path(run_dir)).results for run_dir, _, _ in runs]
    assert (
        len(
            {
                (result.score_val_final, result.score_test, result.used.llm_calls)
                for by_job in results
                for result in by_job.values()
            }
        )
        == 1
    )


SEEDED = """
import os, sys, threading
from tracebench_sandbox import forkserver
{first}
forkserver.plant("a_helper", ahead=["a_helper"])
with open(os.devnull, "wb") as nothing:
    helper = forkserver.launch("a_helper", ["dies"], environ=dict(os.environ), pass_fds=[], output=nothing)
print(type(helper).__name__, helper.wait(30))
"""
THREADED = "threading.Thread(target=threading.Event().wait, daemon=True).start()"
FORKED = "child = os.fork()\nif child: raise SystemExit(os.waitpid(child, 0)[1])"


@pytest.mark.parametrize(("first", "kind"), [(THREADED, "Popen"), (FORKED, "ForkedProcess")])
def test_a_process_with_threads_is_not_forked_and_a_fork_of_a_program_is(tmp_path: Path, first: str, kind: str) -> None:
    (tmp_path / "a_helper.py").write_text(HELPER)

    done = subprocess.run(
        [sys.executable, "-c", SEEDED.format(first=first)],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert done.stdout == f"{kind} 7\n"


HELD = """
import os, signal, sys
from pathlib import Path
from tracebench_sandbox import forkserver
from tracebench_engine.job import kernel
asks = sys.modules["tracebench_sandbox.forkserver.launch"]  # the package has a function of that name
asks.ANSWER_SECONDS, asks.START_SECONDS, asks._PATIENCE = 0.5, 600.0, 0.5
forkserver.plant("a_helper", ahead=["a_helper"])
with open(sys.argv[1], "ab") as log:
    def code():
        helper = forkserver.launch("a_helper", ["dies"], environ=dict(os.environ), pass_fds=[], output=log)
        return type(helper).__name__, helper.wait(60)
    print(*code())
    for pid in kernel.children():
        os.kill(pid, signal.SIGSTOP)
    print(*code())
"""


def test_behind_a_server_that_is_held_a_helper_is_a_fresh_interpreter(tmp_path: Path) -> None:
    (tmp_path / "a_helper.py").write_text(HELPER)
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", HELD, str(tmp_path / "log")], env=environ, check=True, capture_output=True, timeout=120
    )
    assert done.stdout.decode().split() == ["ForkedProcess", "7", "Popen", "7"]
