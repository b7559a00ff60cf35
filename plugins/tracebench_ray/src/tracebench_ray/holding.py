"""The process that holds a run's workers in Ray, as its driver: places them, tells what becomes of them, and ends them with the run.

It reads one order, then lines: a number of further workers, or `leave`. When there is no more to read, it ends.
"""

from __future__ import annotations

import os
import queue
import socket
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import IO, Any

import ray
from ray.exceptions import RayError, RayTaskError

from tracebench_ray.seat import Seat
from tracebench_ray.words import Cluster, Order, Told, cluster_of, in_words
from tracebench_workers.ticket import Ticket

ATTEMPTS = 3
"""To start Ray on this machine: its raylet breaks where another of its processes takes 15 seconds to begin, as on a busy machine."""
LONGEST_FOLDER = 28
LOOPBACK = "127.0.0.2"
"""Ray takes 127.0.0.1 for a wish to be reached from elsewhere."""
ANSWER = 20.0
"""Seconds that a cluster's head may take to let a connection in."""
TICK = 0.5
RAYLET = 20.0
"""Seconds between two looks at this machine's raylet, while nothing tells that it may be dead."""
LEAVING = 10.0
"""Seconds in which workers that heard that the run is over may leave by themselves."""
ENDING = 40.0
"""Seconds that the others may take to end their jobs."""
Lines = queue.SimpleQueue[str | None]


def main() -> None:
    """Serve one run."""
    told = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # Ray prints there

    def tell(news: Told) -> None:
        print(news.model_dump_json(exclude_defaults=True), file=told, flush=True)

    order = Order.model_validate_json(sys.stdin.readline())
    lines: Lines = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin, lines), daemon=True).start()
    seats = None
    with tempfile.TemporaryDirectory(prefix="tb-ray-", dir=_short_folder(), ignore_cleanup_errors=True) as folder:
        try:
            if why := _connect(order, folder):
                tell(Told(absent=why))
                return
            cluster = cluster_of([node["Resources"] for node in ray.nodes() if node["Alive"]], order.asked)
            if why := _refusal(order, cluster):
                tell(Told(refused=why))
                return
            tell(Told(cluster=cluster))
            if order.ticket:
                seats = Seats(_reached(order), tell)
                seats.serve(lines)
        finally:
            if seats is not None:
                seats.close()
            ray.shutdown()


def _short_folder() -> str:
    """Return where the sockets of a Ray may be: the name of one has 107 bytes at most, of which Ray takes most."""
    found = tempfile.gettempdir()
    return found if len(os.fsencode(found)) <= LONGEST_FOLDER else "/tmp"  # noqa: S108 - a folder of a new name in it


def _read(source: IO[str], lines: Lines) -> None:
    for line in source:
        lines.put(line.strip())
    lines.put(None)


def _connect(order: Order, folder: str) -> str:
    """Connect to the cluster, or start one of this machine's that ends with this process; return why that cannot be."""
    which: dict[str, Any] = {"address": order.address}
    if not order.address:
        cpus = order.processors or len(os.sched_getaffinity(0))
        which = {"_node_ip_address": LOOPBACK, "_temp_dir": folder, "num_cpus": cpus, "include_dashboard": False}
    elif why := _silence(order.address):
        return why
    why = ""
    for _ in range(1 if order.address else ATTEMPTS):
        try:
            ray.init(**which, namespace=f"trace-bench-{uuid.uuid4().hex}", log_to_driver=True, configure_logging=False)
        except Exception as err:  # noqa: BLE001 - Ray raises what it likes
            why = _line(err)
            ray.shutdown()
        else:
            return ""
    where = (
        f"The Ray cluster at `{order.address}` takes no work from here" if order.address else "Ray does not start here"
    )
    return f"{where}: {why}."


def _silence(address: str) -> str:
    """Return that nothing answers at an address: Ray would try for minutes."""
    host, _, port = address.rpartition(":")
    if not (host and port.isdigit()):
        return ""
    try:
        socket.create_connection((host, int(port)), ANSWER).close()
    except OSError as err:
        return f"No Ray cluster answers at `{address}`: {err.strerror or err}."
    return ""


def _refusal(order: Order, cluster: Cluster) -> str:
    if cluster.places or order.grows:
        return ""
    grows = " If it adds nodes by demand: -o plugins.options.ray.grows=true." if order.address else ""
    return (
        f"No node of this Ray cluster has what one worker takes ({order.asked}): the most that any has is"
        f" {in_words(cluster.largest)}.{grows}"
    )


