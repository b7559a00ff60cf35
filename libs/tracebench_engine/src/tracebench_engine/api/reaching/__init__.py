"""What each participant of a run reaches on this machine, found by a probe in exactly the place where the participant runs."""

from __future__ import annotations

import io
import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args

from tracebench_core.errors import UsageError
from tracebench_core.plugins import load_ref
from tracebench_core.specs import ExecutorSpec
from tracebench_engine.api.reaching import looking
from tracebench_engine.api.running import run
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.checks.doctor import Diagnosis
from tracebench_engine.config import parse_config
from tracebench_engine.door.control_registry import entry_path
from tracebench_runs.journal.keys import draw_key, key_file
from tracebench_runs.meta.salt_files import SHARED_FILE, shared_salts
from tracebench_runs.reading.reader import load_run
from tracebench_runs.storage.layout import RunLayout
from tracebench_sandbox import open_sandbox
from tracebench_sandbox.temporary import scratch_folder

Participant = Literal["candidate", "candidate-program", "agent", "command", "trainer", "guide", "viewer-user"]
PARTICIPANTS: tuple[Participant, ...] = get_args(Participant)
SPENT = ("spend evaluations", "spend model calls")
_LAB = Path(__file__).with_name("lab.py")
_PROGRAM = Path(looking.__file__)
_RUN_ID = "reach"
_NOBODY = 65534
_BUDGET = {"evaluations": 3, "llm_calls": 2}


def reach(participant: Participant) -> dict[str, str]:
    """Return what a participant can do, by verb and target: `yes`, `-`, `metered`, `limited`.

    A candidate is untrusted code in the sandbox, a candidate-program a command there, an agent a program with files and network closed, a
    command one with the defaults, a trainer a class in a job's process, a guide the code of a suite where it scores test, a viewer-user
    another user of this machine.

    Raises:
        UsageError: when it cannot be tried as this user.
    """
    with scratch_folder("reach") as place, _host(place) as targets:
        if participant == "candidate":
            with open_sandbox(preload=[]) as sandbox:
                outcome = sandbox.call(_PROGRAM.read_text(encoding="utf-8"), "look", targets)
            found = dict(outcome.value or {})
        elif participant == "candidate-program":
            found = _as_command(targets)
        elif participant == "viewer-user":
            found = _as_another(targets)
        else:
            found = _in_a_run(participant, place, targets)
    rows = [f"{verb} {name}" for verb, name, _ in targets]
    return {row: found.get(row, looking.NO) for row in (*rows, *SPENT)}


def looks_of_executors() -> dict[str, Callable[[Path | None], Iterable[Diagnosis]]]:
    """Return what executors look at from the places of those that run jobs, by name of the place; each is given `--root`."""
    found = open_host().catalog().components["executor"].values()
    specs = [spec for spec in found if isinstance(spec, ExecutorSpec)]
    return {name: load_ref(ref, owner=spec.name) for spec in specs for name, ref in spec.places.items()}


def table(found: Mapping[Participant, Mapping[str, str]]) -> str:
    """Return what participants reach as a Markdown table, a row for each target."""
    rows = next(iter(found.values()))
    head = [f"| | {' | '.join(found)} |", f"|---|{'---|' * len(found)}"]
    return "\n".join([*head, *(f"| {row} | {' | '.join(told[row] for told in found.values())} |" for row in rows)])


