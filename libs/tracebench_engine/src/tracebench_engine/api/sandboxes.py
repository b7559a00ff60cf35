"""A sandbox of one's own, for processes that no job has opened one for; evaluations use `context.sandbox`."""

from tracebench_sandbox import open_sandbox, start_server
from tracebench_sandbox.granted import granted_folders
from tracebench_sandbox.host import level
from tracebench_sandbox.launch import refuse_weak

__all__ = ["granted_folders", "level", "open_sandbox", "refuse_weak", "start_server"]
