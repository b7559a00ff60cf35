"""The side of a guest: answers what the judge asks on a socket, one line of JSON after the other."""

from __future__ import annotations

import ctypes
import json
import signal
import socket
import traceback
from collections.abc import Sequence
from typing import Any, Protocol

Row = tuple[int, str, Sequence[int]]
"""Where an array begins in the memory, its type, and its shape; its numbers lie in their order."""
ARENA = "KERNELBENCH_ARENA"
"""The variable with the path of the built allocator of a guest on a real device."""
_WORDS = 2500
_DEATH_SIGNAL, _ADOPT = 1, 36
"""PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER."""


class Work(Protocol):
    """What a guest does; each method's errors are told to the judge as the candidate's own."""

    def open(self, *, memory: bytes, go: bytes, done: bytes, size: int, inputs: int) -> None:
        """Open the judge's memory and gates."""
        ...

    def load(self, *, code: str, source: str, name: str, seed: int) -> None:
        """Make the module: the problem's `Model` (`source` is empty), or a candidate's `ModelNew`, with the weights of a seed."""
        ...

    def draw(self, seed: int) -> tuple[Sequence[Row], Sequence[Any]]:
        """Draw inputs into the memory; return where the arrays are, and for each input None, or a list with its plain value."""
        ...

    def call(self, rows: Sequence[Row], plain: Sequence[Any]) -> Sequence[Row]:
        """Queue a wait for `go`, the module's work, and a signal of `done`; return where the outputs will be."""
        ...

    def halve(self, *, half: bool) -> None:
        """Work with weights of half precision, or with its own again."""
        ...


def serve(descriptor: int, work: Work) -> None:
    """Answer until the judge hangs up, or its thread ends: a process that is stopped would wait for good.

    Processes whose parents have ended become this one's children, by which the judge finds them.
    """
    control = ctypes.CDLL(None).prctl
    control(_DEATH_SIGNAL, signal.SIGKILL)
    control(_ADOPT, 1)
    with socket.socket(fileno=descriptor) as link, link.makefile("rw") as lines:
        for line in lines:
            lines.write(json.dumps(_answer(json.loads(line), work)) + "\n")
            lines.flush()


def _answer(asked: dict[str, Any], work: Work) -> dict[str, Any]:
    try:
        match asked.pop("do"):
            case "open":
                memory, go, done = (bytes.fromhex(asked[name]) for name in ("memory", "go", "done"))
                work.open(memory=memory, go=go, done=done, size=asked["size"], inputs=asked["inputs"])
            case "load":
                work.load(**asked)
            case "draw":
                rows, plain = work.draw(asked["seed"])
                return {"rows": list(rows), "plain": list(plain)}
            case "halve":
                work.halve(half=asked["half"])
            case "call":
                return {"rows": list(work.call(asked["rows"], asked["plain"]))}
    except BaseException as err:  # noqa: BLE001 - a candidate may raise anything
        return {"error": "".join(traceback.format_exception_only(err))[-_WORDS:] or type(err).__name__}
    return {}
