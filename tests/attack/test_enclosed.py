"""A program with a root of its own: what it could take of the host is not there, and what it needs is."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.whole import one_in

from tracebench_core.specs import JobResult
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_engine.door.held import APART, belongings
from tracebench_engine.run import control_channel
from tracebench_engine.run.control_channel import ControlServer
from tracebench_sandbox.jail import ENCLOSED, LIMITS, NOT_STARTED
from tracebench_sandbox.kernel import landlock, namespaces

needs_namespaces = pytest.mark.skipif(not namespaces.available(), reason="this host allows no user namespaces")
FREE_OF_SIGHT = [sys.executable, "tests/sandbox/hide.py", "namespaces"]


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A folder with what an attacker looks for, and a folder of its own."""
    for name, text in {".salts.json": "salt", "run/jobs/rival/results.json": "-1", "code/engine.py": "x = 1\n"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "run/jobs/mine/own").mkdir(parents=True)
    return tmp_path


def enclosed(host: Path, source: str, *options: str, **more: Any) -> subprocess.CompletedProcess[str]:
    own = str(host / "run/jobs/mine/own")
    readable = [*map(str, belongings(Path(sys.executable))), sys.prefix, sys.base_prefix]
    given = {"folder": own, "current": own, "readable": readable, "hidden": [str(host / "run")], **more}
    command = [*APART, f"{ENCLOSED}{json.dumps(given)}", *options, sys.executable, "-c", textwrap.dedent(source)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


ATTACKS = {
    "reads the salts": "print(open({host!r} + '/.salts.json').read())",
    "forges a rival's result": "open({host!r} + '/run/jobs/rival/results.json', 'w').write('9'); print('forged')",
    "opens the engine's code": "open({host!r} + '/code/engine.py', 'r+'); print('open')",
    "plants a file at home": "open(os.path.expanduser('~/planted'), 'w'); print('planted')",
    "plants a file in the system": "open('/usr/planted', 'w'); print('planted')",
    "lists the host's temporary files": "print([n for n in os.listdir('/tmp') if n not in {shown!r}])",
    "writes the kernel's settings": "open('/proc/sys/kernel/core_pattern', 'w'); print('open')",
    "uncovers what is hidden": "libc.unshare(0x10020000); print(libc.umount2({host!r}.encode() + b'/run', 2), libc.umount2(b'/usr', 2), "
    "libc.mount(None, b'/usr', None, 0x1020, None))",
    "leaves by its parent's root": "print(os.listdir('/proc/1/root'))",
    "reads its parent's memory": "print(open('/proc/1/mem', 'rb'))",
    "calls the machine's host": "print(socket.socket(40, socket.SOCK_STREAM))",
    "reads the kernel's keys": "print(libc.syscall(250 if os.uname().machine == 'x86_64' else 219, 0, -3, 0, 0, 0))",
    "opens a socket by a ring": "p = ctypes.create_string_buffer(120); print(libc.syscall(425, 4, p))",
    "leaves a program that runs as its owner": "import shutil; shutil.copy('/usr/bin/env', 'x'); os.chmod('x', 0o4755); print('left')",
    "makes a program that runs as its owner": "os.close(os.open('x', os.O_CREAT | os.O_WRONLY, 0o6755)); print('made')",
    "makes one that has no name": "os.fchmod(os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o4755), 0o755); print('made')",
    "reads the machine's settings of git": "print(open('/etc/gitconfig').read())",
    "opens a disk": "print([n for n in os.listdir('/dev') if n not in {devices!r}])",
    "speaks to a socket of the host": "s = socket.socket(socket.AF_UNIX); s.connect({host!r} + '/agent'); print('reached')",
}  # fmt: skip
SHOWN = {Path(p).parts[2] for p in (*sys.path, sys.prefix, sys.base_prefix) if p.startswith("/tmp/")}
"""What lies among the host's temporary files and is shown all the same: the way to an interpreter that was installed there."""
DEVICES = ["null", "zero", "full", "random", "urandom", "tty", "fd", "stdin", "stdout", "stderr", "ptmx", "shm", "pts"]
NOTHING = {"", "[]", "-1 -1 -1", "-1"}
HARMFUL = {
    "plants a file at home",
    "plants a file in the system",
    "writes the kernel's settings",
    "uncovers what is hidden",
}
"""These are not tried without the cage."""
OFFERED_BY_SOME = {
    "lists the host's temporary files", "leaves by its parent's root", "reads its parent's memory", "calls the machine's host",
    "reads the kernel's keys", "opens a socket by a ring", "leaves a program that runs as its owner",
    "makes a program that runs as its owner", "makes one that has no name", "reads the machine's settings of git", "opens a disk",
}  # fmt: skip
"""What a host may lack, or refuse to everybody; the rest gains on each."""


@needs_namespaces
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_on_the_hosts_files_finds_nothing(host: Path, name: str) -> None:
    before = {path: path.read_text() for path in host.rglob("*") if path.is_file()}
    attack = ATTACKS[name].format(host=str(host), devices=DEVICES, shown=[*SHOWN, *host.parts[2:3]])
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(host / "agent"))
        agent.listen()
        done = enclosed(host, f"import ctypes, os, socket\nlibc = ctypes.CDLL(None)\n{attack}")
    assert done.stdout.strip() in NOTHING, done.stdout
    assert {path: path.read_text() for path in host.rglob("*") if path.is_file() and path in before} == before
    assert not Path.home().joinpath("planted").exists()


