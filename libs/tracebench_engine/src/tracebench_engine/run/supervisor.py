"""Starts the helpers of a run again (gateway, sandbox servers, what holds environments) when one ends on its own or its heartbeat stops."""

from __future__ import annotations

import logging
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tracebench_core.specs import ExecutorSetting, SandboxConfig
from tracebench_sandbox.granted import granted_folders

if TYPE_CHECKING:
    from tracebench_sandbox import ServerHandle

log = logging.getLogger(__name__)

INTERVAL = 0.2
"""Seconds between two looks."""
ASK_AFTER = 10.0
"""Seconds after its last sign of life until a helper is asked for another; for the first it is asked at once."""
HELD = 120.0
"""Seconds of silence after which it is taken for lost."""
ENDING = 20.0
"""The same while the run ends, doubled for each that was started meanwhile: on a starved machine the first answer may take longer."""
STARTING = 900.0
"""The same before its first answer: it imports what it needs."""
AWAITED = 30.0
"""Seconds for which nothing is begun while what holds environments is started again."""


class Helper(Protocol):
    """A process that jobs talk to at an address that outlives it."""

    def is_alive(self) -> bool: ...
    def restart(self) -> None: ...
    def knock(self) -> socket.socket:
        """Connect, and say what is answered at once."""
        ...


class Heartbeat:
    """Whether a helper answers. Patience is counted in beats, and none passes while this process is held itself."""

    def __init__(self, knock: Callable[[], socket.socket]) -> None:
        self._knock = knock
        self._knocked: socket.socket | None = None
        self._silent = 0.0
        self._has_answered = False
        self._replaced = 0
        """How often another took over while the run ended."""

    def beat(self) -> None:
        """Ask now and then, and listen; `INTERVAL` has passed since the last time."""
        self._silent += INTERVAL
        if self._knocked is None:
            if self._silent >= ASK_AFTER or not self._has_answered:
                with suppress(OSError):  # it takes nobody any more
                    self._knocked = self._knock()
        elif _has_word(self._knocked):
            self._forget()
            self._has_answered = True

    def begin(self, *, ending: bool = False) -> None:
        """Another process answers from now on, or none is asked any more."""
        self._forget()
        self._has_answered = False
        self._replaced += ending

    def is_lost(self, *, ending: bool) -> bool:
        """Say whether it was silent for too long."""
        patience = ENDING * 2**self._replaced if ending else HELD if self._has_answered else STARTING
        return self._silent >= patience

    def _forget(self) -> None:
        if self._knocked is not None:
            self._knocked.close()
        self._knocked, self._silent = None, 0.0


def _has_word(end: socket.socket) -> bool:
    poller = select.poll()
    poller.register(end, select.POLLIN)
    return bool(poller.poll(0))


class SupervisedSandbox:
    """A sandbox server that may be started again at the same address."""

    def __init__(
        self, modules: tuple[str, ...], config: SandboxConfig, *, folder: Path, readable: tuple[str, ...] = ()
    ) -> None:
        self._modules = modules
        self._readable = granted_folders((*readable, *config.readable))
        self._config = config
        self._folder = folder
        self._server = self._start()
        self.address = self._server.address
        self.level = self._server.level
        """How it holds untrusted code."""
        self.deaths = 0
        """How often it ended on its own. What it was asked then was answered by its death, and not by the candidate."""

    def is_alive(self) -> bool:
        """Tell whether the server runs."""
        return self._server.alive

    def knock(self) -> socket.socket:
        """See `Helper`."""
        from tracebench_sandbox.exchange import knock  # noqa: PLC0415 - as below

        return knock(self.address)

    def restart(self) -> None:
        """Clear up after the dead server and start another."""
        self.deaths += 1
        self._server.close()
        self._server = self._start()

    def close(self) -> None:
        """End the server."""
        self._server.close()

    def _start(self) -> ServerHandle:
        from tracebench_sandbox import start_server  # noqa: PLC0415 - many runs need none

        return start_server(
            preload=self._modules, require=self._config.require, directory=self._folder, readable=self._readable
        )


class Supervisor:
    """Looks after helpers, after each from a thread of its own: none waits for what another takes to start."""

    def __init__(self, helpers: Sequence[Helper]) -> None:
        self._watches = {id(helper): _Watch(helper) for helper in helpers}

    def look(self, helper: Helper) -> None:
        """Start a helper again if it is gone or lost; one that does not start is tried again at the next look."""
        self._watches[id(helper)].look()

    def hurry(self) -> None:
        """The run ends: have less patience."""
        for watch in self._watches.values():
            watch.is_ending = True

    def close(self) -> None:
        """Look no more."""
        for watch in self._watches.values():
            watch.ended.set()
        for watch in self._watches.values():
            watch.close()


class _Watch:
    """Looks after one helper."""

    def __init__(self, helper: Helper) -> None:
        self._helper = helper
        self._heartbeat = Heartbeat(helper.knock)
        self.is_ending = False
        self.ended = threading.Event()
        self._looking = threading.Lock()
        self._thread = threading.Thread(target=self._watch, name="supervisor", daemon=True)
        self._thread.start()

    def look(self) -> None:
        """See `Supervisor.look`."""
        name = type(self._helper).__name__
        with self._looking:
            try:
                if (is_gone := not self._helper.is_alive()) or self._heartbeat.is_lost(ending=self.is_ending):
                    log.warning(
                        "%s %s and is started again", name, "ended on its own" if is_gone else "answers no more"
                    )
                    self._heartbeat.begin(ending=self.is_ending)
                    self._helper.restart()
            except Exception as err:  # noqa: BLE001 - a supervisor that dies supervises nothing: it looks again in a moment
                log.warning("%s does not start: %s: %s", name, type(err).__name__, err)

    def close(self) -> None:
        """Wait for the last look."""
        self._thread.join()
        self._heartbeat.begin()

    def _watch(self) -> None:
        while not self.ended.wait(INTERVAL):
            with self._looking:
                self._heartbeat.beat()
            self.look()


class SupervisedEnvironments:
    """The process that holds a run's environments, with a supervisor of its own: nothing else waits for what a new one imports."""

    def __init__(self, setting: ExecutorSetting, *, renewed: Callable[[], None]) -> None:
        """`renewed` is called where there is a new one."""
        from tracebench_engine.measure.environments.client import EnvironmentProcess  # noqa: PLC0415 - most runs have none

        self._process = EnvironmentProcess(setting)
        self._gone_since: float | None = None
        self._renewed = renewed
        self.address = self._process.address
        self._supervisor = Supervisor([self])

    @property
    def deaths(self) -> int:
        """How often it ended on its own, now included."""
        return self._process.deaths

    @property
    def replaced(self) -> int:
        """How often another was started: what is begun while one dies may still have come to the dying one."""
        return self._process.replaced

    def is_alive(self) -> bool:
        """Tell whether it runs."""
        return self._process.is_alive()

    @property
    def is_away(self) -> bool:
        """Whether another is awaited, for no longer than a job would wait: a job that began now would see this one's death as its own."""
        if self.is_alive():
            self._gone_since = None
            return False
        now = time.monotonic()
        self._gone_since = self._gone_since or now
        return now - self._gone_since < AWAITED

    def knock(self) -> socket.socket:
        """See `Helper`."""
        return self._process.knock()

    def restart(self) -> None:
        """Start another."""
        self._process.restart()
        self._renewed()

    def close(self) -> None:
        """Start none any more, and close every environment."""
        self._process.keep_no_more()
        self._supervisor.close()
        self._process.close()
