import errno
import fcntl
import os
import subprocess
import sys
import time

import pytest

from tracebench_core.errors import RunDirError
from tracebench_runs.storage import lock
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.lock import RunLock

HOLD = """
import sys, pathlib, time
from tracebench_runs.storage.lock import RunLock
with RunLock(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""
HOLD_IN_A_CHILD = """
import os, sys, pathlib, time
from tracebench_runs.storage.lock import RunLock
RunLock(pathlib.Path(sys.argv[1])).acquire()
if os.fork():
    print("held", flush=True)
    os._exit(0)
time.sleep(float(sys.argv[2]))
"""


def start(script, *args):
    process = subprocess.Popen([sys.executable, "-c", script, *map(str, args)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_runner_is_refused_and_told_who_holds_the_run(tmp_path):
    holder = start(HOLD, tmp_path)
    try:
        with pytest.raises(RunDirError, match=f"in use by process {holder.pid}"), RunLock(tmp_path):
            pass
    finally:
        holder.kill()
        holder.communicate()
    with RunLock(RunLayout(tmp_path)):
        assert (tmp_path / ".lock").read_text() == f"{os.getpid()}\n"


def test_two_locks_in_one_process_exclude_each_other(tmp_path):
    with RunLock(tmp_path), pytest.raises(RunDirError, match=str(os.getpid())):
        RunLock(tmp_path).acquire()
    with RunLock(tmp_path) as held:
        held.release()
        held.release()
        RunLock(tmp_path).acquire()


def test_the_leftovers_of_a_dead_runner_are_waited_for(tmp_path):
    runner = start(HOLD_IN_A_CHILD, tmp_path, 1.0)
    runner.wait()
    started = time.monotonic()
    with RunLock(tmp_path):
        assert time.monotonic() - started < lock.PATIENCE
    runner.communicate()


def test_leftovers_that_stay_are_not_waited_for_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "PATIENCE", 0.1)
    process = start(HOLD_IN_A_CHILD, tmp_path, 1.5)
    process.wait()
    with pytest.raises(RunDirError, match="held by helpers"):
        RunLock(tmp_path).acquire()
    process.communicate()


def test_a_folder_that_cannot_be_written_is_refused_with_words(tmp_path):
    with pytest.raises(RunDirError, match="cannot be written"):
        RunLock(tmp_path / "missing").acquire()
    (tmp_path / "file").touch()
    with pytest.raises(RunDirError, match="cannot be created"):
        RunLayout(tmp_path / "file" / "run").create()


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks_is_told_as_such(tmp_path, monkeypatch, code):
    def flock(fd, how):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(RunDirError, match="cannot lock files") as refused:
        RunLock(tmp_path).acquire()
    assert "--runs-dir" in refused.value.hint
    assert lock.holder_of(RunLayout(tmp_path)) is None
