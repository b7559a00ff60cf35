"""Programs as trainers, the interpreters that other libraries live in, and folders for both."""

from tracebench_core.plugins.interpreters import find_python, has_python
from tracebench_engine.builtin.command import passed
from tracebench_engine.door.held import APART, Files, Hold, Network, Streams, belongings, held_command, start_held
from tracebench_engine.door.program import (
    Program,
    bare_environ,
    describe_exit,
    find_program,
    model_variables,
    run_program,
)
from tracebench_sandbox.temporary import scratch_folder

__all__ = [
    "APART",
    "Files",
    "Hold",
    "Network",
    "Program",
    "Streams",
    "bare_environ",
    "belongings",
    "describe_exit",
    "find_program",
    "find_python",
    "has_python",
    "held_command",
    "model_variables",
    "passed",
    "run_program",
    "scratch_folder",
    "start_held",
]
