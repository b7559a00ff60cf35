"""A config written out as YAML that loads to the same config."""

from __future__ import annotations

import yaml

from tracebench_core.specs import RunConfig
from tracebench_engine.config.document import Dumper

WIDTH = 120


def dump_config(config: RunConfig) -> str:
    """Return the config as YAML, every field written out; `load_config` reads it back as an equal config."""
    text: str = yaml.dump(
        config.model_dump(mode="json"), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=WIDTH
    )
    return text
