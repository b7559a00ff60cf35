"""What each task is once it is opened: a digest of its parameters, of what it asks for, and of its examples.

Scores of two releases compare only while these stay.
"""

from __future__ import annotations

from collections import defaultdict

from tests.kept.text import digest_of
from tracebench_engine.api.installed.hosting import load_ref, open_host

ELSEWHERE = {"opto", "trace_examples", "terminal_bench", "veribench"}
"""Plugins whose tasks are those of another library's build, or of a folder of the user's."""
FETCHED = {"autoresearch:karpathy", "autoresearch:program/karpathy"}
"""Tasks that are fetched from the network."""


def tasks() -> dict[str, list[str]]:
    """Return a line for each task that runs here, by plugin."""
    catalog = open_host().catalog()
    found: dict[str, list[str]] = defaultdict(list)
    for id_, spec in sorted(catalog.tasks.items()):
        plugin, _, name = id_.partition(":")
        if plugin in ELSEWHERE or id_ in FETCHED or catalog.availability(spec):
            continue
        options = load_ref(spec.options, owner=id_)().model_dump() if spec.options else {}
        task = load_ref(spec.loader, owner=id_)(**options, **({"salts": {}} if spec.salted else {}))
        parts = {"parameters": task.parameters, "objective": task.objective, "examples": task.splits}
        digests = " ".join(f"{what} {digest_of(part)}" for what, part in parts.items())
        found[plugin].append(f"{name} comparability {spec.version.comparability} {digests}")
    return found
