"""What is opened before evaluations and closed after them: a server, a container, a folder with a tool in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol


class EnvironmentContext(Protocol):
    """What an environment is opened with."""

    @property
    def workdir(self) -> Path:
        """A folder of its own, removed once it is closed."""
        ...

    @property
    def seed(self) -> int: ...
    @property
    def job_id(self) -> str | None:
        """None for scope `run`."""
        ...


class Environment(Protocol):
    """Opened at its first use and closed by the run's supervisor, also when the job or the runner has crashed.

    An environment may also offer `reclaim(handle)`: it ends what an earlier process has opened and could not close, because it was
    killed together with its supervisor.
    """

    def open(self, context: EnvironmentContext) -> Any:
        """Open it and return its handle: plain data (an address, a path), for that is what travels to jobs."""
        ...

    def close(self) -> None:
        """End everything that `open` began. Idempotent."""
        ...
