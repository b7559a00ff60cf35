"""What stays from release to release, as text: what is declared, what tasks are, what trainers do, what commands say."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tests.kept.comparisons import WORLDS, comparison_of
from tests.kept.configs import configs
from tests.kept.costs import costs
from tests.kept.courses import courses
from tests.kept.curves import RUNS, curves_of
from tests.kept.damages import DAMAGES, damaged_of
from tests.kept.declared import declared
from tests.kept.logs import WORLDS as LOGS
from tests.kept.logs import log_of
from tests.kept.reading import reading
from tests.kept.store import Said
from tests.kept.stored import PARTS, stored_of
from tests.kept.tasks import tasks
from tests.unit.analysis.test_logs import BAD


def each(names: Iterable[str], say: Callable[[str, Path], list[str]]) -> Said:
    """Return what is said of each name, in a folder of its own."""
    found: dict[str, list[str]] = {}
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = say(name, Path(folder))
    return found


KINDS: Mapping[str, Callable[[], Said]] = {
    "declared": declared,
    "tasks": tasks,
    "courses": courses,
    "costs": costs,
    "reading": reading,
    "configs": configs,
    "comparisons": lambda: each(WORLDS, comparison_of),
    "logs": lambda: each([*LOGS, *BAD], log_of),
    "damages": lambda: each(DAMAGES, damaged_of),
    "stored": lambda: each(PARTS, stored_of),
    "curves": lambda: each(RUNS, curves_of),
}
