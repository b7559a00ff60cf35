"""A second executor, written from the contract alone: workers that share no memory with the run, and talk by files in its directory.

An order is a file in `pool/orders`, taken by renaming it; its end is a file in `pool/ends`. Installed by tests as the plugin `pool`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import ExecutorSetting, ExecutorSpec, JobOrder
from tracebench_engine.api import open_host
from tracebench_engine.api.executors import ending, lock_fds, run_order, unwritable

LOOK = 0.01


@hookimpl
def tracebench_executors() -> list[ExecutorSpec]:
    return [ExecutorSpec(name="pool", loader="fake_pool:PoolExecutor")]


@dataclass(frozen=True)
class End:
    order: JobOrder
    exit: Any
    detail: str


def put(path: Path, content: str) -> None:
    """Write a file that others see whole or not at all."""
    draft = path.with_name(f".{path.name}")
    draft.touch(mode=0o600)
    draft.write_text(content)
    draft.rename(path)


class PoolExecutor:
    """Hands orders to workers by files."""

    def __init__(self) -> None:
        self._folder = Path()
        self._cancelled: set[str] = set()
        self._workers: dict[str, subprocess.Popen[bytes]] = {}
        self._number = 0

    def run(self, orders: Iterator[JobOrder | None], *, setting: ExecutorSetting) -> Generator[End]:
        """Run orders as workers are free."""
        self._folder = Path(setting.run_dir, "pool")
        for name in ("orders", "ends", "cancel"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        put(self._folder / "setting.json", setting.model_dump_json())
        active: dict[str, JobOrder] = {}
        again: deque[JobOrder] = deque()
        try:
            while True:
                held = self._fill(active, again, orders, setting)
                if not (active or again or held):
                    return
                for order, exit_, detail in self._ended(active):
                    if exit_ == "unwritable":
                        raise unwritable(order, detail)
                    following = order.next_phase(exit_, detail)
                    if following is None:
                        yield End(order, exit_, detail)
                    else:
                        yield End(order, "trained", following.ended)
                        again.append(following)
                time.sleep(LOOK)
        finally:
            self._close()

    def cancel(self, job_id: str) -> None:
        """Leave word for the worker that has the job, or will."""
        self._cancelled.add(job_id)
        (self._folder / "cancel" / job_id).touch()

    def _fill(
        self,
        active: dict[str, JobOrder],
        again: deque[JobOrder],
        orders: Iterator[JobOrder | None],
        setting: ExecutorSetting,
    ) -> bool:
        while len(active) < setting.workers:
            try:
                order = again.popleft() if again else next(orders)
            except StopIteration:
                return False
            if order is None:
                return True
            if len(self._workers) < setting.workers:
                self._hire(setting)
            self._number += 1
            name = f"{self._number:08}.json"
            active[name] = order
            put(self._folder / "orders" / name, order.model_dump_json())
        return False

    def _hire(self, setting: ExecutorSetting) -> None:
        name = f"worker-{len(self._workers)}-{time.monotonic_ns()}"
        with (self._folder / "workers.log").open("ab") as log:
            self._workers[name] = subprocess.Popen(
                [sys.executable, "-c", "import fake_pool; fake_pool.work()", str(self._folder), name, str(os.getpid())],
                env=setting.environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=lock_fds(),
                start_new_session=True,
            )

    def _ended(self, active: dict[str, JobOrder]) -> Iterator[tuple[JobOrder, str, str]]:
        dead = [name for name, process in self._workers.items() if process.poll() is not None]
        for path in sorted((self._folder / "ends").glob("[!.]*")):
            told = json.loads(path.read_text())
            path.unlink()
            if path.name in active:
                yield active.pop(path.name), told["exit"], told["detail"]
        for worker in dead:
            del self._workers[worker]
            for taken in self._folder.glob(f"{worker}/*.json"):
                taken.unlink()
                if taken.name in active:
                    yield active.pop(taken.name), "lost", "the process ended with its worker"

    def _close(self) -> None:
        (self._folder / "stop").touch()
        for process in self._workers.values():
            process.wait()
        self._workers.clear()
        shutil.rmtree(self._folder)


def work() -> None:
    """Serve as one worker: take an order, run it in a child, say how it ended; end when told, or when the run is gone."""
    folder, name, boss = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    setting = ExecutorSetting.model_validate_json((folder / "setting.json").read_text())
    host = open_host(root=Path(setting.root) if setting.root else None, plugins=setting.plugins)
    for plugin in setting.load:
        host.load(plugin)
    for module in setting.preload:
        try:
            import_module(module)
        except Exception as err:  # noqa: BLE001 - the job that needs it says so
            print(f"not preloaded: {module}: {err}")
    _adopt_orphans()
    mine = folder / name
    mine.mkdir()

    def over() -> bool:
        return (folder / "stop").exists() or os.getppid() != boss

    while not over():
        order, taken = _take(folder, mine)
        if order is None or taken is None:
            time.sleep(LOOK)
            continue
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.setsid()
                code = run_order(order, host)
            except BaseException:  # noqa: BLE001 - a forked process ends here
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(code)
        exit_, detail = _watch(pid, order, cancelled=folder / "cancel" / order.job.job_id, over=over)
        _kill_what_is_left()
        taken.unlink()
        if folder.exists():
            put(folder / "ends" / taken.name, json.dumps({"exit": exit_, "detail": detail}))


def _take(folder: Path, mine: Path) -> tuple[JobOrder | None, Path | None]:
    for path in sorted((folder / "orders").glob("[!.]*")):
        try:
            path.rename(mine / path.name)
        except FileNotFoundError:
            continue  # another worker was quicker
        return JobOrder.model_validate_json((mine / path.name).read_text()), mine / path.name
    return None, None


def _watch(pid: int, order: JobOrder, *, cancelled: Path, over: Any) -> tuple[str, str]:
    due = time.monotonic() + order.time_limit if order.time_limit else None
    asked, kill_at = "", 0.0
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return ending(os.waitstatus_to_exitcode(status), asked=asked)
        now = time.monotonic()
        why = "cancelled" if cancelled.exists() or over() else "timeout" if due is not None and now >= due else ""
        if why and not asked:
            asked, kill_at = why, now + order.grace
            os.killpg(pid, signal.SIGTERM)
        elif asked and now >= kill_at:
            os.killpg(pid, signal.SIGKILL)
        time.sleep(LOOK)


def _adopt_orphans() -> None:
    import ctypes

    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: whoever a job leaves behind becomes our child


def _kill_what_is_left() -> None:
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    while left := children.read_text().split():
        for pid in left:
            os.kill(int(pid), signal.SIGKILL)
            os.waitpid(int(pid), 0)
