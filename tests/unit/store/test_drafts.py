"""What is written beside its target is gone at the end, and with the next one where its process was killed."""

from __future__ import annotations

import errno
import fcntl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tracebench_runs.storage.drafts import draft_beside

WRITING = """
import sys
from pathlib import Path
from tracebench_runs.storage.drafts import draft_beside
with draft_beside(Path(sys.argv[1])) as draft:
    draft.mkdir()
    (draft / "part").write_text("x")
    print(draft.parent.name, flush=True)
    sys.stdin.read()
"""


@contextmanager
def another(target: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield a process that writes to the same target, with the name of its folder."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITING, str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_what_a_killed_process_left_goes_with_the_next_and_nothing_else(tmp_path: Path) -> None:
    mine = {".out[1].old", ".out[1].trace-bench", "out[1].trace-bench-x.part"}
    for name in mine:
        (tmp_path / name).mkdir()
    with another(tmp_path / "out[1]") as (process, left), another(tmp_path / "out1") as (_, beside):
        assert names(tmp_path) == {*mine, left, beside}
        with draft_beside(tmp_path / "out[1]") as draft:
            assert names(tmp_path) == {*mine, left, beside, draft.parent.name}  # both are under way
        process.kill()
        process.wait()
        assert names(tmp_path) == {*mine, left, beside}
        with draft_beside(tmp_path / "out[1]") as draft:
            assert names(tmp_path) == {*mine, beside, draft.parent.name}
    assert names(tmp_path) == {*mine, beside}


def test_where_there_can_be_none_the_target_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, draft_beside(tmp_path / "none" / "out"):
        pass
    assert caught.value.filename == str(tmp_path / "none" / "out")


def test_where_nothing_can_be_held_it_is_written_and_nothing_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with another(tmp_path / "out") as (_, left):
        pass

    def refused(*_: object) -> None:
        raise OSError(errno.EBADF, "Bad file descriptor")

    monkeypatch.setattr(fcntl, "flock", refused)
    with draft_beside(tmp_path / "out") as draft:
        draft.write_text("x")
        draft.rename(tmp_path / "out")
    assert names(tmp_path) == {"out", left}
