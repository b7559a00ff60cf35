"""What the file system refuses a run is one sentence: what stopped it, what is kept, and what to type."""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path

import pytest

from tracebench_core.errors import RunDirError
from tracebench_runs.storage.disk import ENOUGH_FILES, disk_errors_explained
from tracebench_runs.storage.layout import RunLayout


def refused(layout: RunLayout, error: OSError) -> RunDirError:
    with pytest.raises(RunDirError) as caught, disk_errors_explained(layout):
        raise error
    assert caught.value.__cause__ is error
    return caught.value


@pytest.fixture
def layout(tmp_path: Path) -> RunLayout:
    return RunLayout(tmp_path / "run").create()


@pytest.mark.parametrize(
    ("code", "look"),
    [
        (errno.ENOSPC, "df -h {folder}"), (errno.EIO, "df -h {folder}"), (errno.EFBIG, "ulimit -f unlimited"),
        (errno.EMFILE, "ulimit -n 1024"),
        (errno.ENFILE, "cat /proc/sys/fs/file-nr"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("known", ["", "manifest", "mirror"])
def test_a_run_that_stops_is_resumed_and_one_that_did_not_begin_is_run(
    layout: RunLayout, code: int, look: str, known: str
) -> None:
    if known:
        file: Path = getattr(layout, known)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    err = refused(layout, OSError(code, os.strerror(code), "/full/file"))
    why = f"because `/full/file` cannot be used: {os.strerror(code)}."
    look = look.format(folder=layout.path)
    if known:
        assert str(err) == f"The run stopped, {why} What is finished is kept."
        assert err.hint == f"{look}; trace-bench resume {layout.path}"
    else:
        assert str(err) == f"The run did not begin, {why} There is nothing to resume."
        assert err.hint == f"{look}; trace-bench run --config FILE"


def test_an_error_that_names_no_file_is_of_the_runs_folder(layout: RunLayout) -> None:
    assert f"because `{layout.path}` cannot be used: full." in str(refused(layout, OSError(errno.ENOSPC, "full")))
    assert refused(layout, OSError("odd")).hint.startswith(f"df -h {layout.path}; ")


@pytest.mark.parametrize(
    ("most", "why", "look"),
    [
        (ENOUGH_FILES - 1, ": only 1023 files may be open at once", "ulimit -n 1024"),
        (0, ": only 0 files may be open at once", "ulimit -n 1024"),
        (ENOUGH_FILES, "", "trace-bench doctor"), (resource.RLIM_INFINITY, "", "trace-bench doctor"),
    ],
)  # fmt: skip
def test_a_process_that_ended_under_its_runner_lacked_open_files_where_few_are_allowed(
    layout: RunLayout, monkeypatch: pytest.MonkeyPatch, most: int, why: str, look: str
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (most, 9) if which == resource.RLIMIT_NOFILE else (5, 5))
    err = refused(layout, BrokenPipeError(errno.EPIPE, "Broken pipe"))
    assert str(err) == f"The run stopped, because one of its processes ended{why}. What is finished is kept."
    assert err.hint == f"{look}; trace-bench resume {layout.path}"


def test_what_is_no_error_of_the_file_system_is_passed_on(layout: RunLayout) -> None:
    with pytest.raises(KeyError), disk_errors_explained(layout):
        raise KeyError("x")
    with disk_errors_explained(layout):
        pass
