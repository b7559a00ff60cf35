"""The small tasks that are installed with the engine, to build toys from."""

from tracebench_engine.builtin.tasks import code_param, numeric
from tracebench_engine.builtin.tasks.simple import SimpleTask

__all__ = ["SimpleTask", "code_param", "numeric"]
