"""A coding agent as the optimizer: a command line in a folder with the candidate's files, the task in words, and a tool that evaluates."""

import json
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

from .folder import TASK, best_measured, file_of, read_texts, write_texts
from .task import settings_of

TOOL = "evaluate"
BEST_FEW = 2
"""Candidates of the history that are measured on the comparison examples beside the one that was left."""
PASSED = ("TRACEBENCH_DOOR", "PYTHONPATH")


class AgentFailed(Exception):  # noqa: N818 - named for what happened
    """The agent's command ended badly before it measured anything."""


def train(task, settings):
    """Let the agent work until it ends; what it leaves in the folder and its best few are measured on the comparison examples."""
    settings = settings_of(settings)
    folder = Path("agent").absolute()
    folder.mkdir()
    write_texts(task, task.initial, folder)
    (folder / TASK).write_text(describe(task, settings))
    write_tool(folder / TOOL)
    before = task.problem.budget()["used"]["evaluations"]
    words = spoken(
        settings.argv, task=(folder / TASK).read_text(), files=[file_of(task, name) for name in task.initial]
    )
    done = subprocess.run(  # noqa: S603 - the config's own command
        words, cwd=folder, env=environ(settings, task), stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode != 0 and task.problem.budget()["used"]["evaluations"] == before:
        missing = settings.files == "folder" and done.returncode in {126, 127}
        hint = "; name in `readable` what it needs of your files" if missing else ""
        raise AgentFailed(f"`{settings.argv[0]}` ended with code {done.returncode} before it measured anything{hint}")
    hand_over(task, folder)


def spoken(argv, *, task, files):
    """Return the command with the task and the files' names filled in: `{files}` as an argument of its own becomes one for each."""
    words = [part for word in argv for part in (files if word == "{files}" else [word])]
    return [word.replace("{task}", task) for word in words]


def hand_over(task, folder):
    """Measure on the comparison examples what the agent left, and the best few of what it had measured."""
    task.measure(read_texts(task, folder), task.validation, parents=[task.initial], origin="agent:final")
    for texts in best_measured(folder, most=BEST_FEW, names=task.initial):
        task.measure(texts, task.validation, parents=[task.initial], origin="agent:best")


def environ(settings, task):
    """Return the agent's environment: the gateway on every vendor's wire, and no way to the net for what keeps to the usual variables."""
    endpoint = task.endpoint()
    nowhere = "http://127.0.0.1:9"
    return {
        **os.environ,
        "ANTHROPIC_BASE_URL": endpoint.base_url.removesuffix("/v1"),
        "ANTHROPIC_API_KEY": endpoint.api_key,
        "ANTHROPIC_MODEL": endpoint.model,
        "OPENAI_MODEL": endpoint.model,
        "GOOGLE_GEMINI_BASE_URL": endpoint.base_url.removesuffix("/v1"),
        "GEMINI_API_KEY": endpoint.api_key,
        "GEMINI_MODEL": endpoint.model,
        "HTTP_PROXY": nowhere,
        "HTTPS_PROXY": nowhere,
        "NO_PROXY": "127.0.0.1,localhost",
        **settings.env,
    }


def write_tool(path):
    """Write the tool that evaluates: it finds the door by itself, whatever environment the agent gives it."""
    exports = "".join(f"export {name}={shlex.quote(os.environ[name])}\n" for name in PASSED)
    run = f'exec {shlex.quote(sys.executable)} -m tracebench_adapters.agent_tool "$@"'
    path.write_text(f'#!/bin/sh\ncd "$(dirname "$0")" || exit 1\n{exports}{run}\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def describe(task, settings):
    """Return the task in words."""
    names = "\n".join(f"- `{file_of(task, name)}`: {task.describe(name)}" for name in task.initial)
    budget = task.problem.budget()
    caps = {axis: cap for axis, cap in budget["caps"].items() if cap is not None}
    return (
        f"""# The task

{task.objective}

The higher the score, the better. Improve these files; change nothing else:

{names}

# How to measure

Run `./{TOOL}` in this folder. It measures the files as they are on {len(task.train)} examples and prints score and feedback;
`./{TOOL} --examples 3` takes the first three only, `./{TOOL} --validation` the held-out ones. Every example costs one evaluation.
`history.jsonl` keeps what was measured. The budget: {json.dumps(caps) or "none"}. When the tool says that the budget is spent, stop.

{settings.instructions}
""".rstrip()
        + "\n"
    )
