"""The small tasks that are installed with the engine, to build toys from."""

from tracebench_engine.builtin.tasks import code_param as code_param, numeric as numeric
from tracebench_engine.builtin.tasks.simple import SimpleTask as SimpleTask