@contextmanager
def _host(place: Path) -> Iterator[list[Any]]:
    """Put what an attacker looks for on this machine, and yield what to try."""
    runs = place / "runs"
    rival = RunLayout(runs / "rival").job("job")
    rival.path.mkdir(parents=True)
    rival.results.write_text("{}", encoding="ascii")
    shared_salts(runs, draw=True)
    key = key_file(draw_key().id)
    mine = place / "a-file"
    mine.write_text("mine", encoding="ascii")
    mine.chmod(0o600)
    sleeper = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    with socket.socket(socket.AF_UNIX) as agent, socket.create_server(("127.0.0.1", 0)) as server:
        agent.bind(str(place / "agent"))
        agent.listen()
        control = entry_path(runs / _RUN_ID).with_suffix(".sock")
        try:
            yield [
                ["read", "its own folder", "."],
                ["read", "a file of yours", str(mine)],
                ["read", "a rival's result", str(rival.results)],
                ["read", "the salts of test instances", str(runs / SHARED_FILE)],
                ["read", "the keys of journals", str(key)],
                ["read", "the environment of another process", f"/proc/{sleeper.pid}/environ"],
                ["write", "its own folder", "."],
                ["write", "a file of yours", str(mine)],
                ["write", "a rival's result", str(rival.results)],
                ["write", "the engine's code", str(_PROGRAM)],
                ["connect", "a server of this machine", list(server.getsockname())],
                ["connect", "a Unix socket of yours", str(place / "agent")],
                ["connect", "the control of runs", str(control)],
                ["signal", "another process of yours", sleeper.pid],
                ["spend", "processes", resource.getrlimit(resource.RLIMIT_NPROC)[0]],
            ]
        finally:
            sleeper.communicate()
            key.unlink(missing_ok=True)


def _as_command(targets: Sequence[Any]) -> dict[str, str]:
    look = (
        "import json, sys; sys.path.insert(0, '.'); import looking; looking.tell(looking.look(json.loads(sys.argv[1])))"
    )
    files = {"looking.py": _PROGRAM.read_text(encoding="utf-8")}
    with open_sandbox(preload=[]) as sandbox:
        outcome = sandbox.command([sys.executable, "-c", look, json.dumps(targets)], files=files)
    for line in (outcome.value or {}).get("stdout", "").splitlines():
        if line.startswith(looking.MARK):
            return dict(json.loads(line.removeprefix(looking.MARK)))
    raise UsageError(
        f"The probe in the place of a candidate-program did not come back: {outcome.error} {outcome.value}."
    )


def _in_a_run(participant: Participant, place: Path, targets: Sequence[Any]) -> dict[str, str]:
    told = json.dumps(targets)
    held = {"files": "folder", "network": "gateway"} if participant == "agent" else {}
    program = {"argv": [sys.executable, str(_PROGRAM), told], **held}
    looker = {"id": f"{_LAB}:Looker", "params_variants": [{"targets": [*targets]}]}
    trainers: Mapping[str, Any] = {
        "agent": {"id": "Command", "params_variants": [program]},
        "command": {"id": "Command", "params_variants": [program]},
        "trainer": looker,
        "guide": "NoOp",
    }
    config = {
        "run_id": _RUN_ID,
        "runs_dir": str(place / "runs"),
        "tasks": [{"id": f"{_LAB}:task", "eval_kwargs": {"targets": [*targets] if participant == "guide" else []}}],
        "trainers": [trainers[participant]],
        "budget": _BUDGET,
    }
    summary = run(parse_config(config), stream=io.StringIO())
    results = load_run(summary.run_dir).results
    for job_id in results:
        log = RunLayout(summary.run_dir).job(job_id).stdout
        for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else ():
            if line.startswith(looking.MARK):
                return dict(json.loads(line.removeprefix(looking.MARK)))
    errors = [str(result.error) for result in results.values()]
    raise UsageError(f"The probe in the place of a {participant} did not come back: {'; '.join(errors)}.")


def _as_another(targets: Sequence[Any]) -> dict[str, str]:
    """Look as somebody who owns nothing here; the probe is forked from this process, whose interpreter that one may not be able to read."""
    if os.geteuid() != 0:
        raise UsageError("Only root can look as another user.", hint="sudo trace-bench doctor --as viewer-user")
    ear, mouth = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(_NOBODY, _NOBODY, _NOBODY)
            os.setresuid(_NOBODY, _NOBODY, _NOBODY)
            os.write(mouth, json.dumps(looking.look([t for t in targets if t[2] != "."])).encode())
        finally:
            os._exit(0)
    os.close(mouth)
    with os.fdopen(ear, "rb") as told:
        words = told.read()
    os.waitpid(child, 0)
    return dict(json.loads(words or b"{}"))
