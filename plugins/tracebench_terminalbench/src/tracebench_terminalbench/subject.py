"""What of the agent is optimised: the parameter that a trainer changes, and what a value of it means for a Harbor job."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from tracebench_core.contracts import EvaluationFailed
from tracebench_core.specs import Feedback, Parameter
from tracebench_terminalbench.found import find_harbor
from tracebench_terminalbench.options import PARSERS, Options
from tracebench_terminalbench.program import FOLDER, optimized_files, write_files
from tracebench_terminalbench.program import LONGEST as FILES_LONGEST
from tracebench_terminalbench.template import template_problem, with_advice

SKILL = "working-in-the-terminal"
_SKILL_HEAD = (
    f"---\nname: {SKILL}\ndescription: How to work in this environment. Read it before the first command.\n---\n\n"
)
_DESCRIPTIONS = {
    "advice": "Advice to the agent, put into its prompt before each task's description. Plain text; it holds for all tasks.",
    "template": "The agent's whole prompt, for Python's `str.format`: it must hold {instruction} and {terminal_state}, and literal "
    "braces are doubled. The agent answers in the JSON form that it describes.",
    "extra_instructions": "Text that follows each task's instruction. Plain text; it holds for all tasks.",
    "files": "The agent's own files by their paths: its code, its prompt, its tools and skills. It runs inside of each task's sandbox, on "
    "Python's standard library and what the task's image has, and asks its model at `OPENAI_BASE_URL`.",
    "skill": "The text of a skill (Markdown) that the agent finds in its environment and may read. It holds for all tasks.",
}
LONGEST = {"advice": 8_000, "template": 24_000, "extra_instructions": 8_000, "skill": 24_000}


def parameter(options: Options) -> Parameter:
    """Return the parameter, of `files` under the name `agent`; a whole template starts as Harbor's own, and so needs Harbor here.

    Raises:
        MissingRequirementError: when Harbor is needed and not here.
    """
    if options.optimize == "files":
        files: dict[str, Any] = {**optimized_files(options)}
        return Parameter(
            name="agent", kind="files", initial=files, description=_DESCRIPTIONS["files"], max_length=FILES_LONGEST
        )
    initial = ""
    if options.optimize == "template":
        initial = find_harbor(options.harbor_command).template(parser(options)).read_text(encoding="utf-8")
    name = options.optimize
    return Parameter(name=name, kind="text", initial=initial, description=_DESCRIPTIONS[name], max_length=LONGEST[name])


def write_subject(options: Options, value: Any, *, frame: str, folder: Path) -> dict[str, Any]:
    """Write what a candidate's value means for the agent to files named by their content, and return what a job says of it.

    Raises:
        EvaluationFailed: `invalid`, when a whole template cannot be filled in, or a file may not be changed; nothing was launched.
    """
    own = {"folder": str(_agent_folder(options, value, folder))} if options.agent == FOLDER else {}
    return own | _text_subject(options, value, frame=frame, folder=folder)


def _agent_folder(options: Options, value: Any, folder: Path) -> Path:
    changed = value if options.optimize == "files" else optimized_files(options)
    place = folder / f"agent-{_digest(json.dumps(changed, sort_keys=True))}"
    write_files(options, changed, place)
    return place


def _text_subject(options: Options, text: str, *, frame: str, folder: Path) -> dict[str, Any]:
    match options.optimize:
        case "template":
            if problem := template_problem(text):
                raise EvaluationFailed(
                    Feedback(score=0.0, status="invalid", text=f"{problem[0].upper()}{problem[1:]}.")
                )
            return {"template": _template_file(text, folder)}
        case "advice":
            return {"template": _template_file(with_advice(frame, text), folder)}
        case "extra_instructions":
            return {"extra_instructions": [text]} if text.strip() else {}
        case "skill":
            return {"skills": [_skill_folder(text, folder)]} if text.strip() else {}
        case "files":
            return {}


def parser(options: Options) -> str:
    """Return the form of the agent's answers: `json` or `xml`."""
    return str(options.agent_kwargs.get("parser_name", PARSERS[0]))


def _template_file(text: str, folder: Path) -> str:
    path = folder / f"prompt-{_digest(text)}.txt"
    path.write_text(text, encoding="utf-8")
    return str(path)


def _skill_folder(text: str, folder: Path) -> str:
    path = folder / f"skill-{_digest(text)}" / SKILL
    path.mkdir(parents=True, exist_ok=True)
    (path / "SKILL.md").write_text(f"{_SKILL_HEAD}{text.strip()}\n", encoding="utf-8")
    return str(path)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:12]
