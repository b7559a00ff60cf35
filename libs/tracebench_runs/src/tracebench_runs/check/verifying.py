"""Whether a run is the one whose head somebody kept: asked of its files alone, with no network, and with no trust in the disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from tracebench_runs.check.checks import Finding
from tracebench_runs.check.fsck import check_run
from tracebench_runs.journal.form import START, digest_of, is_sound, prev_of
from tracebench_runs.journal.trust import ChainEnd, Trust, read_trust
from tracebench_runs.journal.witness import is_lost
from tracebench_runs.storage import files
from tracebench_runs.storage.layout import RunLayout

Verdict = Literal["match", "whole", "differs", "lost", "not chained"]
"""`whole` where no head was given, and nothing speaks against the run."""
MAIN = "main"
SHORT_HEAD = 16
"""Digits of a head that are printed where a run ends: by these it is known again."""


class Verified(NamedTuple):
    """What a run is, beside a head."""

    verdict: Verdict
    words: str
    """A sentence about the journal."""
    head: str
    """Of the journal as it lies there; empty where it has none."""
    findings: tuple[Finding, ...] = ()
    """Files that are not what the journal vouches for."""


def chain_of(run_dir: Path, *, trust: Trust | None = None) -> ChainEnd | None:
    """Return how far the chain of a run's journal has come; None for a run without one."""
    layout = RunLayout(run_dir)
    return (trust or read_trust(layout)).chains.get(layout.journal(MAIN).name)


def chain_words(chain: ChainEnd | None) -> str:
    """Return a sentence about the head of a run."""
    if chain is None:
        return "not chained: the run was begun by a version that kept no chain"
    lost = "; its key is not on this machine, only the head tells whether it was changed" if chain.lost_keys else ""
    return f"{chain.head}{lost}"


def verify_run(run_dir: Path, *, head: str | None = None) -> Verified:
    """Compare a run with a head kept of it (the SHA-256 of a line of its journal, or its beginning), and its files with the journal.

    The journal may have gone on since: every line up to the one of the head, and what those lines vouch for, has to be as it was.

    Raises:
        RunDirError: when the folder is no run directory, or of a newer format.
    """
    layout = RunLayout(run_dir)
    trust = read_trust(layout)
    journal = layout.journal(MAIN)
    if not journal.is_file() or is_lost(layout, trust=trust):
        return Verified("lost", "the journal is gone or emptied: nothing vouches for the run", "")
    chain = chain_of(run_dir, trust=trust)
    if chain is None:
        return Verified("not chained", "the run was begun without a chain: there is no head to compare", "")
    findings = tuple(finding for finding in check_run(run_dir) if finding.mended_by != "nothing")
    verdict, words = _beside(journal, chain, head)
    if findings and verdict in {"match", "whole"}:
        verdict, words = "differs", f"{words}, but its files are not what it vouches for"
    return Verified(verdict, words, chain.head, findings)


def _beside(journal: Path, chain: ChainEnd, head: str | None) -> tuple[Verdict, str]:
    before, place, since = START, None, 0
    for line in files.iter_lines(journal):
        if not is_sound(line):
            continue  # a crash tore it, and the chain goes on around it
        since += 1
        if place is None and prev_of(line) != before:
            return "differs", "a line of the journal does not follow the one before it"
        before = digest_of(line)
        if head and before.startswith(head):
            place, since = before, 0
    if head is None:
        return "whole", f"the journal is whole up to its line {chain.n}"
    if place is None:
        return "differs", "the journal has no line of this head: it was changed, or is another run's"
    more = f", and has gone on by {since} lines" if since else ""
    return "match", f"the journal is what it was at this head{more}"


def findings_told(findings: Sequence[Finding]) -> list[str]:
    """Return a line for each finding."""
    return [f"[{finding.code}] {finding.path}: {finding.message}" for finding in findings]
