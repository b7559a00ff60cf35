"""Start a coding agent from its preset: its command with the job's words filled in, and its settings written into its home."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tracebench_core.contracts import Problem
from tracebench_core.errors import ModelError
from tracebench_core.plugins.agents import agent_version, find_agent
from tracebench_core.specs import AgentSpec
from tracebench_engine.door.held import belongings

TASK, FILES = "{task}", "{files}"
"""What whoever starts the agent fills in at the end."""
_IN_BRACES = re.compile(r"\{\w+\}")


@dataclass(frozen=True, slots=True)
class AgentStart:
    """How an agent is started in a job; `{task}` and `{files}` are still to be filled in."""

    name: str
    """With its version, where that is known."""
    argv: tuple[str, ...]
    environ: Mapping[str, str]
    shown: tuple[Path, ...]
    """What it needs of the host's files."""


def start_of(spec: AgentSpec, problem: Problem, *, workdir: Path, home: Path) -> AgentStart:
    """Return how an agent is started that works in `workdir`; its settings are written below `home`.

    Raises:
        MissingRequirementError: when it is not installed.
    """
    program = find_agent(spec)
    known = known_words(problem, workdir=workdir, home=home)
    for name, text in spec.files.items():
        place = home / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(filled(text, known), encoding="utf-8")
    return AgentStart(
        name=f"{spec.name} {agent_version(spec)}".strip(),
        argv=(str(program), *(filled(word, known) for word in spec.argv)),
        environ={name: filled(value, known) for name, value in spec.environ.items()},
        shown=tuple(dict.fromkeys(needs_of(spec, program))),
    )


def known_words(problem: Problem, *, workdir: Path, home: Path) -> dict[str, str]:
    """Return what the words in braces stand for, `{task}` and `{files}` aside."""
    known = {"{workdir}": str(workdir), "{home}": str(home)}
    try:
        door = problem.endpoint("optimizer")
    except ModelError:
        return known
    return known | {
        "{model}": door.model,
        "{key}": door.api_key.get_secret_value(),
        "{base_url}": door.base_url,
        "{host_url}": door.base_url.removesuffix("/v1"),
    }


def filled(word: str, known: Mapping[str, str]) -> str:
    """Return a text with the words in braces replaced; others in braces stay as they are, and so does what stands in their place."""
    return _IN_BRACES.sub(lambda found: known.get(found[0], found[0]), word)


def spoken(argv: Iterable[str], *, task: str, files: Iterable[str]) -> list[str]:
    """Return a command with the task and the files filled in: `{files}` as an argument of its own becomes one for each."""
    names = [*files]
    known = {TASK: task, FILES: " ".join(names)}
    return [part for word in argv for part in (names if word == FILES else [filled(word, known)])]


def needs_of(spec: AgentSpec, program: Path) -> Iterator[Path]:
    """Yield what an installed agent needs beside the system: its installation, and the Python or Node that runs it."""
    runners = [str(program), str(program.with_name("python")) if spec.requirements else None]
    for place in filter(None, [*runners, shutil.which("node") if spec.packages else None]):
        yield from belongings(Path(place))
