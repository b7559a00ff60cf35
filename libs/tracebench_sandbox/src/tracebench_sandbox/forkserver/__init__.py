"""Starts helper processes: as fresh interpreters, or as forks of a process that has their imports already.

A helper is a module with a `main()` that reads `sys.argv`, as `python -m` runs it, and may have a `prepare()` for what is the same each
time and can be done before anybody asks. A program that starts the same helper again and again pays for its imports once; the command
line, which starts each helper once, forks its own imports before it knows anything. Either way the helper becomes a child of the process
that asked for it, with the environment, descriptors, folder and session that a fresh one would have.
"""

from tracebench_sandbox.forkserver.launch import launch, plant
from tracebench_sandbox.forkserver.launch import ForkedProcess, HelperProcess

__all__ = ["ForkedProcess", "HelperProcess", "launch", "plant"]
