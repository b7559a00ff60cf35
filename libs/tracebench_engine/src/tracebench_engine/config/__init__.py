"""Reading configs: YAML or JSON to `RunConfig`, overrides, errors that name file, line and field."""

from tracebench_engine.config.load import FlawedConfigError, load_config, parse_config
from tracebench_engine.config.placing import placing
from tracebench_engine.config.schema import config_schema
from tracebench_engine.config.document import dump_config

__all__ = ["FlawedConfigError", "config_schema", "dump_config", "load_config", "parse_config", "placing"]