def _reached(order: Order) -> Order:
    """Return an order whose ticket names the address that this machine has in the cluster."""
    if not order.reach:
        return order
    host = ray.util.get_node_ip_address()
    return order.model_copy(update={"ticket": str(replace(Ticket.parse(order.ticket), host=host))})


def _line(err: BaseException) -> str:
    """Return the first line of what went wrong that says anything."""
    found = [line.strip() for line in str(err).splitlines() if line.strip()]
    return found[0].rstrip(".") if found else type(err).__name__


@dataclass(frozen=True, slots=True)
class Taken:
    """A worker that Ray places, or has placed."""

    actor: Any
    session: str
    placed: Any
    """A reference that is there when it has a place."""
    ended: Any
    """A reference that is there when the worker has ended."""


class Seats:
    """All workers of one run."""

    def __init__(self, order: Order, tell: Callable[[Told], None]) -> None:
        asked = order.asked
        options = {"num_cpus": asked.cpus, "num_gpus": asked.gpus, "resources": asked.more}
        if asked.memory is not None:
            options["memory"] = asked.memory
        actor = ray.remote(max_restarts=0, max_task_retries=0, max_concurrency=3)(Seat)
        self._kind = actor.options(**options)
        self._order = order.model_dump_json()
        self._tell = tell
        self._count = 0
        self._taken: list[Taken] = []
        self._is_leave = False
        self._waiting = 0
        own = ray.get_runtime_context().get_node_id()
        self._raylet = next(node["RayletSocketName"] for node in ray.nodes() if node["NodeID"] == own)
        self._looked = time.monotonic()
        self._place(order.number)

    def serve(self, lines: Lines) -> None:
        """Place what is wanted and tell what becomes of it, until nobody wants any more."""
        while True:
            try:
                line = lines.get(timeout=TICK)
            except queue.Empty:
                if not self._look():
                    return
                continue
            if line is None or line == "leave":
                self._is_leave = line is not None
                return
            self._place(int(line))

    def close(self) -> None:
        """End all: those that were told that the run is over by themselves."""
        if self._is_leave:
            self._wait(LEAVING)
        for taken in self._taken:
            taken.actor.end.remote()
        self._wait(ENDING)
        for taken in self._taken:
            ray.kill(taken.actor)

    def _place(self, number: int) -> None:
        for _ in range(number):
            session = uuid.uuid4().hex
            actor = self._kind.remote()
            self._count += 1
            name = f"ray-{self._count}"
            self._taken.append(
                Taken(actor, session, actor.where.remote(), actor.hold.remote(self._order, name, session))
            )

    def _look(self) -> bool:
        """Tell what became of workers; return whether this process can have any more placed."""
        over = _ready([taken.ended for taken in self._taken], 0.0)[0]
        if self._is_cut_off(is_likely=bool(over)):
            return False
        for taken in self._taken:
            if taken.ended in over:
                self._tell(_what_became(taken))
                ray.kill(taken.actor)
        self._taken = [taken for taken in self._taken if taken.ended not in over]
        placed, _ = _ready([taken.placed for taken in self._taken], 0.0)
        waiting = len(self._taken) - len(placed)
        if waiting != self._waiting:
            self._waiting = waiting
            self._tell(Told(waiting=waiting))
        return True

    def _is_cut_off(self, *, is_likely: bool) -> bool:
        """Whether the raylet of this machine is dead: then whoever started this process starts another."""
        if not is_likely and time.monotonic() - self._looked < RAYLET:
            return False
        self._looked = time.monotonic()
        with socket.socket(socket.AF_UNIX) as knock:
            knock.settimeout(TICK)
            try:
                knock.connect(self._raylet)
            except TimeoutError:
                return False
            except OSError:
                return True
        return False

    def _wait(self, seconds: float) -> None:
        """Wait for those that have a place."""
        placed, _ = _ready([taken.placed for taken in self._taken], 0.0)
        _ready([taken.ended for taken in self._taken if taken.placed in placed], seconds)


def _ready(references: list[Any], seconds: float) -> tuple[list[Any], list[Any]]:
    if not references:
        return [], []
    found, left = ray.wait(references, num_returns=len(references), timeout=seconds, fetch_local=False)
    return found, left


def _what_became(taken: Taken) -> Told:
    try:
        code = ray.get(taken.ended)
    except RayTaskError as err:
        return Told(
            ended=taken.session, gone=f"a worker could not start: {_line(err.cause) if err.cause else _line(err)}"
        )
    except RayError as err:
        return Told(gone=f"a worker's place in Ray: {_line(err)}")
    return Told(ended=taken.session, gone=f"a worker (exit code {code})")
