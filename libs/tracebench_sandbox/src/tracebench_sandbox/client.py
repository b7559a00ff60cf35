"""The trusted side: `contracts.Sandbox` over a template's socket."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from tracebench_core.errors import SandboxUnavailableError, TraceBenchError
from tracebench_core.specs.sandbox import Limits, Outcome
from tracebench_sandbox import temporary
from tracebench_sandbox.codec import CodecError
from tracebench_sandbox.exchange import PRINTED, Exchange, code_order, pack_order, read_answer
from tracebench_sandbox.folders import remove
from tracebench_sandbox.frames import Inbox, Tail
from tracebench_sandbox.launch import Require, ServerHandle, start_server
from tracebench_sandbox.session import LocalSession

T = TypeVar("T")
_CODE = {"kind": "code"}
_COMMAND = {"kind": "command"}
_PATH = "/usr/local/bin:/usr/bin:/bin"


class SandboxClient:
    """Implements `contracts.Sandbox` on a running template. Threads may use it at once: a request is a connection of its own."""

    def __init__(self, address: str) -> None:
        self._address = address

    def call(self, code: str, entry: str, *args: Any, limits: Limits | None = None, prelude: str = "") -> Outcome:
        """See `contracts.Sandbox`."""
        return self.call_many(code, entry, [args], limits=limits, prelude=prelude)[0]

    def call_many(
        self,
        code: str,
        entry: str,
        inputs: Sequence[Sequence[Any]],
        *,
        limits: Limits | None = None,
        prelude: str = "",
    ) -> list[Outcome]:
        """See `contracts.Sandbox`. An end that is no answer (a timeout, a crash) stands for its input and for all after it."""
        limits = limits or Limits()
        order = code_order(code, entry, prelude=prelude, inputs=[list(args) for args in inputs], limits=limits)
        outcomes: list[Outcome] = []
        frame = pack_order(order)
        inbox = Inbox(limits.output_bytes)
        with self._exchange(limits, order=_CODE, inbox=inbox) as exchange:
            end = _collect(exchange, inbox, frame, outcomes, wanted=len(inputs))
        return outcomes + [end] * (len(inputs) - len(outcomes)) if end is not None else outcomes

    def session(self, code: str, entry: str, *, limits: Limits | None = None, prelude: str = "") -> LocalSession:
        """See `contracts.Sandbox`."""
        granted = limits or Limits()
        return self._begin(
            lambda address: LocalSession(address, code=code, entry=entry, limits=granted, prelude=prelude)
        )

    def command(
        self,
        argv: Sequence[str],
        *,
        files: Mapping[str, str] | None = None,
        stdin: str = "",
        limits: Limits | None = None,
    ) -> Outcome:
        """See `contracts.Sandbox`. Standard output and error each keep their last `output_bytes`."""
        limits = limits or Limits()
        program = shutil.which(argv[0]) or argv[0]
        order = {
            "argv": [program, *argv[1:]],
            "files": _checked_names(files or {}),
            "stdin": stdin,
            "env": {"PATH": f"{Path(program).parent}:{_PATH}", "LANG": "C.UTF-8"},
        }
        frame = pack_order(order)
        errors = Tail(limits.output_bytes)
        with self._exchange(limits, order=_COMMAND, inbox=errors, kept=limits.output_bytes) as exchange:
            deadline = exchange.started + limits.seconds
            exchange.send(frame, deadline=deadline)
            while exchange.wait(deadline=deadline):
                pass
            return _command_outcome(exchange, errors)

    def close(self) -> None:
        """Disconnect: running requests of other threads go on to their own ends."""

    def __enter__(self) -> SandboxClient:
        """Return itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close."""
        self.close()

    def _begin(self, begin: Callable[[str], T]) -> T:
        return begin(self._address)

    @contextmanager
    def _exchange(
        self, limits: Limits, *, order: dict[str, Any], inbox: Inbox | Tail, kept: int = PRINTED
    ) -> Iterator[Exchange]:
        exchange = self._begin(lambda address: Exchange(address, limits, order=order, inbox=inbox, kept=kept))
        try:
            yield exchange
        finally:
            exchange.close()


class LocalSandbox(SandboxClient):
    """A sandbox with a template of its own: started on first use, restarted when it is gone, ended by `close`."""

    def __init__(self, *, preload: Sequence[str], require: Require, readable: Sequence[Path]) -> None:
        super().__init__("")
        self._preload, self._require, self._readable = tuple(preload), require, tuple(readable)
        self._lock = threading.Lock()
        self._server: ServerHandle | None = None
        self._folder: Path | None = None

    @property
    def template_pid(self) -> int:
        """The process that forks the children; 0 while there is none."""
        return self._server.pid if self._server is not None and self._server.alive else 0

    def close(self) -> None:
        """End the template and everything that runs in it. Idempotent; a later call starts a new one."""
        with self._lock:
            self._stop()

    def _begin(self, begin: Callable[[str], T]) -> T:
        address = self._open()
        try:
            return begin(address)
        except (
            SandboxUnavailableError
        ):  # the template has just died: what it was asked has not begun, so a new one can be asked
            with self._lock:
                if self._server is not None and self._server.address == address:
                    self._stop()
            return begin(self._open())

    def _open(self) -> str:
        with self._lock:
            if self._server is None or not self._server.alive:
                self._stop()
                self._folder = temporary.make_folder("sandbox")
                self._server = start_server(
                    preload=self._preload, require=self._require, directory=self._folder, readable=self._readable
                )
            return self._server.address

    def _stop(self) -> None:
        if self._server is not None:
            self._server.close()
        if self._folder is not None and (self._server is None or self._server.owned):
            with suppress(OSError):
                remove(self._folder)
        self._server = self._folder = None


def open_sandbox(
    *, preload: Sequence[str] = (), require: Require = "auto", readable: Sequence[Path] = ()
) -> LocalSandbox:
    """Return a sandbox whose children have `preload` imported, and may read `readable` besides the system's and Python's libraries.

    Nothing runs until its first use, which raises MissingRequirementError when a module cannot be imported, or when this host lacks what is
    required: `auto` needs Landlock and seccomp or else namespaces, `strong` needs the former, `process` nothing.
    """
    return LocalSandbox(preload=preload, require=require, readable=readable)


def connect(address: str) -> SandboxClient:
    """Return a sandbox on a template that another process started with `start_server`."""
    return SandboxClient(address)


def _collect(exchange: Exchange, inbox: Inbox, frame: bytes, outcomes: list[Outcome], *, wanted: int) -> Outcome | None:
    """Gather answers into `outcomes`; return what stands for the missing ones, or None when none is missing.

    With the last answer the caller goes on: closing the exchange ends the child, whatever it is still doing.
    """
    deadline = exchange.started + exchange.limits.seconds
    exchange.send(frame, deadline=deadline)
    seen = exchange.started
    try:
        while len(outcomes) < wanted:
            found = list(inbox.messages())
            if not found and not exchange.wait(deadline=deadline):
                return exchange.death(late=exchange.report is None)
            now = time.monotonic()
            for message in found[: wanted - len(outcomes)]:
                place, fields = read_answer(message)
                outcome = Outcome(**fields, seconds=(now - seen) / len(found))
                if place == -1:
                    return outcome
                if place not in {len(outcomes), None}:
                    raise CodecError("is no answer")
                outcomes.append(outcome)
            seen = now if found else seen
    except CodecError as err:
        return exchange.refusal(err)
    return None


def _checked_names(files: Mapping[str, str]) -> dict[str, str]:
    for name in files:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise TraceBenchError(f"The file `{name}` would lie outside of the sandbox's folder.")
    return dict(files)


def _command_outcome(exchange: Exchange, errors: Tail) -> Outcome:
    late = exchange.report is None
    exchange.end()
    code = exchange.report["code"] if exchange.report else None
    value = {"returncode": code, "stdout": exchange.printed.text, "stderr": errors.text}
    shown = exchange.printed.text[-PRINTED:]
    if late or code is None or code < 0 or (exchange.report and exchange.report["reason"]):
        return exchange.death(late=late).model_copy(update={"value": value, "stdout": shown})
    return exchange.outcome(
        "ok", value=value, stdout=shown, cpu_seconds=exchange.report["cpu"] if exchange.report else None
    )