@pytest.mark.parametrize("name", sorted(ATTACKS.keys() - HARMFUL))
def test_the_same_attack_without_a_cage_finds_something(host: Path, name: str) -> None:
    """Else it shows nothing of the cage."""
    attack = ATTACKS[name].format(host=str(host), devices=DEVICES, shown=[*SHOWN, *host.parts[2:3]])
    source = f"import ctypes, os, socket\nlibc = ctypes.CDLL(None)\n{attack}"
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(host / "agent"))
        agent.listen()
        free = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False, cwd=host)
    if name in OFFERED_BY_SOME and free.stdout.strip() in NOTHING:
        pytest.skip(f"nothing to be had on this host: {free.stderr.strip().splitlines()[-1:]}")
    assert free.stdout.strip() not in NOTHING, free.stderr


@needs_namespaces
def test_it_finds_what_it_needs_and_what_is_named(host: Path) -> None:
    done = enclosed(
        host,
        f"""
        import os, pathlib, socket, ssl, subprocess, tempfile
        pathlib.Path("kept").write_text("mine")
        tempfile.TemporaryFile().write(b"x")
        print(open({str(host / "code/engine.py")!r}).read().strip(), socket.gethostbyname("localhost"))
        print(len(os.listdir("/proc/self/fd")) > 2, os.isatty(os.openpty()[1]), subprocess.check_output(["echo", "on"]))
        """,
        readable=[*map(str, belongings(Path(sys.executable))), sys.base_prefix, str(host / "code")],
    )
    assert done.stdout.splitlines() == ["x = 1 127.0.0.1", "True True b'on\\n'"], done.stderr
    assert (host / "run/jobs/mine/own/kept").read_text() == "mine"


@needs_namespaces
def test_what_is_hidden_stays_so_below_what_may_be_read(host: Path) -> None:
    done = enclosed(
        host,
        f"import os; print(sorted(os.listdir({str(host)!r})), os.listdir({str(host / 'run')!r}), os.getcwd())",
        readable=[*map(str, belongings(Path(sys.executable))), sys.base_prefix, str(host)],
        hidden=[str(host / "run"), str(host / ".salts.json")],
    )
    assert done.stdout.strip() == f"['.salts.json', 'code', 'run'] ['jobs'] {host}/run/jobs/mine/own", done.stderr


