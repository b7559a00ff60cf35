"""A config as a command reads it: what is wrong with its fields and what is wrong with its names are told together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tracebench_core.errors import ConfigError, NothingSelectedError, TraceBenchError

if TYPE_CHECKING:
    from tracebench_core.specs import RunConfig


def read_config(path: Path, overrides: Sequence[str], *, root: Path | None = None) -> RunConfig:
    """Read a config. Where fields are wrong, the names in the rest of it are looked up, too.

    Raises:
        ConfigError: naming file, line and field of every problem.
    """
    from tracebench_engine.api.configs import FlawedConfigError, load_config

    try:
        return load_config(path, overrides=overrides)
    except FlawedConfigError as err:
        names = _wrong_names(err.sound, path, overrides, root) if err.sound is not None else None
        if names is None:
            raise
        hints = dict.fromkeys([*err.hint.splitlines(), *map(str.strip, names.hint.splitlines())])
        raise ConfigError(f"{err}\n{names}", hint="\n        ".join(hints)) from None


def config_words(config: Path, *, root: Path | None, runs_dir: str | None, override: Sequence[str] | None) -> list[str]:
    """Return the words of a line that is shown to be typed next, by which it reads the same config as this command did."""
    given = [("--root", root), ("--runs-dir", runs_dir), *(("-o", change) for change in override or ())]
    return ["--config", str(config), *(str(word) for pair in given if pair[1] is not None for word in pair)]


def _wrong_names(config: RunConfig, path: Path, overrides: Sequence[str], root: Path | None) -> TraceBenchError | None:
    """Return what is wrong with the names of a config that is otherwise sound; None when nothing is."""
    from tracebench_engine.api.configs import placing
    from tracebench_engine.api.planning import refuse_wrong_names

    try:
        with placing(path, overrides=overrides):
            refuse_wrong_names(config, root=root)
    except NothingSelectedError:
        return None
    except TraceBenchError as err:
        return err
    return None
