"""Coding agents: what plugins offer, what is installed, and how one is started in a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracebench_core.lazy import imported_on_use

if TYPE_CHECKING:
    from tracebench_core.plugins.agents import find_agent as find_agent
    from tracebench_engine.builtin.hosting import find_preset as find_preset
    from tracebench_engine.checks.agents import (
        ListedAgent as ListedAgent,
    )
    from tracebench_engine.checks.agents import (
        install_agent as install_agent,
    )
    from tracebench_engine.checks.agents import (
        list_agents as list_agents,
    )
    from tracebench_engine.checks.agents import (
        remove_agent as remove_agent,
    )
    from tracebench_engine.door.agents import (
        AgentStart as AgentStart,
    )
    from tracebench_engine.door.agents import (
        filled as filled,
    )
    from tracebench_engine.door.agents import (
        known_words as known_words,
    )
    from tracebench_engine.door.agents import (
        needs_of as needs_of,
    )
    from tracebench_engine.door.agents import (
        spoken as spoken,
    )
    from tracebench_engine.door.agents import (
        start_of as start_of,
    )
    from tracebench_engine.door.held import belongings as belongings
    from tracebench_engine.door.program import Silence as Silence

__getattr__ = imported_on_use(__name__)