@needs_namespaces
@pytest.mark.skipif(landlock.abi() < 6, reason="this kernel's Landlock has no scopes (ABI 6)")
def test_an_abstract_socket_of_the_host_is_out_of_reach_on_an_open_network(host: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bus:
        bus.bind(f"\0trace-bench-{os.getpid()}")
        bus.listen()
        source = f"import socket; socket.socket(socket.AF_UNIX).connect('\\0trace-bench-{os.getpid()}')"
        assert subprocess.run([sys.executable, "-c", source], check=False).returncode == 0
        assert "PermissionError" in enclosed(host, source).stderr


@needs_namespaces
def test_processes_and_memory_end_at_their_limits(host: Path) -> None:
    crowd = """
        import os, sys, time
        n = 0
        try:
            for n in range(2000):
                if os.fork() == 0:
                    time.sleep(30)
                    os._exit(0)
        except OSError:
            print(n)
        """
    done = enclosed(host, crowd, f"{LIMITS}{json.dumps({'processes': 301, 'memory_mb': None})}")
    kernel = tuple(map(int, os.uname().release.split(".")[:2]))
    if kernel < ((6, 14) if os.getuid() == 0 else (5, 14)):
        pytest.skip("this kernel cannot count a namespace's processes for this user")
    assert 0 < int(done.stdout) < 301
    hungry = "x = bytearray(300 << 20); print(len(x))"
    assert enclosed(host, hungry).stdout.strip() == str(300 << 20)
    assert "MemoryError" in enclosed(host, hungry, f"{LIMITS}{json.dumps({'memory_mb': 200})}").stderr


@needs_namespaces
@pytest.mark.skipif(
    os.getuid() == 0, reason="the kernel lets root without capabilities make no user namespace of its own"
)
def test_a_program_may_bring_a_sandbox_of_its_own_which_sees_no_more(host: Path) -> None:
    nested = (
        "unshare -Urmpf --mount-proc sh -c 'umount -l /usr; mount -o remount,bind,rw /usr; touch /usr/planted; echo $$'"
    )
    done = enclosed(
        host, f"import subprocess; print(subprocess.run({nested!r}, shell=True, capture_output=True, text=True).stdout)"
    )
    assert done.stdout.strip() == "1", done.stderr
    assert not Path("/usr/planted").exists()


@needs_namespaces
def test_where_the_root_cannot_be_built_nothing_starts(host: Path) -> None:
    own = str(host / "run/jobs/mine/own")
    given = json.dumps({"folder": own, "current": own})
    done = subprocess.run(
        [*FREE_OF_SIGHT, *APART, f"{ENCLOSED}{given}", "echo", "started"], capture_output=True, text=True, check=False, timeout=60
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (NOT_STARTED, "")
    assert "cannot be kept to a folder here" in done.stderr


@pytest.fixture
def steered(tmp_path: Path) -> Iterator[tuple[str, list[Any]]]:
    asked: list[Any] = []
    address = tmp_path / "c.sock"
    with ControlServer(address, lambda request, _peer: asked.append(request) or {"ok": True}):  # type: ignore[func-returns-value]
        yield str(address), asked


ASK = """import socket
s = socket.socket(socket.AF_UNIX)
s.connect({0!r})
s.sendall(b'{{"do": "cancel"}}\\n')
print(s.recv(999).decode())"""


@needs_namespaces
def test_a_program_of_a_job_cannot_steer_runs_and_its_owner_can(steered: tuple[str, list[Any]]) -> None:
    address, asked = steered
    ask = [sys.executable, "-c", ASK.format(address)]
    assert json.loads(subprocess.check_output(ask)) == {"ok": True}
    assert len(asked) == 1
    for apart in (APART, ("unshare", "-m"), ("unshare", "-Um")):
        done = subprocess.run([*apart, *ask], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            assert "cannot steer runs" in done.stdout
    assert "cannot steer runs" in subprocess.run([*APART, *ask], capture_output=True, text=True, check=True).stdout
    assert len(asked) == 1


def test_a_peer_that_is_gone_is_not_believed(tmp_path: Path) -> None:
    """Its number may be another process's by the time that one looks."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "c.sock"))
        listener.listen()
        for stays in (True, False):
            connect = f"import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect({str(tmp_path / 'c.sock')!r}); sys.stdin.read()"
            caller = subprocess.Popen([sys.executable, "-c", connect], stdin=subprocess.PIPE)
            connection, _ = listener.accept()
            if not stays:
                caller.kill()
                caller.wait()
            with connection:
                assert control_channel._is_among_us(connection, control_channel._peer(connection)) == stays
            caller.communicate()


def run(folder: Path, files: str, **config: Any) -> JobResult:
    script = folder / "trainer.py"
    script.write_text(
        "import tracebench_client\nproblem = tracebench_client.connect()\nproblem.evaluate(problem.initial)\n"
    )
    trainer = {"id": "Command", "argv": [sys.executable, str(script)], "files": files}
    settings = {"tasks": ["internal:code_param"], "trainers": [trainer], "runs_dir": str(folder / "runs"), **config}
    summary = api.run(parse_config(settings), stream=io.StringIO())
    return next(iter(api.load_run(summary.run_dir).results.values()))


@needs_namespaces
def test_a_result_says_how_its_program_was_held(tmp_path: Path) -> None:
    result = run(tmp_path, "folder")
    assert (result.status, result.used.evaluations) == ("ok", 4), result.error
    assert result.cages["Command"].files == "folder"


LESS = """
import json, sys, pathlib
from tests.attack.test_enclosed import run
found = run(pathlib.Path(sys.argv[1]), "folder", sandbox=json.loads(sys.argv[2]))
print(json.dumps([found.status, str(found.error), {n: c.model_dump() for n, c in found.cages.items()}]))
"""


@pytest.mark.parametrize("require", one_in(2, ["auto", "process"]))
def test_without_namespaces_it_is_refused_unless_less_is_asked_for(tmp_path: Path, require: str) -> None:
    command = [*FREE_OF_SIGHT, sys.executable, "-c", LESS, str(tmp_path), json.dumps({"require": require})]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=120, env={**os.environ, "PYTHONPATH": "."}
    )
    status, error, cages = json.loads(done.stdout.splitlines()[-1])
    if require == "auto":
        assert (status, cages) == ("failed", {})
        assert "cannot be kept to a folder here" in error
        assert "sandbox.require=process" in error
    else:
        assert (status, cages["Command"]["files"]) == ("ok", "host"), error
        assert "cannot be kept to a folder here" in cages["Command"]["reason"]


@needs_namespaces
def test_the_keys_of_journals_are_hidden_below_a_folder_that_may_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program's own run draws its key there before the program starts."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    looks = f"import glob; print('seen:', len(glob.glob({str(tmp_path)!r} + '/state/**', recursive=True)))"
    settings = {"argv": [sys.executable, "-c", looks], "files": "folder", "readable": [str(tmp_path / "state")]}
    config = {"tasks": ["internal:numeric_param"], "runs_dir": str(tmp_path / "runs"), "budget": {"evaluations": 2}}
    trainer = {"id": "Command", "params_variants": [settings]}
    run = api.run(parse_config({**config, "trainers": [trainer]}), stream=io.StringIO()).run_dir
    assert [*(tmp_path / "state/trace-bench/journals").glob("*.key")]
    (log,) = run.glob("jobs/*/stdout.log")
    seen = next(line for line in log.read_text().splitlines() if line.startswith("seen:"))
    assert int(seen.removeprefix("seen:")) <= 2  # the folder, and the empty one in it
