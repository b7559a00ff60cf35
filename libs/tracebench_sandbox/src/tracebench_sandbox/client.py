"""The trusted side: `contracts.Sandbox` over a template's socket."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

from tracebench_core.contracts import Session
from tracebench_core.errors import SandboxUnavailableError, TraceBenchError
from tracebench_core.specs.sandbox import Limits, Outcome
from tracebench_sandbox import temporary
from tracebench_sandbox.codec import CodecError
from tracebench_sandbox.exchange import PRINTED, Exchange, Request, code_order, is_spent, pack_order, read_answer
from tracebench_sandbox.folders import remove
from tracebench_sandbox.frames import SPENT
from tracebench_sandbox.granted import granted_devices
from tracebench_sandbox.launch import Require, ServerHandle, start_server
from tracebench_sandbox.session import LocalSession

T = TypeVar("T")
DEFAULT = Limits()
_PATH = "/usr/local/bin:/usr/bin:/bin"


class SandboxClient:
    """Implements `contracts.Sandbox`: each method makes a `Request`, and `send` sends it.

    Threads may use it at once: a request is a connection of its own.
    """

    def __init__(self, address: str, *, limits: Limits = DEFAULT) -> None:
        """`limits` are those of requests that name none."""
        self._address = address
        self.limits = limits

    def open(self) -> str:
        """Return the address of a template that serves; where this sandbox has one of its own, it is started now."""
        return self._address

    def send(self, request: Request[T]) -> T:
        """Have a request answered by a child of its own.

        Raises:
            SandboxUnavailableError: when no template answers.
        """
        return request.answer(Exchange(self.open(), request))

    def call(self, code: str, entry: str, *args: Any, limits: Limits | None = None, prelude: str = "") -> Outcome:
        """See `contracts.Sandbox`."""
        return self.send(_calls(code, entry, [args], limits=limits or self.limits, prelude=prelude))[0]

    def call_many(
        self, code: str, entry: str, inputs: Sequence[Sequence[Any]], *, limits: Limits | None = None, prelude: str = ""
    ) -> list[Outcome]:
        """See `contracts.Sandbox`. An end that is no answer (a timeout, a crash) stands for its input and for all after it."""
        return self.send(_calls(code, entry, inputs, limits=limits or self.limits, prelude=prelude))

    def session(self, code: str, entry: str, *, limits: Limits | None = None, prelude: str = "") -> Session:
        """See `contracts.Sandbox`."""
        with self._undisturbed():
            session = LocalSession(code, entry, limits=limits or self.limits, prelude=prelude)
            try:
                self.send(session.request)
            except BaseException:
                session.close()
                raise
            return self._begun(session)

    def command(
        self,
        argv: Sequence[str],
        *,
        files: Mapping[str, str] | None = None,
        stdin: str = "",
        limits: Limits | None = None,
        devices: Sequence[str] = (),
    ) -> Outcome:
        """See `contracts.Sandbox`. Standard output and error each keep their last `output_bytes`."""
        return self.send(_command(argv, files or {}, stdin, limits or self.limits, granted_devices(devices)))

    def _undisturbed(self) -> AbstractContextManager[object]:
        """Hold off what may end this thread, where something may: until then nobody could close what is made."""
        return nullcontext()

    def _begun(self, session: LocalSession) -> Session:
        return session

    def close(self) -> None:
        """Disconnect: running requests of other threads go on to their own ends."""

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close."""
        self.close()


class LocalSandbox(SandboxClient):
    """A sandbox with a template of its own: started on first use, restarted when it is gone, ended by `close`."""

    def __init__(
        self,
        *,
        preload: Sequence[str],
        require: Require,
        readable: Callable[[], Sequence[Path]] | Sequence[Path] = (),
        limits: Limits = DEFAULT,
    ) -> None:
        super().__init__("", limits=limits)
        self._preload, self._require, self._readable = tuple(preload), require, readable
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

    def send(self, request: Request[T]) -> T:
        """See `SandboxClient`; a template that has just died had not begun with what it was asked, so a new one can be asked."""
        address = self.open()
        try:
            exchange = Exchange(address, request)
        except SandboxUnavailableError:
            with self._lock:
                if self._server is not None and self._server.address == address:
                    self._stop()
            exchange = Exchange(self.open(), request)
        return request.answer(exchange)

    def open(self) -> str:
        """See `SandboxClient`."""
        with self._lock:
            if self._server is None or not (self._server.alive and Path(self._server.address).exists()):
                self._stop()
                self._folder = temporary.make_folder("sandbox")
                self._server = start_server(
                    preload=self._preload,
                    require=self._require,
                    directory=self._folder,
                    readable=self._readable() if callable(self._readable) else self._readable,
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
    return LocalSandbox(preload=preload, require=require, readable=lambda: readable)


def connect(address: str, *, limits: Limits = DEFAULT) -> SandboxClient:
    """Return a sandbox on a template that another process started with `start_server`; `limits` are those of requests that name none."""
    return SandboxClient(address, limits=limits)


def _calls(
    code: str, entry: str, inputs: Sequence[Sequence[Any]], *, limits: Limits, prelude: str
) -> Request[list[Outcome]]:
    order = code_order(code, entry, prelude=prelude, inputs=[list(args) for args in inputs], limits=limits)

    def answer(exchange: Exchange) -> list[Outcome]:
        outcomes: list[Outcome] = []
        with exchange:
            end = _collect(exchange, outcomes, wanted=len(inputs))
        return outcomes + [end] * (len(inputs) - len(outcomes)) if end is not None else outcomes

    return Request("code", order, limits, answer)


def _collect(exchange: Exchange, outcomes: list[Outcome], *, wanted: int) -> Outcome | None:
    """Gather answers into `outcomes`; return what stands for the missing ones, or None when none is missing.

    With the last answer the caller goes on: closing the exchange ends the child, whatever it is still doing.
    """
    seen = exchange.started
    try:
        while len(outcomes) < wanted:
            found = list(exchange.inbox.messages())
            if not found and not exchange.wait(deadline=exchange.deadline):
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


def _command(
    argv: Sequence[str], files: Mapping[str, str], stdin: str, limits: Limits, devices: Sequence[str]
) -> Request[Outcome]:
    program = shutil.which(argv[0]) or argv[0]
    order = {
        "argv": [program, *argv[1:]],
        "files": _checked_names(files),
        "stdin": stdin,
        "devices": list(devices),
        "env": {"PATH": f"{Path(program).parent}:{_PATH}", "LANG": "C.UTF-8"},
    }
    return Request("command", pack_order(order), limits, _command_outcome)


def _checked_names(files: Mapping[str, str]) -> dict[str, str]:
    for name in files:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise TraceBenchError(f"The file `{name}` would lie outside of the sandbox's folder.")
    return dict(files)


def _command_outcome(exchange: Exchange) -> Outcome:
    with exchange:
        while exchange.wait(deadline=exchange.deadline):
            pass
        late = exchange.report is None
        report = exchange.end()
        code, value_shown = report["code"], exchange.printed.text
        value = {"returncode": code, "stdout": value_shown, "stderr": exchange.errors.text}
        shown = value_shown[-PRINTED:]
        if not late and is_spent(report, exchange.limits):
            report["reason"] = report["reason"] or SPENT
        if late or code is None or code < 0 or report["reason"]:
            return exchange.death(late=late).model_copy(update={"value": value, "stdout": shown})
        return exchange.outcome("ok", value=value, stdout=shown, cpu_seconds=report["cpu"])
