"""A llama.cpp server as an environment of a run: opened, watched, and started again on its port should it die."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from tracebench_core.contracts import EnvironmentContext, NotMeasured
from tracebench_local.weights import find_weights

START_SECONDS = 180.0
"""How long the weights may take to load."""
END_SECONDS = 5.0
MOST_STARTS = 5
OK = 200


class LlamaServer:
    """One server, in a process that ends with the one that holds the environments. The handle is its address."""

    def __init__(self, *, model: str, slots: int = 2, context: int = 2048) -> None:
        """Take the model's name or file, how many requests it answers at a time, and the tokens of context that each may have."""
        self._model = model
        self._slots = slots
        self._context = context
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closed = threading.Event()
        self._lock = threading.Lock()

    def open(self, context: EnvironmentContext) -> str:
        """Start the server, and wait until it answers.

        Raises:
            MissingRequirementError: the weights are not here.
            NotMeasured: it ended, or did not answer in time.
        """
        weights = find_weights(self._model)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port: int = free.getsockname()[1]
        log = context.workdir / "llama.log"
        self._process = self._start(weights, port, log)
        deadline = time.monotonic() + START_SECONDS
        while not _is_ready(port):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.close()
                last = log.read_text(errors="replace").strip().splitlines()[-1:]
                raise NotMeasured(
                    f"the llama.cpp server for `{self._model}` does not answer: {' '.join(last)}", retry=False
                )
            time.sleep(0.1)
        threading.Thread(target=self._watch, args=(weights, port, log), daemon=True).start()
        return f"http://127.0.0.1:{port}/v1"

    def close(self) -> None:
        """End the server. Idempotent."""
        self._is_closed.set()
        with self._lock:
            process = self._process
        if process is None:
            return
        process.terminate()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdin is not None:
            process.stdin.close()

    def _start(self, weights: Path, port: int, log: Path) -> subprocess.Popen[bytes]:
        told = [str(weights), str(port), str(self._slots), str(self._context)]
        with log.open("ab") as sink:
            return subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-P", "-m", "tracebench_local", *told], stdin=subprocess.PIPE, stdout=sink, stderr=sink
            )

    def _watch(self, weights: Path, port: int, log: Path) -> None:
        """Start the server again when it has died; callers meanwhile are refused, and ask again."""
        for _ in range(MOST_STARTS):
            died = self._process
            if died is not None:
                died.wait()
                if died.stdin is not None:
                    died.stdin.close()
            with self._lock:
                if self._is_closed.is_set():
                    return
                self._process = self._start(weights, port, log)


def address(_model: str, handle: str) -> str:
    """Return the address at which the server is asked."""
    return handle


def _is_ready(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == OK
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
