"""What a run excludes is refused to a trainer that would wrap it, too."""

from __future__ import annotations

import pytest

from tracebench_core.errors import UsageError
from tracebench_core.specs import PluginsConfig
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.measure.building import build_wrapped


def test_a_wrapped_trainer_obeys_the_runs_exclusions() -> None:
    assert build_wrapped(open_host(), "RandomSearch", {"num_steps": 2})

    with pytest.raises(UsageError, match="`RandomSearch` is excluded"):
        build_wrapped(open_host(plugins=PluginsConfig(exclude=("RandomSearch",))), "RandomSearch", {})
