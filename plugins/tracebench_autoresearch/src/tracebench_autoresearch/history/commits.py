"""A job as commits on a branch of its own, written with git's plumbing: no hook runs, no index and no working tree is touched.

The same job gives the same commits, whenever and wherever it is exported.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from tracebench_autoresearch.history.reading import Experiment, History
from tracebench_autoresearch.sources.git import git, is_repository, text
from tracebench_autoresearch.sources.snapshot import Entry, Snapshot
from tracebench_core.errors import UsageError, quoted

_NAME, _EMAIL = "Trace-Bench", "trace-bench@localhost"
_WHO = {
    "GIT_AUTHOR_NAME": _NAME,
    "GIT_AUTHOR_EMAIL": _EMAIL,
    "GIT_COMMITTER_NAME": _NAME,
    "GIT_COMMITTER_EMAIL": _EMAIL,
}
_NONE = "0" * 40
ATTEMPTS = "refs/trace-bench"
"""Where attempts that were not kept are found, under the policy `commit_then_reset`."""


class Exporter:
    """Writes one job into a repository."""

    def __init__(
        self, repo: Path, base: Snapshot, files: Mapping[str, Mapping[str, str]], initial: Mapping[str, str]
    ) -> None:
        """Take the repository, the base revision, and each candidate's files by its id.

        Raises:
            UsageError: when there is no repository.
        """
        if not is_repository(repo):
            raise UsageError(f"`{repo}` is no git repository.", hint=f"git init {quoted(repo)}")
        self._repo, self._base, self._files, self._initial = repo, base, files, initial
        self._known: dict[bytes, str] = {}

    def export(self, history: History, branch: str) -> dict[str, str]:
        """Write the branch, and return the commits by candidate.

        Raises:
            UsageError: when the branch exists, its name is no good, or git fails.
        """
        reference = f"refs/heads/{branch}"
        try:
            git(self._repo, "check-ref-format", reference)
        except UsageError as err:
            raise UsageError(f"`{branch}` is no name for a branch.") from err
        if text(self._repo, "for-each-ref", reference):
            raise UsageError(
                f"`{self._repo}` has a branch `{branch}` already.",
                hint=f"git -C {quoted(self._repo)} branch -D {branch}",
            )
        first, *others = history.experiments
        commits = {first.candidate: self._base_commit(first)}
        kept = {one.candidate for one in history.kept}
        tip = commits[first.candidate]
        for one in others:
            if one.candidate in kept:
                tip = commits[one.candidate] = self._commit(one, history, parent=tip)
            elif history.policy == "commit_then_reset" and not one.is_ablation:
                commits[one.candidate] = self._commit(one, history, parent=tip)
                place = f"{ATTEMPTS}/{branch}/{one.candidate}"
                git(self._repo, "update-ref", place, commits[one.candidate])
        git(self._repo, "update-ref", reference, tip, _NONE)
        return commits

    def _base_commit(self, first: Experiment) -> str:
        """Return the revision itself where the repository has it, else a first commit with its files."""
        revision = self._base.revision
        if not revision.startswith("sha256:"):
            try:
                git(self._repo, "cat-file", "-e", f"{revision}^{{commit}}")
            except UsageError:
                pass
            else:
                return revision
        return self._write(self._base.entries, "Base of the experiments", first.time, parent=None)

    def _commit(self, one: Experiment, history: History, *, parent: str) -> str:
        entries = {path: entry for path, entry in self._base.entries.items() if path not in self._initial}
        entries |= {
            path: Entry("100644", words.encode(errors="replace")) for path, words in self._files[one.candidate].items()
        }
        value = "not measured" if one.value is None else f"{one.value:.6g} ({len(one.values)} measurements)"
        subject = " ".join(one.description.split())[:72] or f"Candidate {one.candidate}"
        body = f"{history.metric}: {value}\n{one.status}: {one.reason}\nCandidate: {one.candidate}\nJob: {history.job}"
        return self._write(entries, f"{subject}\n\n{body}\n", one.time, parent=parent)

    def _write(self, entries: Mapping[str, Entry], message: str, time: str, *, parent: str | None) -> str:
        with tempfile.TemporaryDirectory() as scratch:
            env = {"GIT_INDEX_FILE": str(Path(scratch, "index"))}
            listed = "".join(f"{e.mode} {self._blob(e.data)}\t{path}\0" for path, e in sorted(entries.items()))
            git(self._repo, "update-index", "-z", "--index-info", stdin=listed.encode(), env=env)
            tree = text(self._repo, "write-tree", env=env)
        dates = {"GIT_AUTHOR_DATE": time, "GIT_COMMITTER_DATE": time}
        parents = ("-p", parent) if parent else ()
        return text(self._repo, "commit-tree", tree, *parents, stdin=message.encode(errors="replace"), env=_WHO | dates)

    def _blob(self, data: bytes) -> str:
        if data not in self._known:
            self._known[data] = text(self._repo, "hash-object", "-w", "--stdin", "--no-filters", stdin=data)
        return self._known[data]
