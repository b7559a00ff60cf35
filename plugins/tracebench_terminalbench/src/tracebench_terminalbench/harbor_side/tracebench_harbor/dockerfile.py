"""The part of a Dockerfile that needs no image: enough for one task folder to serve Docker and the local environment alike.

An image that is not there is never replaced by the host's system, unless the task itself says that any will do.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

DECLARATION = "host_compatible"
"""Under `[metadata]` of a `task.toml`, `true` says that the task means the same on any Linux system, whatever image it names."""
UNDERSTOOD = frozenset({"FROM", "WORKDIR", "ENV", "COPY", "RUN", "CMD", "LABEL"})
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")


class Step(NamedTuple):
    """One instruction."""

    word: str
    rest: str


class NotUnderstoodError(RuntimeError):
    """The task needs an image, and so Docker or a cloud."""


def read_dockerfile(folder: Path) -> list[Step]:
    """Return the steps of a task's environment folder, in order.

    Raises:
        NotUnderstoodError: naming the image, or the first instruction, that only a container engine can provide.
    """
    if any((folder / name).exists() for name in ("docker-compose.yaml", "docker-compose.yml")):
        raise NotUnderstoodError("a task with docker-compose needs `harbor_env: docker`; `local` runs a single sandbox")
    settings = _settings(folder.parent / "task.toml")
    anywhere = _table(settings, "metadata").get(DECLARATION) is True
    image = _table(settings, "environment").get("docker_image")
    if image and not anywhere:
        raise _needs_image(f'docker_image = "{image}"', "task.toml")
    path = folder / "Dockerfile"
    if not path.is_file():
        return []
    text = re.sub(
        r"^[ \t]*#.*\n?", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE
    )  # also within an instruction
    text = re.sub(r"\\[ \t]*\n", " ", text)
    steps = []
    for line in (raw.strip() for raw in text.splitlines()):
        if not line:
            continue
        word, _, rest = line.partition(" ")
        if word.upper() not in UNDERSTOOD or rest.lstrip().startswith("--"):
            raise NotUnderstoodError(f"`{line}` in {path.name} needs `harbor_env: docker`; `local` does not follow it")
        if word.upper() == "FROM" and not anywhere:
            raise _needs_image(line, path.name)
        steps.append(Step(word.upper(), rest.strip()))
    return steps


def variables(rest: str, known: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that an `ENV` sets, in either form: `A=1 B=2`, or `A a whole line`; `$A` stands for a known one's value."""
    name, blank, value = rest.partition(" ")
    pairs = [(name, value.strip())] if blank and "=" not in name else [w.partition("=")[::2] for w in shlex.split(rest)]
    return {name: _VARIABLE.sub(lambda found: known.get(found[1] or found[2], ""), value) for name, value in pairs}


def _table(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a table of settings; empty where something else is called so."""
    found = settings.get(name)
    return found if isinstance(found, dict) else {}


def _settings(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as err:
        raise NotUnderstoodError(f"`{path}` cannot be read: {err}") from err


def _needs_image(line: str, place: str) -> NotUnderstoodError:
    return NotUnderstoodError(
        f"`{line}` in {place} needs an image, and so `harbor_env: docker`: `local` has this machine's own system, "
        f"which only a task with `{DECLARATION} = true` under `[metadata]` of its task.toml may take instead"
    )
