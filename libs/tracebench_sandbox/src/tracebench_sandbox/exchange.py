"""One request to the template, seen from the trusted side: its link, its channel, its output and its deadline, polled together."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from tracebench_core.contracts import NotMeasured
from tracebench_core.errors import SandboxUnavailableError, TraceBenchError
from tracebench_core.specs.sandbox import Limits, Outcome, OutcomeStatus
from tracebench_sandbox import descriptors
from tracebench_sandbox.codec import CodecError, Encoder
from tracebench_sandbox.flat import Answer
from tracebench_sandbox.frames import LATER, NOT_STARTED, SPENT, TEMPLATE_ENDED, TEMPLATE_HELD, Inbox, Tail

T = TypeVar("T")
PRINTED = 4096
_CHUNK = 1 << 18
_LAST_WORDS = 64
"""Chunks that are read once the child is reaped: more than its channel and its output can hold."""
ORDER = 1 << 30
"""Bytes that an order may take."""
_FEW = 1 << 14
"""Bytes of an answer that is taken at once: a buffer that holds a chunk is ten times as long in the making."""
SOON = 0.01
"""Seconds for which an answer is waited for without an eye on anything else."""
_FOR_SOON = struct.pack("@ll", 0, int(SOON * 1e6))
"""A `timeval`."""
_AT_ONCE = int(socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
_NOTHING_THERE = 0.001
"""Seconds to wait where a descriptor was said to be readable and was not."""
_LONGEST_POLL = 1e6
"""Seconds of one wait: what is waited for longer is waited for again, and no system waits for more than its numbers hold."""
_PATIENCE = 5.0
"""Seconds that a killed child may take to be reaped before the template counts as lost."""
_UNSEEN = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160)), "\N{REPLACEMENT CHARACTER}")
"""Control characters, which would act on a terminal that shows them; tabs and line breaks stay."""
_FROM_CHILD: tuple[OutcomeStatus, ...] = ("ok", "error", "memory", "forbidden", "invalid")


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """What is asked of a child that is made for it: its kind and first message, and how what comes back is read."""

    kind: Literal["code", "command"]
    frame: bytes
    """The order, packed."""
    limits: Limits
    answer: Callable[[Exchange], T]
    """Reads the answer, and closes the exchange unless it keeps it for more."""
    besides: Sequence[int] = ()
    """Descriptors that a session's child is given: the page of its clock (see `session.Clock`), and the memory that it shares."""
    due: Callable[[float], None] = lambda _deadline: None
    """Is told when the answer must be there, on the monotonic clock, before the child has its order."""


