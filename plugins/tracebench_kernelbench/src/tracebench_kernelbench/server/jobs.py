"""The queue: jobs in the order of arrival, a thread and a worker process per device."""

from __future__ import annotations

import json
import os
import secrets
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections import OrderedDict, deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

State = Literal["queued", "running", "completed", "failed"]
_KEPT = 10_000
"""Finished jobs that are remembered."""
_CANCELLED = "It was cancelled."
_ATTEMPTS = 2
"""Workers that may die on one job before the job is given up."""


class QueueFullError(Exception):
    """More jobs wait than the queue takes."""


@dataclass(slots=True)
class Job:
    """One submission."""

    order: dict[str, Any]
    """See `orders.Order`."""
    timeout: float
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    status: State = "queued"
    verdict: dict[str, Any] | None = None
    error: str | None = None
    device: str | None = None
    attempts: int = 0
    cancelled: bool = False
    queued_at: float = field(default_factory=time.time)
    started_at: float | None = None
    completed_at: float | None = None


class Jobs:
    """Thread-safe. `close` ends the workers; jobs that wait then are lost, and whoever asks for one gets to know that."""

    def __init__(self, devices: list[str], *, most_waiting: int = 10_000) -> None:
        self._known: OrderedDict[str, Job] = OrderedDict()
        self._waiting: deque[Job] = deque()
        self._change = threading.Condition()
        self._most = most_waiting
        self._closed = False
        self.workers = {device: Worker() for device in devices}
        self.running: dict[str, Job | None] = dict.fromkeys(devices)
        self._threads = [threading.Thread(target=self._serve, args=(device,), daemon=True) for device in devices]
        for thread in self._threads:
            thread.start()

    def submit(self, job: Job) -> None:
        """Put a job at the end of the queue.

        Raises:
            QueueFullError: when too many wait.
        """
        with self._change:
            if len(self._waiting) >= self._most:
                raise QueueFullError
            self._known[job.id] = job
            self._waiting.append(job)
            self._change.notify()

    def get(self, job_id: str) -> Job | None:
        """Return a job, or None when it is unknown."""
        with self._change:
            return self._known.get(job_id)

    def cancel(self, job_id: str) -> Job | None:
        """Take a job out of the queue, or kill the worker that judges it; return the job, None when it is unknown."""
        with self._change:
            job = self._known.get(job_id)
            if job is None or job.completed_at is not None:
                return job
            job.cancelled = True
            if job in self._waiting:
                self._waiting.remove(job)
                self._settle(job, {"error": _CANCELLED})
            for device, running in self.running.items():
                if running is job:
                    self.workers[device].kill()
            return job

    def finished(self, most: int) -> list[Job]:
        """Return the last finished jobs, the oldest first."""
        with self._change:
            return [job for job in self._known.values() if job.completed_at is not None][-most:]

    def counts(self) -> dict[str, int]:
        """Return how many jobs wait, run and have ended."""
        with self._change:
            done = sum(job.completed_at is not None for job in self._known.values())
            running = sum(job is not None for job in self.running.values())
            return {"queued_jobs": len(self._waiting), "active_jobs": running, "completed_jobs": done}

    def close(self) -> None:
        """End everything."""
        with self._change:
            self._closed = True
            self._change.notify_all()
        for worker in self.workers.values():
            worker.close()
        for thread in self._threads:
            thread.join()
        for worker in self.workers.values():
            worker.end()

    def _serve(self, device: str) -> None:
        while True:
            with self._change:
                while not self._waiting and not self._closed:
                    self._change.wait()
                if self._closed:
                    return
                job = self.running[device] = self._waiting.popleft()
                job.status, job.device, job.started_at = "running", device, time.time()
                job.attempts += 1
            answer = self.workers[device].ask(job)
            with self._change:
                self.running[device] = None
                if answer is None and job.cancelled:
                    self._settle(job, {"error": _CANCELLED})
                elif answer is None and job.attempts < _ATTEMPTS:  # its worker died; in its old place it tries another
                    job.status = "queued"
                    self._waiting.appendleft(job)
                else:
                    self._settle(job, answer or {"error": f"The worker died on this job {job.attempts} times."})

    def _settle(self, job: Job, answer: dict[str, Any]) -> None:
        job.verdict, job.error = answer.get("verdict"), answer.get("error")
        job.status = "completed" if job.verdict is not None else "failed"
        job.completed_at = time.time()
        while len(self._known) - len(self._waiting) > _KEPT:
            oldest = next(job for job in self._known.values() if job.completed_at is not None)
            del self._known[oldest.id]


class Worker:
    """A worker process that is started when it is needed, and anew when it is gone."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    @property
    def pid(self) -> int:
        """Of the process; 0 while there is none."""
        return self._process.pid if self._process is not None and self._process.poll() is None else 0

    def ask(self, job: Job) -> dict[str, Any] | None:
        """Return what a worker says of a job, `error` when it took too long, None when it died."""
        deadline = time.monotonic() + job.timeout
        try:
            process = self._open()
            assert process.stdin is not None  # noqa: S101 - it is a pipe
            process.stdin.write(json.dumps(job.order).encode() + b"\n")
            process.stdin.flush()
            line = _read_line(process, deadline)
        except OSError:
            line = b""
        if line is None:
            self.end()
            return {"error": f"It took longer than {job.timeout:g} s."}
        try:
            answer = json.loads(line)
        except ValueError:
            self.end()
            return None
        return dict(answer)

    def kill(self) -> None:
        """Have the process die, whatever it judges; the thread that waits for its answer gets none."""
        process = self._process
        if process is not None and process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Have the process die and start no other; `end` it once nobody asks it any more."""
        self._closed = True
        self.kill()

    def _open(self) -> subprocess.Popen[bytes]:
        if not self.pid:
            self.end()
            if self._closed:
                raise OSError("the server is closing")
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "tracebench_kernelbench.server.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            if self._closed:  # meanwhile, by who saw no process yet
                self.kill()
        assert self._process is not None  # noqa: S101 - it has just been started
        return self._process

    def end(self) -> None:
        """End the process. Whoever waits for its answer at the time would wait on, as its pipes are closed."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


def _read_line(process: subprocess.Popen[bytes], deadline: float) -> bytes | None:
    """Return a line, or less when the process ends, or None when the time is over."""
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    found = bytearray()
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdout, selectors.EVENT_READ)
        while not found.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not waiting.select(left):
                return None
            data = os.read(process.stdout.fileno(), 1 << 16)
            if not data:
                break
            found += data
    return bytes(found)
