"""The evaluator's process: loads one foreign task, then forks a child for each evaluation, whose calls of the candidate it passes on.

Trusted like the suite itself: no candidate runs here. Started as `python -m tracebench_llm4ad.adapters.server FD FOLDER` with a new folder
as its working directory, which it removes when the other side closes. Messages are frames of the sandbox's codec: an order in, `facts` or
`broken` out; then requests in, for each any number of `call` out and `value` in (none where the request brings `answers`), and one
`report` out.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from tracebench_llm4ad.adapters.runtime.loading import Foreign, load
from tracebench_sandbox import CodecError, Decoder, Encoder, read_frame, write_frame

CAP = 1 << 30
REPORTED = 3
"""The exit code of a child that sent its report; an evaluator may end its process with any other."""
_SET_PDEATHSIG = 1


class Gone(BaseException):
    """The other side has closed; no evaluator takes this for an exception of its own, nor an `EOFError` of its own for this."""


class Door:
    """The conversation with the process that started this one."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def send(self, message: Any) -> None:
        """Send one message."""
        frame = Encoder(CAP).pack(message)
        try:
            write_frame(self._fd, frame)
        except OSError as err:
            raise Gone from err

    def receive(self) -> Any:
        """Wait for one message."""
        try:
            return read_frame(self._fd, decoder=Decoder(plain=False))
        except (EOFError, OSError) as err:
            raise Gone from err


class PassedOn:
    """Stands for the candidate's function: the arguments go out as data, the value comes back as data."""

    def __init__(self, door: Door, names: list[str], *, written_back: int | None) -> None:
        self._door = door
        self._names = names
        self._written_back = written_back

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Ask for the function's value; a failure never returns: the other side ends this process."""
        given = [*args, *(kwargs[name] for name in self._names[len(args) :] if name in kwargs)]
        if len(given) != len(args) + len(kwargs):
            raise TypeError(f"the evaluator uses keyword arguments that the function does not have: {sorted(kwargs)}")
        self._door.send({"call": given})
        value = self._door.receive()["value"]
        if self._written_back is None:
            return value
        value, changed = value
        given[self._written_back][:] = changed
        return value


class Repeated:
    """Stands for the candidate's function where its answers are known."""

    def __init__(self, answers: list[Any], *, written_back: int | None) -> None:
        self._answers = iter(answers)
        self._written_back = written_back

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the next answer."""
        try:
            value = next(self._answers)
        except StopIteration:
            raise RuntimeError("the evaluator asks for more answers than the program gave before") from None
        if self._written_back is None:
            return value
        value, changed = value
        args[self._written_back][:] = changed
        return value


def main() -> None:
    """Serve, and clear up."""
    try:
        with suppress(Gone):
            serve(Door(int(sys.argv[1])))
    finally:
        shutil.rmtree(sys.argv[2], ignore_errors=True)


def serve(door: Door) -> None:
    """Load the task and serve evaluations until the other side closes.

    Raises:
        Gone: then.
    """
    try:
        foreign = load(door.receive())
        door.send({"facts": {name: fact for name, fact in foreign.facts.items() if name != "info"}})
    except Gone:
        raise
    except BaseException as err:  # noqa: BLE001 - whatever a foreign module raises is the answer
        door.send({"broken": _told(err)})
        return
    me = os.getpid()
    while True:
        request = door.receive()
        child = os.fork()
        if child == 0:
            _evaluate(foreign, request, door, parent=me)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code != REPORTED:
            how = f"exit code {code}" if code >= 0 else f"signal {-code}"
            door.send({"report": {"crashed": f"The evaluator's process ended without a report ({how})."}})


def _evaluate(foreign: Foreign, request: Mapping[str, Any], door: Door, *, parent: int) -> None:
    ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)
    try:
        written_back, answers = request["written_back"], request["answers"]
        function: Any = (
            PassedOn(door, request["names"], written_back=written_back)
            if answers is None
            else Repeated(answers, written_back=written_back)
        )
        report = foreign.evaluate(
            foreign.facts["program"],
            function,
            seed=request["seed"],
            repeats=request["repeats"],
            written_back=written_back,
        )
    except Gone:
        os._exit(0)
    except CodecError as err:
        report = {
            "crashed": f"An argument of the function {err}: this task can only be evaluated with `where: together`."
        }
    except BaseException as err:  # noqa: BLE001 - an evaluator that fails on what the candidate returned
        report = {"error": _told(err)}
    try:
        try:
            door.send({"report": report})
        except CodecError as err:
            door.send({"report": {"error": f"The evaluator's report {err}."}})
        os._exit(REPORTED)
    finally:
        os._exit(0)


def _told(err: BaseException) -> str:
    frames = traceback.extract_tb(err.__traceback__)[-1:]
    place = "".join(f" (line {frame.lineno} of `{os.path.basename(frame.filename)}`)" for frame in frames)  # noqa: PTH119 - a name for people
    return f"{type(err).__name__}: {err}{place}".encode("utf-8", "backslashreplace").decode()


if __name__ == "__main__":
    main()