class Exchange:
    """A child and the conversation with it. Used by one thread at a time; `close` ends the child."""

    def __init__(self, address: str, request: Request[Any]) -> None:
        """Ask for a child, and send it its order.

        Raises:
            SandboxUnavailableError: when no template answers at this address.
        """
        self.limits = limits = request.limits
        self.started = time.monotonic()
        self.report: dict[str, Any] | None = None
        self.inbox, self.errors = Inbox(limits.output_bytes), Tail(limits.output_bytes)
        is_command = request.kind == "command"
        self._sink: Inbox | Tail = self.errors if is_command else self.inbox
        self.printed = Tail(limits.output_bytes if is_command else PRINTED)
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._channel.setsockopt(
            socket.SOL_SOCKET, socket.SO_OOBINLINE, 1
        )  # else one urgent byte reads as nothing, for ever
        self._channel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _FOR_SOON)
        self.number = os.fstat(theirs.fileno()).st_ino
        """Of the channel's other end, as the child has it."""
        self._output, output = os.pipe()
        os.set_blocking(self._output, False)
        self._link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        granted = limits.model_dump(include={"seconds", "memory_mb", "file_mb", "core"})
        granted["clock_seconds"] = limits.clock_seconds
        try:
            _connect(self._link, address)
            data = json.dumps({"kind": request.kind, **granted}).encode()
            descriptors.send(self._link, data, [theirs.fileno(), output, *request.besides])
        except OSError as err:
            self.close()
            raise SandboxUnavailableError(
                f"The sandbox at `{address}` does not answer.", hint="trace-bench doctor"
            ) from err
        finally:
            theirs.close()
            os.close(output)
        self._poll = select.poll()
        for fd in (self._link.fileno(), self._channel.fileno(), self._output):
            self._poll.register(fd, select.POLLIN)
        self.deadline = self.started + limits.clock_seconds
        """Of the first answer."""
        request.due(self.deadline)
        self.took = self.send(request.frame, deadline=self.deadline)
        """Whether the child took its order."""

    def send(self, frame: bytes, *, deadline: float) -> bool:
        """Send a packed message whole; False when the child would not take it before the deadline, or is gone."""
        done = 0
        while done < len(frame):
            try:
                done += self._channel.send(memoryview(frame)[done:] if done else frame, _AT_ONCE)
            except BlockingIOError:
                poll = select.poll()
                poll.register(self._channel.fileno(), select.POLLOUT)
                poll.register(self._link.fileno(), select.POLLIN)
                left = deadline - time.monotonic()
                if left <= 0 or self._link.fileno() in dict(poll.poll(_milliseconds(left))):
                    return False
            except OSError:
                return False
        return True

    def take_soon(self) -> Any:
        """Return the message that comes, whole and alone, within a moment; LATER when there is more to it, and to be waited for.

        Most steps of a session take microseconds, of which a look at everything that may happen would be one in four. Whatever else
        happens, a child that fills its output or dies, is seen by `wait` a moment later.

        Raises:
            CodecError: when the bytes are no message.
        """
        try:
            data = os.read(self._channel.fileno(), _FEW)
        except OSError:  # none yet, or never
            return LATER
        return self.inbox.take_alone(data)

    def wait(self, *, deadline: float) -> bool:
        """Wait for something to come and take it in; False when nothing will: the child is reaped, or the deadline has passed."""
        left = deadline - time.monotonic()
        if left <= 0 or self.report is not None:
            return False
        ready = {fd for fd, _ in self._poll.poll(_milliseconds(left))}
        if self._output in ready and not _pump(self._output, self.printed):
            self._poll.unregister(self._output)
        if self._channel.fileno() in ready and not _pump(self._channel.fileno(), self._sink):
            self._poll.unregister(self._channel.fileno())
        if self._link.fileno() in ready:
            self._take_report()
        return True

    def end(self) -> dict[str, Any]:
        """End the child if it lives, wait until it is reaped, and return the template's report."""
        if self.report is None:
            with suppress(OSError):  # the template may be gone, and its children with it
                self._link.send(b"k")
            if _readable(self._link.fileno(), _PATIENCE):
                self._take_report()
        self.report = self.report or {"code": None, "late": False, "cpu": None, "reason": TEMPLATE_HELD}
        return self.report

    def __enter__(self) -> Exchange:
        """Return itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """Close every descriptor; a living child dies of it. Idempotent."""
        self._link.close()
        self._channel.close()
        if self._output >= 0:
            os.close(self._output)
            self._output = -1

    def outcome(self, status: OutcomeStatus, error: str = "", **fields: Any) -> Outcome:
        """Return an outcome with what was printed and the seconds up to now."""
        fields.setdefault("stdout", self.printed.text)
        fields.setdefault("seconds", time.monotonic() - self.started)
        return Outcome(status=status, error=error, **fields)

    def refusal(self, err: CodecError) -> Outcome:
        """End the child, and return the outcome of one that sent something else than an answer."""
        self.end()
        return self.outcome("invalid", f"What came over the result channel {err}.")

    def death(self, *, late: bool) -> Outcome:
        """End the child, and return the outcome of one that gave no answer; `late` when that was for the deadline.

        Raises:
            SandboxUnavailableError: when the child was never started.
            NotMeasured: when the machine was too busy to give it the processor time that it may have.
        """
        report = self.end()
        if report["reason"] == NOT_STARTED:
            raise SandboxUnavailableError("The sandbox could not start a process.", hint="trace-bench doctor")
        if report["late"] or (late and report["reason"] not in {TEMPLATE_ENDED, TEMPLATE_HELD}):
            return self.outcome("timeout", _late(report, self.limits))
        status, words = _explain(report, self.limits)
        return self.outcome(status, words)

    def _take_report(self) -> None:
        data = b""
        for _ in range(2):  # who closes before our last word is read resets the link, and its report comes after that
            with suppress(OSError):
                data = self._link.recv(_CHUNK)
                break
        self.report = json.loads(data) if data else {"code": None, "late": False, "cpu": None, "reason": TEMPLATE_ENDED}
        for fd, sink in ((self._output, self.printed), (self._channel.fileno(), self._sink)):
            for _ in range(_LAST_WORDS):  # of one who has died; what it started may go on writing
                if not _readable(fd, 0) or not _pump(fd, sink):
                    break


def code_order(code: str, entry: str, *, prelude: str, inputs: list[list[Any]] | None, limits: Limits) -> bytes:
    """Return the packed order to load code, and to call it on `inputs` or, without any, step by step.

    Half of a surrogate pair, which a model's answer may hold and no source can, becomes a question mark.
    """
    source = code.encode(errors="replace").decode()
    return pack_order(
        {"code": source, "entry": entry, "prelude": prelude, "inputs": inputs, "cap": limits.output_bytes}
    )


def pack_order(message: dict[str, Any]) -> bytes:
    """Return the frame of an order to a child.

    Raises:
        TraceBenchError: when an input cannot be sent; that is the caller's mistake, not the candidate's.
    """
    try:
        return Encoder(ORDER).pack(message)
    except CodecError as err:
        raise unsendable(err) from err


def unsendable(err: CodecError) -> TraceBenchError:
    """Return the error of a caller whose input cannot be sent."""
    return TraceBenchError(f"An input for the sandbox {err}.")


def read_answer(message: Any) -> tuple[int | None, dict[str, Any]]:
    """Return the number and the fields of an answer from a child; its words are cut, its status must be one a child may claim.

    Raises:
        CodecError: when it is no answer.
    """
    if message is None:
        return None, {"status": "ok"}
    if type(message) is Answer:
        return message.place, {"status": "ok", "value": message.value}
    if type(message) is not dict or message.get("s") not in _FROM_CHILD:
        raise CodecError("is no answer")
    place = message.get("n")
    if place is not None and type(place) is not int:
        raise CodecError("is no answer")
    texts = {}
    for key, name in (("e", "error"), ("t", "traceback"), ("p", "stdout")):
        text = message.get(key, "")
        if type(text) is not str:
            raise CodecError("is no answer")
        if text or name != "stdout":
            texts[name] = text[-PRINTED:].translate(_UNSEEN)
    return place, {"status": message["s"], "value": message.get("v") if message["s"] == "ok" else None, **texts}


def knock(address: str) -> socket.socket:
    """Connect, and ask for nothing: a template that is not held closes the connection at once.

    Raises:
        OSError: when none listens, or too many wait already.
    """
    link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        link.settimeout(0)
        _connect(link, address)
        link.send(b"{}")
    except BaseException:
        link.close()
        raise
    return link


def _connect(link: socket.socket, address: str) -> None:
    """Connect by a short path (see `launch`)."""
    if len(address) < 100:  # noqa: PLR2004 - a socket's address holds 107 bytes
        link.connect(address)
        return
    place = Path(address)
    folder = os.open(place.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        link.connect(f"/proc/self/fd/{folder}/{place.name}")
    finally:
        os.close(folder)


def _readable(fd: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _milliseconds(seconds: float) -> float:
    """Return how long to wait now for what may take so long."""
    return min(seconds, _LONGEST_POLL) * 1000 + 1


def _pump(fd: int, sink: Inbox | Tail) -> bool:
    """Take what is there; False when the other side has closed."""
    try:
        data = os.read(fd, _CHUNK)
    except BlockingIOError:
        time.sleep(_NOTHING_THERE)
        return True
    except ConnectionError:
        return False
    sink.take(data)
    return bool(data)


def is_spent(report: dict[str, Any], limits: Limits) -> bool:
    """Tell whether what a report is of has had all the processor time that it may have."""
    return bool(limits.patience > 1 and (report["cpu"] or 0.0) >= limits.seconds)


def _late(report: dict[str, Any], limits: Limits) -> str:
    """Return the words for who was ended by the clock.

    Raises:
        NotMeasured: when that was for want of a processor: what it had of one and how long it waited for one make up its limit.
    """
    if limits.patience == 1:
        return f"The time limit of {limits.seconds:g} s was reached."
    had, waited = report["cpu"] or 0.0, report.get("waited", 0.0)
    if is_spent(report, limits):
        return _spent(limits)
    if had + waited >= limits.seconds:
        raise NotMeasured(
            f"the machine is too busy: within {limits.clock_seconds:g} s the process had {had:.1f} of its {limits.seconds:g} s of "
            f"processor time, and waited {waited:.1f} s for a processor"
        )
    return (
        f"The time limit of {limits.clock_seconds:g} s on the clock was reached; of its {limits.seconds:g} s of processor time the "
        f"process had used {had:.1f} s."
    )


def _spent(limits: Limits) -> str:
    return f"The CPU time limit of {limits.seconds:g} s was reached."


def _explain(report: dict[str, Any], limits: Limits) -> tuple[OutcomeStatus, str]:
    code = report["code"]
    if report["reason"] == SPENT or code == -signal.SIGXCPU or (code == -signal.SIGKILL and is_spent(report, limits)):
        return "timeout", _spent(limits)
    if report["reason"]:
        return "killed", f"The process was ended: {report['reason']}."
    if code < 0:
        return "killed", f"The process was killed by {signal_name(-code)}."
    return "error", f"The code ended its process (exit code {code}) before it gave an answer."


def signal_name(number: int) -> str:
    """Return the name of a signal; of one that has none, as most real-time signals have none, its number in words."""
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
