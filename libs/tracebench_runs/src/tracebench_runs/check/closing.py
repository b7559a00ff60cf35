"""How a process of a run ends on disk: the journal says how, tables and summary are made, and the index of files is vouched for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from tracebench_runs.check.recovery import Settlement
from tracebench_runs.journal.index import write_files_index
from tracebench_runs.journal.journal import Journal
from tracebench_runs.journal.trust import Trust, read_trust
from tracebench_runs.results.kept import are_kept
from tracebench_runs.results.summary import RunEnd
from tracebench_runs.results.tables import TableWriter
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.seal import seal_of


class Closing:
    """Closes a run; one that was resumed with nothing to run by what its journals told when it was settled."""

    def __init__(self, layout: RunLayout) -> None:
        self._layout = layout
        self._idle: Trust | None = None
        self._has_mended = True

    def settled(self, found: Settlement, trust: Trust, *, is_idle: bool) -> None:
        """Keep what the journals told when the run was settled, where there is nothing to run; else let go of most of it."""
        self._has_mended = found.has_mended
        if is_idle and not found.adopted:
            self._idle = trust
        else:
            trust.ends.clear()  # most of what a large run would hold until its end, and nobody asks again

    def close(self, end: RunEnd, *, journal: Journal, tables: TableWriter, counts: Mapping[str, int]) -> None:
        """Write all that is written at the end; `counts` are the run's jobs by status."""
        journal.run_ended(**asdict(end))
        if self._idle is None or not are_kept(self._layout, end, trust=self._idle, counts=counts):
            tables.finish(end)
        tables.forget()
        trust = self._idle or read_trust(self._layout)
        write_files_index(self._layout, trust=trust, is_continued=not self._has_mended)
        journal.indexed(seal_of(self._layout.files_index))
