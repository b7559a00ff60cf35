"""Writes the files of `meta/` that are written once: config snapshot, environment, git state; and of each job what it is."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import yaml
from pydantic_core import PydanticSerializationError, to_json

from tracebench_core.errors import RunDirError
from tracebench_core.specs import JobSpec, RunConfig
from tracebench_core.store import files
from tracebench_core.store.environment import GitState, read_environment
from tracebench_core.store.inert import inert
from tracebench_core.store.layout import JobLayout, RunLayout

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def write_config(layout: RunLayout, config: RunConfig) -> None:
    """Write the resolved config. It names the variables that hold keys; keys themselves have no place in a config."""
    files.make_dir(layout.meta)
    text: str = yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    files.write_whole(layout.config_snapshot, text.encode("utf-8", "backslashreplace"), durable=True)


def read_config(layout: RunLayout) -> RunConfig:
    """Read the resolved config.

    Raises:
        RunDirError: when it cannot be read.
    """
    try:
        text = layout.config_snapshot.read_bytes()
        return RunConfig.model_validate(yaml.load(text, _LOADER))  # noqa: S506 - both are safe loaders
    except (OSError, ValueError, yaml.YAMLError) as err:
        raise RunDirError(f"`{layout.config_snapshot}` cannot be read: {err}") from err


def write_environment(layout: RunLayout, *, git: GitState, secrets: Iterable[str] = (), isolation: str = "") -> None:
    """Write `env.json` and `git.json`; `secrets` are names of variables that hold keys, told as set only.

    `isolation` is how this machine holds untrusted code, empty for a run that has none.
    """
    files.make_dir(layout.meta)
    files.write_whole(layout.env, _json({**read_environment(secrets=secrets), "isolation": isolation}))
    files.write_whole(layout.git, _json(git.as_json()))


def write_job_meta(layout: JobLayout, job: JobSpec, *, status: str, extra: dict[str, Any] | None = None) -> None:
    """Write `job_meta.json`: the job as it was planned, its status (`running` until it ends), and what `extra` adds.

    Not flushed: the job's commit does that.
    """
    content = {**job.model_dump(mode="json"), **(extra or {}), "status": status}
    files.write_whole(layout.meta, _json(content))


def _json(content: dict[str, Any]) -> bytes:
    try:
        text = to_json(content, indent=2).decode()  # many times as fast as the standard library's indented text
    except PydanticSerializationError:  # a lone surrogate, which no UTF-8 text can hold
        text = json.dumps(content, indent=2)
    return inert(text).encode() + b"\n"
