"""An agent that is a program inside of the sandbox: which command, variables and files Harbor is told to start it with."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from tracebench_core.contracts import EvaluationFailed
from tracebench_core.errors import MissingRequirementError, UsageError, quoted
from tracebench_core.specs import AgentSpec, Feedback
from tracebench_engine.api import agents

if TYPE_CHECKING:
    from tracebench_terminalbench.options import Options

TERMINUS = "terminus-2"
FOLDER, PRESET = "folder", "preset:"
"""Values of `agent`: the program of `agent_folder`, and the coding agent that a plugin describes."""
PYTHON = "python3"
OWN = Path(__file__).parent / "agent"
"""A small agent of ours, careless as it is."""
STARTED = Path.cwd()
"""Where the run was started, by which paths in a config are meant: a job works in a folder of its own later."""
LONGEST = 200_000
"""Characters of all files of an agent together."""
_ENVIRON = {
    "INSTRUCTION": "{task}",
    "MODEL": "{model}",
    "OPENAI_BASE_URL": "{base_url}",
    "OPENAI_API_KEY": "{key}",
    "SKILLS": "{skills}",
}


def from_start(place: str | None) -> str | None:
    """Return a path of a config from the root: jobs and Harbor run in other folders."""
    return None if place is None else str(STARTED / Path(place).expanduser())


def is_program(agent: str) -> bool:
    """Tell whether an agent runs inside of the sandbox by our own means."""
    return agent == FOLDER or agent.startswith(PRESET)


def agent_files(options: Options) -> dict[str, str]:
    """Return the texts of an agent's folder by their paths.

    Raises:
        UsageError: when there is no such folder, when it holds no text, or more than `LONGEST` characters.
    """
    home = STARTED / Path(options.agent_folder).expanduser() if options.agent_folder else OWN
    hint = f"ls -A {quoted(home)}"
    if not home.is_dir():
        raise UsageError(f"`agent_folder` is `{options.agent_folder}`, and there is no such folder.", hint=hint)
    found: dict[str, str] = {}
    for path in sorted(home.rglob("*")):
        name = path.relative_to(home)
        if path.is_file() and not any(part.startswith(".") or part == "__pycache__" for part in name.parts):
            try:
                found[name.as_posix()] = path.read_text(encoding="utf-8")
            except UnicodeDecodeError as err:
                raise UsageError(f"`{path}` is no text, and `agent_folder` may hold texts alone.", hint=hint) from err
    if not found or sum(map(len, found.values())) > LONGEST:
        raise UsageError(f"`{home}` must hold files, of {LONGEST:,} characters together at most.", hint=hint)
    return found


def optimized_files(options: Options) -> dict[str, str]:
    """Return those of an agent's files that are optimised.

    Raises:
        UsageError: when `agent_files` fits none.
    """
    files = agent_files(options)
    found = {name: text for name, text in files.items() if is_optimized(name, options)}
    if not found:
        raise UsageError(
            f"`agent_files` fits none of the agent's files: {', '.join(files)}.",
            hint="agent_files: ['*.py', 'skills/*']",
        )
    return found


def is_optimized(name: str, options: Options) -> bool:
    """Tell whether a file of the agent may be changed, or made: a pattern fits it, or a folder above it."""
    path = PurePosixPath(name)
    return any(place.match(pattern) for place in (path, *path.parents) for pattern in options.agent_files)


def write_files(options: Options, changed: Mapping[str, str], folder: Path) -> None:
    """Write an agent's folder: the files that a candidate holds, and those that are not optimised as they are.

    Raises:
        EvaluationFailed: `invalid`, when a candidate holds a file that is not optimised.
    """
    wrong = [name for name in changed if not is_optimized(name, options)]
    if wrong:
        words = f"`{wrong[0]}` is no file that may be changed: {', '.join(options.agent_files)}"
        raise EvaluationFailed(Feedback(score=0.0, status="invalid", text=words))
    kept = {name: text for name, text in agent_files(options).items() if not is_optimized(name, options)}
    for name, text in (kept | dict(changed)).items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        place.chmod(0o755)


def installed_agent(options: Options) -> AgentSpec | None:
    """Return the preset that is installed on this machine and is the agent, by our means or by Harbor's; None where it is neither."""
    name = options.agent.removeprefix(PRESET)
    if name in {TERMINUS, FOLDER} or ":" in name:
        return None
    try:
        spec = agents.find_preset(name)
        agents.find_agent(spec)
    except (UsageError, MissingRequirementError):
        return None
    return spec


def brought(options: Options) -> dict[str, Any]:
    """Return what comes into sandboxes as it lies here: an agent that is installed, and the Python of a program that needs one."""
    if options.agent == FOLDER and shlex.split(options.agent_command)[0] == PYTHON:
        program = Path(sys.executable).resolve()
        return {"brought": [*map(str, agents.belongings(program))], "programs": {PYTHON: str(program)}}
    spec = installed_agent(options)
    if spec is None:
        return {}
    program = agents.find_agent(spec)
    needs = dict.fromkeys(map(str, agents.needs_of(spec, program)))
    return {"brought": [*needs], "programs": {spec.program: str(program)}}


def start(options: Options, *, folder: str | None) -> dict[str, Any]:
    """Return what Harbor's side is told of the program, with the words of an `AgentSpec` in braces still to be filled in.

    Raises:
        UsageError: when no plugin offers the preset; with the nearest name.
    """
    if options.agent == FOLDER:
        return {"argv": shlex.split(options.agent_command), "environ": _ENVIRON, "folder": folder}
    spec = agents.find_preset(options.agent.removeprefix(PRESET))
    argv = [spec.program, *(word for word in spec.argv if word != "{files}")]
    return {"argv": argv, "environ": {"HOME": "{home}", **spec.environ}, "files": spec.files}


def forget(folder: Path, key: str) -> None:
    """Remove the job's key from what an agent wrote: it may print what it was given."""
    for path in folder.rglob("agent/**/*"):
        if path.is_file() and not path.is_symlink() and key.encode() in (text := path.read_bytes()):
            path.write_bytes(text.replace(key.encode(), b"<key>"))
