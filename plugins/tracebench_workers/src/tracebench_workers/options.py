"""The options of a run that serves workers."""

from __future__ import annotations

import errno
import math
import os
import re
import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from tracebench_core.errors import ConfigError, UsageError
from tracebench_core.specs import Resources, RunConfig

MOST_PORT = (1 << 16) - 1
EVERYWHERE = frozenset({"0.0.0.0", "::", "[::]", "*"})  # noqa: S104 - compared
"""What listens at all addresses of a machine."""
_NOT_HERE = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
"""What a machine answers that has no such address, or no such kind of addresses."""
_TRIES = 20
"""Ports that are tried where any would do: one that is free at one address may be taken at another."""


def bare(host: str) -> str:
    """Return a host as sockets take it: an address of IPv6 stands in brackets before a port."""
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def is_host(name: str) -> bool:
    """Tell whether a machine may have a name: of one that no name server can know, Python raises what is no error of a network."""
    try:
        name.encode("idna")
    except UnicodeError:
        return False
    return True


def _is_address(text: str) -> str:
    found = re.fullmatch(r"[^\s/]+:0*(\d{1,5})", text)
    if text and (found is None or int(found[1]) > MOST_PORT or not is_host(text.rpartition(":")[0])):
        raise ValueError(f"`{text}` is no ADDRESS:PORT, such as 0.0.0.0:7400")
    return text


Address = Annotated[str, AfterValidator(_is_address)]
"""`ADDRESS:PORT`, or nothing."""


class Serving(BaseModel):
    """How any run serves workers, whoever starts them."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    plugin: ClassVar[str] = "workers"
    """Whose options they are: `plugins.options.<plugin>`."""

    listen: Address = ""
    """Address and port at which workers may join, such as `0.0.0.0:7400`; empty: one of this machine's loopback alone."""
    reach: Address = ""
    """Where workers find that address, if they know it by another name: `head.cluster:7400`."""
    ticket: str = ""
    """A file for the ticket with which workers join, for its owner alone; empty: a temporary one, whose path is told."""
    lease: float = Field(default=30.0, ge=2.0, le=3600.0)
    """Seconds for which a worker may be silent until its jobs are run elsewhere; before that it ends them itself."""

    files: Literal["auto", "shared", "streamed"] = "auto"
    """`shared`: jobs write into the run directory, which each worker must see; `streamed`: their files go over the connection; `auto`:
    the former where a worker sees it."""


class Placing(Serving):
    """How a run has workers placed by something else, each alike."""

    workers: int = Field(default=0, ge=0, le=1000)
    """Workers; 0: as many as `max_workers` jobs at a time take."""
    jobs: int = Field(default=1, ge=1, le=1024)
    """Jobs at a time of each worker."""

    def number(self, max_workers: int) -> int:
        """Return how many workers a run starts."""
        return self.workers or math.ceil(max_workers / self.jobs)


class Options(Serving):
    """`plugins.options.workers` of a config."""

    start: int = Field(default=0, ge=0, le=256)
    """Workers that the run starts on its own machine; 0: one where it does not `listen`, none where it does."""


def checked(plugin: str, model: type[Serving], options: Mapping[str, Any]) -> None:
    """Read the options of a plugin that serves workers, so that a mistake is told before anything is run.

    Raises:
        ConfigError: for an option that there is not, or that says nothing.
    """
    try:
        model.model_validate(options)
    except ValidationError as err:
        first = err.errors()[0]
        where = ".".join(map(str, ("plugins", "options", plugin, *first["loc"])))
        known = ", ".join(model.model_fields)
        words = first["msg"].removeprefix("Value error, ")
        raise ConfigError(f"`{where}`: {words}.", hint=f"options of {plugin}: {known}") from err


def refuse_unheard(options: Serving) -> None:
    """Refuse an address at which this machine cannot listen, or not now.

    Raises:
        UsageError: with what would do instead.
    """
    if options.listen:
        for listener in listening(options):
            listener.close()


def listening(options: Serving) -> list[socket.socket]:
    """Return a listening socket for each address that is meant and is this machine's, all at the same port.

    Raises:
        UsageError: when none can be had, or the port is taken.
    """
    host, _, port = (options.listen or "127.0.0.1:0").rpartition(":")
    try:
        found = dict.fromkeys(
            socket.getaddrinfo(
                None if host == "*" else bare(host), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
        )
        tries = 1 if int(port) else _TRIES
        while True:
            try:
                return _at_one_port([(family, address) for family, _, _, _, address in found], int(port))
            except OSError as err:
                tries -= 1
                if not tries or err.errno != errno.EADDRINUSE:
                    raise
    except OSError as err:
        raise _unheard(options, err) from err


def _at_one_port(addresses: Sequence[tuple[int, tuple[Any, ...]]], port: int) -> list[socket.socket]:
    listeners: list[socket.socket] = []
    absent: OSError | None = None
    with ExitStack() as stack:
        for family, (host, _, *scope) in addresses:
            try:
                listener = stack.enter_context(_listener(family, (host, port, *scope)))
            except OSError as err:
                if err.errno not in _NOT_HERE:
                    raise
                absent = err
            else:
                port = listener.getsockname()[1]
                listeners.append(listener)
        if absent is not None and not listeners:
            raise absent
        stack.pop_all()
    return listeners


def _listener(family: int, address: tuple[Any, ...]) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen()
    except OSError:
        listener.close()
        raise
    return listener


def _unheard(options: Serving, err: OSError) -> UsageError:
    """Return in words why an address cannot be listened at, and what would do instead."""
    host, _, port = options.listen.rpartition(":")
    is_name = isinstance(err, socket.gaierror)
    words = str(err.strerror) if is_name or err.errno is None else os.strerror(err.errno)
    is_ours = err.errno in {errno.EADDRINUSE, errno.EACCES} and not is_name
    instead = f"{host}:0" if is_ours else f"0.0.0.0:{port}"
    return UsageError(
        f"`plugins.options.{options.plugin}.listen`: this machine cannot listen at `{options.listen}`: {words}.",
        hint=f"-o plugins.options.{options.plugin}.listen={instead}",
    )


def ready(config: RunConfig, _need: Resources) -> None:
    """Refuse a run that workers could not join.

    Raises:
        UsageError: when its address cannot be had.
    """
    refuse_unheard(Options.model_validate(config.plugins.options.get("workers", {})))


def outlook(config: RunConfig, _need: Resources) -> list[str]:
    """Return in sentences where jobs of a config would run."""
    options = Options.model_validate(config.plugins.options.get("workers", {}))
    number = options.start or (0 if options.listen else 1)
    found = (
        [f"{number} of its own on this machine, which may run {config.max_workers} jobs at a time"] if number else []
    )
    if options.listen:
        reach = f", as {options.reach}" if options.reach else ""
        ticket = options.ticket or "FILE"
        found.append(f"workers that join at {options.listen}{reach}: trace-bench worker --ticket {ticket} --jobs N")
    return found
