"""Where rows come from in this process: told by the plugin's settings and the environment, never by trying the network."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from tracebench_core.errors import ConfigError
from tracebench_core.ids import did_you_mean
from tracebench_core.options import refuse_unknown_options

DATA = "TRACEBENCH_HF_DATA"
SOURCE = "TRACEBENCH_HF_SOURCE"
TASKS = "TRACEBENCH_HF_TASKS"
KINDS = ("auto", "folder", "hub", "sample")
OPTIONS = ("data_dir", "source", "tasks")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the plugin was told."""

    kind: Literal["folder", "hub", "sample"] = "sample"
    folder: Path | None = None
    tasks: tuple[Path, ...] = ()
    """The user's own task files."""


def settings_of(told: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings: the config's `plugins.options.hf` before the environment.

    `auto` takes the folder when one is named, else the hub when `datasets` is installed and `HF_HUB_OFFLINE` is not set, else the
    sample rows that come with the plugin.

    Raises:
        ConfigError: on an unknown option or source, or a folder that does not exist.
    """
    options = dict(told.get("options") or {})
    refuse_unknown_options("hf", options, OPTIONS)
    named = options.get("data_dir") or environ.get(DATA) or told.get("root") or None
    folder = None if named is None else Path(str(named))
    asked = str(options.get("source") or environ.get(SOURCE) or "auto")
    if asked not in KINDS:
        raise ConfigError(
            f"The source of rows is one of {', '.join(KINDS)}, not `{asked}`.{did_you_mean(asked, KINDS)}",
            hint=f"export {SOURCE}=auto",
        )
    own = options.get("tasks") or environ.get(TASKS) or ()
    tasks = tuple(Path(p) for p in (own.split(os.pathsep) if isinstance(own, str) else own))
    if asked == "folder" and folder is None:
        raise ConfigError("The source of rows is `folder`, and no folder is named.", hint=f"export {DATA}=<folder>")
    if asked in {"auto", "folder"} and folder is not None:
        if not folder.is_dir():
            raise ConfigError(
                f"The folder of data sets `{folder}` does not exist.", hint=f"export {DATA}=<folder>, or unset it"
            )
        return Settings("folder", folder, tasks)
    online = find_spec("datasets") is not None and environ.get("HF_HUB_OFFLINE", "0") in {"", "0"}
    return Settings("hub" if asked == "hub" or (asked == "auto" and online) else "sample", None, tasks)
