"""What a config may say under `eval_kwargs` of a Terminal-Bench task."""

from __future__ import annotations

import shlex
from pathlib import PurePosixPath
from typing import Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator, model_validator

from tracebench_terminalbench.program import FOLDER, TERMINUS

MODELLESS = ("oracle", "nop")
"""Agents that ask no model."""
DATASET = "terminal-bench@2.0"
"""The dataset of a config that names none; `terminal-bench/terminal-bench-2-1` is the corrected one."""
PARSERS = ("json", "xml")
"""The forms of Terminus-2's answers, each with a prompt of its own."""
Subject = Literal["advice", "template", "extra_instructions", "skill", "files"]


def _also(name: str) -> AliasChoices:
    """Take a setting also under its name with `harbor_`."""
    return AliasChoices(name, f"harbor_{name}")


class Options(BaseModel):
    """Settings of a Terminal-Bench task. The names with `harbor_` are the ones that users of Trace-Bench know."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    optimize: Subject = "advice"
    """`advice`: a block inside Terminus-2's own prompt. `template`: the whole prompt. `extra_instructions`: a text after each task's
    instruction. `skill`: the text of a skill that the agent finds in its environment. `files`: the files of `agent_folder`."""
    agent: str = Field(default=TERMINUS, min_length=1)
    """`oracle` runs the task's own solution and `nop` does nothing; neither asks a model. `folder`: the program of `agent_folder`, in the
    sandbox. `preset:NAME`: a coding agent of `trace-bench agents list`, which the image brings. Else a name of Harbor's,
    or `module:Class`."""
    agent_folder: str | None = None
    """With `agent: folder`: its files, all of them texts. None: a small agent of ours."""
    agent_files: tuple[str, ...] = Field(default=("*",), min_length=1)
    """With `optimize: files`: patterns of those files that are optimised, as of `PurePosixPath.match`; one that
    fits a folder means all in it."""
    agent_command: str = Field(default="python3 /agent/main.py", min_length=1)
    """With `agent: folder`: what is run in the task's folder; the agent's files are in `/agent`."""
    harbor_dataset: str = DATASET
    """`name@version` of Harbor's registry, or `org/name` (also `org/name@ref`) of its hub."""
    harbor_env: str | None = None
    """Where the sandboxes run: `local`, `oci`, `docker`, `podman`, `daytona`, `e2b`, `modal`, another of Harbor's names, or `module:Class`.
    None: `local` for our own toy tasks, `docker` for all others."""
    harbor_model: str | None = None
    """The agent's model; it must be the one that the config gives the role `agent`, whose calls the gateway meters."""
    harbor_cli_timeout_seconds: float | None = Field(default=None, gt=0)
    """Seconds for one Harbor job; None: as long as the job of Trace-Bench may take."""
    harbor_task_path: str | None = None
    """A folder of tasks in Harbor's format, or one such task, in place of a dataset."""
    agent_kwargs: dict[str, Any] = Field(default_factory=dict, validation_alias=_also("agent_kwargs"))
    """Settings of the agent, such as `max_turns`, `temperature`, `parser_name`, `model_info`."""
    harbor_environment_kwargs: dict[str, Any] = Field(default_factory=dict)
    """Settings of the sandbox's provider."""
    extra_env: dict[str, str] = Field(default_factory=dict, validation_alias=_also("extra_env"))
    """Variables of Harbor's process. Keys have no place in a config: see `harbor_env_file`."""
    harbor_env_file: str | None = None
    """A file of `NAME=value` lines that Harbor itself reads: the keys of a cloud provider. A path is meant from where the run starts."""
    harbor_command: str | None = None
    """The Harbor command; None: `$TRACE_BENCH_HARBOR`, then PATH."""
    concurrency: int = Field(default=4, ge=1)
    """Trials that one Harbor job runs at a time."""
    attempts: int = Field(default=1, ge=1)
    """Trials of one example; its score is their mean."""
    grace: float | None = Field(default=None, ge=0)
    """Seconds that Harbor has to remove its sandboxes when told to stop; 1 for `local` and `oci`, whose sandboxes end with it, else 10."""

    @model_validator(mode="after")
    def _of_a_known_form(self) -> Options:
        parser = self.agent_kwargs.get("parser_name", PARSERS[0])
        if self.optimize in {"advice", "template"} and parser not in PARSERS:
            raise ValueError(f"`parser_name` is {parser!r}, and `{TERMINUS}` has a prompt for {' and '.join(PARSERS)}")
        images = self.harbor_environment_kwargs.get("images", {})
        if self.harbor_env == "oci" and not (
            isinstance(images, dict) and all(isinstance(v, str) for v in images.values())
        ):
            raise ValueError("`images` of `harbor_environment_kwargs` maps names of images to places")
        return self

    @model_validator(mode="after")
    def _of_this_agent(self) -> Options:
        if self.agent in MODELLESS:
            return self
        if self.optimize in {"advice", "template"} and self.agent != TERMINUS:
            other = "files" if self.agent == FOLDER else "extra_instructions"
            raise ValueError(
                f"`optimize: {self.optimize}` is of `{TERMINUS}`; with `agent: {self.agent}` write `optimize: {other}`"
            )
        if self.optimize == "files" and self.agent != FOLDER:
            raise ValueError(f"`optimize: files` is of `agent: folder`, and not of `{self.agent}`")
        return self

    @field_validator("agent_command")
    @classmethod
    def _of_words(cls, command: str) -> str:
        if not shlex.split(command):  # which says of a quote that it is not closed
            raise ValueError("it names no program")
        return command

    @field_validator("agent_files")
    @classmethod
    def _of_patterns(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        if not all(PurePosixPath(pattern).parts for pattern in patterns):
            raise ValueError("a pattern is empty")
        return patterns

    @field_validator("extra_env")
    @classmethod
    def _no_keys(cls, variables: dict[str, str]) -> dict[str, str]:
        for name in variables:
            if name.upper().endswith(("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")):
                raise ValueError(f"`{name}` looks like a key, and a config is kept: write it into `harbor_env_file`")
        return variables
