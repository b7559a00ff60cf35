"""Programs as trainers, and the interpreters that other libraries live in."""

from tracebench_core.builtin.command import passed
from tracebench_core.engine.program import (
    APART,
    Network,
    Program,
    apart,
    describe_exit,
    find_program,
    model_variables,
    run_program,
)
from tracebench_core.plugins.interpreters import find_python, has_python

__all__ = [
    "APART",
    "Network",
    "Program",
    "apart",
    "describe_exit",
    "find_program",
    "find_python",
    "has_python",
    "model_variables",
    "passed",
    "run_program",
]
