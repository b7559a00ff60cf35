"""What whoever runs this can read, write, connect to, signal and spend: tried, and told as data. Needs the standard library alone.

It is the code of a candidate, the program of a `Command`, and a function for whoever holds it in process.
"""

from __future__ import annotations

import glob
import json
import os
import resource
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

NO, YES = "-", "yes"
MARK = "looked: "


def look(targets: Sequence[Sequence[Any]]) -> dict[str, str]:
    """Return for every target, `[verb, name, what]`, the answer: `yes`, `-`, or how much."""
    return {f"{verb} {name}": _tried(DOING[verb], what) for verb, name, what in targets}


def _tried(do: Callable[[Any], str], what: Any) -> str:
    try:
        return do(what)
    except Exception:  # noqa: BLE001 - however it is kept from it
        return NO


def read(pattern: str) -> str:
    """Read a byte of a file, or the names in a folder."""
    for place in glob.glob(pattern):  # noqa: PTH207 - a word, and little to import
        if os.path.isdir(place):  # noqa: PTH112
            os.listdir(place)  # noqa: PTH208
            return YES
        with open(place, "rb") as file:  # noqa: PTH123
            return YES if file.read(1) else NO
    return NO


def write(pattern: str) -> str:
    """Open a file for writing, without changing it, or make one in a folder and remove it."""
    for place in glob.glob(pattern):  # noqa: PTH207
        if os.path.isdir(place):  # noqa: PTH112
            made = os.path.join(place, "made-by-a-probe")  # noqa: PTH118
            with open(made, "x", encoding="ascii"):  # noqa: PTH123
                pass
            os.remove(made)  # noqa: PTH107
            return YES
        with open(place, "r+b"):  # noqa: PTH123
            return YES
    return NO


def connect(address: Any) -> str:
    """Reach a server: `[host, port]`, or the path of a Unix socket; one that answers a question must not refuse it."""
    family = socket.AF_INET if isinstance(address, list) else socket.AF_UNIX
    with socket.socket(family, socket.SOCK_STREAM) as line:
        line.settimeout(5)
        line.connect(tuple(address) if isinstance(address, list) else address)
        if isinstance(address, list) or not address.endswith(".sock"):
            return YES
        line.sendall(b'{"do": "status"}\n')
        return YES if json.loads(line.recv(1 << 16))["ok"] else NO


def signal(pid: int) -> str:
    """Reach a process with the signal that does nothing."""
    os.kill(pid, 0)
    return YES


def spend(what: int) -> str:
    """Start a process; tell whether there is a limit to them that the host has not."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    here = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    return "limited" if here not in (what, resource.RLIM_INFINITY) else YES


DOING: dict[str, Callable[[Any], str]] = {
    "read": read,
    "write": write,
    "connect": connect,
    "signal": signal,
    "spend": spend,
}


def spend_metered(problem: Any, axis: str, do: Callable[[], object]) -> str:
    """Return what comes of spending on an axis without end: `metered` where its cap ends it."""
    try:
        for _ in range(100):
            do()
    except BaseException as end:  # noqa: BLE001 - a cap passes through what catches errors
        used = problem.budget()["used"][axis]
        cap = problem.budget()["caps"][axis]
        return "metered" if used == cap and type(end).__name__ != "DoorError" else NO
    return YES


def ask_model(problem: Any) -> object:
    """Ask the optimizer's model once, as any client does."""
    from urllib import request  # noqa: PLC0415 - a candidate has no use for it

    door = problem.endpoint()
    body = json.dumps({"model": door.model, "messages": [{"role": "user", "content": "?"}]}).encode()
    head = {"Authorization": f"Bearer {door.api_key}", "Content-Type": "application/json"}
    with request.urlopen(request.Request(f"{door.base_url}/chat/completions", body, head)) as answer:  # noqa: S310 - the gateway
        return answer.read()


def tell(found: Mapping[str, str]) -> None:
    """Print the answers, which a job keeps with all that its processes print."""
    sys.stdout.write(f"{MARK}{json.dumps(found)}\n")
    sys.stdout.flush()


def main() -> None:
    """Be the program of a job: look, spend what there is, and tell."""
    problem = import_module("tracebench_client").connect()  # beside programs of jobs only
    found = look(json.loads(sys.argv[1]))
    found["spend model calls"] = spend_metered(problem, "llm_calls", lambda: ask_model(problem))
    found["spend evaluations"] = spend_metered(problem, "evaluations", lambda: problem.evaluate(problem.initial))
    tell(found)


if __name__ == "__main__":
    main()
