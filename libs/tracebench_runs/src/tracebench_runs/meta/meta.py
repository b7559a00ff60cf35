"""Writes the files of `meta/` that are written once: config snapshot, environment, git state; and of each job what it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import yaml
from pydantic_core import PydanticSerializationError, to_json

from tracebench_core.errors import RunDirError
from tracebench_core.specs import JobSpec, RunConfig
from tracebench_runs.meta.environment import GitState, read_environment
from tracebench_runs.meta.salt_files import gives_away
from tracebench_runs.storage import files
from tracebench_runs.storage.escape import escaped
from tracebench_runs.storage.layout import JobLayout, RunLayout
from tracebench_runs.storage.regular import read_whole

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SEEDS = re.compile(rb"^seeds:\n((?:- (?:0|[1-9][0-9]*)\n){100,})", re.MULTILINE)
"""Many seeds as `write_config` lists them: YAML takes 6 µs for each, and a run may have 100,000."""


def write_config(layout: RunLayout, config: RunConfig) -> None:
    """Write the resolved config. It names the variables that hold keys; keys themselves have no place in a config."""
    files.make_dir(layout.meta)
    text: str = yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    content = text.encode("utf-8", "backslashreplace")
    private = gives_away(layout, layout.config_snapshot, content)
    files.write_whole(layout.config_snapshot, content, durable=True, private=private)


def read_config(layout: RunLayout) -> RunConfig:
    """Read the resolved config.

    Raises:
        RunDirError: when it cannot be read.
    """
    try:
        text = read_whole(layout.config_snapshot)
        seeds = _SEEDS.search(text)
        content = yaml.load(text if seeds is None else _without(text, seeds), _LOADER)  # noqa: S506 - both are safe loaders
        if seeds is not None:
            content["seeds"] = [int(line) for line in seeds[1].replace(b"- ", b"").splitlines()]
        return RunConfig.model_validate(content)
    except OSError as err:
        raise RunDirError(f"`{layout.config_snapshot}` cannot be read: {err.strerror}.") from err
    except (ValueError, TypeError, yaml.YAMLError) as err:
        raise RunDirError(f"`{layout.config_snapshot}` cannot be read: {err}") from err


def _without(text: bytes, seeds: re.Match[bytes]) -> bytes:
    return text[: seeds.start()] + b"seeds: []\n" + text[seeds.end() :]


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
    return escaped(text).encode() + b"\n"
