"""How a plugin that is not there is installed: a command that works when it is typed."""

from __future__ import annotations

from tracebench_core.checkout import checkout, extras, is_here, lines, name_of, offered
from tracebench_core.errors import quoted
from tracebench_core.forwarding import BENCH
from tracebench_core.plugins.discovery import GROUP


def install_hint(plugin: str) -> str:
    """Return the command that installs a plugin, from this checkout or as an extra of the bench; else the one that lists plugins.

    Of a file, what is missing is the name of a part.
    """
    if plugin.endswith(".py"):
        return f"name a part of the file, as in {quoted(f'{plugin}:task')}"
    folder = checkout()
    if folder is not None:
        for project in sorted(folder.glob("plugins/*/pyproject.toml")):
            if plugin in offered(project, GROUP):
                return f"pip install -e {quoted(project.parent)}"
    found = next((e for e in extras() if e.replace("-", "_") == plugin.replace("-", "_")), None)
    return f'pip install "{BENCH}[{found}]"' if found is not None else "trace-bench plugins"


def install_entry_hint(group: str, name: str) -> str | None:
    """Return the command that installs the plugin which adds an entry point `name` to a group; None where no plugin is known to."""
    folder = checkout()
    for project in sorted(folder.glob("plugins/*/pyproject.toml")) if folder is not None else ():
        if name in offered(project, group):
            holding = [e for e in extras() if any(name_of(project) == line[0] for line in lines(e))]
            extra = min(holding, key=lambda e: len(lines(e)), default=None)
            return f"pip install -e {quoted(project.parent)}" if extra is None else f'pip install "{BENCH}[{extra}]"'
    lacking = name in extras() and not all(map(is_here, (line[0] for line in lines(name))))
    return f'pip install "{BENCH}[{name}]"' if lacking else None
