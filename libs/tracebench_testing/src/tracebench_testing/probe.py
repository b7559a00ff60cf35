"""`python -m` entry of the processes in which checks try what might hang, crash or reach out: `load`, `hostile`, `forge`,
`outside`, `score`."""

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tracebench_engine.api.evaluating import breach, open_workbench
from tracebench_engine.api.installed.hosting import open_host
from tracebench_engine.api.kit.jobs import adopt_orphans
from tracebench_testing.answering import FakeModel
from tracebench_testing.forgeries.forging import SEVERAL, try_forgeries
from tracebench_testing.forgeries.outside import try_outside
from tracebench_testing.hostile import hostile_values

HEAVY = (
    "torch", "tensorflow", "jax", "numpy", "pandas", "scipy", "sklearn", "matplotlib", "transformers", "datasets", "litellm", "openai",
    "anthropic", "dspy", "PIL", "streamlit",
)  # fmt: skip
"""Libraries that take long to import: a listing must not wait for them."""
FREE_TO_READ = ("HOME", "PATH", "XDG_", "TRACEBENCH_", "TRACE_BENCH_", "PYTHON", "TMPDIR")
PLACES = ("_HOME", "_ROOT", "_DIR", "_PATH")
"""Variables that say where things lie."""
CHILD_SECONDS = 5.0


def main(arguments: list[str]) -> None:
    """Do what is asked and write JSON lines."""
    _take_over_output()
    what, name, *rest = arguments
    options = json.loads(rest[0]) if rest else {}
    if what == "load":
        _say(load_alone(name))
    elif what == "hostile":
        try_hostile(name, options)
    elif what == "forge":
        adopt_orphans()
        atexit.register(_tell_left)  # the first, so the last to be called: after what judges end at their own end
        try_forgeries(name, options, rest[1], say=_say)
    elif what == "outside":
        try_outside(name, options, say=_say)
    else:
        score(name, options)


def load_alone(name: str) -> dict[str, Any]:
    """Load one plugin and return its status, the heavy modules that came with it, and what it reached for."""
    host = open_host()
    record = host.records.get(name)
    own = record.entry_point.module.partition(".")[0] if record is not None and record.entry_point is not None else ""
    before = {*sys.modules}
    reached = _watch(own)
    record = host.load(name)
    came = {*sys.modules} - before
    return {
        "status": record.status,
        "problem": record.error,
        "heavy": sorted({m.partition(".")[0] for m in came} & {*HEAVY}),
        "reached": sorted(set(reached)),
    }


def try_hostile(task_id: str, options: Mapping[str, Any]) -> None:
    """Evaluate hostile values on one example each, and write what came of each as it comes."""
    with open_workbench(open_host(), task_id, eval_kwargs=options, models=FakeModel("")) as bench:
        initial = bench.complete({})
        for number, (name, values) in enumerate(hostile_values(bench.parameters)):
            if breach(bench.parameters, initial | values):
                continue
            _say({"begins": name})
            result = next(iter(bench.evaluate(values, split="train", name=f"h{number}")))
            feedback = result.feedback
            _say({"candidate": name, "status": feedback.status, "score": feedback.score, "text": len(feedback.text)})


def _tell_left() -> None:
    if left := _children():
        _say({"left": left})


def _children() -> int:
    """Return how many processes this one has that do not end within seconds; they are ended."""
    due = time.monotonic() + CHILD_SECONDS
    while True:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        left = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
        if left and time.monotonic() < due:
            time.sleep(0.05)
            continue
        for process in left:
            os.kill(int(process), signal.SIGKILL)
        return len(left)


def score(task_id: str, options: Mapping[str, Any]) -> None:
    """Evaluate the initial candidate on some examples of train and write its feedback."""
    with open_workbench(open_host(), task_id, eval_kwargs=options, models=FakeModel("")) as bench:
        for number, result in enumerate(bench.evaluate({}, split="train")):
            _say({"example": result.example, "feedback": result.feedback.model_dump(mode="json")})
            if number + 1 >= SEVERAL:
                return


def _watch(own: str) -> list[str]:
    """Begin to note connections, writes, processes, and reads of variables by modules of the package `own`."""
    reached: list[str] = []
    cache = os.path.realpath(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event in {"socket.connect", "socket.getaddrinfo", "socket.bind"}:
            reached.append(f"network: {event}")
        elif event in {"subprocess.Popen", "os.system", "os.posix_spawn", "os.fork"}:
            reached.append(f"process: {event}")
        elif (
            event == "open"
            and not isinstance(arguments[0], int)
            and (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        ):
            path = str(arguments[0])
            if not (path.startswith(("/dev/", cache)) or "__pycache__" in path):
                reached.append(f"write: {path}")

    sys.addaudithook(note)

    class Watched(type(os.environ)):  # type: ignore[misc]  # the class of one object
        def __getitem__(self, key: str) -> str:
            if not (key.startswith(FREE_TO_READ) or key.endswith(PLACES)) and _asker().partition(".")[0] == own:
                reached.append(f"variable: {key}")
            value: str = super().__getitem__(key)
            return value

    os.environ.__class__ = Watched
    return reached


def _asker() -> str:
    """Return the module that reads a variable, past the library's own frames."""
    frame = sys._getframe(2)  # noqa: SLF001 - the way to ask who calls
    while frame.f_back is not None and frame.f_globals.get("__name__") in {"os", "collections.abc", __name__}:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", ""))


_SAID = [sys.stdout]
"""Where findings go."""


def _take_over_output() -> None:
    """Keep the output for findings: whatever a plugin prints would pass for one, if it is JSON."""
    _SAID[0] = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123 - a device
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _say(data: Mapping[str, Any]) -> None:
    _SAID[0].write(json.dumps(data) + "\n")
    _SAID[0].flush()


if __name__ == "__main__":
    main(sys.argv[1:])
