"""What this process knows: the settings that the plugin was given, and the entries of all task files."""

from __future__ import annotations

from functools import cache

from tracebench_hfqa.declared import read_entries, shipped_entries
from tracebench_hfqa.entry import Entry
from tracebench_hfqa.rows.source import Settings, settings_of

_told: list[Settings] = []


def configure(found: Settings) -> None:
    """Keep the settings."""
    _told[:] = [found]
    entries.cache_clear()


def settings() -> Settings:
    """Return the settings, or what the environment says while none were given."""
    return _told[0] if _told else settings_of({})


@cache
def entries() -> dict[str, Entry]:
    """Return all entries by id; the user's files come last, and theirs win."""
    ours = [entry for path in settings().tasks for entry in read_entries(path)]
    return {entry.id: entry for entry in (*shipped_entries(), *ours)}


def find_entry(name: str) -> Entry:
    """Return an entry that is known to exist."""
    return entries()[name]
