"""An agent that is a program inside of the sandbox: a folder of files, or what the image brings, which asks the gateway for itself."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

HOME = "/agent"
"""Where its files are in the sandbox."""
LOG = "program.txt"
AWAY = "model-away.txt"
"""In a trial's folder: how the model's server failed while the agent worked."""
_TOLD = 1500


class ProgramFailedError(Exception):
    """The agent's program ended with an error."""


class ProgramAwayError(Exception):
    """The agent's program is neither in the image nor installed on this machine."""


class ModelGoneError(RuntimeError):
    """The model's server failed while the agent worked."""


class ProgramAgent(BaseAgent):
    """Runs a command on the task; what it prints is kept as the agent's log.

    Args:
        argv, environ, files: its command, variables and settings, with the words of an `AgentSpec` in braces still to be filled in, and
            `{skills}` for the folder of skills. `files` are texts by their paths below its home.
        folder: on the host: what its home holds beside these.
        gateway: its address with `/v1`, which a door leads to from inside.
    """

    def __init__(
        self,
        *args: Any,
        argv: Sequence[str],
        environ: Mapping[str, str],
        gateway: str,
        model: str,
        files: Mapping[str, str] | None = None,
        folder: str | None = None,
        **kwargs: Any,
    ) -> None:
        self._argv, self._environ, self._files, self._folder = argv, environ, files or {}, folder
        self._words = {
            "{model}": model,
            "{key}": os.environ["OPENAI_API_KEY"],
            "{base_url}": gateway,
            "{host_url}": gateway.removesuffix("/v1"),
            "{home}": HOME,
        }
        super().__init__(*args, **kwargs)

    @staticmethod
    def name() -> str:
        """Name this agent."""
        return "tracebench-program"

    def version(self) -> str | None:
        """Return nothing: its files are its version."""
        return None

    async def setup(self, environment: BaseEnvironment) -> None:
        """Put its files into its home.

        Raises:
            ProgramAwayError: when neither the image nor this machine has the program.
        """
        program = self._argv[0]
        if "/" not in program and (await environment.exec(f"command -v {shlex.quote(program)}")).return_code:
            raise ProgramAwayError(
                f"the image has no `{program}`, and none was brought: trace-bench agents list shows what is installed here"
            )
        self._words["{skills}"] = str(self.skills_dir or "")
        if self._folder is not None:
            await environment.upload_dir(self._folder, HOME)
        with tempfile.TemporaryDirectory() as folder:
            for name, text in self._files.items():
                place = Path(folder, name)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(self._filled(text), encoding="utf-8")
            await environment.upload_dir(folder, HOME)

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        """Run it in the task's folder.

        Raises:
            ModelGoneError: when the model's server failed meanwhile.
            ProgramFailedError: when it ended with an error.
        """
        where = (await environment.exec("pwd")).stdout or "/"
        self._words |= {"{task}": instruction, "{workdir}": where.strip()}
        environ = {name: self._filled(value) for name, value in self._environ.items()}
        command = shlex.join(self._filled(word) for word in self._argv)
        log = str(PurePosixPath(self.environment_logs_dir) / LOG)
        lost: list[str] = []
        try:
            done = await environment.exec(f"{command} > {log} 2>&1", env={**environ, **self._extra_env})
        finally:  # also where its time is over; beside the folder that the sandbox writes
            lost = getattr(environment, "lost_models", list)()
            if lost:
                (self.logs_dir.parent / AWAY).write_text(lost[-1], encoding="utf-8")
        context.metadata = {"exit_code": done.return_code}
        if lost:
            raise ModelGoneError(f"the agent's model was away: {lost[-1]}")
        if done.return_code:
            said = (await environment.exec(f"tail -c {_TOLD} {log}")).stdout or ""
            words = said.replace(self._words["{key}"], "<key>").strip()
            raise ProgramFailedError(f"`{self._argv[0]}` ended with exit code {done.return_code}: {words}")

    def _filled(self, word: str) -> str:
        for name, value in self._words.items():
            word = word.replace(name, value)
        return word
