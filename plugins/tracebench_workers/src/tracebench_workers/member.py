"""A worker at work: it runs what it is ordered with this machine's own executor, one phase of a job at a time, and sends the files back."""

from __future__ import annotations

import os
import queue
import shutil
import signal
import socket
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from tracebench_core.contracts import Executor, JobEnd
from tracebench_core.specs import ExecutorSetting, JobOrder
from tracebench_engine.api import load_ref, open_host
from tracebench_engine.api.configs import absolute_root
from tracebench_engine.api.executors import job_environ
from tracebench_engine.api.programs import scratch_folder
from tracebench_workers.fitting import boot, lacking
from tracebench_workers.line import Ending, Line, Order
from tracebench_workers.parcels import OWN_FAULTS, ParcelError, pack, unpack
from tracebench_workers.sandboxes import Sandboxes
from tracebench_workers.shared import Corner, FolderGoneError, NotSharedError
from tracebench_workers.ticket import Ticket
from tracebench_workers.waking import Awake

MOMENT = 0.05
"""Seconds between two looks whether the run has let this worker in."""
IDLE = 0.5
"""Seconds between two looks whether the run is over, where no job runs here; an order that comes is taken at once."""


class OnePhase(JobOrder):
    """An order of whose end the run decides what follows: what scoring needs comes with the order of the scoring."""

    def next_phase(self, exit_: str, detail: str) -> None:
        """Let no phase follow here."""


class Left(NamedTuple):
    """How a worker left its run."""

    why: str
    ending: Ending


