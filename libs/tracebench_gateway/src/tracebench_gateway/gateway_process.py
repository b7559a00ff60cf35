"""Starts the gateway in a process of its own and speaks for it: the runner's side."""

from __future__ import annotations

import http.client
import json
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import IO, Any, Protocol
from urllib.parse import urlencode

from tracebench_core.errors import ModelError
from tracebench_core.specs import Axis, Budget, BudgetState, LLMConfig, Mode, ModelIdentity, Role, StubFormatSpec
from tracebench_core.specs.events import LLMCall
from tracebench_gateway.access import PHASES, JobAccess, Phase
from tracebench_gateway.credentials import provider_environ, secret_environ, without_secrets
from tracebench_gateway.models import prices_of, resolve_models
from tracebench_gateway.server.settings import GatewaySettings, ShippedAnswers
from tracebench_gateway.tokens import Claims, sign
from tracebench_runs.storage.lock import lock_fds

ENTRY = "tracebench_gateway.server.__main__"
START_SECONDS = 30.0
ANSWER_SECONDS = 150.0
"""Longer than whoever looks after a gateway takes to replace one that is held: who asked it asks the next one."""
KNOCK_SECONDS = 0.2
END_SECONDS = 5.0
BACKLOG = 1024
RETRY_DELAY_ALLOWANCE = 60.0
"""Seconds that waiting between a call's attempts, and for a free slot, may add to the attempts themselves."""
LOG_FILE = "gateway.log"


class Process(Protocol):
    """The gateway's process as its owner sees it; `subprocess.Popen` is one."""

    @property
    def pid(self) -> int:
        """Its number."""
        ...

    @property
    def stdin(self) -> IO[bytes] | None:
        """Its standard input."""
        ...

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code; `subprocess.TimeoutExpired` when it still runs after `timeout` seconds."""
        ...

    def kill(self) -> None:
        """Kill it; nothing happens once it has ended."""
        ...


class Launch(Protocol):
    """Runs a module's `main()` in a new process and session, as `python -m` would."""

    def __call__(
        self, entry: str, /, *, environ: Mapping[str, str], pass_fds: Sequence[int], output: IO[bytes], has_input: bool
    ) -> Process:
        """Start it: `environ` is its whole environment, `output` takes what it prints, and `has_input` makes its input a pipe."""
        ...


def interpreter(
    entry: str, /, *, environ: Mapping[str, str], pass_fds: Sequence[int], output: IO[bytes], has_input: bool
) -> Process:
    """Launch a module in a fresh interpreter. Who starts many helpers has a quicker way."""
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-P", "-m", entry],
        pass_fds=pass_fds,
        env=dict(environ),
        stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
    )


