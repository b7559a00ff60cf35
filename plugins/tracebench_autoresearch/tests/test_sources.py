"""Files of an experiment: revisions, folders, what cannot be held, and a user's repository that is never touched."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tracebench_autoresearch.experiment import FILE, SystemExperiment, read_experiment
from tracebench_autoresearch.sources import snapshot as snapshots
from tracebench_autoresearch.sources.opening import open_snapshot
from tracebench_autoresearch.sources.snapshot import take_snapshot
from tracebench_core.errors import UsageError


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always")
    done = subprocess.run(["git", *who, "-C", str(folder), *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "train.py").write_text("x = 1\n")
    (folder / "logo.bin").write_bytes(bytes(range(256)))
    (folder / "run.sh").write_text("echo hi\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("train.py")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    git(folder, "tag", "v1")
    return folder


def test_a_revision_is_read_whole_and_not_the_working_tree(repo: Path) -> None:
    (repo / "train.py").write_text("x = 2\n")
    git(repo, "commit", "-qam", "second")
    (repo / "untracked.txt").write_text("mine")

    taken = take_snapshot(repo, "v1")

    assert taken.texts == {"train.py": "x = 1\n"}
    assert {path: entry.mode for path, entry in taken.entries.items()} == {
        "train.py": "100644",
        "logo.bin": "100644",
        "run.sh": "100755",
        "link": "120000",
    }
    assert taken.entries["logo.bin"].data == bytes(range(256))
    assert taken.revision == git(repo, "rev-parse", "v1")


def test_uncommitted_changes_of_what_is_edited_are_refused_unless_a_revision_is_named(repo: Path) -> None:
    (repo / "train.py").write_text("x = 2\n")

    with pytest.raises(UsageError, match=r"uncommitted changes in `train\.py`"):
        take_snapshot(repo, None, guarded=("train.py",))
    assert take_snapshot(repo, None, guarded=("other.py",)).texts["train.py"] == "x = 1\n"


def test_uncommitted_changes_of_anything_else_are_told(repo: Path, caplog: pytest.LogCaptureFixture) -> None:
    (repo / "run.sh").write_text("echo ho\n")

    take_snapshot(repo, None, guarded=("train.py",))

    assert "has uncommitted changes in `run.sh`: what is committed is measured" in caplog.text


def test_no_hook_runs_and_nothing_is_left_in_the_repository(repo: Path) -> None:
    marker = repo.parent / "hooked"
    for name in ("post-checkout", "post-index-change", "pre-commit", "fsmonitor-watchman"):
        hook = repo / ".git/hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
        hook.chmod(0o755)
    git(repo, "config", "core.fsmonitor", str(repo / ".git/hooks/fsmonitor-watchman"))
    before = sorted((p.name, p.stat().st_mtime_ns) for p in (repo / ".git").rglob("*"))

    take_snapshot(repo, None, guarded=("*",))

    assert not marker.exists()
    assert sorted((p.name, p.stat().st_mtime_ns) for p in (repo / ".git").rglob("*")) == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: {"folder": r / "gone"}, "does not exist"),
        (lambda r: {"revision": "v9"}, "has no revision `v9`"),
        (lambda r: {"revision": "--all"}, "has no revision `--all`"),
        (lambda r: {"folder": r.parent, "revision": "v1"}, "is no git repository"),
    ],
)
def test_what_cannot_be_read_is_said(repo: Path, change: Callable[[Path], dict[str, object]], words: str) -> None:
    changed = {"folder": repo, "revision": "v1", **change(repo)}

    with pytest.raises(UsageError, match=words):
        take_snapshot(Path(str(changed["folder"])), str(changed["revision"]) if changed["revision"] else None)


def test_submodules_and_huge_repositories_are_refused(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    subprocess.run(["git", "clone", "-q", str(repo), str(other)], check=True)
    git(other, "submodule", "add", "-q", str(repo), "part")
    git(other, "commit", "-qm", "part")

    with pytest.raises(UsageError, match="submodule `part`"):
        take_snapshot(other, None)
    monkeypatch.setattr(snapshots, "MOST_FILES", 3)
    with pytest.raises(UsageError, match="has 4 files"):
        take_snapshot(repo, None)


def test_a_remote_repository_is_cloned_once(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    experiment = SystemExperiment.model_validate(
        {"repo": repo.as_uri(), "revision": "v1", "editable": ["train.py"], "run": "sh run.sh", "metric": {"name": "m"}}
    )

    first = open_snapshot(experiment)
    repo.rename(tmp_path / "moved")

    assert open_snapshot(experiment).entries == first.entries


def experiment(folder: Path, prepare: str) -> SystemExperiment:
    (folder / FILE).write_text(f"editable: [a.txt]\nrun: sh a.txt\nmetric: {{name: m}}\nprepare: {prepare}\n")
    (folder / "a.txt").write_text("echo 1\n")
    return read_experiment(folder / FILE)


def test_preparing_happens_once_per_revision_and_says_which_step_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder, log = tmp_path / "e", tmp_path / "log"
    folder.mkdir()
    good = experiment(folder, f"{{steps: [[sh, -c, 'echo once >> {log}; mkdir d; echo made > d/x']], keep: ['d/*']}}")

    assert [open_snapshot(good).texts["d/x"] for _ in range(2)] == ["made\n"] * 2
    assert log.read_text() == "once\n"
    for prepare, words in (
        ("{steps: ['true', [sh, -c, 'echo broken; exit 4']], keep: [x]}", r"(?s)Step 2 .* exit code 4.*broken"),
        ("{steps: [sleep 60], seconds: 0.2, keep: [x]}", "Step 1 .* took longer than 0.2 s"),
        ("{steps: [no-such-command], keep: [x]}", "cannot be started"),
        ("{steps: ['true'], keep: [x]}", "made no file that matches `x`"),
    ):
        with pytest.raises(UsageError, match=words):
            open_snapshot(experiment(folder, prepare))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("editable: [a]\nrun: x\nmetric: {name: m}\nwrong: 1", "`wrong`"),
        ("run: x\nmetric: {name: m}", "`editable`"),
        ("editable: [a]\nrun: x\nmetric: {name: m, pattern: '('}", "no regular expression"),
        ("editable: [a]\nrun: x\nmetric: {name: m}\nrepo: 'https://example.org/x'", "needs a `revision`"),
        ("editable: [a]\nrun: x\nmetric: {name: m}\nmetrics: [{name: m}]", "two metrics"),
        ("a: [", "is no YAML"),
        ("- 1", "the file"),
    ],
)
def test_a_bad_experiment_file_is_refused_with_its_field(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / FILE).write_text(text)

    with pytest.raises(UsageError) as raised:
        read_experiment(tmp_path / FILE)
    assert words in str(raised.value)
