"""What stays from release to release, as text: what is declared, what tasks are, what trainers do, what commands say."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.kept.configs import configs
from tests.kept.costs import costs
from tests.kept.courses import courses
from tests.kept.declared import declared
from tests.kept.reading import reading
from tests.kept.store import Said
from tests.kept.tasks import tasks

KINDS: Mapping[str, Callable[[], Said]] = {
    "declared": declared,
    "tasks": tasks,
    "courses": courses,
    "costs": costs,
    "reading": reading,
    "configs": configs,
}
