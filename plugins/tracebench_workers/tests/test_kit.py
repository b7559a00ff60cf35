"""The executor `workers` keeps every promise that the kit asks of an executor."""

from __future__ import annotations

import pytest

from tracebench_testing import ExecutorConformance, PluginConformance


class TestPlugin(PluginConformance):
    plugin = "workers"


@pytest.mark.heavy("executor")
class TestWorkers(ExecutorConformance):
    plugin = "workers"