class Member:
    """One worker of one run."""

    def __init__(
        self, ticket: Ticket, *, jobs: int, name: str, root: Path | None, folder: Path, session: str = ""
    ) -> None:
        told = absolute_root(root)
        self._root = Path(told) if told is not None else None
        self._folder = folder
        self._jobs = jobs
        self._setting: ExecutorSetting | None = None
        self.session = session or uuid.uuid4().hex
        self._corner: Corner | None = None
        hello = {
            "kind": "worker",
            "session": self.session,
            "name": name or f"{socket.gethostname()}-{os.getpid()}",
            "slots": jobs,
            "boot": boot(),
            "host": socket.gethostname(),
        }
        self._line = Line(ticket, hello, self)
        self._numbers: dict[str, int] = {}
        self._shared: set[int] = set()
        """Orders whose files go where the run sees them."""
        self._cancelled: set[int] = set()
        self._local: Executor | None = None
        self._over = ""
        self._ending: Ending = "over"
        self._asked = ""

    def work(self) -> Left:
        """Work until the run is over, or until told to end."""
        for asked in (signal.SIGTERM, signal.SIGINT):
            signal.signal(asked, self._stop)
        self._line.start()
        with scratch_folder("worker") as here:
            try:
                while not (self._over or (self._setting is not None and self._line.is_in)):
                    time.sleep(MOMENT)
                if self._setting is not None and not self._over:
                    self._serve(self._setting.model_copy(update={"run_dir": str(here / "run")}), here)
            except KeyboardInterrupt:
                self._line.leave(self._asked or "it was told to end")
                return Left(self._asked or "it was told to end", "told")
            except BaseException as err:
                self._line.leave(f"it broke, {type(err).__name__}: {err}")
                raise
            finally:
                self.leave_folder()
        return Left(self._over, self._ending)

    def leave_folder(self) -> None:
        """Leave nothing in the folder that the run has offered."""
        if self._corner is not None:
            self._corner.close()

    def stop(self, why: str) -> None:
        """End as by SIGTERM, from any thread."""
        self._asked = why
        os.kill(os.getpid(), signal.SIGTERM)

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        for asked in (signal.SIGTERM, signal.SIGINT):
            signal.signal(asked, signal.SIG_IGN)
        raise KeyboardInterrupt

    def check(self, welcome: dict[str, Any]) -> dict[str, Any]:
        """See `Listener`."""
        setting = ExecutorSetting.model_validate(welcome["setting"])
        update = {
            "root": str(self._root) if self._root else None,
            "workers": self._jobs,
            "environ": job_environ(self._folder),
        }
        self._setting = setting.model_copy(update=update)
        if lacks := lacking(welcome["needs"], self._setting):
            return {"lacks": lacks}
        return self._met(welcome.get("folder"), must=bool(welcome.get("must_share")))

    def _met(self, offer: dict[str, str] | None, *, must: bool) -> dict[str, Any]:
        if offer is None:
            return {"fits": True}
        try:
            self._corner = Corner(offer, self.session)
        except NotSharedError as err:
            mend = "mount it here under that path, or start the run with `files: auto`"
            return (
                {"lacks": f"the run directory is not shared with this machine: {err}; {mend}"}
                if must
                else {"fits": True}
            )
        return {"fits": True, "seen": self._corner.proof}

    def cancel(self, number: int) -> None:
        """See `Listener`."""
        self._cancelled.add(number)
        for job_id, known in [*self._numbers.items()]:
            if known == number and self._local is not None:
                self._local.cancel(job_id)

    def over(self, why: str, ending: Ending) -> None:
        """See `Listener`."""
        self._over, self._ending = why, ending
        for number in [*self._numbers.values()]:
            self.cancel(number)

    def _serve(self, setting: ExecutorSetting, here: Path) -> None:
        jobs = Path(setting.run_dir, "jobs")
        jobs.mkdir(parents=True)
        build = load_ref(open_host().component("executor", "local").loader, owner="local")
        self._local = local = build(Awake(self._line.wake))
        with Sandboxes(here, root=self._root, plugins=setting.plugins) as sandboxes:
            ends = local.run(self._orders(jobs, sandboxes), setting=setting)
            try:
                for end in ends:
                    self._tell(end, is_lost=end.exit == "lost" or sandboxes.has_died(end.order.job.job_id))
            finally:
                ends.close()

    def _tell(self, end: JobEnd, *, is_lost: bool) -> None:
        """Tell the run of an end, with the job's files, or with word that they are where it sees them."""
        job_id = end.order.job.job_id
        number = self._numbers.pop(job_id)
        jobs = Path(end.order.run_dir, "jobs")
        parcel, detail = b"", end.detail
        is_shared = number in self._shared
        self._shared.discard(number)
        if is_shared and self._corner is not None:
            self._corner.demand()
        if not is_lost and not is_shared:
            try:
                parcel = pack(jobs, [job_id])
            except ParcelError as err:
                is_lost, detail = True, str(err)
        self._line.tell_end(number, "lost" if is_lost else end.exit, detail, parcel)
        may_go_on = end.order.phase == "train" and end.exit != "cancelled"  # its scoring may follow here
        if is_lost or not (is_shared or may_go_on):
            shutil.rmtree(jobs / job_id, ignore_errors=True)

    def _orders(self, jobs: Path, sandboxes: Sandboxes) -> Iterator[JobOrder | None]:
        while not self._over:
            try:
                heard = self._line.heard.get(block=not self._numbers, timeout=IDLE)
            except queue.Empty:
                yield None
                continue
            number = heard.words["number"]
            try:
                order = self._taken(heard, jobs, sandboxes)
            except Exception as err:  # an order that one worker cannot take is not to end it, and then the next
                if isinstance(err, FolderGoneError) or (isinstance(err, OSError) and err.errno in OWN_FAULTS):
                    raise
                self._line.tell_end(
                    number, "lost", f"the worker could not take the order: {type(err).__name__}: {err}", b""
                )
                continue
            self._numbers[order.job.job_id] = number
            if number in self._cancelled or self._over:
                self.cancel(number)
            yield order

    def _taken(self, heard: Order, jobs: Path, sandboxes: Sandboxes) -> OnePhase:
        order = OnePhase.model_validate_json(heard.words["order"])
        copies = heard.words.get("copies")
        if copies is None:
            unpack(heard.body, jobs)
        elif self._corner is None:
            raise ParcelError("the run takes this worker for one that shares its folder")
        else:
            jobs = self._corner.path / "jobs"
            self._corner.demand()
            self._corner.copy(copies)
            self._shared.add(heard.words["number"])
        if order.phase == "train":
            shutil.rmtree(jobs / order.job.job_id, ignore_errors=True)
        return sandboxes.held(self._here(order, heard.words["seconds"], jobs))

    def _here(self, order: OnePhase, seconds: float | None, jobs: Path) -> OnePhase:
        """Return an order with this machine's addresses in place of the run's."""
        access = order.access
        if access is not None:
            access = {**access, "base_url": f"http://127.0.0.1:{self._line.port}/v1"}
        deadline = None if seconds is None else time.monotonic() + seconds
        update = {
            "access": access,
            "run_dir": str(jobs.parent),
            "root": str(self._root) if self._root else None,
            "limits": order.limits.model_copy(update={"deadline": deadline}),
        }
        return order.model_copy(update=update)
