"""What an executor is written with: how an order is run in a process, and what the end of that process means."""

from tracebench_core.engine.execution import ending, run_order

__all__ = ["ending", "run_order"]
