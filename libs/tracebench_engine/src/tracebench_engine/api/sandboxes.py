"""A sandbox of one's own, for processes that no job has opened one for; evaluations use `context.sandbox`."""

from tracebench_sandbox import open_sandbox, start_server
from tracebench_sandbox.granted import granted_folders

__all__ = ["granted_folders", "open_sandbox", "start_server"]
