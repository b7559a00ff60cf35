"""A run's config as a file: reading and writing it, saying where in it a mistake stands, its schema, and the words of its fields."""

from tracebench_engine.config import (
    FlawedConfigError as FlawedConfigError,
    config_schema as config_schema,
    dump_config as dump_config,
    load_config as load_config,
    parse_config as parse_config,
    placing as placing,
)
from tracebench_engine.config.load import load_prices as load_prices
from tracebench_engine.config.roots import absolute_root as absolute_root
from tracebench_engine.config.schema import field_docs as field_docs
