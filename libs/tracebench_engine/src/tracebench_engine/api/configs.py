"""A run's config as a file: reading and writing it, saying where in it a mistake stands, its schema, and the words of its fields."""

from tracebench_engine.config import FlawedConfigError, config_schema, dump_config, load_config, parse_config, placing
from tracebench_engine.config.price_file import load_prices
from tracebench_engine.config.roots import absolute_root
from tracebench_engine.config.schema import field_docs

__all__ = [
    "FlawedConfigError",
    "absolute_root",
    "config_schema",
    "dump_config",
    "field_docs",
    "load_config",
    "load_prices",
    "parse_config",
    "placing",
]
