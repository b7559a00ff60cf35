"""A sandbox of one's own, for processes that no job has opened one for; evaluations use `context.sandbox`."""

from tracebench_sandbox import open_sandbox

__all__ = ["open_sandbox"]
