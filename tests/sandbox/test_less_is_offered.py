"""A host that lacks Landlock, seccomp or both: namespaces take their place, and where there are none either, nothing runs unasked.

A filter that answers "no such call" to what a mechanism needs, inherited by everything below, makes this host such a one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.whole import HEAVY, one_in

from tracebench_sandbox import isolation
from tracebench_sandbox.kernel import seccomp

HIDE = [sys.executable, str(Path(__file__).with_name("hide.py"))]
ROOT = Path(__file__).parents[2]
SCRIPT = """
import json, sys, time
from tracebench_sandbox import isolation, open_sandbox
from tracebench_core.errors import MissingRequirementError
from tracebench_core.specs import Limits
from tracebench_sandbox.kernel import namespaces

secret = sys.argv[1]
said = {"level": isolation().level, "sentence": isolation().sentence, "tried": namespaces._try_in_child()}
for require in ("strong", "auto"):
    try:
        with open_sandbox(require=require) as sandbox:
            sandbox.call("def f(): pass", "f")
            said[require] = sandbox._server.level
    except MissingRequirementError as err:
        said[require] = [str(err), err.hint]
with open_sandbox(require="process") as sandbox:
    def ask(expression):
        outcome = sandbox.call(f"import os, socket, sys\\ndef f():\\n    return repr({expression})", "f", limits=Limits(seconds=5))
        return [outcome.status, outcome.value or outcome.error]
    said["value"] = sandbox.call("def f(x):\\n    return x + 1", "f", 1).value
    said["loop"] = sandbox.call("def f():\\n    while True: pass", "f", limits=Limits(seconds=0.3, patience=100)).status
    said["memory"] = sandbox.call("def f():\\n    bytearray(10 << 30)", "f").status
    said["environ"] = sandbox.call("import os\\ndef f():\\n    return sorted(os.environ)", "f").value
    said["secret"] = ask(f"open({secret!r}).read()")
    said["outside"] = ask(f"open({secret!r} + 'x', 'w')")
    said["parent"] = ask("open(f'/proc/{os.getppid()}/environ').read()")
    said["network"] = ask(f"socket.create_connection(('127.0.0.1', {sys.argv[2]}), 1)")
    said["patch"] = ask("open(os.__file__, 'a')")
    said["own"] = ask("open('x', 'w').write('mine')")
    said["suite"] = ask("__import__('tracebench_core')")
    said["fork"] = ask("os.fork() and 1 or os._exit(0)")
    said["ends"] = sandbox.call("import os\\ndef f():\\n    os._exit(7)", "f").error
    with sandbox.session("def f(x):\\n    return x\\n", "f") as session:
        said["session"] = [session.call(3).value]
    script = f"cat {secret}; echo mine > x; cat x; sleep 600 &"
    said["command"] = sandbox.command(["sh", "-c", script], limits=Limits(seconds=20)).value
    asks = ["sh", "-c", "echo x > /dev/full"]
    said["devices"] = [sandbox.command(asks, devices=given).value["stderr"] for given in ([], ["/dev/full"], ["/dev/full"], [])]
    server = sandbox.template_pid
    limit = time.monotonic() + 20
    while (left := open(f"/proc/{server}/task/{server}/children").read().split()) and time.monotonic() < limit:
        time.sleep(0.05)
    said["left"] = left
print(json.dumps(said))
"""
needs_filter = pytest.mark.skipif(not seccomp.available(), reason="this host has no seccomp to hide the others with")
needs_namespaces = pytest.mark.skipif(
    not isolation().user_namespaces, reason="this host has no user namespaces to fall back on"
)


def ask_without(hidden: str, tmp_path: Path) -> dict:
    """Return what a host without the mechanisms says; a server listens, and a key file lies about."""
    import socket

    secret = tmp_path / "key"
    secret.write_text("sk-secret")
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = [*HIDE, hidden, sys.executable, "-c", SCRIPT, str(secret), str(server.getsockname()[1])]
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode == 0, run.stderr
    said: dict = json.loads(run.stdout)
    assert (said["value"], said["loop"], said["memory"], said["session"]) == (2, "timeout", "memory", [3])
    assert not [name for name in said["environ"] if "KEY" in name]
    assert "exit code 7" in said["ends"]
    return said


@needs_filter
@needs_namespaces
@pytest.mark.parametrize("hidden", one_in(3, ["landlock,seccomp", "landlock", "seccomp"]))
def test_namespaces_take_the_place_of_what_is_missing(hidden: str, tmp_path: Path) -> None:
    said = ask_without(hidden, tmp_path)

    assert said["level"] == said["auto"] == "namespaces", f"a child that enters namespaces ends with {said['tried']}"
    assert "namespaces" in said["sentence"]
    assert "Landlock and seccomp" in said["strong"][0]
    for what in ("secret", "outside", "parent", "network", "patch", "suite"):
        assert said[what][0] in {"error", "forbidden"}, (what, said[what])
    assert said["own"] == ["ok", "4"]
    assert said["fork"][0] == ("forbidden" if "seccomp" not in hidden else "ok")
    assert "sk-secret" not in json.dumps(said)
    assert said["command"]["stdout"] == "mine\n"
    assert ["cannot create" in errors for errors in said["devices"]] == [True, False, False, True]
    assert said["left"] == []


@needs_filter
def test_where_nothing_is_offered_it_refuses_and_names_the_flag(tmp_path: Path) -> None:
    said = ask_without("landlock,seccomp,namespaces", tmp_path)

    assert said["level"] == "process"
    assert "your files and keys" in said["auto"][0]
    assert said["auto"][1].endswith("-o sandbox.require=process")
    assert said["secret"] == ["ok", "'sk-secret'"]


@HEAVY
@needs_filter
def test_a_run_refuses_with_exit_3_and_the_flag_makes_it_go(tmp_path: Path) -> None:
    command = [*HIDE, "landlock,seccomp,namespaces", sys.executable, "-m", "tracebench_engine.cli"]
    config = tmp_path / "c.yaml"
    config.write_text(
        "tasks: [{id: 'example_plugin:median'}]\ntrainers: [{id: NoOp}]\n"
        f"runs_dir: {tmp_path}/runs\nbudget: {{evaluations: 2}}\n"
    )
    refused = subprocess.run(
        [*command, "run", "--config", str(config)], capture_output=True, text=True, check=False, timeout=120, cwd=ROOT
    )
    assert refused.returncode == 3, refused.stderr
    assert "-o sandbox.require=process" in refused.stderr
    assert not (tmp_path / "runs").exists()

    allowed = subprocess.run(
        [*command, "run", "--config", str(config), "-o", "sandbox.require=process", "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=ROOT,
    )
    assert allowed.returncode == 0, allowed.stderr
    (results,) = (tmp_path / "runs").glob("*/results.csv")
    header, row, *_ = (line.split(",") for line in results.read_text().splitlines())
    assert dict(zip(header, row, strict=False))["isolation"] == "process"
    (environment,) = (tmp_path / "runs").glob("*/meta/env.json")
    assert json.loads(environment.read_text())["isolation"] == "process"