class GatewayHandle:
    """A running gateway. Its listening socket stays open here, so that callers wait while it is restarted."""

    def __init__(
        self, settings: GatewaySettings, *, listener: socket.socket, environ: Mapping[str, str], launch: Launch
    ) -> None:
        self._settings = settings
        self._launch = launch
        self._listener = listener
        self._environ = without_secrets(environ, settings.llm, *settings.variants.values())
        self._secret = bytes.fromhex(settings.token_secret)
        self._attempts: dict[str, str] = {}
        self._admin_lock = Lock()
        self._admin: http.client.HTTPConnection | None = None
        self.admin_token = settings.admin_token
        host, port = listener.getsockname()
        self._address = (host, port)
        self.base_url = f"http://{host}:{port}/v1"
        self._process = self._spawn()

    def __enter__(self) -> GatewayHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The gateway's process."""
        return self._process.pid

    def register(
        self,
        job_id: str,
        *,
        budget: Budget,
        seed: int,
        models: Mapping[Role, ModelIdentity],
        variant: str = "",
        recorded: str = "",
        hints: Mapping[str, Any] | None = None,
        attempt: str = "",
    ) -> JobAccess:
        """Return the keys of a new attempt at a job, which starts from an unspent budget. Costs no round trip.

        Args:
            variant: which of the run's variants of models the job belongs to.
            recorded: in a replay, the job of the recording that this one repeats.
            attempt: an earlier one that goes on with what the ledger tells of it.
            hints: what the stub may know: `{"parameters": [Parameter as JSON, ...], "answers": name}`; what a header says, and to which
                providers: `{"job": ASCII, "told": [name, ...]}`.
        """
        attempt = self._attempts[job_id] = attempt or secrets.token_hex(4)

        def key(role: Role, phase: Phase, *, is_engine: bool = False) -> str:
            claims = Claims(
                job_id=job_id,
                attempt=attempt,
                role=role,
                phase=phase,
                seed=seed,
                budget=budget,
                model=models[role],
                variant=variant,
                recorded=recorded,
                is_engine=is_engine,
                hints=dict(hints or {}),
            )
            return sign(claims, secret=self._secret)

        keys: dict[Role, dict[Phase, str]] = {role: {phase: key(role, phase) for phase in PHASES} for role in models}
        llm = self._settings.llm
        return JobAccess(
            job_id=job_id,
            base_url=self.base_url,
            keys=keys,
            engine_key=key(next(iter(models)), "scoring", is_engine=True),
            models=dict(models),
            timeout=llm.timeout * (llm.max_retries + 1) + llm.outage_limit + RETRY_DELAY_ALLOWANCE,
        )

    def attempt(self, job_id: str) -> str:
        """Return the name of a job's present attempt; empty when it has none."""
        return self._attempts.get(job_id, "")

    def release(self, job_id: str) -> None:
        """Close a job's account: its keys open nothing from now on, and its records leave the gateway's memory."""
        attempt = self._attempts.pop(job_id, None)
        if attempt is not None:
            self._ask("POST", f"/admin/jobs/{job_id}/{attempt}/release")

    def records(self, job_id: str, after: int = 0) -> list[LLMCall]:
        """End the training calls of the job's present attempt, and return those numbered higher than `after`, in order."""
        attempt = self._attempts.get(job_id)
        if attempt is None:
            return []
        answer = self._ask("GET", f"/admin/jobs/{job_id}/{attempt}/records?after={after}")
        return [LLMCall(**record) for record in answer["records"]]

    def run_used(self) -> BudgetState:
        """Return what the whole run used on the axes that the gateway sees, earlier tries of its jobs included."""
        return BudgetState(**self._ask("GET", "/admin/run")["used"])

    def run_refusal(self) -> Axis | None:
        """Return the run's cap that first turned a call away; None while none did."""
        axis: Axis | None = self._ask("GET", "/admin/run")["refusal"]
        return axis

    def away(self) -> dict[str, float]:
        """Return the models that are awaited because they answer no more, with the seconds that they have been away."""
        return dict(self._ask("GET", "/admin/health")["away"])

    def give_up(self, addresses: Collection[str]) -> None:
        """Have calls fail that wait for what was served at these addresses: it is served elsewhere, to whoever asks anew."""
        if addresses:
            self._settings = self._settings.model_copy(update={"gone": (*self._settings.gone, *addresses)})
            with suppress(ConnectionError):  # it is just being started again, and is told then
                self._ask("POST", "/admin/gone?" + urlencode({"address": [*addresses]}, doseq=True))

    def is_alive(self) -> bool:
        """Tell whether the process runs."""
        return self._process.poll() is None

    def knock(self) -> socket.socket:
        """Connect, and ask for what needs no key: a gateway that is not held answers at once.

        Raises:
            OSError: when it takes nobody any more.
        """
        connection = socket.create_connection(self._address, timeout=KNOCK_SECONDS)
        with suppress(OSError):  # it hung up, which is an answer
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return connection

    def wait_ready(self) -> None:
        """Wait until the gateway answers.

        Raises:
            ModelError: when it ends instead, or does not answer in `START_SECONDS`; the message has its last words.
        """
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.is_alive():
            try:
                self._ask("GET", "/admin/health", timeout=1.0)
            except OSError:
                continue
            return
        raise ModelError(f"the gateway did not start: {self._last_words()}", kind="refused")

    def restart(self) -> None:
        """Replace the process: same port, same keys, and the ledger intact."""
        self._end(kill=True)
        self._process = self._spawn()

    def close(self) -> None:
        """End the gateway. Idempotent."""
        self._end(kill=False)
        self._listener.close()  # who asks at this moment waits for no other
        with self._admin_lock:
            self._hang_up()

    def _spawn(self) -> Process:
        log = self._log_path()
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            process = self._launch(
                ENTRY,
                environ=self._environ,
                pass_fds=(self._listener.fileno(), *lock_fds()),
                output=output,
                has_input=True,
            )
        if process.stdin is None:
            raise ModelError("the gateway has no input", kind="refused")
        process.stdin.write(self._settings.model_dump_json().encode() + b"\n")
        process.stdin.flush()
        return process

    def _end(self, *, kill: bool) -> None:
        process = self._process
        if kill:
            process.kill()
        if process.stdin is not None and not process.stdin.closed:
            process.stdin.close()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _ask(self, method: str, path: str, *, timeout: float = ANSWER_SECONDS) -> dict[str, Any]:
        """Call an admin route, once more on a fresh connection where one breaks: it was kept too long, or the gateway is just replaced."""
        headers = {"Authorization": f"Bearer {self.admin_token}"}
        with self._admin_lock:
            for is_last in (False, True):
                if self._admin is None:
                    self._admin = http.client.HTTPConnection(*self._address, timeout=timeout)
                try:
                    self._admin.request(method, path, headers=headers)
                    response = self._admin.getresponse()
                    answer: dict[str, Any] = json.loads(response.read())
                except (OSError, http.client.HTTPException) as error:
                    self._hang_up()
                    if is_last:
                        raise ConnectionError(f"the gateway does not answer: {error}") from error
                    continue
                if response.status != http.client.OK:
                    raise ModelError(f"the gateway refused `{path}`: {answer}", kind="request")
                return answer
        raise AssertionError("unreachable")

    def _hang_up(self) -> None:
        if self._admin is not None:
            self._admin.close()
            self._admin = None

    def _log_path(self) -> Path:
        return self._settings.run_dir / "llm" / LOG_FILE

    def _last_words(self) -> str:
        lines = self._log_path().read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit status {self._process.poll()}"


