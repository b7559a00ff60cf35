"""Experiments as commits, written with git itself: parents, words, files, attempts that were not kept, and what is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tracebench_autoresearch.history.commits import Exporter
from tracebench_autoresearch.history.reading import Experiment, History
from tracebench_autoresearch.sources.git import git, is_repository, resolve
from tracebench_autoresearch.sources.snapshot import Entry, Snapshot, take_snapshot
from tracebench_core.errors import MissingRequirementError, UsageError

TIME = "2026-01-02T03:04:05.678Z"
INITIAL = {"a.txt": "one\n", "gone.txt": "old\n"}
FILES = {
    "c0": INITIAL,
    "c1": {"a.txt": "two\n"},
    "c2": {"a.txt": "three\n", "new/b.txt": "b\n"},
    "c3": {"a.txt": "\udcff\n"},
    "c4": {"a.txt": "four\n"},
}
BASE = {
    **{path: Entry("100644", words.encode()) for path, words in INITIAL.items()},
    "run.sh": Entry("100755", b"#!/bin/sh\n"),
    "link": Entry("120000", b"run.sh"),
}


def experiment(number: int, words: str, values: list[float], verdict: str, **more: bool) -> Experiment:
    return Experiment(
        number, f"c{number}", TIME, words, (), values, [], "measured", verdict, "said so" if verdict else "", **more
    )


def history(policy: str = "edit_then_commit", words: str = "  a larger\n\n rate ") -> History:
    return History(
        job="j", task="autoresearch:x", trainer="Autoresearch", metric="loss", direction="minimize", revision="",
        policy=policy, self_reported=False, best="c3", confirmation=None, drift=1.0,
        experiments=(
            experiment(0, "initial", [3.0], ""), experiment(1, words, [2.0, 2.00001], "accepted"),
            experiment(2, "worse", [9.0], "rejected"), experiment(3, "", [], "accepted"),
            experiment(4, "an ablation", [2.0], "", is_ablation=True),
        ),
    )  # fmt: skip


def snapshot(revision: str = "sha256:0") -> Snapshot:
    return Snapshot(revision, BASE)


def new(folder: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return new(tmp_path / "mine")


def told(repo: Path, *words: str) -> str:
    return git(repo, *words).decode(errors="surrogateescape").rstrip("\n")


def exporter(repo: Path, base: Snapshot | None = None) -> Exporter:
    return Exporter(repo, base or snapshot(), FILES, INITIAL)


def test_each_kept_change_is_a_commit_on_the_one_before(repo: Path, tmp_path: Path) -> None:
    commits = exporter(repo).export(history(), "try/it")

    assert [*commits] == ["c0", "c1", "c3"]
    assert told(repo, "rev-list", "--reverse", "try/it").splitlines() == [*commits.values()]
    assert told(repo, "for-each-ref", "--format=%(refname)") == "refs/heads/try/it"
    assert exporter(new(tmp_path / "other")).export(history(), "b") == commits, "the same job, the same commits"
    assert exporter(repo).export(history(), "again") == commits


def test_a_commit_says_what_was_tried_measured_and_found(repo: Path) -> None:
    commits = exporter(repo).export(history(), "b")

    said = {one: told(repo, "log", "-1", "--format=%B", commit).strip() for one, commit in commits.items()}
    assert said["c0"] == "Base of the experiments"
    assert said["c1"] == "a larger rate\n\nloss: 2 (2 measurements)\nkeep: said so\nCandidate: c1\nJob: j"
    assert said["c3"] == "Candidate c3\n\nloss: not measured\nkeep: said so\nCandidate: c3\nJob: j"
    who = told(repo, "log", "--format=%an <%ae> %cn <%ce> %ad %cd", "--date=iso-strict", "b").splitlines()
    by = "Trace-Bench <trace-bench@localhost>"
    assert {line.partition(" 2026-")[0] for line in who} == {f"{by} {by}"}
    assert all(line.count("2026-01-02T03:04:05") == 2 for line in who)


def test_a_subject_is_of_one_line_that_logs_show_whole(repo: Path) -> None:
    commits = exporter(repo).export(history(words="x" * 100), "other")
    assert told(repo, "log", "-1", "--format=%s", commits["c1"]) == "x" * 72


def test_a_commit_has_the_candidates_files_and_all_that_was_never_edited(repo: Path) -> None:
    commits = exporter(repo).export(history("commit_then_reset"), "b")

    modes = [line.split()[0] + " " + line.split("\t")[1] for line in told(repo, "ls-tree", "-r", "b~1").splitlines()]
    assert modes == ["100644 a.txt", "120000 link", "100755 run.sh"], "the initial file that is gone is gone"
    assert told(repo, "show", "b~1:a.txt") == "two"
    assert told(repo, "show", f"{commits['c2']}:new/b.txt") == "b"
    assert told(repo, "show", "b:a.txt") == "?", "what cannot be written is replaced"
    assert told(repo, "show", "b~2:gone.txt") == "old"


def test_attempts_that_were_reset_are_found_beside_the_branch(repo: Path) -> None:
    commits = exporter(repo).export(history("commit_then_reset"), "b")

    assert [*commits] == ["c0", "c1", "c2", "c3"], "an ablation was no attempt"
    listed = told(repo, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    assert listed == [f"refs/heads/b {commits['c3']}", f"refs/trace-bench/b/c2 {commits['c2']}"]
    assert resolve(repo, f"{commits['c2']}^") == commits["c1"] == resolve(repo, f"{commits['c3']}^")
    assert "discard: said so" in told(repo, "log", "-1", "--format=%B", commits["c2"])


def test_a_revision_that_the_repository_has_is_the_base_itself(repo: Path, tmp_path: Path) -> None:
    (repo / "a.txt").write_text("one\n")
    subprocess.run(["git", "-C", str(repo), "add", "a.txt"], check=True)
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", *who, "-C", str(repo), "commit", "-qm", "first"], check=True)
    base = take_snapshot(repo, resolve(repo, "HEAD"))

    commits = exporter(repo, base).export(history(), "b")
    assert commits["c0"] == resolve(repo, "HEAD") == resolve(repo, "b~2")
    other = new(tmp_path / "other")
    elsewhere = exporter(other, base).export(history(), "b")
    assert elsewhere["c0"] != commits["c0"]
    assert told(other, "log", "--format=%s", "b").splitlines()[-1] == "Base of the experiments"
    assert told(other, "show", "b~2:a.txt") == "one"


def test_what_cannot_be_exported_is_said_with_what_helps(repo: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        exporter(tmp_path)
    assert str(error.value) == f"`{tmp_path}` is no git repository."
    assert error.value.hint == f"git init {tmp_path}"

    with pytest.raises(UsageError) as error:
        exporter(repo).export(history(), "two..dots")
    assert str(error.value) == "`two..dots` is no name for a branch."
    exporter(repo).export(history(), "b")
    with pytest.raises(UsageError) as error:
        exporter(repo).export(history(), "b")
    assert str(error.value) == f"`{repo}` has a branch `b` already."
    assert error.value.hint == f"git -C {repo} branch -D b"


def test_a_repository_is_known_by_its_top_bare_or_not(repo: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "bare.git")], check=True)
    (repo / "inside/objects").mkdir(parents=True)
    assert is_repository(repo)
    assert is_repository(tmp_path / "bare.git")
    assert not is_repository(repo / "inside")
    assert not is_repository(tmp_path)


def test_a_revision_that_is_not_there_is_said(repo: Path) -> None:
    with pytest.raises(UsageError) as error:
        resolve(repo, "HEAD")
    assert str(error.value) == f"`{repo}` has no commit yet."
    assert error.value.hint == f"git -C {repo} status"
    with pytest.raises(UsageError) as error:
        resolve(repo, "--all")
    assert str(error.value) == f"`{repo}` has no revision `--all`."
    assert error.value.hint == f"git -C {repo} log --oneline"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'warning: old' >&2; echo 'fatal: no way.' >&2; echo 'so it ended' >&2; exit 1", "failed: no way."),
        ("echo 'error: first' >&2; echo 'fatal: second' >&2; exit 128", "failed: error: first."),
        ("echo first >&2; echo last >&2; exit 1", "failed: last."),
        ("exit 1", "failed: no words."),
        ("exec sleep 60", "took longer than 0.05 s."),
    ],
)
def test_a_git_that_fails_is_told_by_its_first_complaint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    (tmp_path / "git").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(UsageError) as error:
        git(tmp_path, "status", seconds=0.05 if "sleep" in script else 60)
    assert str(error.value) == f"`git status` in `{tmp_path}` {said.replace('no way', 'fatal: no way')}"


def test_git_gets_its_input_and_nothing_of_the_users_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "git").write_text('#!/bin/sh\ncat; env | sort; echo "$@"\n')
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("https_proxy", "http://proxy")
    said = git(tmp_path, "status", stdin=b"in\n", env={"GIT_INDEX_FILE": "x"}).decode().splitlines()
    assert said[0] == "in"
    assert {"https_proxy=http://proxy", "GIT_INDEX_FILE=x", "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1"} <= {*said}
    assert "GIT_CONFIG_GLOBAL=/dev/null" in said
    assert not [line for line in said if line.startswith("GIT_DIR")]
    assert said[-1].endswith(f"-C {tmp_path} status")
    for kept in ("core.hooksPath=/dev/null", "protocol.ext.allow=never", "core.fsmonitor=false"):
        assert f"-c {kept}" in said[-1]


def test_without_git_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingRequirementError, match=r"git is not installed\.") as error:
        git(tmp_path, "status")
    assert error.value.hint == "apt-get install git"
