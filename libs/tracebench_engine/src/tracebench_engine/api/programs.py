"""Programs as trainers, the interpreters that other libraries live in, and folders for both."""

from tracebench_core.plugins.interpreters import find_python as find_python, has_python as has_python
from tracebench_engine.builtin.command import passed as passed
from tracebench_engine.door.held import (
    APART as APART,
    Files as Files,
    Hold as Hold,
    Network as Network,
    Streams as Streams,
    belongings as belongings,
    held_command as held_command,
    start_held as start_held,
)
from tracebench_engine.door.program import (
    Program as Program,
    bare_environ as bare_environ,
    describe_exit as describe_exit,
    find_program as find_program,
    model_variables as model_variables,
    run_program as run_program,
)
from tracebench_sandbox.temporary import scratch_folder as scratch_folder