def start_gateway(
    llm: LLMConfig,
    *,
    variants: Mapping[str, LLMConfig] | None = None,
    mode: Mode,
    run_dir: Path,
    run_budget: Budget,
    scoring_budget: Budget | None = None,
    replay_from: Path | None = None,
    reuse: bool = True,
    stub_formats: Sequence[StubFormatSpec] = (),
    stub_answers: Mapping[str, ShippedAnswers] | None = None,
    seed: int = 0,
    environ: Mapping[str, str] | None = None,
    launch: Launch = interpreter,
) -> GatewayHandle:
    """Start the run's gateway and return at once: calls made before it is up wait for it.

    Args:
        variants: by name, what holds for the jobs of a variant instead of `llm`.
        scoring_budget: of each job's scoring.
        reuse: of a recorded run, answer a job that runs again with what its earlier attempts were answered.
        stub_formats: what the stub model learns.
        stub_answers: by the name in a job's hints, the answers that its task ships.
        environ: where provider keys are taken from; this process's own environment, and what it holds beside it, by default.
        launch: how its process is started.

    Raises:
        RunDirError: when `replay_from` holds no recording that can be read.
    """
    environ = provider_environ() if environ is None else environ
    if mode == "replay" and replay_from is not None:
        from tracebench_gateway.cassette.player import check_recording  # noqa: PLC0415 - for replays alone

        check_recording(replay_from)
    listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
    recorded = str(replay_from) if replay_from else None
    every = [llm, *(variants or {}).values()]
    settings = GatewaySettings(
        llm=llm,
        variants=dict(variants or {}),
        mode=mode,
        run_dir=run_dir.absolute(),
        run_budget=run_budget,
        scoring_budget=scoring_budget or Budget(),
        prices={
            name: price
            for one in every
            for name, price in prices_of(
                one, resolve_models(one, mode=mode, environ=environ, replay_from=recorded)
            ).items()
        },
        replay_from=replay_from.absolute() if replay_from else None,
        reuse=reuse,
        stub_formats=tuple((spec.role, spec.loader) for spec in stub_formats),
        stub_answers=dict(stub_answers or {}),
        seed=seed,
        token_secret=secrets.token_hex(32),
        admin_token=secrets.token_hex(32),
        environ=secret_environ(environ, *every),
        started=time.monotonic(),
        socket_fd=listener.fileno(),
    )
    return GatewayHandle(settings, listener=listener, environ=environ, launch=launch)
