"""A scripted model for real coding agents: it edits a file and measures by whatever tools the agent offers it, and then ends.

What it does next follows from the conversation alone: from how often it has acted in it. So it may serve several agents at a time.

    python -m plugins.tracebench_trainers_ext.tests.coder --port 0
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracebench_testing.fake_openai import ToolCall

MEASURE = "./evaluate"
DONE = "The file is as good as I can make it."
FILE = "code.py"
START = "def transform(x):\n    return x + 1\n"
STAGES = ("def transform(x):\n    return 2 * x\n", "def transform(x):\n    return 2 * x + 1\n")

SHELLS = ("Bash", "bash", "exec_command", "shell_command", "run_shell_command", "terminal", "execute_bash", "shell")
"""Tools that run a command."""
READERS = ("Read", "read", "read_file")
"""Tools that must have shown a file before another may change it."""
EDITORS = ("Edit", "edit", "replace", "file_editor", "str_replace_editor")
"""Tools that replace a part of a file."""
COMMAND, PATH = ("command", "cmd"), ("file_path", "filePath", "path")
OLD, NEW = ("old_string", "oldString", "old_str", "before"), ("new_string", "newString", "new_str", "after")
"""How arguments are called."""
WORDS = {
    "description": "Runs a command",
    "instruction": "Improves the function",
    "security_risk": "LOW",
    "is_background": False,
}
"""What some tools want to be told beside."""


@dataclass(slots=True)
class Coder:
    """Improves one file of a folder stage by stage, and measures after each."""

    start: str = START
    stages: Sequence[str] = STAGES
    file: str = FILE
    elsewhere: Sequence[tuple[str, str, str]] = ()
    """Edits of other files after the stages: file, text before, text after."""
    measure: str = MEASURE
    """The command after each stage."""
    task: str = "# The task"
    """Words of the message that tells the task: what comes before it are an agent's own examples."""
    used: dict[str, int] = field(default_factory=dict)
    """How often each tool was called, for tests to look at."""

    def __call__(self, request: dict[str, Any]) -> str | ToolCall:
        """Return what the model answers."""
        tools = {t["function"]["name"]: t["function"] for t in request.get("tools") or ()}
        shell = next((name for name in SHELLS if name in tools), None)
        if shell is None:
            return self._in_words(request["messages"])
        acts = sum(1 for m in request["messages"] if m.get("role") == "assistant" and m.get("tool_calls"))
        steps = self._steps(request["messages"], tools, shell)
        if acts >= len(steps):
            return DONE
        call = steps[acts]
        self.used[call.name] = self.used.get(call.name, 0) + 1
        return call

    def _steps(self, messages: list[dict[str, Any]], tools: Mapping[str, Any], shell: str) -> list[ToolCall]:
        """Return everything that is done with these tools, in its order."""

        def run(line: str) -> ToolCall:
            return ToolCall(shell, _given(tools[shell], {COMMAND: line}))

        reader = next((name for name in READERS if name in tools), None)
        editor = next((name for name in EDITORS if name in tools), None)
        steps = [run(self.measure)]
        for file, before, after in self._edits():
            path = f"{_workdir(messages)}/{file}"
            if editor is None:
                steps.append(run(f"printf %s {shlex.quote(after)} > {file}"))
            else:
                if reader is not None:
                    steps.append(ToolCall(reader, _given(tools[reader], {PATH: path})))
                old, new = _changed(before, after)
                steps.append(ToolCall(editor, _given(tools[editor], {PATH: path, OLD: old, NEW: new})))
            steps.append(run(self.measure))
        if _asks_for_a_word(messages):
            steps.append(run("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"))
        elif "finish" in tools:
            steps.append(ToolCall("finish", {"message": DONE}))
        return steps

    def _in_words(self, messages: list[dict[str, Any]]) -> str:
        """Answer an agent that offers no tools: with blocks of edits where it asks for them, else with a few words, as for a title."""
        if "SEARCH/REPLACE" not in json.dumps(messages):
            return "A function"
        own = [m for m in messages[self._task_place(messages) :] if m["role"] == "assistant"]
        done = sum(">>>>>>> REPLACE" in json.dumps(m["content"]) for m in own)
        edits = self._edits()
        if done >= len(edits):
            return DONE
        file, before, after = edits[done]
        return f"{file}\n```python\n<<<<<<< SEARCH\n{before}=======\n{after}>>>>>>> REPLACE\n```\n"

    def _edits(self) -> list[tuple[str, str, str]]:
        """Return every edit: file, text before, text after."""
        befores = [self.start, *self.stages]
        own = [(self.file, before, after) for before, after in zip(befores, self.stages, strict=False)]
        return [*own, *self.elsewhere]

    def _task_place(self, messages: Sequence[Mapping[str, Any]]) -> int:
        return max((i for i, m in enumerate(messages) if self.task in json.dumps(m.get("content"))), default=0)


def _asks_for_a_word(messages: Sequence[Mapping[str, Any]]) -> bool:
    return "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT" in json.dumps(messages[:2])


def _changed(before: str, after: str) -> tuple[str, str]:
    """Return the first line of a text that differs from that of the next, and this one."""
    return next((old, new) for old, new in zip(before.splitlines(), after.splitlines(), strict=True) if old != new)


def _workdir(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return where the agent works, as its prompt tells it."""
    found = re.findall(
        r"(/[^\s\"'<>`\\,]+/(?:foreign-[^/\s]+/agent|trace-bench-agent-[^/\s]+/files))\b", json.dumps(messages)
    )
    return found[0] if found else "."


def _given(tool: Mapping[str, Any], values: Mapping[tuple[str, ...], str]) -> dict[str, Any]:
    """Return the arguments of a tool, called as it calls them."""
    known = (tool.get("parameters") or {}).get("properties") or {}
    given = {name: value for names, value in values.items() for name in names if name in known}
    if "command" in known and COMMAND not in values:  # an editor of several verbs
        given["command"] = "str_replace"
    return given | {name: value for name, value in WORDS.items() if name in known}
