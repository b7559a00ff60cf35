"""The part of a Dockerfile that needs no image: enough for one task folder to serve Docker and the local environment alike."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

UNDERSTOOD = frozenset({"FROM", "WORKDIR", "ENV", "COPY", "RUN", "CMD", "LABEL"})


class Step(NamedTuple):
    """One instruction."""

    word: str
    rest: str


class NotUnderstoodError(RuntimeError):
    """The task needs an image, and so Docker or a cloud."""


def read_dockerfile(folder: Path) -> list[Step]:
    """Return the steps of a task's environment folder, in order.

    Raises:
        NotUnderstoodError: naming the first instruction that only a container engine can follow.
    """
    if any((folder / name).exists() for name in ("docker-compose.yaml", "docker-compose.yml")):
        raise NotUnderstoodError("a task with docker-compose needs `harbor_env: docker`; `local` runs a single sandbox")
    path = folder / "Dockerfile"
    if not path.is_file():
        return []
    text = re.sub(r"\\\n", " ", path.read_text(encoding="utf-8"))
    steps = []
    for line in (raw.strip() for raw in text.splitlines()):
        if not line or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        if word.upper() not in UNDERSTOOD or rest.lstrip().startswith("--"):
            raise NotUnderstoodError(f"`{line}` in {path.name} needs `harbor_env: docker`; `local` does not follow it")
        steps.append(Step(word.upper(), rest.strip()))
    return steps
